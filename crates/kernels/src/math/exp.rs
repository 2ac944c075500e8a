//! Exponential family in single precision: exp, expm1, logistic, tanh, erf and the activations built on them.

use super::poly;

/// 1.5·2²³. Adding it rounds to an integer, which is then the low bits of the sum.
const MAGIC: f32 = 12_582_912.0;
/// ln 2 cut to 15 bits, so that its product with a small integer is exact.
const LN2_HI: f32 = 0.693_145_75;
/// ln 2 − `LN2_HI`.
const LN2_LO: f32 = 1.428_606_8e-6;

/// Splits `x = k·ln 2 + r` with `|r| ≤ ln 2 / 2`, for `|x| < 1e4`. A NaN gives a NaN `r`.
#[inline(always)]
fn split(x: f32) -> (f32, i32) {
    let t = x.mul_add(std::f32::consts::LOG2_E, MAGIC);
    let n = t - MAGIC;
    let k = t.to_bits().wrapping_sub(MAGIC.to_bits()) as i32;
    (n.mul_add(-LN2_LO, n.mul_add(-LN2_HI, x)), k)
}

/// 2ᵏ for `-126 ≤ k ≤ 127`.
#[inline(always)]
fn exp2i(k: i32) -> f32 {
    f32::from_bits((k.wrapping_add(127) as u32) << 23)
}

/// (eʳ − 1 − r) / r² on `|r| ≤ ln 2 / 2`.
#[inline(always)]
fn tail(r: f32) -> f32 {
    poly!(r, 0.499_999_94, 0.166_665_21, 0.041_668_262, 0.008_368_67, 0.001_382_098_8)
}

/// eˣ; 1 ulp.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    let c = if x > 104.0 { 104.0 } else { x };
    // Results that vanish are selected, not computed: arithmetic that underflows costs a processor assist.
    let vanishes = x < -104.0;
    let c = if vanishes { 0.0 } else { c };
    let (r, k) = split(c);
    let p = tail(r).mul_add(r, 1.0).mul_add(r, 1.0);
    // Two factors, because 2ᵏ itself may overflow or be denormal while the product is not.
    let h = k >> 1;
    let y = p * exp2i(h) * exp2i(k.wrapping_sub(h));
    if vanishes {
        0.0
    } else {
        y
    }
}

/// eˣ for finite `x ≤ 0` or −inf, NaN kept: flushes results below the least normal number to 0. Slightly cheaper.
#[inline(always)]
pub fn exp_nonpositive(x: f32) -> f32 {
    let c = if x < -87.0 { -87.0 } else { x };
    let (r, k) = split(c);
    let p = tail(r).mul_add(r, 1.0).mul_add(r, 1.0);
    let y = p * exp2i(k);
    if x < -87.0 {
        0.0
    } else {
        y
    }
}

/// eˣ − 1; 2 ulp.
#[inline(always)]
pub fn exp_m1(x: f32) -> f32 {
    let c = if x > 89.0 { 89.0 } else { x };
    let c = if c < -30.0 { -30.0 } else { c };
    let (r, k) = split(c);
    let p = tail(r).mul_add(r * r, r);
    // Half of the scale, doubled at the end: 2¹²⁸ has no representation.
    let s = exp2i(k.wrapping_sub(1));
    let y = s.mul_add(p, s - 0.5) * 2.0;
    if x == 0.0 {
        x
    } else {
        y
    }
}

/// 1 / (1 + e⁻ˣ); 2 ulp, also where the result is tiny.
#[inline(always)]
pub fn logistic(x: f32) -> f32 {
    let e = exp(-x.abs());
    let num = if x < 0.0 { e } else { 1.0 };
    let den = 1.0 + e;
    // What rounding took from the denominator, and one step of correction of the quotient.
    let lost = (1.0 - den) + e;
    let inv = 1.0 / den;
    let q = num * inv;
    let rest = q.mul_add(-lost, q.mul_add(-den, num));
    rest.mul_add(inv, q)
}

/// Hyperbolic tangent; 2 ulp.
#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    let t = x.abs();
    let q = x * x;
    let big = 1.0 - 2.0 / (exp(t + t) + 1.0);
    let p = poly!(q, -0.333_332_8, 0.133_314_1, -0.053_737_268, 0.020_631_723, -0.005_697_346);
    let small = (p * q).mul_add(x, x);
    (if t < 0.625 { small } else { big }).copysign(x)
}

/// Error function; 2 ulp.
#[inline(always)]
pub fn erf(x: f32) -> f32 {
    let t = x.abs();
    let q = x * x;
    let c = if t > 4.0 { 4.0 } else { t };
    // ln erfc(t) on 0.9 … 4; from 4 on the result rounds to 1.
    let g = poly!(
        c,
        1.692_051_3e-4,
        -1.129_488_3,
        -0.633_401_1,
        -0.108_219_96,
        0.025_080_232,
        -0.004_156_064,
        4.313_441e-4,
        -2.082_341_4e-5
    );
    let big = 1.0 - exp_nonpositive(g);
    let p = poly!(
        q,
        0.128_379_17,
        -0.376_126_26,
        0.112_835_79,
        -0.026_853_347,
        0.005_187_162,
        -7.997_853e-4,
        7.806_903e-5
    );
    let small = p.mul_add(x, x);
    if t < 0.93 {
        small
    } else {
        big.copysign(x)
    }
}

/// x·Φ(x).
#[inline(always)]
pub fn gelu(x: f32) -> f32 {
    let h = 0.5 * x;
    h.mul_add(erf(x * std::f32::consts::FRAC_1_SQRT_2), h)
}

/// √(2/π).
const SQRT_2_PI: f32 = 0.797_884_6;
/// The cubic coefficient of the tanh approximation of gelu.
const GELU_CUBIC: f32 = 0.044_715;

/// gelu by the tanh approximation, as x·σ(2u) with u = √(2/π)·(x + 0.044715·x³).
#[inline(always)]
pub fn gelu_tanh(x: f32) -> f32 {
    let u = x * (x * x).mul_add(GELU_CUBIC * SQRT_2_PI, SQRT_2_PI);
    x / (1.0 + exp(-2.0 * u))
}

/// Derivative of [`gelu`]: Φ(x) + x·φ(x).
#[inline(always)]
pub fn gelu_derivative(x: f32) -> f32 {
    const FRAC_1_SQRT_2PI: f32 = 0.398_942_3;
    let cdf = 0.5f32.mul_add(erf(x * std::f32::consts::FRAC_1_SQRT_2), 0.5);
    let pdf = exp(-0.5 * x * x) * FRAC_1_SQRT_2PI;
    x.mul_add(pdf, cdf)
}

/// Derivative of [`gelu_tanh`].
#[inline(always)]
pub fn gelu_tanh_derivative(x: f32) -> f32 {
    let q = x * x;
    let u = x * q.mul_add(GELU_CUBIC * SQRT_2_PI, SQRT_2_PI);
    let du = q.mul_add(3.0 * GELU_CUBIC * SQRT_2_PI, SQRT_2_PI);
    let s = logistic(u + u);
    // d/dx x·σ(2u) = σ + x·σ(1 − σ)·2u'; 1 − σ(2u) is σ(−2u), and σ' is even.
    let e = exp(-2.0 * u.abs());
    let d = e / ((1.0 + e) * (1.0 + e));
    (2.0 * x * d).mul_add(du, s)
}

/// x·σ(x).
#[inline(always)]
pub fn silu(x: f32) -> f32 {
    x / (1.0 + exp(-x))
}

/// Derivative of [`silu`]: σ·(1 + x·(1 − σ)).
#[inline(always)]
pub fn silu_derivative(x: f32) -> f32 {
    let s = logistic(x);
    s * x.mul_add(1.0 - s, 1.0)
}
