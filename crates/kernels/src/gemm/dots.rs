//! One element of C: the dot product of two rows that lie in order.

use tnrs_types::DType;

use super::driver::{Operand, Size};
use super::epilogue::Epilogue;
use super::float::{Bf16, Elem, F16};
use super::kernel::Core;
use crate::isa::entry;

/// Sums that run side by side.
const LANES: usize = 64;

type DotFn = unsafe fn(k: usize, a: *const u8, b: *const u8, sum: &mut f32);

entry!(DotBody, pick, DotFn, (k: usize, a: *const u8, b: *const u8, sum: &mut f32));

struct Dot<T>(std::marker::PhantomData<T>);

impl<T: Elem> DotBody for Dot<T> {
    #[inline(always)]
    unsafe fn run(k: usize, a: *const u8, b: *const u8, sum: &mut f32) {
        let (a, b) = (a.cast::<T>(), b.cast::<T>());
        let mut sums = [0f32; LANES];
        let whole = k / LANES * LANES;
        // SAFETY: both rows have `k` elements by contract.
        unsafe {
            for d in (0..whole).step_by(LANES) {
                for (l, s) in sums.iter_mut().enumerate() {
                    *s = (*a.add(d + l)).get().mul_add((*b.add(d + l)).get(), *s);
                }
            }
            for d in whole..k {
                sums[d - whole] = (*a.add(d)).get().mul_add((*b.add(d)).get(), sums[d - whole]);
            }
        }
        let mut width = LANES / 2;
        while width > 0 {
            for l in 0..width {
                sums[l] += sums[l + width];
            }
            width /= 2;
        }
        *sum = sums[0];
    }
}

/// Whether [`multiply`] is meant for this product.
pub(super) fn suits(size: Size, a: Operand, b: Operand) -> bool {
    size.m == 1 && size.n == 1 && size.k > 0 && a.depth == 1 && b.depth == 1
}

/// `epilogue(A·B)` for a product that [`suits`].
///
/// # Safety
/// Operands and the place the epilogue reaches must be valid for `size`.
pub(super) unsafe fn multiply(core: &Core, size: Size, a: Operand, b: Operand, epilogue: &Epilogue) {
    let dot = match core.dtype {
        DType::BF16 => pick::<Dot<Bf16>>(core.isa),
        DType::F16 => pick::<Dot<F16>>(core.isa),
        _ => pick::<Dot<f32>>(core.isa),
    };
    let mut sum = 0.0;
    // SAFETY: the contract is the caller's; the sums are one element.
    unsafe {
        dot(size.k, a.ptr, b.ptr, &mut sum);
        epilogue.finish(&raw const sum, 1, (0, 0), (1, 1));
    }
}
