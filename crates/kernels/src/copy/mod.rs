//! Copies between strided layouts.
mod plan;
#[cfg(test)]
mod tests;
pub(crate) mod transpose;

use crate::gemm::driver::Shared;
use crate::isa::{self, Isa};
use crate::pool::Pool;
use plan::{Inner, Plan};

/// Bytes below which a second thread costs more than it gives.
const SERIAL: usize = 256 << 10;
/// Bytes of one piece of a row, and of one chunk of a parallel copy.
const PIECE: usize = 128 << 10;
/// Bytes of a row that is copied in place rather than by a call.
const SHORT: usize = 128;
/// Rows and columns of one piece of a transpose: both sides of it stay in the first-level cache.
const SIDE: usize = 64;

/// Copies `dims` elements of `elem` bytes (1, 2, 4, 8 or 16). Strides are in elements; a source stride may be 0
/// (broadcast) and any stride may be negative. Runs on several threads when large.
///
/// # Safety
/// Both pointers must be valid for every element that their strides reach, and the two sets of bytes must not overlap.
pub unsafe fn copy(
    pool: &Pool,
    elem: usize,
    dims: &[i64],
    dst: *mut u8,
    dst_strides: &[i64],
    src: *const u8,
    src_strides: &[i64],
) {
    // SAFETY: the contract is the caller's.
    unsafe { copy_on(pool, isa::current(), elem, dims, (dst, dst_strides), (src, src_strides)) }
}

/// [`copy`] on a given instruction set.
///
/// # Safety
/// As [`copy`].
unsafe fn copy_on(
    pool: &Pool,
    isa: Isa,
    elem: usize,
    dims: &[i64],
    (dst, dst_strides): (*mut u8, &[i64]),
    (src, src_strides): (*const u8, &[i64]),
) {
    let Some(plan) = Plan::new(dims, dst_strides, src_strides) else {
        return;
    };
    // Pieces of the inner part.
    let (pieces, bytes) = match plan.inner {
        Inner::Row { n, .. } => (n.div_ceil((PIECE / elem).max(1)), n * elem),
        Inner::Transpose { rows, cols, .. } => {
            (rows.div_ceil(SIDE) * cols.div_ceil(SIDE), rows * cols * elem)
        }
    };
    let (dst, src) = (Shared(dst), Shared(src.cast_mut()));
    let items = plan.outer_len() * pieces;
    let per_chunk = (PIECE * pieces / bytes.max(1)).clamp(1, items);
    let chunk = |c: usize, _: usize| {
        let range = c * per_chunk..((c + 1) * per_chunk).min(items);
        if pieces == 1 {
            let to = |d: isize| dst.ptr().wrapping_offset(d * elem as isize);
            let from = |s: isize| src.ptr().cast_const().wrapping_offset(s * elem as isize);
            if let Some(bytes) = plan.short_row(elem) {
                // SAFETY: the row is part of the copy.
                return plan.each(range, |d, s| unsafe { short(to(d), from(s), bytes) });
            }
            // SAFETY: the piece is part of the copy.
            return plan.each(range, |d, s| unsafe { piece(isa, elem, plan.inner, 0, to(d), from(s)) });
        }
        for item in range {
            let (d, s) = plan.offsets(item / pieces);
            let to = dst.ptr().wrapping_offset(d * elem as isize);
            let from = src.ptr().cast_const().wrapping_offset(s * elem as isize);
            // SAFETY: the piece is part of the copy.
            unsafe { piece(isa, elem, plan.inner, item % pieces, to, from) }
        }
    };
    let chunks = items.div_ceil(per_chunk);
    if plan.outer_len() * bytes < SERIAL {
        (0..chunks).for_each(|c| chunk(c, 0));
    } else {
        pool.run(chunks, &chunk);
    }
}

/// Copies 16 to [`SHORT`] bytes, for which a call costs more than it gives.
///
/// # Safety
/// Both must be valid for the bytes.
#[inline(always)]
unsafe fn short(dst: *mut u8, src: *const u8, bytes: usize) {
    const PART: usize = 16;
    // SAFETY: the contract is the caller's; the last part ends where the row does.
    unsafe {
        let part = |at: usize| {
            let v = src.add(at).cast::<[u8; PART]>().read_unaligned();
            dst.add(at).cast::<[u8; PART]>().write_unaligned(v);
        };
        let mut at = 0;
        while at + PART < bytes {
            part(at);
            at += PART;
        }
        part(bytes - PART);
    }
}

/// Copies piece number `piece` of an inner part.
///
/// # Safety
/// The piece must be valid at both addresses.
unsafe fn piece(isa: Isa, elem: usize, inner: Inner, piece: usize, dst: *mut u8, src: *const u8) {
    let size = elem as isize;
    match inner {
        Inner::Row { n, dst: ds, src: ss } => {
            let step = (PIECE / elem).max(1);
            let first = piece * step;
            let n = step.min(n - first);
            let dst = dst.wrapping_offset(first as isize * ds * size);
            let src = src.wrapping_offset(first as isize * ss * size);
            // SAFETY: the contract is the caller's.
            unsafe {
                if ds == 1 && ss == 1 {
                    return std::ptr::copy_nonoverlapping(src, dst, n * elem);
                }
                match elem {
                    1 => row::<u8>(n, dst, ds, src, ss),
                    2 => row::<u16>(n, dst, ds, src, ss),
                    4 => row::<u32>(n, dst, ds, src, ss),
                    8 => row::<u64>(n, dst, ds, src, ss),
                    16 => row::<[u64; 2]>(n, dst, ds, src, ss),
                    other => unreachable!("elements of {other} bytes"),
                }
            }
        }
        Inner::Transpose { rows, cols, dst: ds, src: ss } => {
            let across = cols.div_ceil(SIDE);
            let (r, c) = (piece / across * SIDE, piece % across * SIDE);
            let dst = dst.wrapping_offset((r as isize * ds + c as isize) * size);
            let src = src.wrapping_offset((c as isize * ss + r as isize) * size);
            let (rows, cols) = (SIDE.min(rows - r), SIDE.min(cols - c));
            // SAFETY: the contract is the caller's.
            unsafe { transpose::transpose(isa, elem, rows, cols, dst, ds, src, ss) }
        }
    }
}

/// A strided row.
///
/// # Safety
/// The row must be valid at both addresses, in elements of `T`.
unsafe fn row<T: Copy>(n: usize, dst: *mut u8, ds: isize, src: *const u8, ss: isize) {
    let (dst, src) = (dst.cast::<T>(), src.cast::<T>());
    // SAFETY: the contract is the caller's; elements may be unaligned only where the caller's are.
    unsafe {
        match (ds, ss) {
            (1, 0) => std::slice::from_raw_parts_mut(dst, n).fill(*src),
            (1, -1) => {
                let from = std::slice::from_raw_parts(src.offset(1 - n as isize), n);
                let to = std::slice::from_raw_parts_mut(dst, n);
                for (t, f) in to.iter_mut().zip(from.iter().rev()) {
                    *t = *f;
                }
            }
            (1, _) => {
                for i in 0..n {
                    *dst.add(i) = *src.offset(i as isize * ss);
                }
            }
            _ => {
                for i in 0..n as isize {
                    *dst.offset(i * ds) = *src.offset(i * ss);
                }
            }
        }
    }
}
