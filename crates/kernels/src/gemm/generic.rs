//! Tiles for AVX2 (6×16) and for the target's baseline (4×8).

use super::kernel::TileFn;
use crate::isa::Isa;

/// Rows, columns and function of the tile of an instruction set.
pub(super) fn tile(isa: Isa) -> (usize, usize, TileFn) {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => (6, 16, avx2::tile),
        _ => (4, 8, portable),
    }
}

/// `a·b + c`, fused where the target does it in one instruction.
#[inline(always)]
fn mul_add(a: f32, b: f32, c: f32) -> f32 {
    if cfg!(any(target_feature = "fma", target_arch = "aarch64")) {
        a.mul_add(b, c)
    } else {
        a * b + c
    }
}

/// The baseline's tile: missing rows of A are computed as zeros and not stored.
///
/// # Safety
/// As [`TileFn`] says.
unsafe fn portable(
    h: usize,
    w: usize,
    units: usize,
    a: *const u32,
    b: *const u32,
    c: *mut f32,
    ldc: usize,
    accumulate: bool,
) {
    let mut acc = [[0f32; 8]; 4];
    for u in 0..units {
        // SAFETY: both panels hold `units` units of 4 and 8 lanes.
        let (x, y) = unsafe { (&*a.add(u * 4).cast::<[f32; 4]>(), &*b.add(u * 8).cast::<[f32; 8]>()) };
        for i in 0..4 {
            for j in 0..8 {
                acc[i][j] = mul_add(x[i], y[j], acc[i][j]);
            }
        }
    }
    for (i, row) in acc.iter().enumerate().take(h) {
        for (j, &v) in row.iter().enumerate().take(w) {
            // SAFETY: row i < h and column j < w of C are valid.
            unsafe {
                let p = c.add(i * ldc + j);
                *p = if accumulate { *p + v } else { v };
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    const MR: usize = 6;

    /// # Safety
    /// As `TileFn` says, on a processor with AVX2 and FMA.
    #[target_feature(enable = "avx2,fma")]
    pub(super) unsafe fn tile(
        h: usize,
        w: usize,
        units: usize,
        a: *const u32,
        b: *const u32,
        c: *mut f32,
        ldc: usize,
        accumulate: bool,
    ) {
        macro_rules! rows {
            ($($h:literal)*) => { match h {
                // SAFETY: the contract is the caller's.
                $($h => unsafe { rows::<$h>(w, units, a.cast(), b.cast(), c, ldc, accumulate) },)*
                _ => {}
            } };
        }
        rows!(1 2 3 4 5 6)
    }

    #[target_feature(enable = "avx2,fma")]
    unsafe fn rows<const H: usize>(
        w: usize,
        units: usize,
        mut a: *const f32,
        mut b: *const f32,
        c: *mut f32,
        ldc: usize,
        accumulate: bool,
    ) {
        let mut acc = [[_mm256_setzero_ps(); 2]; H];
        for _ in 0..units {
            // SAFETY: both panels hold `units` units of MR and 16 lanes.
            unsafe {
                let (b0, b1) = (_mm256_loadu_ps(b), _mm256_loadu_ps(b.add(8)));
                let mut i = 0;
                while i < H {
                    let x = _mm256_set1_ps(*a.add(i));
                    acc[i][0] = _mm256_fmadd_ps(x, b0, acc[i][0]);
                    acc[i][1] = _mm256_fmadd_ps(x, b1, acc[i][1]);
                    i += 1;
                }
                a = a.add(MR);
                b = b.add(16);
            }
        }
        for (i, row) in acc.iter().enumerate() {
            let mut v = [0f32; 16];
            // SAFETY: the array has 16 elements; row i < h of C is valid for `w` elements.
            unsafe {
                _mm256_storeu_ps(v.as_mut_ptr(), row[0]);
                _mm256_storeu_ps(v.as_mut_ptr().add(8), row[1]);
                for (j, &v) in v.iter().enumerate().take(w) {
                    let p = c.add(i * ldc + j);
                    *p = if accumulate { *p + v } else { v };
                }
            }
        }
    }
}
