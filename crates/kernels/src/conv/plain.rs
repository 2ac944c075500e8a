//! Convolution of f64, complex and integers by a loop over taps.

use super::desc::{ConvDesc, ConvPtrs};
use super::window::Table;
use crate::gemm::driver::Shared;
use crate::gemm::wide::{activation, Number};
use crate::pool::Pool;

/// [`conv`](super::conv) for elements of `T`.
///
/// # Safety
/// As [`conv`](super::conv).
pub(super) unsafe fn run<T: Number>(pool: &Pool, desc: &ConvDesc, ptrs: &ConvPtrs) {
    /// Output positions that are computed together.
    const LANES: usize = 32;
    let groups = desc.feature_groups * desc.batch_groups;
    let out_batch = desc.batch / desc.batch_groups;
    let features = desc.in_features / desc.feature_groups;
    let rows = desc.out_features / groups;
    let space = desc.output.iter().product::<i64>() as usize;
    let (input, kernel) =
        (Shared(ptrs.input.cast::<T>().cast_mut()), Shared(ptrs.kernel.cast::<T>().cast_mut()));
    let (bias, output) = (Shared(ptrs.bias.cast::<T>().cast_mut()), Shared(ptrs.output.cast::<T>()));
    let act = activation(desc.dtype, desc.activation);
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
                        let w = *kernel.ptr().offset(w as isize + tap);
                        let from = shift + f as i64 * desc.input_strides[1];
                        for (l, s) in sums.iter_mut().enumerate().take(lanes) {
                            if let Some(e) = table.element(t, l) {
                                *s = s.add(w.mul(*input.ptr().offset(from as isize + e)));
                            }
                        }
                    }
                }
            }
            if desc.bias {
                // SAFETY: one bias per output feature.
                let b = unsafe { *bias.ptr().add(o) };
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
                unsafe { *output.ptr().offset(at as isize) = s };
            }
        }
    });
}
