//! Functions in double precision that the standard library lacks or has only in a less accurate form.

use super::special::error_function;

extern "C" {
    #[link_name = "asinh"]
    fn c_asinh(x: f64) -> f64;
    #[link_name = "acosh"]
    fn c_acosh(x: f64) -> f64;
    #[link_name = "atanh"]
    fn c_atanh(x: f64) -> f64;
}

/// Inverse hyperbolic sine.
pub fn asinh(x: f64) -> f64 {
    // SAFETY: a pure function of the C library.
    unsafe { c_asinh(x) }
}

/// Inverse hyperbolic cosine; NaN below 1.
pub fn acosh(x: f64) -> f64 {
    // SAFETY: a pure function of the C library.
    unsafe { c_acosh(x) }
}

/// Inverse hyperbolic tangent; NaN outside [−1, 1].
pub fn atanh(x: f64) -> f64 {
    // SAFETY: a pure function of the C library.
    unsafe { c_atanh(x) }
}

/// 1 / √x.
#[inline(always)]
pub fn rsqrt(x: f64) -> f64 {
    1.0 / x.sqrt()
}

/// 1 / (1 + e⁻ˣ), relatively accurate where it is tiny.
pub fn logistic(x: f64) -> f64 {
    let e = (-x.abs()).exp();
    (if x < 0.0 { e } else { 1.0 }) / (1.0 + e)
}

/// √(2/π).
const SQRT_2_PI: f64 = 0.797_884_560_802_865_4;
/// The cubic coefficient of the tanh approximation of gelu.
const GELU_CUBIC: f64 = 0.044_715;

/// x·Φ(x).
pub fn gelu(x: f64) -> f64 {
    0.5 * x * (1.0 + error_function(x * std::f64::consts::FRAC_1_SQRT_2))
}

/// Derivative of [`gelu`].
pub fn gelu_derivative(x: f64) -> f64 {
    let cdf = 0.5 * (1.0 + error_function(x * std::f64::consts::FRAC_1_SQRT_2));
    let pdf = (-0.5 * x * x).exp() * std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::FRAC_1_SQRT_2 * 0.5;
    cdf + x * pdf
}

/// gelu by the tanh approximation.
pub fn gelu_tanh(x: f64) -> f64 {
    let u = SQRT_2_PI * (x + GELU_CUBIC * x * x * x);
    0.5 * x * (1.0 + u.tanh())
}

/// Derivative of [`gelu_tanh`].
pub fn gelu_tanh_derivative(x: f64) -> f64 {
    let t = (SQRT_2_PI * (x + GELU_CUBIC * x * x * x)).tanh();
    0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * SQRT_2_PI * (1.0 + 3.0 * GELU_CUBIC * x * x)
}

/// x·σ(x).
pub fn silu(x: f64) -> f64 {
    x / (1.0 + (-x).exp())
}

/// Derivative of [`silu`].
pub fn silu_derivative(x: f64) -> f64 {
    let s = logistic(x);
    s * (1.0 + x * (1.0 - s))
}

/// Quotients from which on [`remainder`] is not exact.
pub const QUOTIENT_LIMIT: f64 = 2_251_799_813_685_248.0;

/// C's `fmod` for quotients below [`QUOTIENT_LIMIT`]. The rounded quotient, truncated, is at most 1 too large, so what a
/// fused multiply-add leaves is a multiple of the divisor's last place below the divisor: exact, and one addition mends it.
#[inline(always)]
pub fn remainder(x: f64, y: f64) -> f64 {
    let q = (x / y).trunc();
    let r = (-q).mul_add(y, x);
    let over = (r < 0.0) != (x < 0.0) && r != 0.0;
    let r = if over { r + y.abs().copysign(x) } else { r };
    let r = r.copysign(x);
    // An infinite divisor leaves a finite number as it is.
    if q == 0.0 && !y.is_nan() {
        x
    } else {
        r
    }
}
