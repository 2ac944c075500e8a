//! Index vectors of one number as offsets, and lines of elements gathered by them.

use std::marker::PhantomData;

use super::combine::OUTSIDE;
use super::geometry::{Component, Index};
use crate::isa::{self, entry, Isa};

/// `to[i] = offset of index i` for `n` indices `step` apart, in an addressed dim whose last position is `last` and
/// whose stride is `stride`.
type OffsetsFn =
    unsafe fn(n: usize, indices: *const u8, step: isize, last: i64, stride: isize, to: *mut isize);
entry!(OffsetsBody, offsets_on, OffsetsFn, (
    n: usize, indices: *const u8, step: isize, last: i64, stride: isize, to: *mut isize,
));

/// Indices are clamped into the dim.
struct Clamped<I>(PhantomData<I>);
/// Indices outside the dim have no place.
struct Kept<I>(PhantomData<I>);

impl<I: Index> OffsetsBody for Clamped<I> {
    #[inline(always)]
    unsafe fn run(n: usize, indices: *const u8, step: isize, last: i64, stride: isize, to: *mut isize) {
        // SAFETY: the contract is the caller's.
        unsafe { each::<I>(n, indices, step, to, |i| i.clamp(0, last) as isize * stride) }
    }
}

impl<I: Index> OffsetsBody for Kept<I> {
    #[inline(always)]
    unsafe fn run(n: usize, indices: *const u8, step: isize, last: i64, stride: isize, to: *mut isize) {
        let place = |i: i64| if i < 0 || i > last { OUTSIDE } else { i as isize * stride };
        // SAFETY: the contract is the caller's.
        unsafe { each::<I>(n, indices, step, to, place) }
    }
}

/// # Safety
/// `indices` must be valid for `n` strided elements, `to` for `n`.
#[inline(always)]
unsafe fn each<I: Index>(
    n: usize,
    indices: *const u8,
    step: isize,
    to: *mut isize,
    place: impl Fn(i64) -> isize,
) {
    let indices = indices.cast::<I>();
    // SAFETY: the contract is the caller's. The loop without a stride vectorises.
    unsafe {
        if step == 1 {
            for i in 0..n {
                *to.add(i) = place((*indices.add(i)).value());
            }
        } else {
            for i in 0..n {
                *to.add(i) = place((*indices.offset(i as isize * step)).value());
            }
        }
    }
}

/// Offsets of `n` indices `step` apart, clamped into the dim of `c`.
///
/// # Safety
/// `indices` must be valid for them, `to` for `n` offsets.
pub(super) unsafe fn clamped<I: Index>(
    c: &Component,
    n: usize,
    indices: *const I,
    step: isize,
    to: *mut isize,
) {
    // SAFETY: the contract is the caller's.
    unsafe {
        offsets_on::<Clamped<I>>(isa::current())(n, indices.cast(), step, (c.size - 1).max(0), c.stride, to)
    }
}

/// Offsets of `n` indices `step` apart, [`OUTSIDE`] for those outside the dim of `c`.
///
/// # Safety
/// As [`clamped`].
pub(super) unsafe fn kept<I: Index>(c: &Component, n: usize, indices: *const I, step: isize, to: *mut isize) {
    // SAFETY: the contract is the caller's.
    unsafe { offsets_on::<Kept<I>>(isa::current())(n, indices.cast(), step, c.size - 1, c.stride, to) }
}

/// `dst[i·near] = src[offsets[i]]` in elements of `elem` bytes.
///
/// # Safety
/// Both sides must be valid for those elements.
pub(super) unsafe fn take(elem: usize, dst: *mut u8, near: isize, src: *const u8, offsets: &[isize]) {
    // SAFETY: the contract is the caller's.
    unsafe {
        match elem {
            1 => take_as::<u8>(dst, near, src, offsets),
            2 => take_as::<u16>(dst, near, src, offsets),
            4 => take_as::<u32>(dst, near, src, offsets),
            8 => take_as::<u64>(dst, near, src, offsets),
            _ => take_as::<[u64; 2]>(dst, near, src, offsets),
        }
    }
}

/// # Safety
/// As [`take`].
#[inline(always)]
unsafe fn take_as<T: Copy>(dst: *mut u8, near: isize, src: *const u8, offsets: &[isize]) {
    let (dst, src) = (dst.cast::<T>(), src.cast::<T>());
    // SAFETY: the contract is the caller's.
    unsafe {
        if near == 1 {
            for (i, &at) in offsets.iter().enumerate() {
                *dst.add(i) = *src.offset(at);
            }
        } else {
            for (i, &at) in offsets.iter().enumerate() {
                *dst.offset(i as isize * near) = *src.offset(at);
            }
        }
    }
}

/// A line of offsets that is gathered many times.
pub(super) struct Line {
    elem: usize,
    near: isize,
    offsets: Vec<isize>,
    #[cfg(target_arch = "x86_64")]
    lanes: Option<x86::Lanes>,
}

impl Line {
    /// Offsets into lines of `size` elements, for results `near` apart.
    pub(super) fn new(isa: Isa, elem: usize, near: isize, offsets: Vec<isize>, size: usize) -> Line {
        #[cfg(target_arch = "x86_64")]
        let lanes = (isa == Isa::Avx512 && elem == 4 && near == 1).then(|| x86::Lanes::new(&offsets, size));
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (isa, size);
        Line {
            elem,
            near,
            offsets,
            #[cfg(target_arch = "x86_64")]
            lanes: lanes.flatten(),
        }
    }

    /// Gathers the line.
    ///
    /// # Safety
    /// `dst` must be valid for the results, `src` for every element of its line.
    pub(super) unsafe fn gather(&self, dst: *mut u8, src: *const u8) {
        // SAFETY: the contract is the caller's; lanes exist only on AVX-512.
        unsafe {
            #[cfg(target_arch = "x86_64")]
            if let Some(lanes) = &self.lanes {
                return lanes.gather(dst.cast(), src.cast());
            }
            take(self.elem, dst, self.near, src, &self.offsets)
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    /// Elements of a vector.
    const LANES: usize = 16;

    /// Sixteen results.
    struct Group {
        /// First element of the two vectors of the source that hold all of them; negative when none do.
        base: i32,
        /// Elements of each that lie in the line.
        masks: [u16; 2],
        /// Results.
        stores: u16,
        /// Elements from the base, or from the line's start.
        places: [i32; LANES],
    }

    /// Results in vectors, each permuted from two neighbouring vectors of the source where that is possible: always
    /// for maps of neighbours to neighbours, such as flips, reflections and resizing.
    pub(super) struct Lanes(Vec<Group>);

    impl Lanes {
        /// `None` for offsets that are not positions of a dense line of `size` elements.
        pub(super) fn new(offsets: &[isize], size: usize) -> Option<Lanes> {
            if size > i32::MAX as usize || offsets.iter().any(|&o| o < 0 || o as usize >= size) {
                return None;
            }
            let front = |n: usize| if n >= LANES { u16::MAX } else { (1 << n) - 1 };
            let groups = offsets.chunks(LANES).map(|part| {
                let low = part.iter().copied().min().unwrap_or(0);
                let high = part.iter().copied().max().unwrap_or(0);
                let near = high - low < 2 * LANES as isize;
                let mut places = [0; LANES];
                for (p, &o) in places.iter_mut().zip(part) {
                    *p = (o - if near { low } else { 0 }) as i32;
                }
                let rest = size - low as usize;
                Group {
                    base: if near { low as i32 } else { -1 },
                    masks: [front(rest), front(rest.saturating_sub(LANES))],
                    stores: front(part.len()),
                    places,
                }
            });
            Some(Lanes(groups.collect()))
        }

        /// # Safety
        /// `dst` must be valid for the results, `src` for the line; AVX-512F.
        #[target_feature(enable = "avx512f")]
        pub(super) unsafe fn gather(&self, dst: *mut f32, src: *const f32) {
            for (i, g) in self.0.iter().enumerate() {
                // SAFETY: places are positions of the line; masks keep loads inside it and stores inside the results.
                unsafe {
                    let places = _mm512_loadu_si512(g.places.as_ptr().cast());
                    let v = if g.base < 0 {
                        _mm512_i32gather_ps::<4>(places, src)
                    } else {
                        let from = src.offset(g.base as isize);
                        let low = _mm512_maskz_loadu_ps(g.masks[0], from);
                        let high = _mm512_maskz_loadu_ps(g.masks[1], from.wrapping_add(LANES));
                        _mm512_permutex2var_ps(low, places, high)
                    };
                    _mm512_mask_storeu_ps(dst.add(i * LANES), g.stores, v);
                }
            }
        }
    }
}
