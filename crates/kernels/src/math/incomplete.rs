//! The regularised incomplete gamma functions, in double precision.
//!
//! Formulas: DLMF 8.7.1 (series), 8.9.2 (continued fraction), 8.12.3 (uniform expansion for large a). Values at the
//! edges are PyTorch's.

use std::f64::consts::PI;

use super::special::{error_function_complement, ln_gamma};

/// Above this a the uniform expansion with three terms is exact to about a⁻³·⁵.
const LARGE: f64 = 1e4;
const STEPS: usize = 20_000;

/// P(a, x) = γ(a, x) / Γ(a): 1 for a = 0 < x; NaN for negative operands and for a = x = 0 or ∞.
pub fn lower(a: f64, x: f64) -> f64 {
    match edge(a, x) {
        Some(q) => 1.0 - q,
        None => split(a, x).0,
    }
}

/// Q(a, x) = 1 − P(a, x).
pub fn upper(a: f64, x: f64) -> f64 {
    edge(a, x).unwrap_or_else(|| split(a, x).1)
}

/// Q where it is a limit, also where the other operand is NaN.
fn edge(a: f64, x: f64) -> Option<f64> {
    if a < 0.0 || x < 0.0 {
        return Some(f64::NAN);
    }
    if a == 0.0 {
        return Some(if x > 0.0 { 0.0 } else { f64::NAN });
    }
    if x == 0.0 {
        return Some(1.0);
    }
    if a.is_infinite() {
        return Some(if x.is_infinite() { f64::NAN } else { 1.0 });
    }
    if x.is_infinite() {
        return Some(0.0);
    }
    (a.is_nan() || x.is_nan()).then_some(f64::NAN)
}

/// (P, Q) for positive finite operands.
fn split(a: f64, x: f64) -> (f64, f64) {
    if a > LARGE && (x - a).abs() < 0.3 * a {
        return uniform(a, x);
    }
    if x <= 1.0 && a < 1.0 && x < small_limit(a) {
        return small(a, x);
    }
    if x < a + 1.0 {
        let p = prefactor(a, x) * series(a, x);
        (p, 1.0 - p)
    } else {
        let q = prefactor(a, x) * fraction(a, x);
        (1.0 - q, q)
    }
}

/// Where Q is the smaller of the two although x is below a + 1.
fn small_limit(a: f64) -> f64 {
    if a < 0.4 {
        1.0
    } else {
        0.0
    }
}

/// (P, Q) for small a and x from xᵃ/Γ(1 + a) and its correction, each in a form that keeps its digits (DLMF 8.7.3).
fn small(a: f64, x: f64) -> (f64, f64) {
    let t = a * x.ln() - ln_gamma(1.0 + a);
    let mut sum = 0.0;
    let mut term = 1.0;
    for n in 1..STEPS {
        let n = n as f64;
        term *= -x / n;
        let add = term / (a + n);
        sum += add;
        if add.abs() < f64::EPSILON * f64::abs(sum) {
            break;
        }
    }
    (t.exp() * (1.0 + a * sum), -t.exp_m1() - t.exp() * a * sum)
}

/// xᵃ e⁻ˣ / Γ(a + 1). For large a through Stirling's series, in which the large parts of the exponents cancel exactly.
fn prefactor(a: f64, x: f64) -> f64 {
    if a < 10.0 {
        return (a * x.ln() - x - ln_gamma(a + 1.0)).exp();
    }
    let mu = (x - a) / a;
    let phi = if mu.abs() < 0.5 { log1p_minus(mu) } else { (x / a).ln() - mu };
    let z = 1.0 / (a * a);
    let stirling = (1.0 / 12.0 - z * (1.0 / 360.0 - z * (1.0 / 1260.0 - z / 1680.0))) / a;
    (a * phi - stirling).exp() / (2.0 * PI * a).sqrt()
}

/// ln(1 + u) − u for |u| below ½.
fn log1p_minus(u: f64) -> f64 {
    if u.abs() > 0.1 {
        return u.ln_1p() - u;
    }
    let mut sum = 0.0;
    let mut power = -u;
    for k in 2..24 {
        power *= -u;
        sum -= power / f64::from(k);
    }
    sum
}

/// Σ xⁿ / ((a + 1) … (a + n)).
fn series(a: f64, x: f64) -> f64 {
    let (mut sum, mut term) = (1.0, 1.0);
    for n in 1..STEPS {
        term *= x / (a + n as f64);
        sum += term;
        if term < f64::EPSILON * sum {
            break;
        }
    }
    sum
}

/// a times the continued fraction of Γ(a, x) eˣ x⁻ᵃ, by the modified Lentz method.
fn fraction(a: f64, x: f64) -> f64 {
    let mut b = x + 1.0 - a;
    let mut c = 1.0 / f64::MIN_POSITIVE;
    let mut d = 1.0 / b;
    let mut h = d;
    for i in 1..STEPS {
        let n = i as f64;
        let coefficient = n * (a - n);
        b += 2.0;
        let keep = |v: f64| if v.abs() < f64::MIN_POSITIVE { f64::MIN_POSITIVE } else { v };
        d = 1.0 / keep(coefficient * d + b);
        c = keep(b + coefficient / c);
        let delta = c * d;
        h *= delta;
        if (delta - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    h * a
}

/// DLMF 8.12.3–4 with coefficients c₀ to c₂ as series in η (8.12.10 and following).
fn uniform(a: f64, x: f64) -> (f64, f64) {
    let mu = (x - a) / a;
    let half_square = -log1p_minus(mu);
    let eta = (2.0 * half_square).sqrt().copysign(mu);
    let root = (a * half_square).sqrt().copysign(mu);
    let c0 = if mu.abs() > 0.05 {
        1.0 / mu - 1.0 / eta
    } else {
        -1.0 / 3.0
            + eta
                * (1.0 / 12.0
                    + eta
                        * (-2.0 / 135.0
                            + eta * (1.0 / 864.0 + eta * (1.0 / 2835.0 + eta * (-139.0 / 777_600.0)))))
    };
    let c1 = -1.0 / 540.0 + eta * (-1.0 / 288.0 + eta * (1.0 / 378.0 + eta * (-77.0 / 77_760.0)));
    let c2 = 25.0 / 6048.0 + eta * (-139.0 / 51_840.0);
    let rest = (-a * half_square).exp() / (2.0 * PI * a).sqrt() * (c0 + (c1 + c2 / a) / a);
    (0.5 * error_function_complement(-root) - rest, 0.5 * error_function_complement(root) + rest)
}
