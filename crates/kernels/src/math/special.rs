//! Special functions in double precision, scalar.

use std::f64::consts::PI;

extern "C" {
    fn erf(x: f64) -> f64;
    fn erfc(x: f64) -> f64;
    fn lgamma_r(x: f64, sign: *mut i32) -> f64;
}

/// Error function.
pub fn error_function(x: f64) -> f64 {
    // SAFETY: a pure function of the C library.
    unsafe { erf(x) }
}

/// Complementary error function.
pub fn error_function_complement(x: f64) -> f64 {
    // SAFETY: a pure function of the C library.
    unsafe { erfc(x) }
}

/// ln |Γ(x)|; +inf at the poles and at −inf.
pub fn ln_gamma(x: f64) -> f64 {
    let mut sign = 0;
    // SAFETY: the reentrant form writes only to `sign`.
    unsafe { lgamma_r(x, &mut sign) }
}

/// Digamma, the derivative of ln Γ. ∓inf at ±0, NaN at negative integers and −inf.
pub fn digamma(x: f64) -> f64 {
    if x == 0.0 {
        return -(1.0f64 / x);
    }
    if x == f64::INFINITY {
        return x;
    }
    if x < 0.0 {
        if x.floor() == x {
            return f64::NAN;
        }
        // ψ(x) = ψ(1 − x) − π / tan πx; the fraction keeps the tangent exact for large |x|.
        let f = x - x.trunc();
        return digamma(1.0 - x) - PI / (PI * f).tan();
    }
    let mut shift = 0.0;
    let mut x = x;
    while x < 10.0 {
        shift += 1.0 / x;
        x += 1.0;
    }
    // Asymptotic series with Bernoulli numbers B₂ₖ / 2k.
    let z = 1.0 / (x * x);
    let series = z
        * (1.0 / 12.0
            - z * (1.0 / 120.0
                - z * (1.0 / 252.0
                    - z * (1.0 / 240.0 - z * (1.0 / 132.0 - z * (691.0 / 32760.0 - z * (1.0 / 12.0)))))));
    x.ln() - 0.5 / x - series - shift
}

/// Inverse error function: ±inf at ±1, NaN outside.
pub fn erf_inv(x: f64) -> f64 {
    let a = x.abs();
    if a.is_nan() || a > 1.0 {
        return f64::NAN;
    }
    if a == 1.0 {
        return f64::INFINITY.copysign(x);
    }
    if a == 0.0 {
        return x;
    }
    // Winitzki's closed form gives two digits; Halley's step triples the digits each time.
    const A: f64 = 0.147;
    let l = (-a * a).ln_1p();
    let t = 2.0 / (PI * A) + 0.5 * l;
    let mut y = ((t * t - l / A).sqrt() - t).sqrt();
    if a < 1e-3 {
        y = a * 0.5 * PI.sqrt();
    }
    for _ in 0..3 {
        // Where erf is near 1, the residual comes from erfc, because 1 − a is exact there.
        let f = if a > 0.5 { (1.0 - a) - error_function_complement(y) } else { error_function(y) - a };
        let u = f * 0.5 * PI.sqrt() * (y * y).exp();
        y -= u / (1.0 + y * u);
    }
    y.copysign(x)
}
