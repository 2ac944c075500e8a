//! The epilogue in AVX-512 registers, for rows whose elements lie side by side.

use std::arch::x86_64::*;

use tnrs_types::DType;

use super::epilogue::{Epilogue, Operand};
use super::float::{from_bf16, from_f16};

/// Elements that wait for an activation function at a time.
const WAITING: usize = 512;

/// Mask of the first `n` of 16 (saturating).
fn first(n: usize) -> u16 {
    if n >= 16 {
        u16::MAX
    } else {
        (1 << n) - 1
    }
}

/// Up to 16 elements of a row, or one element 16 times; masked-off lanes are unspecified.
///
/// # Safety
/// The masked elements must be readable.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn load(o: &Operand, row: usize, col: usize, mask: u16) -> __m512 {
    let at = row as isize * o.row + col as isize * o.col;
    let p = o.ptr.wrapping_offset(at * o.dtype.size() as isize);
    // SAFETY: masked lanes are not read.
    unsafe {
        match (o.dtype, o.col) {
            (DType::BF16, 0) => _mm512_set1_ps(from_bf16(p.cast::<u16>().read_unaligned())),
            (DType::F16, 0) => _mm512_set1_ps(from_f16(p.cast::<u16>().read_unaligned())),
            (_, 0) => _mm512_set1_ps(p.cast::<f32>().read_unaligned()),
            (DType::BF16, _) => {
                let v = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, p.cast()));
                _mm512_castsi512_ps(_mm512_slli_epi32::<16>(v))
            }
            (DType::F16, _) => _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, p.cast())),
            _ => _mm512_maskz_loadu_ps(mask, p.cast()),
        }
    }
}

/// Stores up to 16 elements of C, rounded to its type.
///
/// # Safety
/// The masked elements must be writable.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
unsafe fn put(e: &Epilogue, row: usize, col: usize, mask: u16, v: __m512) {
    let at = row as isize * e.row + col as isize;
    let p = e.c.wrapping_offset(at * e.out.size() as isize);
    // SAFETY: masked lanes are not written; vectors of equal size, of which every bit pattern is valid.
    unsafe {
        match e.out {
            DType::BF16 => {
                let v = std::mem::transmute::<__m256bh, __m256i>(_mm512_cvtneps_pbh(v));
                _mm256_mask_storeu_epi16(p.cast(), mask, v);
            }
            DType::F16 => {
                let v = _mm512_cvtps_ph::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(v);
                _mm256_mask_storeu_epi16(p.cast(), mask, v);
            }
            _ => _mm512_mask_storeu_ps(p.cast(), mask, v),
        }
    }
}

/// [`Epilogue::finish`] where columns of C are contiguous and those of operands contiguous or one element. Denormal
/// results in bf16 become zero.
///
/// # Safety
/// As [`Epilogue::finish`], on a processor with AVX-512 F, BW and VL and AVX-512-BF16.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
pub(super) unsafe fn finish(
    e: &Epilogue,
    src: *const f32,
    ld: usize,
    origin: (usize, usize),
    size: (usize, usize),
) {
    let alpha = _mm512_set1_ps(e.alpha);
    let mut waiting = [std::mem::MaybeUninit::<f32>::uninit(); WAITING];
    let waiting = waiting.as_mut_ptr().cast::<f32>();
    for j0 in (0..size.1).step_by(WAITING) {
        let width = WAITING.min(size.1 - j0);
        let group = WAITING / width;
        for i0 in (0..size.0).step_by(group) {
            let rows = group.min(size.0 - i0);
            for i in 0..rows {
                for j in (0..width).step_by(16) {
                    let mask = first(width - j);
                    let (row, col) = (origin.0 + i0 + i, origin.1 + j0 + j);
                    // SAFETY: the masked elements belong to the tile; the rows of a group fit `waiting`.
                    unsafe {
                        let v = _mm512_maskz_loadu_ps(mask, src.add((i0 + i) * ld + j0 + j));
                        let mut v = _mm512_mul_ps(v, alpha);
                        for bias in [&e.bias_cols, &e.bias_rows].into_iter().flatten() {
                            v = _mm512_add_ps(v, load(bias, row, col, mask));
                        }
                        if e.activation.is_some() {
                            _mm512_mask_storeu_ps(waiting.add(i * width + j), mask, v);
                        } else {
                            put(e, row, col, mask, residual(e, row, col, mask, v));
                        }
                    }
                }
            }
            let Some(f) = e.activation else { continue };
            // SAFETY: `rows · width` elements were written.
            unsafe { f(waiting.cast(), &[waiting.cast_const().cast(); 3], rows * width) }
            for i in 0..rows {
                for j in (0..width).step_by(16) {
                    let mask = first(width - j);
                    let (row, col) = (origin.0 + i0 + i, origin.1 + j0 + j);
                    // SAFETY: as above.
                    unsafe {
                        let v = _mm512_maskz_loadu_ps(mask, waiting.add(i * width + j));
                        put(e, row, col, mask, residual(e, row, col, mask, v));
                    }
                }
            }
        }
    }
}

/// `v` plus the residual's share.
///
/// # Safety
/// The masked elements of the residual must be readable.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn residual(e: &Epilogue, row: usize, col: usize, mask: u16, v: __m512) -> __m512 {
    match &e.residual {
        // SAFETY: the contract is the caller's.
        Some((r, beta)) => _mm512_fmadd_ps(unsafe { load(r, row, col, mask) }, _mm512_set1_ps(*beta), v),
        None => v,
    }
}
