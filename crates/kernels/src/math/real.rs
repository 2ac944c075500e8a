//! One trait over f32 and f64, so that a kernel body is written once for both.

use super::{double, exp, gamma, inverse, log, power, special, trig};

/// The functions of one argument: name, f32 form, f64 form.
macro_rules! unary_fns {
    ($w:ident) => {
        unary_fns!(@one $w abs, f32::abs, f64::abs);
        unary_fns!(@one $w cbrt, power::cbrt, f64::cbrt);
        unary_fns!(@one $w ceil, f32::ceil, f64::ceil);
        unary_fns!(@one $w cos, trig::cos, f64::cos);
        unary_fns!(@one $w exp, exp::exp, f64::exp);
        unary_fns!(@one $w exp2, exp::exp2, f64::exp2);
        unary_fns!(@one $w exp_m1, exp::exp_m1, f64::exp_m1);
        unary_fns!(@one $w floor, f32::floor, f64::floor);
        unary_fns!(@one $w ln, log::ln, f64::ln);
        unary_fns!(@one $w ln_1p, inverse::ln_1p, f64::ln_1p);
        unary_fns!(@one $w logistic, exp::logistic, double::logistic);
        unary_fns!(@one $w round_away, f32::round, f64::round);
        unary_fns!(@one $w round_even, f32::round_ties_even, f64::round_ties_even);
        unary_fns!(@one $w rsqrt, rsqrt32, double::rsqrt);
        unary_fns!(@one $w sin, trig::sin, f64::sin);
        unary_fns!(@one $w sqrt, f32::sqrt, f64::sqrt);
        unary_fns!(@one $w tan, trig::tan, f64::tan);
        unary_fns!(@one $w tanh, exp::tanh, f64::tanh);
        unary_fns!(@one $w acos, inverse::acos, f64::acos);
        unary_fns!(@one $w acosh, inverse::acosh, double::acosh);
        unary_fns!(@one $w asin, inverse::asin, f64::asin);
        unary_fns!(@one $w asinh, inverse::asinh, double::asinh);
        unary_fns!(@one $w atan, inverse::atan, f64::atan);
        unary_fns!(@one $w atanh, inverse::atanh, double::atanh);
        unary_fns!(@one $w cosh, inverse::cosh, f64::cosh);
        unary_fns!(@one $w digamma, digamma32, special::digamma);
        unary_fns!(@one $w erf, exp::erf, special::error_function);
        unary_fns!(@one $w erfc, inverse::erfc, special::error_function_complement);
        unary_fns!(@one $w erf_inv, inverse::erf_inv, special::erf_inv);
        unary_fns!(@one $w lgamma, gamma::ln_gamma, special::ln_gamma);
        unary_fns!(@one $w sinh, inverse::sinh, f64::sinh);
        unary_fns!(@one $w trunc, f32::trunc, f64::trunc);
    };
    (@one declare $n:ident, $a:path, $b:path) => {
        #[doc = concat!("The function `", stringify!($n), "`.")]
        fn $n(self) -> Self;
    };
    (@one f32 $n:ident, $a:path, $b:path) => { #[inline(always)] fn $n(self) -> Self { $a(self) } };
    (@one f64 $n:ident, $a:path, $b:path) => { #[inline(always)] fn $n(self) -> Self { $b(self) } };
}

/// Real numbers with the functions that kernels need.
pub trait Real:
    Copy
    + PartialOrd
    + std::ops::Add<Output = Self>
    + std::ops::Sub<Output = Self>
    + std::ops::Mul<Output = Self>
    + std::ops::Div<Output = Self>
    + std::ops::Neg<Output = Self>
    + 'static
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// Positive infinity.
    const INF: Self;
    /// Negative infinity.
    const NEG_INF: Self;
    /// Rounded from f64.
    fn of(x: f64) -> Self;
    /// As f64.
    fn wide(self) -> f64;
    /// Greater operand; NaN if either is NaN.
    fn max(self, o: Self) -> Self;
    /// Lesser operand; NaN if either is NaN.
    fn min(self, o: Self) -> Self;
    /// x − n·y with n = x/y truncated, exact (C's `fmod`), unless [`Real::is_huge_quotient`].
    fn rem(self, o: Self) -> Self;
    /// Whether the vector form of `rem` does not reach it.
    fn is_huge_quotient(self, o: Self) -> bool;
    /// `rem` of a huge quotient.
    fn rem_huge(self, o: Self) -> Self;
    /// Sign as ±1, ±0 and NaN themselves.
    fn sign(self) -> Self;
    /// self·a + b, rounded once.
    fn fma(self, a: Self, b: Self) -> Self;
    /// Whether it is NaN.
    fn nan(self) -> bool;
    /// Whether the vector forms of sine, cosine and tangent do not reach it.
    fn is_huge_angle(self) -> bool;
    /// sine of a huge angle.
    fn sin_huge(self) -> Self;
    /// cosine of a huge angle.
    fn cos_huge(self) -> Self;
    /// tangent of a huge angle.
    fn tan_huge(self) -> Self;
    /// Power.
    fn pow(self, o: Self) -> Self;
    /// Arc tangent of self/o.
    fn atan2(self, o: Self) -> Self;
    /// x·Φ(x).
    fn gelu(self) -> Self;
    /// Derivative of gelu.
    fn gelu_d(self) -> Self;
    /// gelu by the tanh approximation.
    fn gelu_tanh(self) -> Self;
    /// Its derivative.
    fn gelu_tanh_d(self) -> Self;
    /// x·σ(x).
    fn silu(self) -> Self;
    /// Its derivative.
    fn silu_d(self) -> Self;
    /// eˣ for x ≤ 0 (results below the least normal number may flush to 0).
    fn exp_nonpositive(self) -> Self;
    unary_fns!(declare);
}

fn digamma32(x: f32) -> f32 {
    special::digamma(f64::from(x)) as f32
}

#[inline(always)]
fn rsqrt32(x: f32) -> f32 {
    1.0 / x.sqrt()
}

macro_rules! real {
    ($t:ident, $gelu:path, $gelu_d:path, $gelu_tanh:path, $gelu_tanh_d:path, $silu:path, $silu_d:path, $neg_exp:path,
     $pow:path, $atan2:path, $huge:expr, $sin:path, $cos:path, $tan:path) => {
        impl Real for $t {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const INF: Self = $t::INFINITY;
            const NEG_INF: Self = $t::NEG_INFINITY;
            #[inline(always)]
            fn of(x: f64) -> Self {
                x as $t
            }
            #[inline(always)]
            fn wide(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn max(self, o: Self) -> Self {
                // A comparison with NaN is false, so `o` wins unless `self` is greater, equal or itself NaN.
                let m = if self > o { self } else { o };
                if self.is_nan() {
                    self
                } else {
                    m
                }
            }
            #[inline(always)]
            fn min(self, o: Self) -> Self {
                let m = if self < o { self } else { o };
                if self.is_nan() {
                    self
                } else {
                    m
                }
            }
            #[inline(always)]
            fn rem(self, o: Self) -> Self {
                double::remainder(self.into(), o.into()) as $t
            }
            #[inline(always)]
            fn is_huge_quotient(self, o: Self) -> bool {
                (f64::from(self) / f64::from(o)).abs() >= double::QUOTIENT_LIMIT
            }
            #[inline(always)]
            fn rem_huge(self, o: Self) -> Self {
                self % o
            }
            #[inline(always)]
            fn sign(self) -> Self {
                let s = if self > 0.0 { 1.0 } else { self };
                if self < 0.0 {
                    -1.0
                } else {
                    s
                }
            }
            #[inline(always)]
            fn fma(self, a: Self, b: Self) -> Self {
                self.mul_add(a, b)
            }
            #[inline(always)]
            fn nan(self) -> bool {
                self.is_nan()
            }
            #[inline(always)]
            fn is_huge_angle(self) -> bool {
                self.abs() >= $huge
            }
            #[inline(always)]
            fn sin_huge(self) -> Self {
                $sin(self)
            }
            #[inline(always)]
            fn cos_huge(self) -> Self {
                $cos(self)
            }
            #[inline(always)]
            fn tan_huge(self) -> Self {
                $tan(self)
            }
            #[inline(always)]
            fn pow(self, o: Self) -> Self {
                $pow(self, o)
            }
            #[inline(always)]
            fn atan2(self, o: Self) -> Self {
                $atan2(self, o)
            }
            #[inline(always)]
            fn gelu(self) -> Self {
                $gelu(self)
            }
            #[inline(always)]
            fn gelu_d(self) -> Self {
                $gelu_d(self)
            }
            #[inline(always)]
            fn gelu_tanh(self) -> Self {
                $gelu_tanh(self)
            }
            #[inline(always)]
            fn gelu_tanh_d(self) -> Self {
                $gelu_tanh_d(self)
            }
            #[inline(always)]
            fn silu(self) -> Self {
                $silu(self)
            }
            #[inline(always)]
            fn silu_d(self) -> Self {
                $silu_d(self)
            }
            #[inline(always)]
            fn exp_nonpositive(self) -> Self {
                $neg_exp(self)
            }
            unary_fns!($t);
        }
    };
}

real!(
    f32,
    exp::gelu,
    exp::gelu_derivative,
    exp::gelu_tanh,
    exp::gelu_tanh_derivative,
    exp::silu,
    exp::silu_derivative,
    exp::exp_nonpositive,
    power::pow,
    inverse::atan2,
    trig::LIMIT,
    trig::sin_huge,
    trig::cos_huge,
    trig::tan_huge
);
real!(
    f64,
    double::gelu,
    double::gelu_derivative,
    double::gelu_tanh,
    double::gelu_tanh_derivative,
    double::silu,
    double::silu_derivative,
    f64::exp,
    f64::powf,
    f64::atan2,
    f64::INFINITY,
    f64::sin,
    f64::cos,
    f64::tan
);
