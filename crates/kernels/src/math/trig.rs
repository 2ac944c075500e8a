//! Sine, cosine and tangent in single precision.
//!
//! The vector form covers `|x| < LIMIT`; a loop repairs larger arguments with the `*_huge` functions afterwards.

use super::wide;

/// From here on the two-part reduction of the vector form is not exact enough.
pub const LIMIT: f32 = 3.0e13;

/// sin x for `|x| < LIMIT`; correctly rounded nearly always.
#[inline(always)]
pub fn sin(x: f32) -> f32 {
    let y = wide::sin_cos(f64::from(x)).0 as f32;
    // The rounding trick loses the sign of zero.
    if x == 0.0 {
        x
    } else {
        y
    }
}

/// cos x for `|x| < LIMIT`; correctly rounded nearly always.
#[inline(always)]
pub fn cos(x: f32) -> f32 {
    wide::sin_cos(f64::from(x)).1 as f32
}

/// tan x for `|x| < LIMIT`; correctly rounded nearly always.
#[inline(always)]
pub fn tan(x: f32) -> f32 {
    let (s, c) = wide::sin_cos(f64::from(x));
    let y = (s / c) as f32;
    if x == 0.0 {
        x
    } else {
        y
    }
}

/// sin x of any `x`.
pub fn sin_huge(x: f32) -> f32 {
    f64::from(x).sin() as f32
}

/// cos x of any `x`.
pub fn cos_huge(x: f32) -> f32 {
    f64::from(x).cos() as f32
}

/// tan x of any `x`.
pub fn tan_huge(x: f32) -> f32 {
    f64::from(x).tan() as f32
}
