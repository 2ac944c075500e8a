//! Scans.

use tnrs_hal::Fault;
use tnrs_kernels::math::logsum::{add_complex, add_real};
use tnrs_types::DType;

use super::elements::Real;
use super::{Args, Routine};

/// About what an element costs, in nanoseconds.
const NS: u64 = 25;

/// Runs `step` along a dim from left to right.
fn scan<T: Copy, A: Copy>(
    a: &Args,
    start: A,
    wide: impl Fn(T) -> A,
    step: impl Fn(A, A) -> A,
    narrow: impl Fn(A) -> T,
) {
    let (x, y) = (a.ins[0].read::<T>(), a.outs[0].write::<T>());
    let d = a.call.int("dim") as usize;
    let dims = &a.ins[0].dims;
    let n = dims[d] as usize;
    let inner = dims[d + 1..].iter().product::<i64>() as usize;
    if x.is_empty() {
        return;
    }
    for (x, y) in x.chunks_exact(n * inner).zip(y.chunks_exact_mut(n * inner)) {
        for j in 0..inner {
            let mut sum = start;
            for i in (j..n * inner).step_by(inner) {
                sum = step(wide(x[i]), sum);
                y[i] = narrow(sum);
            }
        }
    }
}

fn of_real<T: Real>(a: &Args) {
    scan::<T, f64>(a, f64::NEG_INFINITY, Real::wide, add_real, T::of);
}

fn of_complex<T: Real>(a: &Args) {
    scan::<[T; 2], [f64; 2]>(
        a,
        [f64::NEG_INFINITY, 0.0],
        |x| x.map(Real::wide),
        add_complex,
        |x| x.map(T::of),
    );
}

fn log_cumulative_sum_exp(a: &Args) -> Result<(), Fault> {
    match a.ins[0].dtype {
        DType::F32 => of_real::<f32>(a),
        DType::F64 => of_real::<f64>(a),
        DType::C64 => of_complex::<f32>(a),
        _ => of_complex::<f64>(a),
    }
    Ok(())
}

/// Routines of this family.
pub(super) static ROUTINES: &[Routine] = &[Routine {
    name: "log_cumulative_sum_exp",
    run: log_cumulative_sum_exp,
    cost: |a| NS * a.ins[0].len() as u64,
}];
