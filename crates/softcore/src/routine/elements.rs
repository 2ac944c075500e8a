//! Elementwise routines: a scalar function over dense operands of one float type, in parallel.

use std::sync::{Mutex, PoisonError};

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

impl Real for f32 {
    fn wide(self) -> f64 {
        self.into()
    }
    fn of(x: f64) -> f32 {
        x as f32
    }
}

impl Real for f64 {
    fn wide(self) -> f64 {
        self
    }
    fn of(x: f64) -> f64 {
        x
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
