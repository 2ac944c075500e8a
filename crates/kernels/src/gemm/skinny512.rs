//! The loops of a thin product with AVX-512.

use std::arch::x86_64::*;

use super::skinny::Strip;

/// Lanes of a packed panel of A.
const MR: usize = 12;
/// Rows of B whose products are summed before the sums are stored.
const DEPTH: usize = 8;

/// Calls a function generic over the number of rows.
macro_rules! by_rows {
    ($f:ident, $s:expr) => {
        // SAFETY: the contract is the caller's.
        unsafe {
            match $s.rows {
                1 => $f::<1>($s),
                2 => $f::<2>($s),
                3 => $f::<3>($s),
                4 => $f::<4>($s),
                5 => $f::<5>($s),
                6 => $f::<6>($s),
                7 => $f::<7>($s),
                _ => $f::<8>($s),
            }
        }
    };
}

/// Rows of f32.
///
/// # Safety
/// The strip's pointers must be valid for its sizes.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
pub(super) unsafe fn rows_f32(s: &Strip) {
    by_rows!(rows_f32_n, s);
}

/// Rows of bf16.
///
/// # Safety
/// As [`rows_f32`].
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
pub(super) unsafe fn rows_bf16(s: &Strip) {
    by_rows!(rows_bf16_n, s);
}

/// Columns of f32.
///
/// # Safety
/// As [`rows_f32`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512bf16")]
pub(super) unsafe fn dots_f32(s: &Strip) {
    by_rows!(dots_f32_n, s);
}

/// Columns of bf16.
///
/// # Safety
/// As [`rows_f32`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512bf16")]
pub(super) unsafe fn dots_bf16(s: &Strip) {
    by_rows!(dots_bf16_n, s);
}

#[inline]
#[target_feature(enable = "avx512f")]
fn fma_f32(acc: __m512, a: __m512, b: __m512) -> __m512 {
    _mm512_fmadd_ps(a, b, acc)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bf16")]
fn fma_bf16(acc: __m512, a: __m512, b: __m512) -> __m512 {
    // SAFETY: vectors of equal size, of which every bit pattern is valid.
    let (a, b) =
        unsafe { (std::mem::transmute::<__m512, __m512bh>(a), std::mem::transmute::<__m512, __m512bh>(b)) };
    _mm512_dpbf16_ps(acc, a, b)
}

/// Mask of the first `n` of 32 (saturating).
fn first(n: usize) -> u32 {
    if n >= 32 {
        u32::MAX
    } else {
        (1 << n) - 1
    }
}

/// Two vectors of f32 from a row of B; `depth` is its row number.
///
/// # Safety
/// The masked elements of row `depth` must be readable.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn load_f32(s: &Strip, depth: usize, j: usize, mask: u32) -> [__m512; 2] {
    let p = s.b.cast::<f32>().wrapping_offset(depth as isize * s.ldb).wrapping_add(j);
    let ahead = p.wrapping_offset(DEPTH as isize * s.ldb);
    // SAFETY: masked lanes are not read; a prefetch reads nothing.
    unsafe {
        _mm_prefetch::<_MM_HINT_T0>(ahead.cast());
        _mm_prefetch::<_MM_HINT_T0>(ahead.wrapping_add(16).cast());
        [
            _mm512_maskz_loadu_ps(mask as u16, p),
            _mm512_maskz_loadu_ps((mask >> 16) as u16, p.wrapping_add(16)),
        ]
    }
}

/// Two vectors of bf16 pairs from rows `2·unit` and `2·unit + 1` of B.
///
/// # Safety
/// The masked elements of both rows (of one, where k ends) must be readable.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn load_bf16(s: &Strip, unit: usize, j: usize, mask: u32) -> [__m512; 2] {
    let p = s.b.cast::<u16>().wrapping_offset(2 * unit as isize * s.ldb).wrapping_add(j);
    let next = p.wrapping_offset(s.ldb);
    let ahead = p.wrapping_offset(2 * DEPTH as isize * s.ldb);
    // SAFETY: masked lanes are not read; a prefetch reads nothing.
    unsafe {
        _mm_prefetch::<_MM_HINT_T0>(ahead.cast());
        _mm_prefetch::<_MM_HINT_T0>(ahead.wrapping_offset(s.ldb).cast());
        let x = _mm512_maskz_loadu_epi16(mask, p.cast());
        let second = if 2 * unit + 1 < s.k { mask } else { 0 };
        let y = _mm512_maskz_loadu_epi16(second, next.cast());
        let pair = |x: __m256i, y: __m256i| {
            let high = _mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(y));
            _mm512_castsi512_ps(_mm512_or_si512(_mm512_cvtepu16_epi32(x), high))
        };
        [
            pair(_mm512_castsi512_si256(x), _mm512_castsi512_si256(y)),
            pair(_mm512_extracti64x4_epi64::<1>(x), _mm512_extracti64x4_epi64::<1>(y)),
        ]
    }
}

macro_rules! rows {
    ($name:ident, $load:ident, $fma:ident, $per_unit:literal) => {
        #[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
        unsafe fn $name<const M: usize>(s: &Strip) {
            let units = s.k.div_ceil($per_unit);
            for u in (0..units).step_by(DEPTH) {
                let end = (u + DEPTH).min(units);
                for j in (0..s.columns).step_by(32) {
                    let mask = first(s.columns - j);
                    let sums = s.sums.wrapping_add(j);
                    let mut acc = [[_mm512_setzero_ps(); 2]; M];
                    // SAFETY: rows of sums have room for whole vectors; unit v is inside A and B, and lanes beyond
                    // the columns are masked.
                    unsafe {
                        if u > 0 {
                            for (i, acc) in acc.iter_mut().enumerate() {
                                acc[0] = _mm512_loadu_ps(sums.add(i * Strip::LD));
                                acc[1] = _mm512_loadu_ps(sums.add(i * Strip::LD + 16));
                            }
                        }
                        for v in u..end {
                            let b = $load(s, v, j, mask);
                            let a = s.a.cast::<f32>().add(v * MR);
                            for (i, acc) in acc.iter_mut().enumerate() {
                                let x = _mm512_set1_ps(*a.add(i));
                                acc[0] = $fma(acc[0], x, b[0]);
                                acc[1] = $fma(acc[1], x, b[1]);
                            }
                        }
                        for (i, acc) in acc.iter().enumerate() {
                            _mm512_storeu_ps(sums.add(i * Strip::LD), acc[0]);
                            _mm512_storeu_ps(sums.add(i * Strip::LD + 16), acc[1]);
                        }
                    }
                }
            }
        }
    };
}

rows!(rows_f32_n, load_f32, fma_f32, 1);
rows!(rows_bf16_n, load_bf16, fma_bf16, 2);

/// Up to 16 f32; further lanes are zero.
///
/// # Safety
/// `p` must be readable for `min(n, 16)` elements.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn along_f32(p: *const f32, n: usize) -> __m512 {
    // SAFETY: masked lanes are not read.
    unsafe { _mm512_maskz_loadu_ps(first(n) as u16, p) }
}

/// Up to 32 bf16; further lanes are zero.
///
/// # Safety
/// `p` must be readable for `min(n, 32)` elements.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn along_bf16(p: *const u16, n: usize) -> __m512 {
    // SAFETY: masked lanes are not read.
    _mm512_castsi512_ps(unsafe { _mm512_maskz_loadu_epi16(first(n), p.cast()) })
}

/// Columns that are multiplied side by side.
const SIDE: usize = 3;
/// Bytes of a row of A in one block of k: the rows of a block stay in the first-level cache.
const ROW_BYTES: usize = 2048;

/// The sums of the lanes of eight vectors.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn sums8(v: [__m512; 8]) -> [f32; 8] {
    let half = v.map(|v| _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps::<1>(v)));
    let pair = |i: usize| _mm256_hadd_ps(half[2 * i], half[2 * i + 1]);
    let (x, y) = (_mm256_hadd_ps(pair(0), pair(1)), _mm256_hadd_ps(pair(2), pair(3)));
    let sums = _mm256_add_ps(_mm256_permute2f128_ps::<0x20>(x, y), _mm256_permute2f128_ps::<0x31>(x, y));
    // SAFETY: vector and array have equal size.
    unsafe { std::mem::transmute::<__m256, [f32; 8]>(sums) }
}

macro_rules! dots {
    ($name:ident, $ty:ty, $lanes:literal, $load:ident, $fma:ident) => {
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512bf16")]
        unsafe fn $name<const M: usize>(s: &Strip) {
            let block = ROW_BYTES / size_of::<$ty>();
            for k0 in (0..s.k).step_by(block) {
                let k1 = s.k.min(k0 + block);
                for j in (0..s.columns).step_by(SIDE) {
                    let mut acc = [[_mm512_setzero_ps(); 8]; SIDE];
                    // Columns past the end repeat the last one and are not stored.
                    let columns: [*const $ty; SIDE] = std::array::from_fn(|l| {
                        let column = (j + l).min(s.columns - 1);
                        s.b.cast::<$ty>().wrapping_offset(column as isize * s.ldb)
                    });
                    let ahead = SIDE as isize * s.ldb;
                    for d in (k0..k1).step_by($lanes) {
                        let n = k1 - d;
                        let mut b = [_mm512_setzero_ps(); SIDE];
                        // SAFETY: elements d..k1 of every column and row are readable, further lanes masked.
                        unsafe {
                            for (b, column) in b.iter_mut().zip(&columns) {
                                let p = column.add(d);
                                _mm_prefetch::<_MM_HINT_T0>(p.wrapping_offset(ahead).cast());
                                *b = $load(p, n);
                            }
                            for i in 0..M {
                                let x = $load(s.a.cast::<$ty>().add(i * s.k + d), n);
                                for l in 0..SIDE {
                                    acc[l][i] = $fma(acc[l][i], x, b[l]);
                                }
                            }
                        }
                    }
                    for (l, &acc) in acc.iter().enumerate().take(s.columns - j) {
                        let sums = sums8(acc);
                        for (i, &sum) in sums.iter().enumerate().take(M) {
                            // SAFETY: the sums hold the strip's rows and columns.
                            unsafe {
                                let to = s.sums.add(i * Strip::LD + j + l);
                                *to = if k0 > 0 { *to + sum } else { sum };
                            }
                        }
                    }
                }
            }
        }
    };
}

dots!(dots_f32_n, f32, 16, along_f32, fma_f32);
dots!(dots_bf16_n, u16, 32, along_bf16, fma_bf16);
