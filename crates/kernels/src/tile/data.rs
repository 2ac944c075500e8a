//! Primitives that move elements: copy, select, splat, iota, strided loads and stores, clamp, cache hints.

use std::marker::PhantomData;

use tnrs_types::DType;

use super::map::{map1, map3, pick, stretches, Op1, Op3, TileBody};
use super::TileFn;
use crate::isa::{self, Isa};
use crate::math::int::Int;
use crate::math::real::Real;

/// Strided run of elements. Exactly one side is strided, by `stride` bytes (0 and negative are fine).
///
/// # Safety
/// `dst` and `src` must be valid for `n` elements at their strides, and must not overlap.
pub type StridedFn = unsafe fn(dst: *mut u8, src: *const u8, n: usize, stride: isize);

/// 16 bytes with the alignment of the parts of a complex number.
type Wide = [u64; 2];

struct Same;
impl<T: Copy> Op1<T> for Same {
    type Out = T;
    #[inline(always)]
    fn f(x: T) -> T {
        x
    }
}

/// The loop that copies elements of `size` bytes.
pub fn copy_on(isa: Isa, size: usize) -> TileFn {
    match size {
        1 => map1::<Same, u8>(isa),
        2 => map1::<Same, u16>(isa),
        4 => map1::<Same, u32>(isa),
        8 => map1::<Same, u64>(isa),
        _ => map1::<Same, Wide>(isa),
    }
}

/// Choice by masks: a plain `if` becomes a load from a chosen address, which does not vectorise.
trait Choose: Copy {
    fn choose(pred: u8, t: Self, f: Self) -> Self;
}
macro_rules! choose {
    ($($t:ty),*) => {$(
        impl Choose for $t {
            #[inline(always)]
            fn choose(pred: u8, t: $t, f: $t) -> $t {
                let mask = <$t>::from(pred != 0).wrapping_neg();
                (t & mask) | (f & !mask)
            }
        }
    )*};
}
choose!(u8, u16, u32, u64);
impl Choose for Wide {
    #[inline(always)]
    fn choose(pred: u8, t: Wide, f: Wide) -> Wide {
        [u64::choose(pred, t[0], f[0]), u64::choose(pred, t[1], f[1])]
    }
}

struct Select<T>(PhantomData<T>);
impl<T: Choose> TileBody for Select<T> {
    #[inline(always)]
    unsafe fn run(dst: *mut u8, src: &[*const u8; 3], n: usize) {
        let (p, t, f) = (src[0], src[1].cast::<T>(), src[2].cast::<T>());
        let through = src.contains(&dst.cast_const());
        // SAFETY: the contract of `TileFn`.
        unsafe {
            stretches!(dst.cast::<T>(), T, n, through, usize::MAX, |out, i| {
                let p = std::slice::from_raw_parts(p.add(i), out.len());
                let t = std::slice::from_raw_parts(t.add(i), out.len());
                let f = std::slice::from_raw_parts(f.add(i), out.len());
                for (((o, &p), &t), &f) in out.iter_mut().zip(p).zip(t).zip(f) {
                    o.write(T::choose(p, t, f));
                }
            });
        }
    }
}

/// The loop of `select(pred, on_true, on_false)` for elements of `size` bytes; `pred` is a bool tile.
pub fn select(size: usize) -> TileFn {
    select_on(isa::current(), size)
}

/// [`select`] for an instruction set.
pub fn select_on(isa: Isa, size: usize) -> TileFn {
    match size {
        1 => pick::<Select<u8>>(isa),
        2 => pick::<Select<u16>>(isa),
        4 => pick::<Select<u32>>(isa),
        8 => pick::<Select<u64>>(isa),
        _ => pick::<Select<Wide>>(isa),
    }
}

struct Splat<T>(PhantomData<T>);
impl<T: Copy> TileBody for Splat<T> {
    #[inline(always)]
    unsafe fn run(dst: *mut u8, src: &[*const u8; 3], n: usize) {
        // SAFETY: the contract of `TileFn`.
        unsafe {
            let x = src[0].cast::<T>().read();
            for i in 0..n {
                dst.cast::<T>().add(i).write(x);
            }
        }
    }
}

/// The loop that repeats one element of `size` bytes, `src[0]`, over the tile.
pub fn splat(size: usize) -> TileFn {
    let isa = isa::current();
    match size {
        1 => pick::<Splat<u8>>(isa),
        2 => pick::<Splat<u16>>(isa),
        4 => pick::<Splat<u32>>(isa),
        8 => pick::<Splat<u64>>(isa),
        _ => pick::<Splat<Wide>>(isa),
    }
}

struct Iota<T>(PhantomData<T>);
macro_rules! iota {
    ($($t:ty),*) => {$(
        impl TileBody for Iota<$t> {
            #[inline(always)]
            unsafe fn run(dst: *mut u8, src: &[*const u8; 3], n: usize) {
                // SAFETY: the contract of `TileFn`; `src[0]` is one i64.
                unsafe {
                    let first = src[0].cast::<i64>().read();
                    for i in 0..n {
                        dst.cast::<$t>().add(i).write(first.wrapping_add(i as i64) as $t);
                    }
                }
            }
        }
    )*};
}
iota!(u8, u16, u32, u64, f32, f64);

/// The loop that counts up by one from the i64 at `src[0]`; integers wrap. Reduced floats and complex have none.
pub fn iota(dtype: DType) -> Option<TileFn> {
    let isa = isa::current();
    Some(match dtype {
        DType::U8 | DType::I8 => pick::<Iota<u8>>(isa),
        DType::U16 | DType::I16 => pick::<Iota<u16>>(isa),
        DType::U32 | DType::I32 => pick::<Iota<u32>>(isa),
        DType::U64 | DType::I64 => pick::<Iota<u64>>(isa),
        DType::F32 => pick::<Iota<f32>>(isa),
        DType::F64 => pick::<Iota<f64>>(isa),
        _ => return None,
    })
}

struct Clamp;
impl<T: Real> Op3<T> for Clamp {
    #[inline(always)]
    fn f(lo: T, x: T, hi: T) -> T {
        x.max(lo).min(hi)
    }
}

struct IntClamp;
impl<T: Int> Op3<T> for IntClamp {
    #[inline(always)]
    fn f(lo: T, x: T, hi: T) -> T {
        let y = if x > lo { x } else { lo };
        if y < hi {
            y
        } else {
            hi
        }
    }
}

/// See [`super::clamp`].
pub fn clamp_on(isa: Isa, dtype: DType) -> Option<TileFn> {
    Some(match dtype {
        DType::F32 => map3::<Clamp, f32>(isa),
        DType::F64 => map3::<Clamp, f64>(isa),
        DType::U8 | DType::Bool => map3::<IntClamp, u8>(isa),
        DType::I8 => map3::<IntClamp, i8>(isa),
        DType::U16 => map3::<IntClamp, u16>(isa),
        DType::I16 => map3::<IntClamp, i16>(isa),
        DType::U32 => map3::<IntClamp, u32>(isa),
        DType::I32 => map3::<IntClamp, i32>(isa),
        DType::U64 => map3::<IntClamp, u64>(isa),
        DType::I64 => map3::<IntClamp, i64>(isa),
        _ => return None,
    })
}

unsafe fn load<T: Copy>(dst: *mut u8, src: *const u8, n: usize, stride: isize) {
    for i in 0..n {
        // SAFETY: the contract of `StridedFn`.
        unsafe {
            let x = src.offset(i as isize * stride).cast::<T>().read();
            dst.cast::<T>().add(i).write(x);
        }
    }
}

unsafe fn store<T: Copy>(dst: *mut u8, src: *const u8, n: usize, stride: isize) {
    for i in 0..n {
        // SAFETY: the contract of `StridedFn`.
        unsafe {
            let x = src.cast::<T>().add(i).read();
            dst.offset(i as isize * stride).cast::<T>().write(x);
        }
    }
}

/// Gathers elements of `size` bytes at a stride into a dense tile.
pub fn load_strided(size: usize) -> StridedFn {
    match size {
        1 => load::<u8>,
        2 => load::<u16>,
        4 => load::<u32>,
        8 => load::<u64>,
        _ => load::<Wide>,
    }
}

/// Scatters a dense tile of elements of `size` bytes to places at a stride.
pub fn store_strided(size: usize) -> StridedFn {
    match size {
        1 => store::<u8>,
        2 => store::<u16>,
        4 => store::<u32>,
        8 => store::<u64>,
        _ => store::<Wide>,
    }
}

/// Asks for `bytes` bytes at `ptr` to be brought into the first-level cache. Any pointer is harmless.
#[inline]
pub fn prefetch(ptr: *const u8, bytes: usize) {
    let mut i = 0;
    while i < bytes {
        crate::isa::prefetch_line(ptr.wrapping_add(i));
        i += 64;
    }
}

/// Copies `bytes` bytes past the caches, for outputs that will not be read soon. Call [`stream_fence`] once after the
/// last of a program, before another thread may look.
///
/// # Safety
/// `dst` and `src` must be valid for `bytes` bytes and must not overlap.
pub unsafe fn stream_store(dst: *mut u8, src: *const u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
        let head = dst.align_offset(64).min(bytes);
        let body = (bytes - head) & !63;
        // SAFETY: all offsets are below `bytes`; SSE2 is part of the x86-64 baseline.
        unsafe {
            std::ptr::copy_nonoverlapping(src, dst, head);
            let (d, s) = (dst.add(head).cast::<__m128i>(), src.add(head).cast::<__m128i>());
            let mut i = 0;
            while i < body / 16 {
                // Four stores that fill one line leave the write-combining buffer together.
                for j in 0..4 {
                    _mm_stream_si128(d.add(i + j), _mm_loadu_si128(s.add(i + j)));
                }
                i += 4;
            }
            let done = head + body;
            std::ptr::copy_nonoverlapping(src.add(done), dst.add(done), bytes - done);
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: the caller's contract.
    unsafe {
        std::ptr::copy_nonoverlapping(src, dst, bytes);
    }
}

/// Orders the stores of [`stream_store`] before later stores.
pub fn stream_fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of the x86-64 baseline.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}
