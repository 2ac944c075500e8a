//! Loops over a row that keep 64 accumulators side by side.
//!
//! Values to be stored go through a local array first: the compiler need not prove that output and input rows are
//! distinct, and in-place use is correct.

use std::mem::size_of;

use crate::isa::prefetch_line;
use crate::math::elem::Elem;
use crate::math::real::Real;

/// Accumulators side by side.
pub(super) const LANES: usize = 64;

/// `LANES` elements of a row as numbers.
///
/// # Safety
/// `p` must be valid for `LANES` elements.
#[inline(always)]
pub(super) unsafe fn load<T: Elem>(p: *const T) -> [T::Math; LANES] {
    let mut out = [T::Math::ZERO; LANES];
    for (j, o) in out.iter_mut().enumerate() {
        // SAFETY: the caller's contract.
        *o = unsafe { p.add(j).read() }.load();
    }
    out
}

/// Rounds and stores `LANES` numbers.
///
/// # Safety
/// `p` must be valid for `LANES` elements.
#[inline(always)]
pub(super) unsafe fn store<T: Elem>(p: *mut T, v: &[T::Math; LANES]) {
    for (j, &x) in v.iter().enumerate() {
        // SAFETY: the caller's contract.
        unsafe { p.add(j).write(T::store(x)) };
    }
}

/// Combines lanes in a tree.
#[inline(always)]
pub(super) fn tree<M: Real>(mut v: [M; LANES], join: impl Fn(M, M) -> M) -> M {
    let mut width = LANES / 2;
    while width > 0 {
        for j in 0..width {
            v[j] = join(v[j], v[j + width]);
        }
        width /= 2;
    }
    v[0]
}

/// Longest row, in bytes, whose successor is asked for while it is at work: both, and the results, fit the first-level
/// cache.
const AHEAD: usize = 8 << 10;

/// How far the next row is from this one for [`ahead`], in elements; 0 when rows are too long to ask for.
#[inline(always)]
pub(super) fn reach<T>(cols: usize) -> usize {
    if cols * size_of::<T>() <= AHEAD {
        cols
    } else {
        0
    }
}

/// Asks for the `LANES` elements at `p + reach`, part of the next row. Any pointer is harmless.
#[inline(always)]
pub(super) fn ahead<T>(p: *const T, reach: usize) {
    if reach > 0 {
        let p = p.wrapping_add(reach).cast::<u8>();
        for k in 0..(LANES * size_of::<T>()).div_ceil(64) {
            prefetch_line(p.wrapping_add(k * 64));
        }
    }
}
