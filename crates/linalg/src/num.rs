//! The element types.

use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use faer::traits::ComplexField;
use num_complex::Complex;
use num_traits::Float;

/// f32 or f64.
pub trait Real: Float + Num<Part = Self> {}
impl Real for f32 {}
impl Real for f64 {}

/// f32, f64 or a complex number of them.
pub trait Num:
    ComplexField<Real = <Self as Num>::Part>
    + Copy
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
{
    /// The type of the real and the imaginary part.
    type Part: Real;
    /// Whether there is an imaginary part.
    const COMPLEX: bool;
    /// From the parts; a real type drops the imaginary one.
    fn of(re: Self::Part, im: Self::Part) -> Self;
    /// Real part.
    fn re(self) -> Self::Part;
    /// Imaginary part.
    fn im(self) -> Self::Part;
    /// Conjugate.
    #[inline(always)]
    fn bar(self) -> Self {
        Self::of(self.re(), -self.im())
    }
    /// |re| + |im|, the magnitude by which LAPACK chooses pivots.
    #[inline(always)]
    fn abs1(self) -> Self::Part {
        if Self::COMPLEX {
            Float::abs(self.re()) + Float::abs(self.im())
        } else {
            Float::abs(self.re())
        }
    }
    /// Magnitude.
    #[inline(always)]
    fn magnitude(self) -> Self::Part {
        if Self::COMPLEX {
            Float::hypot(self.re(), self.im())
        } else {
            Float::abs(self.re())
        }
    }
    /// Neither infinite nor NaN.
    fn is_finite(self) -> bool {
        Float::is_finite(self.re()) && Float::is_finite(self.im())
    }
    /// A real number.
    #[inline(always)]
    fn real_of(x: Self::Part) -> Self {
        Self::of(x, zero::<Self::Part>())
    }
    /// A real number, rounded to the type.
    fn lit(x: f64) -> Self {
        Self::real_of(num_traits::NumCast::from(x).unwrap_or_else(Float::nan))
    }
}

/// 0.
#[inline(always)]
pub(crate) fn zero<T: Num>() -> T {
    faer::traits::math_utils::zero()
}

/// 1.
#[inline(always)]
pub(crate) fn one<T: Num>() -> T {
    faer::traits::math_utils::one()
}

macro_rules! nums {
    ($($t:ident)*) => { $(
        impl Num for $t {
            type Part = $t;
            const COMPLEX: bool = false;
            #[inline(always)]
            fn of(re: $t, _: $t) -> $t { re }
            #[inline(always)]
            fn re(self) -> $t { self }
            #[inline(always)]
            fn im(self) -> $t { 0.0 }
        }
        impl Num for Complex<$t> {
            type Part = $t;
            const COMPLEX: bool = true;
            #[inline(always)]
            fn of(re: $t, im: $t) -> Self { Complex::new(re, im) }
            #[inline(always)]
            fn re(self) -> $t { self.re }
            #[inline(always)]
            fn im(self) -> $t { self.im }
        }
    )* };
}
nums!(f32 f64);
