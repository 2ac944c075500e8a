//! The loops that elementwise primitives are made of.
//!
//! A vectorised loop needs to know that its output does not overlap its inputs. Where `dst` equals a source, results
//! go through a small buffer instead, so that one compiled loop serves both cases.

use std::marker::PhantomData;
use std::mem::{size_of, MaybeUninit};

use super::TileFn;
use crate::isa::{entry, Isa};

entry!(TileBody, pick, TileFn, (dst: *mut u8, src: &[*const u8; 3], n: usize));

/// Elements of the buffer for in-place use, and of the stretch that is examined for huge angles.
pub(super) const STRETCH: usize = 256;

/// A function of one element.
pub(crate) trait Op1<T> {
    /// Its result.
    type Out: Copy;
    /// Whether some arguments need [`Op1::repair`].
    const REPAIRS: bool = false;
    /// The function.
    fn f(x: T) -> Self::Out;
    /// The exact result for arguments that the branch-free form does not cover, else `None`.
    #[inline(always)]
    fn repair(_x: T) -> Option<Self::Out> {
        None
    }
    /// Whether [`Op1::repair`] has a result for this argument.
    #[inline(always)]
    fn is_wild(_x: T) -> bool {
        false
    }
}

/// A function of two elements.
pub(crate) trait Op2<T> {
    /// Its result.
    type Out: Copy;
    /// Whether some arguments need [`Op2::repair`].
    const REPAIRS: bool = false;
    /// The function.
    fn f(x: T, y: T) -> Self::Out;
    /// The exact result for arguments that the branch-free form does not cover, else `None`.
    #[inline(always)]
    fn repair(_x: T, _y: T) -> Option<Self::Out> {
        None
    }
    /// Whether [`Op2::repair`] has a result for these arguments.
    #[inline(always)]
    fn is_wild(_x: T, _y: T) -> bool {
        false
    }
}

/// A function of three elements of one type.
pub(crate) trait Op3<T> {
    /// The function.
    fn f(x: T, y: T, z: T) -> T;
}

/// Runs a body over `n` elements: through a buffer when `through` says that the output overlaps an input, and at most
/// `most` elements at a time. The body sees its output, of type `&mut [MaybeUninit<R>]`, and the index of its first
/// element, and writes all of it.
///
/// A macro, because a closure would be compiled by itself, without the target features of the loop around it.
macro_rules! stretches {
    ($dst:expr, $r:ty, $n:expr, $through:expr, $most:expr, |$out:ident, $i:ident| $body:block) => {{
        let (dst, n, through): (*mut $r, usize, bool) = ($dst, $n, $through);
        let mut buffer = [::std::mem::MaybeUninit::<$r>::uninit(); $crate::tile::map::STRETCH];
        let mut $i = 0;
        while $i < n {
            let count = (n - $i).min(if through { $crate::tile::map::STRETCH } else { $most });
            let place = if through { buffer.as_mut_ptr() } else { dst.add($i).cast() };
            let $out = ::std::slice::from_raw_parts_mut(place, count);
            $body
            if through {
                ::std::ptr::copy_nonoverlapping(buffer.as_ptr().cast::<$r>(), dst.add($i), count);
            }
            $i += count;
        }
    }};
}
pub(super) use stretches;

/// Loop of an [`Op1`].
pub(crate) struct Map1<O, T>(PhantomData<(O, T)>);
impl<O: Op1<T>, T: Copy> TileBody for Map1<O, T> {
    #[inline(always)]
    unsafe fn run(dst: *mut u8, src: &[*const u8; 3], n: usize) {
        let a = src[0].cast::<T>();
        let most = if O::REPAIRS { STRETCH } else { usize::MAX };
        // SAFETY: the contract of `TileFn`.
        unsafe {
            stretches!(dst.cast::<O::Out>(), O::Out, n, dst.cast_const() == src[0], most, |out, i| {
                let a = std::slice::from_raw_parts(a.add(i), out.len());
                for (o, &x) in out.iter_mut().zip(a) {
                    o.write(O::f(x));
                }
                if O::REPAIRS {
                    let mut wild = 0u32;
                    for &x in a {
                        wild |= u32::from(O::is_wild(x));
                    }
                    if wild != 0 {
                        repair::<O, T>(out, a);
                    }
                }
            });
        }
    }
}

/// Replaces the results of wild arguments.
#[cold]
#[inline(never)]
fn repair<O: Op1<T>, T: Copy>(out: &mut [MaybeUninit<O::Out>], a: &[T]) {
    for (o, &x) in out.iter_mut().zip(a) {
        if let Some(y) = O::repair(x) {
            o.write(y);
        }
    }
}

/// Loop of an [`Op2`] over two tiles.
pub(crate) struct Map2<O, T>(PhantomData<(O, T)>);
impl<O: Op2<T>, T: Copy> TileBody for Map2<O, T> {
    #[inline(always)]
    unsafe fn run(dst: *mut u8, src: &[*const u8; 3], n: usize) {
        let (a, b) = (src[0].cast::<T>(), src[1].cast::<T>());
        let through = dst.cast_const() == src[0] || dst.cast_const() == src[1];
        let most = if O::REPAIRS { STRETCH } else { usize::MAX };
        // SAFETY: the contract of `TileFn`.
        unsafe {
            stretches!(dst.cast::<O::Out>(), O::Out, n, through, most, |out, i| {
                let a = std::slice::from_raw_parts(a.add(i), out.len());
                let b = std::slice::from_raw_parts(b.add(i), out.len());
                for ((o, &x), &y) in out.iter_mut().zip(a).zip(b) {
                    o.write(O::f(x, y));
                }
                if O::REPAIRS {
                    let mut wild = 0u32;
                    for (&x, &y) in a.iter().zip(b) {
                        wild |= u32::from(O::is_wild(x, y));
                    }
                    if wild != 0 {
                        repair2::<O, T>(out, a, b);
                    }
                }
            });
        }
    }
}

/// Replaces the results of wild arguments.
#[cold]
#[inline(never)]
fn repair2<O: Op2<T>, T: Copy>(out: &mut [MaybeUninit<O::Out>], a: &[T], b: &[T]) {
    for ((o, &x), &y) in out.iter_mut().zip(a).zip(b) {
        if let Some(z) = O::repair(x, y) {
            o.write(z);
        }
    }
}

/// Loop of an [`Op2`] over a tile and one element (the second operand, or the first when `FIRST`).
pub(crate) struct MapScalar<O, T, const FIRST: bool>(PhantomData<(O, T)>);
impl<O: Op2<T>, T: Copy, const FIRST: bool> TileBody for MapScalar<O, T, FIRST> {
    #[inline(always)]
    unsafe fn run(dst: *mut u8, src: &[*const u8; 3], n: usize) {
        let (tile, one) = if FIRST { (src[1], src[0]) } else { (src[0], src[1]) };
        let a = tile.cast::<T>();
        // SAFETY: the contract of `TileFn`; the element is read before anything is written.
        unsafe {
            let s = one.cast::<T>().read();
            stretches!(dst.cast::<O::Out>(), O::Out, n, dst.cast_const() == tile, usize::MAX, |out, i| {
                let a = std::slice::from_raw_parts(a.add(i), out.len());
                for (o, &x) in out.iter_mut().zip(a) {
                    o.write(if FIRST { O::f(s, x) } else { O::f(x, s) });
                }
            });
        }
    }
}

/// Loop of an [`Op3`] over three tiles.
pub(crate) struct Map3<O, T>(PhantomData<(O, T)>);
impl<O: Op3<T>, T: Copy> TileBody for Map3<O, T> {
    #[inline(always)]
    unsafe fn run(dst: *mut u8, src: &[*const u8; 3], n: usize) {
        let (a, b, c) = (src[0].cast::<T>(), src[1].cast::<T>(), src[2].cast::<T>());
        let through = src.contains(&dst.cast_const());
        // SAFETY: the contract of `TileFn`.
        unsafe {
            stretches!(dst.cast::<T>(), T, n, through, usize::MAX, |out, i| {
                let a = std::slice::from_raw_parts(a.add(i), out.len());
                let b = std::slice::from_raw_parts(b.add(i), out.len());
                let c = std::slice::from_raw_parts(c.add(i), out.len());
                for (((o, &x), &y), &z) in out.iter_mut().zip(a).zip(b).zip(c) {
                    o.write(O::f(x, y, z));
                }
            });
        }
    }
}

/// Loop of an [`Op3`] over a tile and two elements.
pub(crate) struct MapScalars<O, T>(PhantomData<(O, T)>);
impl<O: Op3<T>, T: Copy> TileBody for MapScalars<O, T> {
    #[inline(always)]
    unsafe fn run(dst: *mut u8, src: &[*const u8; 3], n: usize) {
        let a = src[0].cast::<T>();
        // SAFETY: the contract of `TileFn`; the elements are read before anything is written.
        unsafe {
            let (b, c) = (src[1].cast::<T>().read(), src[2].cast::<T>().read());
            stretches!(dst.cast::<T>(), T, n, dst.cast_const() == src[0], usize::MAX, |out, i| {
                let a = std::slice::from_raw_parts(a.add(i), out.len());
                for (o, &x) in out.iter_mut().zip(a) {
                    o.write(O::f(x, b, c));
                }
            });
        }
    }
}

/// Instantiates the loop of an [`Op3`] over a tile and two elements.
pub(crate) fn map_scalars<O: Op3<T>, T: Copy>(isa: Isa) -> TileFn {
    pick::<MapScalars<O, T>>(isa)
}

/// Instantiates the loop of an [`Op1`].
pub(crate) fn map1<O: Op1<T>, T: Copy>(isa: Isa) -> TileFn {
    pick::<Map1<O, T>>(isa)
}

/// Instantiates the loop of an [`Op2`] for two tiles.
pub(crate) fn map2<O: Op2<T>, T: Copy>(isa: Isa) -> TileFn {
    pick::<Map2<O, T>>(isa)
}

/// Instantiates the loop of an [`Op3`].
pub(crate) fn map3<O: Op3<T>, T: Copy>(isa: Isa) -> TileFn {
    pick::<Map3<O, T>>(isa)
}

/// A loop over a tile and one element, made from the loop over two tiles by repeating the element in a buffer: for
/// functions that are not worth a loop of their own.
pub(crate) struct Spread<T, const FIRST: bool>(PhantomData<T>);
impl<T: Copy, const FIRST: bool> Spread<T, FIRST> {
    /// Runs `f`, the loop over two tiles with results of `out_size` bytes.
    ///
    /// # Safety
    /// As [`TileFn`].
    pub(crate) unsafe fn run_with(f: TileFn, out_size: usize, dst: *mut u8, src: &[*const u8; 3], n: usize) {
        let (tile, one) = if FIRST { (src[1], src[0]) } else { (src[0], src[1]) };
        // SAFETY: the contract of `TileFn`.
        unsafe {
            let buffer = [one.cast::<T>().read(); STRETCH];
            let repeated = buffer.as_ptr().cast::<u8>();
            let mut i = 0;
            while i < n {
                let count = (n - i).min(STRETCH);
                let t = tile.add(i * size_of::<T>());
                let s = if FIRST { [repeated, t, t] } else { [t, repeated, t] };
                f(dst.add(i * out_size), &s, count);
                i += count;
            }
        }
    }
}
