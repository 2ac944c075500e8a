//! Powers and roots in single precision; 1 ulp.

use super::wide;

/// xʸ with the special cases of IEEE 754's `pow`.
#[inline(always)]
pub fn pow(x: f32, y: f32) -> f32 {
    let ax = x.abs();
    let l = wide::ln(f64::from(ax)) * f64::from(y);
    let r = wide::exp(l) as f32;
    let r = if ax == 1.0 && !y.is_nan() { 1.0 } else { r };
    let half = 0.5 * y;
    let integer = y.trunc() == y;
    let odd = integer && half.trunc() != half;
    let r = if odd { r.copysign(x) } else { r };
    let r = if !integer && x < 0.0 && x > f32::NEG_INFINITY { f32::NAN } else { r };
    if y == 0.0 || x == 1.0 {
        1.0
    } else {
        r
    }
}

/// Cube root.
#[inline(always)]
pub fn cbrt(x: f32) -> f32 {
    let y = wide::exp(wide::ln(f64::from(x.abs())) * (1.0 / 3.0)) as f32;
    let y = y.copysign(x);
    if x == 0.0 || x.abs() == f32::INFINITY {
        x
    } else {
        y
    }
}
