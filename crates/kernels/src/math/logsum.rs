//! ln(eˣ + eʸ), as m + ln(1 + e^(n − m)) with m the operand of the larger real part and n the other.

use super::complex::C128;

/// Of real numbers; equal infinities stay, NaN wins.
pub fn add_real(x: f64, y: f64) -> f64 {
    if x.is_nan() || y.is_nan() {
        return f64::NAN;
    }
    let (low, high) = (x.min(y), x.max(y));
    if low == high && low.is_infinite() {
        return x;
    }
    high + (low - high).exp().ln_1p()
}

/// Of complex numbers (real and imaginary part). The imaginary part follows that of the larger operand and is not
/// reduced to (−π, π]. For two real parts of −∞ the first operand that is not larger; NaN in both parts for NaN.
pub fn add_complex(x: [f64; 2], y: [f64; 2]) -> [f64; 2] {
    let is_nan = |z: [f64; 2]| z[0].is_nan() || z[1].is_nan();
    if is_nan(x) || is_nan(y) {
        return [f64::NAN; 2];
    }
    let (low, high) = if x[0] < y[0] { (x, y) } else { (y, x) };
    if low[0] == high[0] && low[0].is_infinite() {
        return if low[0] < 0.0 { low } else { ln(plus(exp(low), exp(high))) };
    }
    let e = exp([low[0] - high[0], low[1] - high[1]]);
    plus(ln_1p(e), high)
}

fn plus(a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
    [a[0] + b[0], a[1] + b[1]]
}

fn exp([re, im]: [f64; 2]) -> [f64; 2] {
    let e = C128 { re, im }.exp();
    [e.re, e.im]
}

fn ln(z: [f64; 2]) -> [f64; 2] {
    [z[0].hypot(z[1]).ln(), z[1].atan2(z[0])]
}

/// ln(1 + z) for |z| up to 1.
fn ln_1p(z: [f64; 2]) -> [f64; 2] {
    let square = z[0] * (2.0 + z[0]) + z[1] * z[1];
    let real = if square < -0.5 { (1.0 + z[0]).hypot(z[1]).ln() } else { 0.5 * square.ln_1p() };
    [real, z[1].atan2(1.0 + z[0])]
}
