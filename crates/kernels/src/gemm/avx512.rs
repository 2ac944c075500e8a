//! Tiles of 12×32 in AVX-512 registers: 24 accumulators, two vectors of B, one broadcast of A.

use std::arch::x86_64::*;

const MR: usize = 12;

/// f32 tile; see [`TileFn`](super::kernel::TileFn).
///
/// # Safety
/// As the function type says, on a processor with AVX-512F.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn tile_f32(
    h: usize,
    w: usize,
    units: usize,
    a: *const u32,
    b: *const u32,
    c: *mut f32,
    ldc: usize,
    accumulate: bool,
) {
    let out = std::ptr::null_mut();
    macro_rules! rows {
        ($($h:literal)*) => { match h {
            // SAFETY: the contract is the caller's.
            $($h => unsafe { rows_f32::<$h, false>(w, units, a.cast(), b.cast(), c, ldc, accumulate, out, 0) },)*
            _ => {}
        } };
    }
    rows!(1 2 3 4 5 6 7 8 9 10 11 12)
}

/// bf16 tile over pairs; see [`TileFn`](super::kernel::TileFn). Denormal operands count as zero, as the instruction
/// has it.
///
/// # Safety
/// As the function type says, on a processor with AVX-512F and AVX-512-BF16.
#[target_feature(enable = "avx512f,avx512bf16")]
pub(super) unsafe fn tile_bf16(
    h: usize,
    w: usize,
    units: usize,
    a: *const u32,
    b: *const u32,
    c: *mut f32,
    ldc: usize,
    accumulate: bool,
) {
    let out = std::ptr::null_mut();
    macro_rules! rows {
        ($($h:literal)*) => { match h {
            // SAFETY: the contract is the caller's.
            $($h => unsafe { rows_bf16::<$h, false>(w, units, a.cast(), b.cast(), c, ldc, accumulate, out, 0) },)*
            _ => {}
        } };
    }
    rows!(1 2 3 4 5 6 7 8 9 10 11 12)
}

/// [`tile_bf16`] that adds to the sums, when `accumulate`, and stores bf16; see [`NarrowFn`](super::kernel::NarrowFn).
///
/// # Safety
/// As the function type says, on a processor with AVX-512 F, BW and VL and AVX-512-BF16.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
pub(super) unsafe fn tile_narrow(
    h: usize,
    w: usize,
    units: usize,
    a: *const u32,
    b: *const u32,
    sums: *mut f32,
    ld: usize,
    accumulate: bool,
    out: *mut u16,
    ldo: usize,
) {
    macro_rules! rows {
        ($($h:literal)*) => { match h {
            // SAFETY: the contract is the caller's.
            $($h => unsafe {
                rows_bf16::<$h, true>(w, units, a.cast(), b.cast(), sums, ld, accumulate, out, ldo)
            },)*
            _ => {}
        } };
    }
    rows!(1 2 3 4 5 6 7 8 9 10 11 12)
}

/// The multiply-add of a vector of f32 lanes.
#[inline]
#[target_feature(enable = "avx512f")]
fn fma_f32(acc: __m512, a: __m512, b: __m512) -> __m512 {
    _mm512_fmadd_ps(a, b, acc)
}

/// The multiply-add of a vector of bf16 pairs.
#[inline]
#[target_feature(enable = "avx512f,avx512bf16")]
fn fma_bf16(acc: __m512, a: __m512, b: __m512) -> __m512 {
    // SAFETY: vectors of equal size, of which every bit pattern is valid.
    let (a, b) =
        unsafe { (std::mem::transmute::<__m512, __m512bh>(a), std::mem::transmute::<__m512, __m512bh>(b)) };
    _mm512_dpbf16_ps(acc, a, b)
}

macro_rules! rows {
    ($name:ident, $fma:ident, $features:literal) => {
        #[target_feature(enable = $features)]
        unsafe fn $name<const H: usize, const NARROW: bool>(
            w: usize,
            units: usize,
            mut a: *const f32,
            mut b: *const f32,
            c: *mut f32,
            ldc: usize,
            accumulate: bool,
            out: *mut u16,
            ldo: usize,
        ) {
            let mut acc = [[_mm512_setzero_ps(); 2]; H];
            if !NARROW || accumulate {
                for i in 0..H {
                    let row = c.wrapping_add(i * ldc);
                    _mm_prefetch::<_MM_HINT_T0>(row.cast());
                    _mm_prefetch::<_MM_HINT_T0>(row.wrapping_add(16).cast());
                }
            }
            if NARROW {
                for i in 0..H {
                    _mm_prefetch::<_MM_HINT_T0>(out.wrapping_add(i * ldo).cast());
                }
            }
            for _ in 0..units {
                // SAFETY: both panels hold `units` units of MR and 32 lanes.
                unsafe {
                    let (b0, b1) = (_mm512_loadu_ps(b), _mm512_loadu_ps(b.add(16)));
                    let mut i = 0;
                    while i < H {
                        let x = _mm512_set1_ps(*a.add(i));
                        acc[i][0] = $fma(acc[i][0], x, b0);
                        acc[i][1] = $fma(acc[i][1], x, b1);
                        i += 1;
                    }
                    a = a.add(MR);
                    b = b.add(32);
                }
            }
            let lanes = if w >= 32 { u32::MAX } else { (1u32 << w) - 1 };
            let masks = [lanes as u16, (lanes >> 16) as u16];
            for i in 0..H {
                for j in 0..2 {
                    // SAFETY: row i of C is writable (and readable to accumulate) for `w` elements, and masked lanes
                    // are not accessed.
                    unsafe {
                        let p = c.wrapping_add(i * ldc + 16 * j);
                        let mut v = acc[i][j];
                        if accumulate {
                            v = _mm512_add_ps(v, _mm512_maskz_loadu_ps(masks[j], p));
                        }
                        if NARROW {
                            // SAFETY: vectors of equal size, of which every bit pattern is valid.
                            let v = std::mem::transmute::<__m256bh, __m256i>(_mm512_cvtneps_pbh(v));
                            let p = out.wrapping_add(i * ldo + 16 * j);
                            _mm256_mask_storeu_epi16(p.cast(), masks[j], v);
                        } else if masks[j] == u16::MAX {
                            _mm512_storeu_ps(p, v);
                        } else {
                            _mm512_mask_storeu_ps(p, masks[j], v);
                        }
                    }
                }
            }
        }
    };
}

rows!(rows_f32, fma_f32, "avx512f,avx512bw,avx512vl,avx512bf16");
rows!(rows_bf16, fma_bf16, "avx512f,avx512bw,avx512vl,avx512bf16");
