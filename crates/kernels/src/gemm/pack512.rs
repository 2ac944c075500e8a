//! Packing with AVX-512: contiguous lanes are copied, contiguous depth is transposed 16×16 in registers.

use std::arch::x86_64::*;

use super::float::{from_bf16, from_f16};

/// Bytes along k from a read to the line that is asked for.
const AHEAD: usize = 256;
/// Rows from a read to the row that is asked for, where lanes lie side by side.
const ROWS_AHEAD: usize = 16;

/// How operand elements become 32-bit units.
pub(crate) trait Source {
    /// Elements in a unit.
    const PER_UNIT: usize;
    /// Bytes of an element.
    const SIZE: usize;

    /// Loads the first `n <= 16·PER_UNIT` elements of 16 units that lie along k; further ones are zero.
    ///
    /// # Safety
    /// `p` must be readable for `n` elements; AVX-512 F, BW and VL.
    unsafe fn along(p: *const u8, n: usize) -> __m512i;

    /// Loads one unit of each of the first lanes that `mask` names, lanes lying side by side; `next` is the row of
    /// the unit's second element, or null for zero.
    ///
    /// # Safety
    /// Both rows must be readable at the masked lanes; AVX-512 F, BW and VL.
    unsafe fn across(p: *const u8, next: *const u8, mask: u16) -> __m512i;

    /// [`Source::across`] for 32 lanes.
    ///
    /// # Safety
    /// As [`Source::across`].
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    unsafe fn across32(p: *const u8, next: *const u8, mask: u32) -> [__m512i; 2] {
        let half = |p: *const u8| if p.is_null() { p } else { p.wrapping_add(16 * Self::SIZE) };
        // SAFETY: the contract is the caller's.
        unsafe {
            [Self::across(p, next, mask as u16), Self::across(half(p), half(next), (mask >> 16) as u16)]
        }
    }

    /// One unit, from the element at `p` and the one at `next` (or null for zero).
    ///
    /// # Safety
    /// The non-null pointers must be readable for an element.
    unsafe fn one(p: *const u8, next: *const u8) -> u32;
}

/// Units are the elements' own 32 bits.
pub(crate) struct Raw;
/// Two bf16 neighbours along k.
pub(crate) struct Bf16Pairs;
/// bf16 widened to f32.
pub(crate) struct Bf16Wide;
/// f16 widened to f32.
pub(crate) struct F16Wide;

/// Mask of the first `n` of 32 (saturating).
fn first(n: usize) -> u32 {
    if n >= 32 {
        u32::MAX
    } else {
        (1 << n) - 1
    }
}

impl Source for Raw {
    const PER_UNIT: usize = 1;
    const SIZE: usize = 4;
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    unsafe fn along(p: *const u8, n: usize) -> __m512i {
        // SAFETY: masked lanes are not read.
        unsafe { _mm512_maskz_loadu_epi32(first(n) as u16, p.cast()) }
    }
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    unsafe fn across(p: *const u8, _: *const u8, mask: u16) -> __m512i {
        // SAFETY: masked lanes are not read.
        unsafe { _mm512_maskz_loadu_epi32(mask, p.cast()) }
    }
    #[inline]
    unsafe fn one(p: *const u8, _: *const u8) -> u32 {
        // SAFETY: readable by contract.
        unsafe { p.cast::<u32>().read_unaligned() }
    }
}

impl Source for Bf16Pairs {
    const PER_UNIT: usize = 2;
    const SIZE: usize = 2;
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    unsafe fn along(p: *const u8, n: usize) -> __m512i {
        // SAFETY: masked lanes are not read.
        unsafe { _mm512_maskz_loadu_epi16(first(n), p.cast()) }
    }
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    unsafe fn across(p: *const u8, next: *const u8, mask: u16) -> __m512i {
        // SAFETY: masked lanes are not read, and a null row is not either.
        unsafe {
            let low = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, p.cast()));
            if next.is_null() {
                return low;
            }
            let high = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, next.cast()));
            _mm512_or_si512(low, _mm512_slli_epi32::<16>(high))
        }
    }
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    unsafe fn across32(p: *const u8, next: *const u8, mask: u32) -> [__m512i; 2] {
        // Element i of the first row at 2i, of the second at 2i + 1.
        const INTERLEAVE: [[u16; 32]; 2] = {
            let mut to = [[0; 32]; 2];
            let mut i = 0;
            while i < 32 {
                to[i / 16][i % 16 * 2] = i as u16;
                to[i / 16][i % 16 * 2 + 1] = i as u16 + 32;
                i += 1;
            }
            to
        };
        // SAFETY: masked lanes are not read, and a null row is not either.
        unsafe {
            let low = _mm512_maskz_loadu_epi16(mask, p.cast());
            let high = if next.is_null() {
                _mm512_setzero_si512()
            } else {
                _mm512_maskz_loadu_epi16(mask, next.cast())
            };
            INTERLEAVE.map(|to| _mm512_permutex2var_epi16(low, _mm512_loadu_epi16(to.as_ptr().cast()), high))
        }
    }
    #[inline]
    unsafe fn one(p: *const u8, next: *const u8) -> u32 {
        // SAFETY: readable by contract.
        unsafe {
            let low = u32::from(p.cast::<u16>().read_unaligned());
            if next.is_null() {
                return low;
            }
            low | u32::from(next.cast::<u16>().read_unaligned()) << 16
        }
    }
}

impl Source for Bf16Wide {
    const PER_UNIT: usize = 1;
    const SIZE: usize = 2;
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    unsafe fn along(p: *const u8, n: usize) -> __m512i {
        // SAFETY: as `across`.
        unsafe { Self::across(p, p, first(n) as u16) }
    }
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    unsafe fn across(p: *const u8, _: *const u8, mask: u16) -> __m512i {
        // SAFETY: masked lanes are not read.
        let v = unsafe { _mm256_maskz_loadu_epi16(mask, p.cast()) };
        _mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(v))
    }
    #[inline]
    unsafe fn one(p: *const u8, _: *const u8) -> u32 {
        // SAFETY: readable by contract.
        from_bf16(unsafe { p.cast::<u16>().read_unaligned() }).to_bits()
    }
}

impl Source for F16Wide {
    const PER_UNIT: usize = 1;
    const SIZE: usize = 2;
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    unsafe fn along(p: *const u8, n: usize) -> __m512i {
        // SAFETY: as `across`.
        unsafe { Self::across(p, p, first(n) as u16) }
    }
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    unsafe fn across(p: *const u8, _: *const u8, mask: u16) -> __m512i {
        // SAFETY: masked lanes are not read.
        let v = unsafe { _mm256_maskz_loadu_epi16(mask, p.cast()) };
        _mm512_castps_si512(_mm512_cvtph_ps(v))
    }
    #[inline]
    unsafe fn one(p: *const u8, _: *const u8) -> u32 {
        // SAFETY: readable by contract.
        from_f16(unsafe { p.cast::<u16>().read_unaligned() }).to_bits()
    }
}

/// Packs a panel of `W` lanes; see [`PackFn`](super::kernel::PackFn).
///
/// # Safety
/// As the function type says, on a processor with AVX-512 F, BW and VL.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
pub(super) unsafe fn pack<S: Source, const W: usize>(
    src: *const u8,
    lane: isize,
    depth: isize,
    width: usize,
    k: usize,
    dst: *mut u32,
) {
    let at =
        |l: usize, d: usize| src.wrapping_offset((l as isize * lane + d as isize * depth) * S::SIZE as isize);
    let second = |l: usize, d: usize| {
        if d + 1 < k {
            at(l, d + 1)
        } else {
            std::ptr::null()
        }
    };
    let total = k.div_ceil(S::PER_UNIT);
    if depth == 1 && k > 1 {
        for g in (0..W).step_by(16) {
            let out = first(W - g) as u16;
            for d in (0..k).step_by(16 * S::PER_UNIT) {
                let mut rows = [_mm512_setzero_si512(); 16];
                for (i, row) in rows.iter_mut().enumerate().take(width.saturating_sub(g)) {
                    // SAFETY: lane g + i is below the width and k - d elements are left along k.
                    *row = unsafe { S::along(at(g + i, d), k - d) };
                    _mm_prefetch::<_MM_HINT_T0>(at(g + i, d).wrapping_add(AHEAD).cast());
                }
                let rows = transpose16(rows);
                let units = (k - d).div_ceil(S::PER_UNIT).min(16);
                // The lanes beyond W of a unit are those of the next one, which is written later; the last has none.
                let whole = if d / S::PER_UNIT + units < total { units } else { units - 1 };
                for (i, &row) in rows.iter().enumerate().take(units) {
                    // SAFETY: the unit lies in the panel, and so does the next, or lanes beyond W are masked.
                    unsafe {
                        let p = dst.add((d / S::PER_UNIT + i) * W + g);
                        if i < whole {
                            _mm512_storeu_epi32(p.cast(), row);
                        } else {
                            _mm512_mask_storeu_epi32(p.cast(), out, row);
                        }
                    }
                }
            }
        }
    } else if lane == 1 {
        for (u, d) in (0..k).step_by(S::PER_UNIT).enumerate() {
            for i in 0..S::PER_UNIT {
                _mm_prefetch::<_MM_HINT_T0>(at(0, d + i + ROWS_AHEAD).cast());
            }
            if W == 32 {
                // SAFETY: masked lanes are below the width; the unit lies in the panel.
                unsafe {
                    let v = S::across32(at(0, d), second(0, d), first(width));
                    _mm512_storeu_epi32(dst.add(u * W).cast(), v[0]);
                    _mm512_storeu_epi32(dst.add(u * W + 16).cast(), v[1]);
                }
                continue;
            }
            for g in (0..W).step_by(16) {
                let mask = first(width.saturating_sub(g)) as u16;
                // SAFETY: masked lanes are below the width; the unit lies in the panel.
                unsafe {
                    let v = S::across(at(g, d), second(g, d), mask);
                    _mm512_mask_storeu_epi32(dst.add(u * W + g).cast(), first(W - g) as u16, v);
                }
            }
        }
    } else if lane == 0 {
        for (u, d) in (0..k).step_by(S::PER_UNIT).enumerate() {
            // SAFETY: every lane is the same readable element; the unit lies in the panel.
            unsafe {
                let v = _mm512_set1_epi32(S::one(at(0, d), second(0, d)) as i32);
                for g in (0..W).step_by(16) {
                    let mask = first(width.saturating_sub(g)) as u16;
                    let v = _mm512_maskz_mov_epi32(mask, v);
                    _mm512_mask_storeu_epi32(dst.add(u * W + g).cast(), first(W - g) as u16, v);
                }
            }
        }
    } else {
        for (u, d) in (0..k).step_by(S::PER_UNIT).enumerate() {
            for l in 0..W {
                // SAFETY: the lane is below the width; the unit lies in the panel.
                unsafe {
                    *dst.add(u * W + l) = if l < width { S::one(at(l, d), second(l, d)) } else { 0 };
                }
            }
        }
    }
}

/// Transposes a 16×16 matrix of 32-bit elements.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn transpose16(r: [__m512i; 16]) -> [__m512i; 16] {
    let mut t = r;
    for i in 0..8 {
        t[2 * i] = _mm512_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
        t[2 * i + 1] = _mm512_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
    }
    let mut u = t;
    for i in 0..4 {
        u[4 * i] = _mm512_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
        u[4 * i + 1] = _mm512_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
        u[4 * i + 2] = _mm512_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
        u[4 * i + 3] = _mm512_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
    }
    // Now u[4q + i] holds, in its 128-bit part p, column 4p + i of rows 4q..4q+4.
    let mut w = u;
    for i in 0..4 {
        w[i] = _mm512_shuffle_i32x4::<0x88>(u[i], u[4 + i]);
        w[4 + i] = _mm512_shuffle_i32x4::<0xdd>(u[i], u[4 + i]);
        w[8 + i] = _mm512_shuffle_i32x4::<0x88>(u[8 + i], u[12 + i]);
        w[12 + i] = _mm512_shuffle_i32x4::<0xdd>(u[8 + i], u[12 + i]);
    }
    let mut out = w;
    for i in 0..8 {
        out[i] = _mm512_shuffle_i32x4::<0x88>(w[i], w[8 + i]);
        out[8 + i] = _mm512_shuffle_i32x4::<0xdd>(w[i], w[8 + i]);
    }
    out
}
