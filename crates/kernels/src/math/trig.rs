//! Sine, cosine and tangent in single precision.
//!
//! The vector form covers `|x| < LIMIT`; a loop repairs larger arguments with the `*_huge` functions afterwards.

use super::{poly, wide};

/// From here on the two-part reduction of the vector form is not exact enough.
pub const LIMIT: f32 = 3.0e13;

/// 1.5·2⁵². Adding it rounds to an integer, which is then the low bits of the sum.
const MAGIC: f64 = 6_755_399_441_055_744.0;

/// The angle from the nearest multiple of π/2, and that multiple's low bits. Only this needs more than f32.
#[inline(always)]
fn reduce(x: f32) -> (f32, u32) {
    let x = f64::from(x);
    let t = x.mul_add(std::f64::consts::FRAC_2_PI, MAGIC);
    let n = t - MAGIC;
    // π/2 in two parts.
    let r = n.mul_add(-std::f64::consts::FRAC_PI_2, x);
    (n.mul_add(-6.123_233_995_736_766e-17, r) as f32, t.to_bits() as u32)
}

/// sin(r + k·π/2) for `|r| ≤ π/4`; 1.5 ulp.
#[inline(always)]
fn quarter(r: f32, k: u32) -> f32 {
    let q = r * r;
    let s = poly!(q, -0.166_666_55, 8.332_176e-3, -1.951_697_6e-4);
    let s = (s * q).mul_add(r, r);
    let c = poly!(q, 1.0, -0.5, 0.041_666_646, -1.388_736_5e-3, 2.443_808_8e-5);
    let y = if k & 1 == 0 { s } else { c };
    f32::from_bits(y.to_bits() ^ ((k & 2) << 30))
}

/// sin x for `|x| < LIMIT`; 1.5 ulp.
#[inline(always)]
pub fn sin(x: f32) -> f32 {
    let (r, k) = reduce(x);
    let y = quarter(r, k);
    // The rounding trick loses the sign of zero.
    if x == 0.0 {
        x
    } else {
        y
    }
}

/// cos x for `|x| < LIMIT`; 1.5 ulp.
#[inline(always)]
pub fn cos(x: f32) -> f32 {
    let (r, k) = reduce(x);
    quarter(r, k.wrapping_add(1))
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
