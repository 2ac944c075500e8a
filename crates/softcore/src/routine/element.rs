//! Elements of real floats as f64, for routines whose cost is not the arithmetic.

use half::{bf16, f16};
use tnrs_types::DType;

use super::Slab;

/// The elements as f64, which holds every number of the type.
///
/// # Panics
/// If the type is no float of at least 16 bits.
pub(super) fn to_f64(slab: &Slab) -> Vec<f64> {
    match slab.dtype {
        DType::F32 => slab.read::<f32>().iter().map(|&v| f64::from(v)).collect(),
        DType::F64 => slab.read::<f64>().to_vec(),
        DType::F16 => slab.read::<f16>().iter().map(|v| v.to_f64()).collect(),
        DType::BF16 => slab.read::<bf16>().iter().map(|v| v.to_f64()).collect(),
        other => panic!("{} is no float of 16 bits or more", other.hlo_name()),
    }
}

/// Writes all elements, each rounded once.
///
/// # Panics
/// As [`to_f64`], and if the number of elements differs.
pub(super) fn from_f64(slab: &Slab, values: &[f64]) {
    match slab.dtype {
        DType::F32 => put(slab, values, |v| v as f32),
        DType::F64 => put(slab, values, |v| v),
        DType::F16 => put(slab, values, f16::from_f64),
        DType::BF16 => put(slab, values, bf16::from_f64),
        other => panic!("{} is no float of 16 bits or more", other.hlo_name()),
    }
}

fn put<T: Copy>(slab: &Slab, values: &[f64], round: impl Fn(f64) -> T) {
    let out = slab.write::<T>();
    assert_eq!(out.len(), values.len());
    for (o, &v) in out.iter_mut().zip(values) {
        *o = round(v);
    }
}
