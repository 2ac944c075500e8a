//! Conditions on data.

use tnrs_hal::Fault;
use tnrs_hlo::custom::Rule;
use tnrs_types::DType;

use super::{Args, Routine};

fn require(a: &Args) -> Result<(), Fault> {
    match a.outs[0].dtype {
        DType::F32 => a.outs[0].write::<f32>().copy_from_slice(a.ins[0].read::<f32>()),
        _ => a.outs[0].write::<f64>().copy_from_slice(a.ins[0].read::<f64>()),
    }
    if a.ins[1].read::<u8>().contains(&0) {
        let message = Rule::of(a.call).map_or("a condition on data is broken", Rule::message);
        return Err(Fault::Device(message.to_owned()));
    }
    Ok(())
}

/// Routines of this family.
pub(super) static ROUTINES: &[Routine] =
    &[Routine { name: "require", run: require, cost: |a| (a.ins[0].len() + a.ins[1].len()) as u64 }];
