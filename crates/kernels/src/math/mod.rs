//! Scalar functions, written without branches so that loops over them vectorise.
//!
//! Single precision: the functions of hot paths (exp, log, tanh, erf, logistic, sin, cos) are evaluated in f32; the
//! others in f64 by short polynomials of about 1e-11 relative error, which leaves only the final rounding. Double
//! precision calls the platform's mathematical library. All polynomial coefficients are minimax fits made for this
//! crate.

pub mod complex;
pub mod double;
pub mod elem;
pub mod exp;
pub mod fp8;
pub mod gamma;
pub mod half;
pub mod incomplete;
pub mod int;
pub mod inverse;
pub mod log;
pub mod logsum;
pub mod orthogonal;
pub mod power;
pub mod real;
pub mod special;
pub mod trig;
pub mod wide;
pub mod zeta;

/// Fused multiply-add as a trait, so that literals take their type from the other operands.
pub(crate) trait Fma {
    /// self·a + b, rounded once.
    fn fma(self, a: Self, b: Self) -> Self;
}
impl Fma for f32 {
    #[inline(always)]
    fn fma(self, a: f32, b: f32) -> f32 {
        self.mul_add(a, b)
    }
}
impl Fma for f64 {
    #[inline(always)]
    fn fma(self, a: f64, b: f64) -> f64 {
        self.mul_add(a, b)
    }
}

/// Horner's scheme with fused multiply-adds; coefficients from the constant term up.
macro_rules! poly {
    ($x:expr, $c:expr) => { $c };
    ($x:expr, $c:expr, $($rest:expr),+) => {
        $crate::math::Fma::fma($crate::math::poly!($x, $($rest),+), $x, $c)
    };
}
pub(crate) use poly;

/// The polynomial of [`poly`] as even(x²) + x·odd(x²): the two halves run side by side, which shortens the chain of
/// dependent operations that long loop bodies wait for.
macro_rules! poly2 {
    ($x:expr, $($c:expr),+) => { $crate::math::poly2!(@ $x, ($($c),+), (), ()) };
    (@ $x:expr, ($a:expr, $b:expr, $($rest:expr),+), ($($e:expr),*), ($($o:expr),*)) => {
        $crate::math::poly2!(@ $x, ($($rest),+), ($($e,)* $a), ($($o,)* $b))
    };
    (@ $x:expr, ($a:expr, $b:expr), ($($e:expr),*), ($($o:expr),*)) => {
        $crate::math::poly2!(@@ $x, ($($e,)* $a), ($($o,)* $b))
    };
    (@ $x:expr, ($a:expr), ($($e:expr),*), ($($o:expr),*)) => {
        $crate::math::poly2!(@@ $x, ($($e,)* $a), ($($o),*))
    };
    (@@ $x:expr, ($($e:expr),+), ($($o:expr),+)) => {{
        let square = $x * $x;
        $crate::math::Fma::fma(
            $crate::math::poly!(square, $($o),+),
            $x,
            $crate::math::poly!(square, $($e),+),
        )
    }};
}
pub(crate) use poly2;
