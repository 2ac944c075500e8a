//! Inclusive scans of a contiguous run.

use std::marker::PhantomData;

use tnrs_types::{DType, ReduceKind};

use crate::isa::{entry, Isa};
use crate::math::complex::{Complex, C128, C64};
use crate::math::half::{Bf16, F16};
use crate::math::int::Int;
use crate::math::real::Real;

/// `dst[i] = src[0] ∘ … ∘ src[i]`.
///
/// # Safety
/// `dst` and `src` must be valid for `n` elements; they must be equal or disjoint.
pub type ScanFn = unsafe fn(dst: *mut u8, src: *const u8, n: usize);

entry!(ScanBody, pick, ScanFn, (dst: *mut u8, src: *const u8, n: usize));

trait Step<T> {
    type Acc: Copy;
    fn lift(x: T) -> Self::Acc;
    /// The first element joined with the neutral one, where that is more than the element.
    #[inline(always)]
    fn first(x: Self::Acc) -> Self::Acc {
        x
    }
    fn join(a: Self::Acc, b: Self::Acc) -> Self::Acc;
    fn lower(a: Self::Acc) -> T;
}

struct Scan<O, T>(PhantomData<(O, T)>);
impl<O: Step<T>, T: Copy> ScanBody for Scan<O, T> {
    #[inline(always)]
    unsafe fn run(dst: *mut u8, src: *const u8, n: usize) {
        let (dst, src) = (dst.cast::<T>(), src.cast::<T>());
        if n == 0 {
            return;
        }
        // SAFETY: the contract of `ScanFn`; element `i` is read before it is written.
        unsafe {
            let mut acc = O::first(O::lift(src.read()));
            dst.write(O::lower(acc));
            for i in 1..n {
                acc = O::join(acc, O::lift(src.add(i).read()));
                dst.add(i).write(O::lower(acc));
            }
        }
    }
}

struct Add;
struct Mul;
struct Max;
struct Min;

macro_rules! float {
    ($t:ty, $acc:ty, |$x:ident| $lift:expr, |$a:ident| $lower:expr) => {
        float!(@op Add, $t, $acc, |$x| $lift, |$a| $lower, |p, q| p + q);
        float!(@op Mul, $t, $acc, |$x| $lift, |$a| $lower, |p, q| p * q);
        float!(@op Max, $t, $acc, |$x| $lift, |$a| $lower, |p, q| Real::max(p, q));
        float!(@op Min, $t, $acc, |$x| $lift, |$a| $lower, |p, q| Real::min(p, q));
    };
    (@op $op:ident, $t:ty, $acc:ty, |$x:ident| $lift:expr, |$a:ident| $lower:expr, |$p:ident, $q:ident| $join:expr) => {
        impl Step<$t> for $op {
            type Acc = $acc;
            #[inline(always)]
            fn lift($x: $t) -> $acc { $lift }
            #[inline(always)]
            fn join($p: $acc, $q: $acc) -> $acc { $join }
            #[inline(always)]
            fn lower($a: $acc) -> $t { $lower }
        }
    };
}
float!(f32, f64, |x| f64::from(x), |a| a as f32);
float!(f64, f64, |x| x, |a| a);
float!(Bf16, f32, |x| x.to_f32(), |a| Bf16::from_f32(a));
float!(F16, f32, |x| x.to_f32(), |a| F16::from_f32(a));

macro_rules! generic {
    ($($op:ident<$bound:ident>, $t:ty, |$p:ident, $q:ident| $join:expr;)*) => {$(
        impl<T: $bound> Step<$t> for $op {
            type Acc = $t;
            #[inline(always)]
            fn lift(x: $t) -> $t { x }
            #[inline(always)]
            fn join($p: $t, $q: $t) -> $t { $join }
            #[inline(always)]
            fn lower(a: $t) -> $t { a }
        }
    )*};
}
struct IntAdd;
struct IntMul;
struct IntMax;
struct IntMin;
generic! {
    IntAdd<Int>, T, |p, q| p.add(q);
    IntMul<Int>, T, |p, q| p.mul(q);
    IntMax<Int>, T, |p, q| if p > q { p } else { q };
    IntMin<Int>, T, |p, q| if p < q { p } else { q };
    Add<Real>, Complex<T>, |p, q| Complex { re: p.re + q.re, im: p.im + q.im };
}
impl<T: Real> Step<Complex<T>> for Mul {
    type Acc = Complex<T>;
    #[inline(always)]
    fn lift(x: Complex<T>) -> Complex<T> {
        x
    }
    #[inline(always)]
    fn first(x: Complex<T>) -> Complex<T> {
        <Self as Step<Complex<T>>>::join(Complex { re: T::ONE, im: T::ZERO }, x)
    }
    #[inline(always)]
    fn join(p: Complex<T>, q: Complex<T>) -> Complex<T> {
        Complex { re: p.re * q.re - p.im * q.im, im: p.re * q.im + p.im * q.re }
    }
    #[inline(always)]
    fn lower(a: Complex<T>) -> Complex<T> {
        a
    }
}

/// See [`super::scan`].
pub fn scan_on(isa: Isa, kind: ReduceKind, dtype: DType) -> Option<ScanFn> {
    macro_rules! table {
        ($t:ty, $add:ident, $mul:ident, $max:ident, $min:ident) => {
            match kind {
                ReduceKind::Add => Some(pick::<Scan<$add, $t>>(isa)),
                ReduceKind::Multiply => Some(pick::<Scan<$mul, $t>>(isa)),
                ReduceKind::Maximum => Some(pick::<Scan<$max, $t>>(isa)),
                ReduceKind::Minimum => Some(pick::<Scan<$min, $t>>(isa)),
                _ => None,
            }
        };
        ($t:ty) => {
            match kind {
                ReduceKind::Add => Some(pick::<Scan<Add, $t>>(isa)),
                ReduceKind::Multiply => Some(pick::<Scan<Mul, $t>>(isa)),
                _ => None,
            }
        };
    }
    match dtype {
        DType::F32 => table!(f32, Add, Mul, Max, Min),
        DType::F64 => table!(f64, Add, Mul, Max, Min),
        DType::BF16 => table!(Bf16, Add, Mul, Max, Min),
        DType::F16 => table!(F16, Add, Mul, Max, Min),
        DType::U8 => table!(u8, IntAdd, IntMul, IntMax, IntMin),
        DType::I8 => table!(i8, IntAdd, IntMul, IntMax, IntMin),
        DType::U16 => table!(u16, IntAdd, IntMul, IntMax, IntMin),
        DType::I16 => table!(i16, IntAdd, IntMul, IntMax, IntMin),
        DType::U32 => table!(u32, IntAdd, IntMul, IntMax, IntMin),
        DType::I32 => table!(i32, IntAdd, IntMul, IntMax, IntMin),
        DType::U64 => table!(u64, IntAdd, IntMul, IntMax, IntMin),
        DType::I64 => table!(i64, IntAdd, IntMul, IntMax, IntMin),
        DType::C64 => table!(C64),
        DType::C128 => table!(C128),
        _ => None,
    }
}
