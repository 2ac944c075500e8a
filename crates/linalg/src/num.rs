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
    /// The same in double precision.
    type Wide: Num;
    /// To double precision.
    fn widen(self) -> Self::Wide;
    /// From double precision.
    fn narrow(wide: Self::Wide) -> Self;
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

/// The largest size at which single precision computes in double: there it costs little, and results are those of the
/// exact matrix rounded once.
const WIDENED: usize = 64;

/// Runs `f` on `a` in double precision if that differs and the size `n` is small; says whether it did.
pub(crate) fn widened<T: Num>(
    a: &[T],
    n: usize,
    out: &mut [T],
    f: impl FnOnce(&[T::Wide], &mut [T::Wide]),
) -> bool {
    if n > WIDENED || std::mem::size_of::<T>() == std::mem::size_of::<T::Wide>() {
        return false;
    }
    let wide: Vec<T::Wide> = a.iter().map(|x| x.widen()).collect();
    let mut result = vec![zero::<T::Wide>(); out.len()];
    f(&wide, &mut result);
    out.iter_mut().zip(result).for_each(|(to, x)| *to = T::narrow(x));
    true
}

macro_rules! nums {
    ($($t:ident)*) => { $(
        impl Num for $t {
            type Part = $t;
            type Wide = f64;
            const COMPLEX: bool = false;
            #[inline(always)]
            fn widen(self) -> f64 { f64::from(self) }
            #[inline(always)]
            fn narrow(wide: f64) -> $t { wide as $t }
            #[inline(always)]
            fn of(re: $t, _: $t) -> $t { re }
            #[inline(always)]
            fn re(self) -> $t { self }
            #[inline(always)]
            fn im(self) -> $t { 0.0 }
        }
        impl Num for Complex<$t> {
            type Part = $t;
            type Wide = Complex<f64>;
            const COMPLEX: bool = true;
            #[inline(always)]
            fn widen(self) -> Complex<f64> { Complex::new(f64::from(self.re), f64::from(self.im)) }
            #[inline(always)]
            fn narrow(wide: Complex<f64>) -> Self { Complex::new(wide.re as $t, wide.im as $t) }
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
