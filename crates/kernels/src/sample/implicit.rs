//! Derivatives of random draws by their distribution's parameter at a fixed value of the distribution function:
//! dx/dα = −(∂F/∂α) / p(x).
//!
//! With c the mean of ln t, −∂F/∂α is the integral of (c − ln t) p(t) below x, and of (ln t − c) p(t) above x. The
//! side is taken on which that factor keeps its sign, and the integral, relative to p(x), is brought to the half-line
//! by the exponential substitution written at each.

use crate::math::special::digamma;

/// Width of a step of the quadrature. The integrands are analytic in a strip that makes its error about e⁻²⁵.
const STEP: f64 = 1.0 / 14.0;

/// ∫₀^∞ f, for f that varies on the scales from `scale` on and decays at least like e^(−y/32): the trapezoidal rule in t
/// with y = scale·exp(t − e⁻ᵗ) (double exponential formula, Takahasi & Mori 1974).
fn half_line(scale: f64, f: impl Fn(f64) -> f64) -> f64 {
    let mut sum = 0.0f64;
    let mut largest = 0.0f64;
    let mut t = -4.5;
    loop {
        let back = f64::exp(-t);
        let y = scale * (t - back).exp();
        let term = f(y) * y * (1.0 + back);
        if term.is_finite() {
            sum += term;
            largest = largest.max(term.abs());
        }
        if y > 1.0 && (term.abs() <= largest * 1e-18 || y > 1e9) {
            return sum * STEP;
        }
        t += STEP;
    }
}

/// dx/dα of x drawn from the gamma distribution of shape α and scale 1. Beyond α = 10⁵ from the Wilson–Hilferty
/// approximation, whose relative error is 1/α.
pub fn gamma_grad(alpha: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if alpha.is_nan() || x.is_nan() || alpha <= 0.0 || x.is_infinite() {
        return f64::NAN;
    }
    if alpha > 1e5 {
        let root = (x / alpha).cbrt();
        let shift = 1.0 - 1.0 / (9.0 * alpha);
        return root * root * (root + 1.5 * (shift - root) + 1.0 / (3.0 * alpha));
    }
    let mean = digamma(alpha);
    if x.ln() < mean {
        // t = x e^(−y/α)
        let distance = mean - x.ln();
        let f = |y: f64| (distance + y / alpha) * (-y - x * (-y / alpha).exp_m1()).exp();
        x / alpha * half_line(1.0, f)
    } else {
        // t = x + y
        let f = |y: f64| ((x + y).ln() - mean) * ((alpha - 1.0) * (y / x).ln_1p() - y).exp();
        half_line(x.min(1.0), f)
    }
}

/// dx/dα / (1 − x) of x drawn from the beta distribution Beta(α, total − α), as the derivative of Dirichlet draws needs
/// it.
pub fn dirichlet_grad(x: f64, alpha: f64, total: f64) -> f64 {
    let beta = total - alpha;
    if x.is_nan() || alpha.is_nan() || beta.is_nan() || alpha <= 0.0 || beta <= 0.0 {
        return f64::NAN;
    }
    if x <= 0.0 {
        return 0.0;
    }
    let rest = (1.0 - x).max(f64::MIN_POSITIVE);
    let mean = digamma(alpha) - digamma(total);
    if x.ln() < mean {
        // t = x e^(−y/α); 1 − t = rest − x (e^(−y/α) − 1)
        let distance = mean - x.ln();
        let f = |y: f64| {
            let other = (-(-y / alpha).exp_m1() * x / rest).ln_1p();
            (distance + y / alpha) * ((beta - 1.0) * other - y).exp()
        };
        x / (alpha * rest) * half_line((alpha * rest).min(1.0), f)
    } else {
        // 1 − t = rest e^(−y/β)
        let f = |y: f64| {
            let grown = (-(-y / beta).exp_m1() * rest / x).ln_1p();
            (x.ln() + grown - mean) * ((alpha - 1.0) * grown - y).exp()
        };
        half_line((beta * x).min(1.0), f) / beta
    }
}
