//! Convolution by a loop over taps: of f64, complex and integers, and of the other floats where zeros must not meet NaN.

use tnrs_types::DType;

use super::desc::{ConvDesc, ConvPtrs};
use super::window::Table;
use crate::gemm::driver::Shared;
use crate::gemm::wide::{activation, Number};
use crate::math::half::{Bf16, F16};
use crate::pool::Pool;

/// [`conv`](super::conv) for elements of `T`.
///
/// # Safety
/// As [`conv`](super::conv).
pub(super) unsafe fn run<T: Number>(pool: &Pool, desc: &ConvDesc, ptrs: &ConvPtrs) {
    // SAFETY: the contract is the caller's.
    unsafe { run_as(pool, desc, ptrs, |x: T| x, |x: T| x, |x: T| x) }
}

/// [`conv`](super::conv) for floats of up to 32 bits.
///
/// # Safety
/// As [`conv`](super::conv).
pub(super) unsafe fn run_float(pool: &Pool, desc: &ConvDesc, ptrs: &ConvPtrs) {
    let id = |x: f32| x;
    // SAFETY: the contract is the caller's.
    unsafe {
        match (desc.dtype, desc.out) {
            (DType::BF16, DType::F32) => run_as(pool, desc, ptrs, Bf16::to_f32, id, id),
            (DType::BF16, _) => run_as(pool, desc, ptrs, Bf16::to_f32, Bf16::to_f32, Bf16::from_f32),
            (DType::F16, DType::F32) => run_as(pool, desc, ptrs, F16::to_f32, id, id),
            (DType::F16, _) => run_as(pool, desc, ptrs, F16::to_f32, F16::to_f32, F16::from_f32),
            _ => run_as(pool, desc, ptrs, id, id, id),
        }
    }
}

/// Sums of `T` over operands of `E`, with bias and results of `O`.
///
/// # Safety
/// As [`conv`](super::conv).
unsafe fn run_as<E: Copy + 'static, O: Copy + 'static, T: Number>(
    pool: &Pool,
    desc: &ConvDesc,
    ptrs: &ConvPtrs,
    widen: impl Fn(E) -> T + Sync,
    widen_bias: impl Fn(O) -> T + Sync,
    narrow: impl Fn(T) -> O + Sync,
) {
    /// Output positions that are computed together.
    const LANES: usize = 32;
    let groups = desc.feature_groups * desc.batch_groups;
    let out_batch = desc.batch / desc.batch_groups;
    let features = desc.in_features / desc.feature_groups;
    let rows = desc.out_features / groups;
    let space = desc.output.iter().product::<i64>() as usize;
    let (input, kernel) =
        (Shared(ptrs.input.cast::<E>().cast_mut()), Shared(ptrs.kernel.cast::<E>().cast_mut()));
    let (bias, output) = (Shared(ptrs.bias.cast::<O>().cast_mut()), Shared(ptrs.output.cast::<O>()));
    let sums_type = if desc.dtype.is_reduced_float() { DType::F32 } else { desc.dtype };
    let act = activation(sums_type, desc.activation);
    let scattered = desc.scatters();
    let columns = out_batch * space;
    pool.run(columns.div_ceil(LANES), &|chunk, _| {
        let first = chunk * LANES;
        let lanes = LANES.min(columns - first);
        let mut table = Table::new(desc, LANES);
        table.fill(desc, first, lanes);
        for o in 0..desc.out_features {
            let g = o / rows;
            let shift = if desc.batch_groups > 1 {
                (g * out_batch) as i64 * desc.input_strides[0]
            } else {
                (g * features) as i64 * desc.input_strides[1]
            };
            let mut sums = [T::ZERO; LANES];
            for f in 0..features {
                for (t, &tap) in table.taps.iter().enumerate() {
                    let w = o as i64 * desc.kernel_strides[0] + f as i64 * desc.kernel_strides[1];
                    // SAFETY: a kernel element, and input elements that the table says exist.
                    unsafe {
                        let w = widen(*kernel.ptr().offset(w as isize + tap));
                        let from = shift + f as i64 * desc.input_strides[1];
                        for (l, s) in sums.iter_mut().enumerate().take(lanes) {
                            let x = match table.element(t, l) {
                                Some(e) => widen(*input.ptr().offset(from as isize + e)),
                                None if scattered => continue,
                                None => T::ZERO,
                            };
                            *s = s.add(w.mul(x));
                        }
                    }
                }
            }
            if desc.bias {
                // SAFETY: one bias per output feature.
                let b = widen_bias(unsafe { *bias.ptr().add(o) });
                sums.iter_mut().for_each(|s| *s = s.add(b));
            }
            if let Some(f) = act {
                let p = sums.as_mut_ptr().cast::<u8>();
                // SAFETY: a tile of LANES elements, in place.
                unsafe { f(p, &[p.cast_const(); 3], LANES) };
            }
            for (l, &s) in sums.iter().enumerate().take(lanes) {
                let mut rest = (first + l) as i64;
                let mut at = o as i64 * desc.output_strides[1];
                for d in (0..desc.output.len()).rev() {
                    at += rest % desc.output[d] * desc.output_strides[2 + d];
                    rest /= desc.output[d];
                }
                at += rest * desc.output_strides[0];
                // SAFETY: an output position of this chunk.
                unsafe { *output.ptr().offset(at as isize) = narrow(s) };
            }
        }
    });
}
