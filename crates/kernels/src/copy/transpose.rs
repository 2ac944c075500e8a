//! Transposes of small blocks.

use crate::isa::Isa;

/// `dst[r·ds + c] = src[c·ss + r]` for a block that fits the first-level cache; strides in elements of `elem` bytes.
///
/// # Safety
/// The block must be valid at both addresses.
pub(crate) unsafe fn transpose(
    isa: Isa,
    elem: usize,
    rows: usize,
    cols: usize,
    dst: *mut u8,
    ds: isize,
    src: *const u8,
    ss: isize,
) {
    // SAFETY: the contract is the caller's; the vector form runs only on AVX-512.
    unsafe {
        match (isa, elem) {
            #[cfg(target_arch = "x86_64")]
            (Isa::Avx512, 1) => x86::blocks::<x86::E1>(rows, cols, dst, ds, src, ss),
            #[cfg(target_arch = "x86_64")]
            (Isa::Avx512, 2) => x86::blocks::<x86::E2>(rows, cols, dst, ds, src, ss),
            #[cfg(target_arch = "x86_64")]
            (Isa::Avx512, 4) => x86::blocks::<x86::E4>(rows, cols, dst, ds, src, ss),
            (_, 1) => scalar::<u8>(rows, cols, dst.cast(), ds, src.cast(), ss),
            (_, 2) => scalar::<u16>(rows, cols, dst.cast(), ds, src.cast(), ss),
            (_, 4) => scalar::<u32>(rows, cols, dst.cast(), ds, src.cast(), ss),
            (_, 8) => scalar::<u64>(rows, cols, dst.cast(), ds, src.cast(), ss),
            _ => scalar::<[u64; 2]>(rows, cols, dst.cast(), ds, src.cast(), ss),
        }
    }
}

/// Element by element, in strips of eight rows.
///
/// # Safety
/// As [`transpose`].
unsafe fn scalar<T: Copy>(rows: usize, cols: usize, dst: *mut T, ds: isize, src: *const T, ss: isize) {
    for r0 in (0..rows).step_by(8) {
        for c in 0..cols {
            for r in r0..(r0 + 8).min(rows) {
                // SAFETY: the element is inside the block.
                unsafe {
                    *dst.offset(r as isize * ds + c as isize) = *src.offset(c as isize * ss + r as isize);
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use crate::gemm::pack512::transpose16;

    /// An element size that is transposed as 32-bit lanes.
    pub(super) trait Element {
        const SIZE: usize;
        /// Loads 16 elements into lanes.
        ///
        /// # Safety
        /// `p` must be readable for them; AVX-512 F.
        unsafe fn load(p: *const u8) -> __m512i;
        /// Stores 16 lanes.
        ///
        /// # Safety
        /// `p` must be writable for them; AVX-512 F.
        unsafe fn store(p: *mut u8, v: __m512i);
    }

    pub(super) struct E1;
    pub(super) struct E2;
    pub(super) struct E4;

    impl Element for E1 {
        const SIZE: usize = 1;
        #[inline]
        #[target_feature(enable = "avx512f")]
        unsafe fn load(p: *const u8) -> __m512i {
            // SAFETY: readable by contract.
            _mm512_cvtepu8_epi32(unsafe { _mm_loadu_si128(p.cast()) })
        }
        #[inline]
        #[target_feature(enable = "avx512f")]
        unsafe fn store(p: *mut u8, v: __m512i) {
            // SAFETY: writable by contract.
            unsafe { _mm_storeu_si128(p.cast(), _mm512_cvtepi32_epi8(v)) }
        }
    }

    impl Element for E2 {
        const SIZE: usize = 2;
        #[inline]
        #[target_feature(enable = "avx512f")]
        unsafe fn load(p: *const u8) -> __m512i {
            // SAFETY: readable by contract.
            _mm512_cvtepu16_epi32(unsafe { _mm256_loadu_si256(p.cast()) })
        }
        #[inline]
        #[target_feature(enable = "avx512f")]
        unsafe fn store(p: *mut u8, v: __m512i) {
            // SAFETY: writable by contract.
            unsafe { _mm256_storeu_si256(p.cast(), _mm512_cvtepi32_epi16(v)) }
        }
    }

    impl Element for E4 {
        const SIZE: usize = 4;
        #[inline]
        #[target_feature(enable = "avx512f")]
        unsafe fn load(p: *const u8) -> __m512i {
            // SAFETY: readable by contract.
            unsafe { _mm512_loadu_si512(p.cast()) }
        }
        #[inline]
        #[target_feature(enable = "avx512f")]
        unsafe fn store(p: *mut u8, v: __m512i) {
            // SAFETY: writable by contract.
            unsafe { _mm512_storeu_si512(p.cast(), v) }
        }
    }

    /// Blocks of 16×16 in registers, edges element by element.
    ///
    /// # Safety
    /// As [`transpose`](super::transpose), on a processor with AVX-512F.
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn blocks<E: Element>(
        rows: usize,
        cols: usize,
        dst: *mut u8,
        ds: isize,
        src: *const u8,
        ss: isize,
    ) {
        let size = E::SIZE as isize;
        let to = |r: usize, c: usize| dst.wrapping_offset((r as isize * ds + c as isize) * size);
        let from = |c: usize, r: usize| src.wrapping_offset((c as isize * ss + r as isize) * size);
        let (full_rows, full_cols) = (rows / 16 * 16, cols / 16 * 16);
        for r in (0..full_rows).step_by(16) {
            for c in (0..full_cols).step_by(16) {
                let mut v = [_mm512_setzero_si512(); 16];
                // SAFETY: the whole 16×16 block is inside.
                unsafe {
                    for (i, v) in v.iter_mut().enumerate() {
                        *v = E::load(from(c + i, r));
                    }
                    for (i, &v) in transpose16(v).iter().enumerate() {
                        E::store(to(r + i, c), v);
                    }
                }
            }
        }
        for r in 0..rows {
            let edge = if r < full_rows { full_cols } else { 0 };
            for c in edge..cols {
                // SAFETY: the element is inside the block.
                unsafe { std::ptr::copy_nonoverlapping(from(c, r), to(r, c), E::SIZE) }
            }
        }
    }
}
