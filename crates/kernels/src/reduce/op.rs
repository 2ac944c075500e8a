//! The bodies of reductions as types.

use crate::math::complex::Complex;
use crate::math::elem::Elem;
use crate::math::int::Int;
use crate::math::real::Real;

/// A reduction of elements `T`.
pub(super) trait Reduction<T> {
    /// Type of the accumulator.
    type Acc: Copy;
    /// Neutral element.
    const NEUTRAL: Self::Acc;
    /// Whether joining the neutral element can change a value: an infinite complex number times one.
    const NEUTRAL_SHOWS: bool = false;
    /// An element as an accumulator.
    fn lift(x: T) -> Self::Acc;
    /// Combination.
    fn join(a: Self::Acc, b: Self::Acc) -> Self::Acc;
}

macro_rules! floats {
    ($($op:ident, $neutral:expr, |$a:ident, $b:ident| $e:expr;)*) => {$(
        pub(super) struct $op;
        impl<T: Elem> Reduction<T> for $op {
            type Acc = T::Math;
            const NEUTRAL: T::Math = $neutral;
            #[inline(always)]
            fn lift(x: T) -> T::Math { x.load() }
            #[inline(always)]
            fn join($a: T::Math, $b: T::Math) -> T::Math { $e }
        }
    )*};
}

floats! {
    Add, <T::Math as Real>::ZERO, |a, b| a + b;
    Mul, <T::Math as Real>::ONE, |a, b| a * b;
    Max, <T::Math as Real>::NEG_INF, |a, b| a.max(b);
    Min, <T::Math as Real>::INF, |a, b| a.min(b);
}

macro_rules! complexes {
    ($($op:ident, $re:ident, $shows:literal, |$a:ident, $b:ident| $e:expr;)*) => {$(
        pub(super) struct $op;
        impl<T: Real> Reduction<Complex<T>> for $op {
            type Acc = Complex<T>;
            const NEUTRAL_SHOWS: bool = $shows;
            const NEUTRAL: Complex<T> = Complex { re: T::$re, im: T::ZERO };
            #[inline(always)]
            fn lift(x: Complex<T>) -> Complex<T> { x }
            #[inline(always)]
            fn join($a: Complex<T>, $b: Complex<T>) -> Complex<T> { $e }
        }
    )*};
}

complexes! {
    CAdd, ZERO, false, |a, b| Complex { re: a.re + b.re, im: a.im + b.im };
    CMul, ONE, true, |a, b| Complex { re: a.re * b.re - a.im * b.im, im: a.re * b.im + a.im * b.re };
}

macro_rules! ints {
    ($($op:ident, $neutral:ident, |$a:ident, $b:ident| $e:expr;)*) => {$(
        pub(super) struct $op;
        impl<T: Int> Reduction<T> for $op {
            type Acc = T;
            const NEUTRAL: T = T::$neutral;
            #[inline(always)]
            fn lift(x: T) -> T { x }
            #[inline(always)]
            fn join($a: T, $b: T) -> T { $e }
        }
    )*};
}

ints! {
    IntAdd, ZERO, |a, b| a.add(b);
    IntMul, ONE, |a, b| a.mul(b);
    IntAnd, ONES, |a, b| a.and(b);
    IntOr, ZERO, |a, b| a.or(b);
    IntXor, ZERO, |a, b| a.xor(b);
    IntMax, MIN, |a, b| if a > b { a } else { b };
    IntMin, MAX, |a, b| if a < b { a } else { b };
}
