//! Hurwitz' zeta function and the derivatives of digamma, in double precision.

use std::f64::consts::PI;

use super::special::{digamma, ln_gamma};

/// Bernoulli numbers B₂, B₄, … B₂₄ as fractions (Abramowitz & Stegun, table 23.2).
const BERNOULLI: [(f64, f64); 12] = [
    (1.0, 6.0),
    (-1.0, 30.0),
    (1.0, 42.0),
    (-1.0, 30.0),
    (5.0, 66.0),
    (-691.0, 2730.0),
    (7.0, 6.0),
    (-3617.0, 510.0),
    (43867.0, 798.0),
    (-174611.0, 330.0),
    (854513.0, 138.0),
    (-236364091.0, 2730.0),
];

/// ζ(s, q) = Σ (q + k)⁻ˢ, by the Euler–Maclaurin formula (Abramowitz & Stegun 23.2.9) from the first q + k above 9 on.
///
/// +∞ for s = 1 and, before any NaN, for q = 0, −1, −2, …; NaN for s < 1, and for q < 0 unless s is whole.
pub fn zeta(s: f64, q: f64) -> f64 {
    if s == 1.0 {
        return f64::INFINITY;
    }
    if s < 1.0 {
        return f64::NAN;
    }
    if q <= 0.0 {
        if q == q.floor() {
            return f64::INFINITY;
        }
        if s != s.floor() {
            return f64::NAN;
        }
    }
    let mut sum = q.powf(-s);
    let mut a = q;
    let mut power = sum;
    let mut k = 0;
    while k < 9 || a <= 9.0 {
        k += 1;
        a += 1.0;
        power = a.powf(-s);
        sum += power;
        if power.abs() < f64::EPSILON * sum.abs() * 0.5 {
            return sum;
        }
    }
    let mut r = sum + power * a / (s - 1.0) - power * 0.5;
    let mut factor = s * power / a;
    let mut factorial = 2.0;
    for (j, (numerator, denominator)) in BERNOULLI.iter().enumerate() {
        let k = 2.0 * (j as f64 + 1.0);
        let term = factor * (numerator / denominator / factorial);
        r += term;
        if term.abs() < f64::EPSILON * r.abs() * 0.5 {
            break;
        }
        factor *= (s + (k - 1.0)) * (s + k) / (a * a);
        factorial *= (k + 1.0) * (k + 2.0);
    }
    r
}

/// ψ′(x), by reflection below ½ and the asymptotic series (Abramowitz & Stegun 6.4.11) above 10.
pub fn trigamma(x: f64) -> f64 {
    if x < 0.5 {
        let sine = (PI * x).sin();
        return PI * PI / (sine * sine) - trigamma(1.0 - x);
    }
    let mut shift = 0.0;
    let mut x = x;
    while x < 10.0 {
        shift += 1.0 / (x * x);
        x += 1.0;
    }
    let z = 1.0 / (x * x);
    let series = 1.0 / 6.0 - z * (1.0 / 30.0 - z * (1.0 / 42.0 - z * (1.0 / 30.0 - z * (5.0 / 66.0))));
    shift + (1.0 + 0.5 / x + z * series) / x
}

/// The n-th derivative of digamma, n a whole number from 0.
pub fn polygamma(n: f64, x: f64) -> f64 {
    match n as i64 {
        0 => digamma(x),
        1 => trigamma(x),
        whole => {
            let sign = if whole % 2 == 0 { -1.0 } else { 1.0 };
            sign * ln_gamma(n + 1.0).exp() * zeta(n + 1.0, x)
        }
    }
}
