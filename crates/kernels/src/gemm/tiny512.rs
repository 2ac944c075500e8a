//! Matrices of a few rows and columns, where packing would cost more than the product: f32, B with contiguous rows.

use std::arch::x86_64::*;

use tnrs_types::DType;

use super::driver::{Operand, Size};
use super::epilogue::Epilogue;
use super::kernel::Core;
use crate::isa::Isa;

/// Most rows, columns and terms.
const MOST: usize = 32;
/// Elements of a vector.
const LANES: usize = 16;
/// Rows whose sums run side by side.
const ROWS: usize = 4;

/// Whether [`multiply`] is meant for this product.
pub(super) fn suits(core: &Core, size: Size, b: Operand) -> bool {
    let small = |n: usize| (1..=MOST).contains(&n);
    core.isa == Isa::Avx512
        && core.dtype == DType::F32
        && b.lane == 1
        && small(size.m)
        && small(size.n)
        && small(size.k)
}

/// `epilogue(A·B)` for a product that [`suits`].
///
/// # Safety
/// Operands and every place the epilogue reaches must be valid for `size`.
pub(super) unsafe fn multiply(size: Size, a: Operand, b: Operand, epilogue: &Epilogue) {
    let wide = size.n > LANES;
    // SAFETY: the contract is the caller's; the processor has AVX-512F.
    let run = |c: *mut f32, ld: usize| unsafe {
        if wide {
            rows::<2>(size, a, b, c, ld)
        } else {
            rows::<1>(size, a, b, c, ld)
        }
    };
    match epilogue.accumulator() {
        Some((c, ld)) if epilogue.is_store() => run(c, ld),
        _ => {
            let mut sums = [0f32; MOST * MOST];
            run(sums.as_mut_ptr(), MOST);
            // SAFETY: the sums are those of the product; the rest is the caller's contract.
            unsafe { epilogue.finish(sums.as_ptr(), MOST, (0, 0), (size.m, size.n)) };
        }
    }
}

/// Sums of `V` vectors of columns.
///
/// # Safety
/// As [`multiply`], with `c` valid for the product in rows `ld` apart.
#[target_feature(enable = "avx512f")]
unsafe fn rows<const V: usize>(size: Size, a: Operand, b: Operand, c: *mut f32, ld: usize) {
    let (from, rhs) = (a.ptr.cast::<f32>(), b.ptr.cast::<f32>());
    let mut masks = [u16::MAX; V];
    let tail = size.n - (V - 1) * LANES;
    if tail < LANES {
        masks[V - 1] = (1 << tail) - 1;
    }
    for first in (0..size.m).step_by(ROWS) {
        // Rows past the end repeat the last one.
        let row = |i: usize| from.wrapping_offset((first + i).min(size.m - 1) as isize * a.lane);
        let lines: [*const f32; ROWS] = std::array::from_fn(row);
        let mut sums = [[_mm512_setzero_ps(); V]; ROWS];
        for d in 0..size.k as isize {
            // SAFETY: masked elements of row d of B, and element d of rows of A.
            unsafe {
                let line = rhs.offset(d * b.depth);
                let mut v = [_mm512_setzero_ps(); V];
                for (j, v) in v.iter_mut().enumerate() {
                    *v = _mm512_maskz_loadu_ps(masks[j], line.wrapping_add(j * LANES));
                }
                for i in 0..ROWS {
                    let x = _mm512_set1_ps(*lines[i].offset(d * a.depth));
                    for j in 0..V {
                        sums[i][j] = _mm512_fmadd_ps(x, v[j], sums[i][j]);
                    }
                }
            }
        }
        for (i, sums) in sums.iter().enumerate().take(size.m - first) {
            for (j, &sum) in sums.iter().enumerate() {
                // SAFETY: masked elements of a row of C.
                unsafe { _mm512_mask_storeu_ps(c.add((first + i) * ld + j * LANES), masks[j], sum) }
            }
        }
    }
}
