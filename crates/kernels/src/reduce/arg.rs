//! Arg-max and arg-min.

use std::marker::PhantomData;

use tnrs_types::DType;

use crate::isa::{entry, Isa};
use crate::math::half::{Bf16, F16};

/// Updates the running best `value` (of the elements' own type) and its `index` with `n` contiguous elements, the
/// first of which has index `first`. A negative `*index` means that there is no best yet.
///
/// # Safety
/// `src` must be valid for `n` elements, `value` for one element.
pub type ArgInnerFn = unsafe fn(src: *const u8, n: usize, first: i64, value: *mut u8, index: *mut i64);

/// Updates `n` running bests with one element each, whose index is `at`.
///
/// # Safety
/// `value` and `src` must be valid for `n` elements, `index` for `n` indices; none may overlap.
pub type ArgOuterFn = unsafe fn(value: *mut u8, index: *mut i64, src: *const u8, n: usize, at: i64);

entry!(InnerBody, pick_inner, ArgInnerFn, (src: *const u8, n: usize, first: i64, value: *mut u8, index: *mut i64));
entry!(OuterBody, pick_outer, ArgOuterFn, (value: *mut u8, index: *mut i64, src: *const u8, n: usize, at: i64));

/// An element type with its order.
trait Ordered: Copy {
    type Key: PartialOrd + Copy;
    fn key(self) -> Self::Key;
    fn nan(self) -> bool;
}

macro_rules! ordered {
    ($($t:ty, $key:ty = |$x:ident| $k:expr, $nan:expr;)*) => {$(
        impl Ordered for $t {
            type Key = $key;
            #[inline(always)]
            fn key(self) -> $key { let $x = self; $k }
            #[inline(always)]
            #[allow(clippy::redundant_closure_call, reason = "integers ignore the operand")]
            fn nan(self) -> bool { let f: fn($t) -> bool = $nan; f(self) }
        }
    )*};
}
ordered! {
    u8, u8 = |x| x, |_| false;
    i8, i8 = |x| x, |_| false;
    u16, u16 = |x| x, |_| false;
    i16, i16 = |x| x, |_| false;
    u32, u32 = |x| x, |_| false;
    i32, i32 = |x| x, |_| false;
    u64, u64 = |x| x, |_| false;
    i64, i64 = |x| x, |_| false;
    f32, f32 = |x| x, |x| x.is_nan();
    f64, f64 = |x| x, |x| x.is_nan();
    Bf16, f32 = |x| x.to_f32(), |x| x.to_f32().is_nan();
    F16, f32 = |x| x.to_f32(), |x| x.to_f32().is_nan();
}

/// Whether `x` replaces the best `b`: NaN replaces a number, and equal elements do not replace.
#[inline(always)]
fn beats<T: Ordered, const MAX: bool>(x: T, b: T) -> bool {
    let (k, l) = (x.key(), b.key());
    let better = if MAX { k > l } else { k < l };
    (better || x.nan()) && !b.nan()
}

/// Elements searched at a time: the best of a stretch is found by vector code, its place only if it wins.
const STRETCH: usize = 512;
const LANES: usize = 32;

struct Arg<T, const MAX: bool>(PhantomData<T>);
impl<T: Ordered, const MAX: bool> InnerBody for Arg<T, MAX> {
    #[inline(always)]
    unsafe fn run(src: *const u8, n: usize, first: i64, value: *mut u8, index: *mut i64) {
        // SAFETY: the contract of `ArgInnerFn`.
        let (src, value, index) =
            unsafe { (std::slice::from_raw_parts(src.cast::<T>(), n), &mut *value.cast::<T>(), &mut *index) };
        for (c, stretch) in src.chunks(STRETCH).enumerate() {
            let mut lanes = [stretch[0]; LANES];
            let mut parts = stretch.chunks_exact(LANES);
            for part in parts.by_ref() {
                for j in 0..LANES {
                    lanes[j] = if beats::<T, MAX>(part[j], lanes[j]) { part[j] } else { lanes[j] };
                }
            }
            let mut best = lanes[0];
            for &x in lanes.iter().chain(parts.remainder()) {
                best = if beats::<T, MAX>(x, best) { x } else { best };
            }
            if *index < 0 || beats::<T, MAX>(best, *value) {
                let place = stretch.iter().position(|&x| x.key() == best.key() || (x.nan() && best.nan()));
                *value = best;
                *index = first + (c * STRETCH + place.unwrap_or(0)) as i64;
            }
        }
    }
}
impl<T: Ordered, const MAX: bool> OuterBody for Arg<T, MAX> {
    #[inline(always)]
    unsafe fn run(value: *mut u8, index: *mut i64, src: *const u8, n: usize, at: i64) {
        // SAFETY: the contract of `ArgOuterFn`.
        let (value, index, src) = unsafe {
            (
                std::slice::from_raw_parts_mut(value.cast::<T>(), n),
                std::slice::from_raw_parts_mut(index, n),
                std::slice::from_raw_parts(src.cast::<T>(), n),
            )
        };
        for ((v, i), &x) in value.iter_mut().zip(index).zip(src) {
            let wins = *i < 0 || beats::<T, MAX>(x, *v);
            *v = if wins { x } else { *v };
            *i = if wins { at } else { *i };
        }
    }
}

macro_rules! table {
    ($pick:ident, $isa:ident, $max:ident, $dtype:ident) => {
        table!(@ $pick, $isa, $max, $dtype; Bool u8, U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, U64 u64,
            I64 i64, F32 f32, F64 f64, BF16 Bf16, F16 F16)
    };
    (@ $pick:ident, $isa:ident, $max:ident, $dtype:ident; $($d:ident $t:ty),*) => {
        match ($dtype, $max) {
            $((DType::$d, true) => Some($pick::<Arg<$t, true>>($isa)),
              (DType::$d, false) => Some($pick::<Arg<$t, false>>($isa)),)*
            _ => None,
        }
    };
}

/// See [`super::arg_inner`].
pub fn arg_inner_on(isa: Isa, max: bool, dtype: DType) -> Option<ArgInnerFn> {
    table!(pick_inner, isa, max, dtype)
}

/// See [`super::arg_outer`].
pub fn arg_outer_on(isa: Isa, max: bool, dtype: DType) -> Option<ArgOuterFn> {
    table!(pick_outer, isa, max, dtype)
}
