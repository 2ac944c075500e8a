//! Functions that neither std nor libm have, in f64.

use std::f64::consts::{FRAC_2_SQRT_PI, PI};

/// Inverse of the error function: Giles's approximation ("Approximating the erfinv function", 2012), then two
/// steps of Halley's method.
pub fn erf_inv(x: f64) -> f64 {
    if x.is_nan() || x.abs() > 1.0 {
        return f64::NAN;
    }
    if x.abs() == 1.0 {
        return x * f64::INFINITY;
    }
    let a = x.abs();
    let w = -((1.0 - a) * (1.0 + a)).ln();
    let central = [
        2.81022636e-08,
        3.43273939e-07,
        -3.5233877e-06,
        -4.39150654e-06,
        0.00021858087,
        -0.00125372503,
        -0.00417768164,
        0.246640727,
        1.50140941,
    ];
    let tail = [
        -0.000200214257,
        0.000100950558,
        0.00134934322,
        -0.00367342844,
        0.00573950773,
        -0.0076224613,
        0.00943887047,
        1.00167406,
        2.83297682,
    ];
    let (shifted, coefficients) = if w < 5.0 { (w - 2.5, central) } else { (w.sqrt() - 3.0, tail) };
    let mut y = coefficients.iter().fold(0.0, |p, c| p * shifted + c) * a;
    for _ in 0..3 {
        // The complement keeps the digits of the difference near 1.
        let error = if a < 0.5 { libm::erf(y) - a } else { (1.0 - a) - libm::erfc(y) };
        let step = error / (FRAC_2_SQRT_PI * (-y * y).exp());
        y -= step / (1.0 + y * step);
    }
    y.copysign(x)
}

/// Logarithmic derivative of the gamma function: recurrence up to 10, then the asymptotic series; reflection below 0.
/// At 0 it is infinite with the sign opposite to that of the zero; at negative integers it is NaN.
pub fn digamma(x: f64) -> f64 {
    if x == 0.0 {
        return f64::INFINITY.copysign(-x);
    }
    if x < 0.0 {
        if x == x.floor() {
            return f64::NAN;
        }
        let fraction = x - x.floor();
        return digamma(1.0 - x) - PI / (PI * fraction).tan();
    }
    if x == f64::INFINITY {
        return x;
    }
    let (mut x, mut sum) = (x, 0.0);
    while x < 10.0 {
        sum -= 1.0 / x;
        x += 1.0;
    }
    let z = 1.0 / (x * x);
    // B₂ₙ / 2n, from n = 7 down to 1.
    let series =
        [1.0 / 12.0, -691.0 / 32760.0, 1.0 / 132.0, -1.0 / 240.0, 1.0 / 252.0, -1.0 / 120.0, 1.0 / 12.0];
    let tail = series.iter().fold(0.0, |p, c| p * z + c) * z;
    sum + x.ln() - 0.5 / x - tail
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn erf_inv_inverts() {
        for x in [-0.999999, -0.7, -1e-5, 0.0, 1e-300, 0.3, 0.5, 0.9, 1.0 - 1e-12] {
            let back = libm::erf(erf_inv(x));
            assert!((back - x).abs() <= 4e-16 * x.abs().max(1e-3), "{x} {back}");
        }
        assert_eq!(erf_inv(1.0), f64::INFINITY);
        assert!(erf_inv(1.5).is_nan());
    }

    #[test]
    fn digamma_has_its_known_values() {
        const EULER: f64 = 0.577_215_664_901_532_9;
        assert!((digamma(1.0) + EULER).abs() < 1e-15);
        assert!((digamma(0.5) + EULER + 2.0 * 2f64.ln()).abs() < 1e-14);
        // ψ(−1/2) = ψ(1/2) + 2.
        assert!((digamma(-0.5) - digamma(0.5) - 2.0).abs() < 1e-14);
        assert!(digamma(-3.0).is_nan());
    }
}
