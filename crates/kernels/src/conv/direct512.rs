//! Tiles of which one operand is read where it lies: its unit `k` begins `offsets[k]` elements after a base.

use std::arch::x86_64::*;

/// Rows of a packed panel of A.
pub(super) const MR: usize = 12;
/// Columns of a tile.
pub(super) const NR: usize = 32;

/// `c[0..h][0..32] = A·B`, or `+=` with `accumulate`.
///
/// # Safety
/// `a` holds a unit of [`MR`] lanes per offset, `b` is readable for [`NR`] elements from every offset on, and `c`
/// holds `h <= MR` rows of [`NR`] elements `ldc` apart. The processor has AVX-512F.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn tile(
    h: usize,
    offsets: &[i32],
    a: *const f32,
    b: *const f32,
    c: *mut f32,
    ldc: usize,
    accumulate: bool,
) {
    macro_rules! rows {
        ($($h:literal)*) => { match h {
            // SAFETY: the contract is the caller's.
            $($h => unsafe { rows::<$h>(offsets, a, b, c, ldc, accumulate) },)*
            _ => {}
        } };
    }
    rows!(1 2 3 4 5 6 7 8 9 10 11 12)
}

/// # Safety
/// As [`tile`].
#[target_feature(enable = "avx512f")]
unsafe fn rows<const H: usize>(
    offsets: &[i32],
    mut a: *const f32,
    b: *const f32,
    c: *mut f32,
    ldc: usize,
    accumulate: bool,
) {
    let mut acc = [[_mm512_setzero_ps(); 2]; H];
    for i in 0..H {
        let row = c.wrapping_add(i * ldc);
        _mm_prefetch::<_MM_HINT_T0>(row.cast());
        _mm_prefetch::<_MM_HINT_T0>(row.wrapping_add(16).cast());
    }
    for &offset in offsets {
        // SAFETY: B is readable from the offset on, and A holds the unit.
        unsafe {
            let from = b.offset(offset as isize);
            let (b0, b1) = (_mm512_loadu_ps(from), _mm512_loadu_ps(from.add(16)));
            let mut i = 0;
            while i < H {
                let x = _mm512_set1_ps(*a.add(i));
                acc[i][0] = _mm512_fmadd_ps(x, b0, acc[i][0]);
                acc[i][1] = _mm512_fmadd_ps(x, b1, acc[i][1]);
                i += 1;
            }
            a = a.add(MR);
        }
    }
    // SAFETY: the contract is the caller's.
    unsafe { put(acc, c, ldc, accumulate) }
}

/// Stores the sums of a tile, or adds them to what is there.
///
/// # Safety
/// `c` holds `H` rows of `16·V` elements `ldc` apart. The processor has AVX-512F.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn put<const H: usize, const V: usize>(
    acc: [[__m512; V]; H],
    c: *mut f32,
    ldc: usize,
    accumulate: bool,
) {
    for (i, row) in acc.iter().enumerate() {
        for (j, &v) in row.iter().enumerate() {
            // SAFETY: C holds the row.
            unsafe {
                let p = c.add(i * ldc + 16 * j);
                let v = if accumulate { _mm512_add_ps(v, _mm512_loadu_ps(p)) } else { v };
                _mm512_storeu_ps(p, v);
            }
        }
    }
}

/// Most positions of a tile of [`turned`]: with two vectors of each they leave registers for the other operand.
pub(super) const POSITIONS: usize = 14;

/// `c[0..h][0..16·v] = A·B`, or `+=` with `accumulate`: row i of A begins `i` elements after row 0, which is read where
/// it lies; B is a packed panel of [`NR`] lanes, of which the first 16 or all are used.
///
/// # Safety
/// `a` is readable for `h` elements from every offset on, `b` holds a unit of [`NR`] lanes per offset, and `c` holds
/// `h <= POSITIONS` rows of `16·v` elements `ldc` apart, `v` being 1 or 2. The processor has AVX-512F.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn turned(
    (h, v): (usize, usize),
    offsets: &[i32],
    a: *const f32,
    b: *const f32,
    c: *mut f32,
    ldc: usize,
    accumulate: bool,
) {
    macro_rules! rows {
        ($($h:literal)*) => { match (h, v) {
            $(
                // SAFETY: the contract is the caller's.
                ($h, 1) => unsafe { positions::<$h, 1>(offsets, a, b, c, ldc, accumulate) },
                // SAFETY: the contract is the caller's.
                ($h, _) => unsafe { positions::<$h, 2>(offsets, a, b, c, ldc, accumulate) },
            )*
            _ => {}
        } };
    }
    rows!(1 2 3 4 5 6 7 8 9 10 11 12 13 14)
}

/// # Safety
/// As [`turned`].
#[target_feature(enable = "avx512f")]
unsafe fn positions<const H: usize, const V: usize>(
    offsets: &[i32],
    a: *const f32,
    mut b: *const f32,
    c: *mut f32,
    ldc: usize,
    accumulate: bool,
) {
    let mut acc = [[_mm512_setzero_ps(); V]; H];
    for &offset in offsets {
        // SAFETY: A is readable from the offset on, and B holds the unit.
        unsafe {
            let from = a.offset(offset as isize);
            let mut lanes = [_mm512_setzero_ps(); V];
            for (j, l) in lanes.iter_mut().enumerate() {
                *l = _mm512_loadu_ps(b.add(16 * j));
            }
            let mut i = 0;
            while i < H {
                let x = _mm512_set1_ps(*from.add(i));
                let mut j = 0;
                while j < V {
                    acc[i][j] = _mm512_fmadd_ps(x, lanes[j], acc[i][j]);
                    j += 1;
                }
                i += 1;
            }
            b = b.add(NR);
        }
    }
    // SAFETY: the contract is the caller's.
    unsafe { put(acc, c, ldc, accumulate) }
}

/// Every second element: `dst[i] = src[2·i]` for `i < n`.
///
/// # Safety
/// `src` is readable for `2·n − 1` elements and `dst` writable for `n`. The processor has AVX-512F.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn halve(src: *const f32, dst: *mut f32, n: usize) {
    let pick = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    let mut i = 0;
    // The last element of a pair of vectors is not needed, and may not exist.
    while i + 16 < n {
        // SAFETY: 32 elements from 2·i on are readable, for 2·(i + 16) of them are needed.
        unsafe {
            let (lo, hi) = (_mm512_loadu_ps(src.add(2 * i)), _mm512_loadu_ps(src.add(2 * i + 16)));
            _mm512_storeu_ps(dst.add(i), _mm512_permutex2var_ps(lo, pick, hi));
        }
        i += 16;
    }
    while i < n {
        // SAFETY: as the contract says.
        unsafe { *dst.add(i) = *src.add(2 * i) };
        i += 1;
    }
}
