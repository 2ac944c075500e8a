//! Gamma variates.

use super::Stream;

/// The logarithm of a draw from the gamma distribution of shape `alpha` and scale 1, by Marsaglia & Tsang's method
/// ("A simple method for generating gamma variables", 2000); a shape below 1 is drawn as Gamma(alpha + 1)·U^(1/alpha).
/// The logarithm stays finite for shapes whose draws underflow.
///
/// NaN for NaN and negative shapes, −∞ for 0, ∞ for ∞.
pub fn ln_gamma_variate(alpha: f64, stream: &mut Stream) -> f64 {
    if alpha.is_nan() || alpha < 0.0 {
        return f64::NAN;
    }
    if alpha == 0.0 || alpha.is_infinite() {
        return alpha.ln();
    }
    if alpha < 1.0 {
        let power = stream.uniform().ln() / alpha;
        return ln_gamma_variate(alpha + 1.0, stream) + power;
    }
    let d = alpha - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = stream.normal();
        let t = 1.0 + c * x;
        if t <= 0.0 {
            continue;
        }
        let v = t * t * t;
        if stream.uniform().ln() < 0.5 * x * x + d * (1.0 - v + v.ln()) {
            return d.ln() + v.ln();
        }
    }
}
