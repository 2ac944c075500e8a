//! Elements of real floats as f64, and elementwise routines: a scalar function over dense operands of one float type, in
//! parallel.

use std::sync::{Mutex, PoisonError};

use half::{bf16, f16};
use smallvec::SmallVec;
use tnrs_kernels::pool;
use tnrs_types::DType;

use super::{Args, Slab};
use crate::step::chunks;

/// A float type that scalar functions read and write.
pub(super) trait Real: Copy + Send + Sync {
    /// Exactly, in double precision.
    fn wide(self) -> f64;
    /// Rounded from double precision.
    fn of(x: f64) -> Self;
}

macro_rules! real {
    ($($t:ty: $wide:expr, $of:expr;)*) => {$(
        impl Real for $t {
            fn wide(self) -> f64 {
                $wide(self)
            }
            fn of(x: f64) -> $t {
                $of(x)
            }
        }
    )*};
}
real! {
    f32: f64::from, |x| x as f32;
    f64: |x| x, |x| x;
    f16: f16::to_f64, f16::from_f64;
    bf16: bf16::to_f64, bf16::from_f64;
}

/// The elements as f64, which holds every number of the type.
///
/// # Panics
/// If the type is no float of at least 16 bits.
pub(super) fn to_f64(slab: &Slab) -> Vec<f64> {
    fn widened<T: Real>(slab: &Slab) -> Vec<f64> {
        slab.read::<T>().iter().map(|x| x.wide()).collect()
    }
    match slab.dtype {
        DType::F32 => widened::<f32>(slab),
        DType::F64 => widened::<f64>(slab),
        DType::F16 => widened::<f16>(slab),
        DType::BF16 => widened::<bf16>(slab),
        other => panic!("{} is no float of 16 bits or more", other.hlo_name()),
    }
}

/// Writes all elements, each rounded once.
///
/// # Panics
/// As [`to_f64`], and if the number of elements differs.
pub(super) fn from_f64(slab: &Slab, values: &[f64]) {
    fn rounded<T: Real>(slab: &Slab, values: &[f64]) {
        let out = slab.write::<T>();
        assert_eq!(out.len(), values.len());
        out.iter_mut().zip(values).for_each(|(o, &v)| *o = T::of(v));
    }
    match slab.dtype {
        DType::F32 => rounded::<f32>(slab, values),
        DType::F64 => rounded::<f64>(slab, values),
        DType::F16 => rounded::<f16>(slab, values),
        DType::BF16 => rounded::<bf16>(slab, values),
        other => panic!("{} is no float of 16 bits or more", other.hlo_name()),
    }
}

/// Writes `f(i)` to every element i of the first result, whose element costs about `ns` nanoseconds.
pub(super) fn fill<T: Copy + Send>(out: &Slab, ns: u64, f: impl Fn(usize) -> T + Sync) {
    let out = out.write::<T>();
    if out.is_empty() {
        return;
    }
    let pieces = chunks(ns * out.len() as u64, out.len() as u64) as usize;
    let size = out.len().div_ceil(pieces);
    let parts: Vec<Mutex<&mut [T]>> = out.chunks_mut(size).map(Mutex::new).collect();
    pool::global().run(parts.len(), &|c, _| {
        let mut part = parts[c].lock().unwrap_or_else(PoisonError::into_inner);
        for (i, o) in part.iter_mut().enumerate() {
            *o = f(c * size + i);
        }
    });
}

fn over<T: Real, const N: usize>(args: &Args, ns: u64, f: impl Fn(usize, [f64; N]) -> f64 + Sync) {
    let ins: SmallVec<[&[T]; 4]> = args.ins[..N].iter().map(|s| s.read::<T>()).collect();
    fill(&args.outs[0], ns, |i| T::of(f(i, std::array::from_fn(|k| ins[k][i].wide()))));
}

/// The function of the position and the first N operands' elements there, computed in double precision, as the first
/// result.
pub(super) fn map<const N: usize>(args: &Args, ns: u64, f: impl Fn(usize, [f64; N]) -> f64 + Sync) {
    match args.outs[0].dtype {
        DType::F32 => over::<f32, N>(args, ns, f),
        _ => over::<f64, N>(args, ns, f),
    }
}
