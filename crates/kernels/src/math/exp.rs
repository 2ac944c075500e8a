//! Exponential family in single precision: exp, expm1, logistic, tanh, erf and the activations built on them.

use super::{poly, poly2};

/// 1.5·2²³. Adding it rounds to an integer, which is then the low bits of the sum.
const MAGIC: f32 = 12_582_912.0;
/// ln 2 cut to 15 bits, so that its product with a small integer is exact.
const LN2_HI: f32 = 0.693_145_75;
/// ln 2 − `LN2_HI`.
const LN2_LO: f32 = 1.428_606_8e-6;

/// Splits `x = k·ln 2 + r` with `|r| ≤ ln 2 / 2`, for `|x| < 1e4`: `r`, and a word whose low bits are `k`. A NaN gives
/// a NaN `r`.
#[inline(always)]
fn split(x: f32) -> (f32, u32) {
    let t = x.mul_add(std::f32::consts::LOG2_E, MAGIC);
    let n = t - MAGIC;
    (n.mul_add(-LN2_LO, n.mul_add(-LN2_HI, x)), t.to_bits())
}

/// 2ᵏ for `-126 ≤ k ≤ 127`, `k` in the low bits.
#[inline(always)]
fn exp2i(k: u32) -> f32 {
    f32::from_bits((k << 23).wrapping_add(0x3f80_0000))
}

/// (eʳ − 1 − r) / r² on `|r| ≤ ln 2 / 2`.
#[inline(always)]
fn tail(r: f32) -> f32 {
    poly!(r, 0.499_999_94, 0.166_665_21, 0.041_668_262, 0.008_368_67, 1.382_098_8e-3)
}

/// eˣ; 1 ulp.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    // Results that vanish are selected, not computed: arithmetic that underflows costs a processor assist.
    let vanishes = x < -104.0;
    let (r, k) = split(if vanishes { 0.0 } else { x });
    let p = tail(r).mul_add(r, 1.0).mul_add(r, 1.0);
    // The scale goes straight into the exponent field. Denormal results are made 2⁶⁴ too large first.
    let low = x < -86.0;
    let k = if low { k.wrapping_add(64) } else { k };
    let y = f32::from_bits(p.to_bits().wrapping_add(k << 23));
    let y = y * if low { 5.421_011e-20 } else { 1.0 };
    let y = if vanishes { 0.0 } else { y };
    // Infinity for what overflows; a NaN stays.
    if x <= 88.722_84 {
        y
    } else {
        x + f32::INFINITY
    }
}

/// 2ˣ; 1 ulp, and exact for integers.
#[inline(always)]
pub fn exp2(x: f32) -> f32 {
    let vanishes = x < -151.0;
    let c = if vanishes { 0.0 } else { x };
    let t = c + MAGIC;
    let r = (c - (t - MAGIC)) * std::f32::consts::LN_2;
    let p = tail(r).mul_add(r, 1.0).mul_add(r, 1.0);
    // As in `exp`.
    let low = x < -124.0;
    let k = if low { t.to_bits().wrapping_add(64) } else { t.to_bits() };
    let y = f32::from_bits(p.to_bits().wrapping_add(k << 23));
    let y = y * if low { 5.421_011e-20 } else { 1.0 };
    let y = if vanishes { 0.0 } else { y };
    if x < 128.0 {
        y
    } else {
        x + f32::INFINITY
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

/// eˣ where it is normal, 1.6e-38 below, infinity above; not meaningful for a NaN.
#[inline(always)]
fn exp_normal(x: f32) -> f32 {
    let y = exp_small(if x < -87.0 { -87.0 } else { x });
    if x > 88.722_84 {
        f32::INFINITY
    } else {
        y
    }
}

/// eˣ for `-87 ≤ x ≤ 88.7`.
#[inline(always)]
fn exp_small(x: f32) -> f32 {
    let (r, k) = split(x);
    let p = tail(r).mul_add(r, 1.0).mul_add(r, 1.0);
    f32::from_bits(p.to_bits().wrapping_add(k << 23))
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
    // From 10 on the result rounds to 1.
    let c = if t > 10.0 { 10.0 } else { t };
    let big = 1.0 - 2.0 / (exp_small(c + c) + 1.0);
    let p = poly!(q, -0.333_332_8, 0.133_314_1, -0.053_737_268, 0.020_631_723, -0.005_697_346);
    let small = (p * q).mul_add(x, x);
    // Written so that NaN takes the second arm.
    (if t >= 0.625 { big } else { small }).copysign(x)
}

/// Error function; 2 ulp.
#[inline(always)]
pub fn erf(x: f32) -> f32 {
    let t = x.abs();
    let q = x * x;
    let c = if t > 4.0 { 4.0 } else { t };
    // ln erfc(t) on 0.9 … 4; from 4 on the result rounds to 1.
    let g = poly2!(
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
    let big = 1.0 - exp_small(g);
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
    // Written so that NaN takes the second arm.
    if t >= 0.93 {
        big.copysign(x)
    } else {
        small
    }
}

/// x·Φ(x), Φ to 1.2e-7: what 0.5·x·(1 + erf(x/√2)) gives in single precision.
#[inline(always)]
pub fn gelu(x: f32) -> f32 {
    const END: f32 = 5.3;
    let t = (x * x).mul_add(0.071_199_715, -1.0);
    // (Φ(x) − ½) / x. Only the high terms are small enough to be summed in two halves without loss.
    let high = poly2!(
        t,
        0.032_079_52,
        -0.025_298_301,
        0.018_925_834,
        -0.013_185_474,
        8.828_172e-3,
        -5.849_55e-3,
        3.134_925_6e-3,
        -1.095_948_2e-3,
        7.320_825e-4,
        -7.645_656_6e-4,
        2.836_290_5e-4
    );
    let p = poly!(t, 0.133_392_56, -0.066_518_51, 0.049_264_163, -0.039_588_932, high);
    ends(x, END, p) * x
}

/// ½ + x·p between `-end` and `end`, 0 below and 1 above.
#[inline(always)]
fn ends(x: f32, end: f32, p: f32) -> f32 {
    let y = p.mul_add(x, 0.5);
    let y = if x > end { 1.0 } else { y };
    if x < -end {
        0.0
    } else {
        y
    }
}

/// √(2/π).
const SQRT_2_PI: f32 = 0.797_884_6;
/// The cubic coefficient of the tanh approximation of gelu.
const GELU_CUBIC: f32 = 0.044_715;

/// gelu by the tanh approximation, as x·σ(2u) with u = √(2/π)·(x + 0.044715·x³).
#[inline(always)]
pub fn gelu_tanh(x: f32) -> f32 {
    let u = x * (x * x).mul_add(GELU_CUBIC * SQRT_2_PI, SQRT_2_PI);
    x / (1.0 + exp_normal(-2.0 * u))
}

/// Derivative of [`gelu`]: Φ(x) + x·φ(x), to 2.5e-7.
#[inline(always)]
pub fn gelu_derivative(x: f32) -> f32 {
    const END: f32 = 5.7;
    let t = (x * x).mul_add(0.061_557_4, -1.0);
    // (Φ(x) + x·φ(x) − ½) / x.
    let high = poly2!(
        t,
        -0.061_355_87,
        0.068_364_665,
        -0.071_365_38,
        0.068_918_29,
        -0.058_297_217,
        0.042_361_137,
        -0.033_248_175,
        0.028_723_137,
        -0.014_716_037,
        1.561_984_9e-3,
        -2.683_653e-3,
        5.254_507_5e-3,
        -2.037_741_5e-3
    );
    let p = poly!(t, 0.124_165_32, -0.062_925_935, 0.050_137_732, -0.048_452_545, 0.053_315_107, high);
    ends(x, END, p)
}

/// Derivative of [`gelu_tanh`].
#[inline(always)]
pub fn gelu_tanh_derivative(x: f32) -> f32 {
    // From ±10 on the result is 1 or 0, and the powers of x must not overflow.
    let x = x.clamp(-10.0, 10.0);
    let q = x * x;
    let u = x * q.mul_add(GELU_CUBIC * SQRT_2_PI, SQRT_2_PI);
    let du = q.mul_add(3.0 * GELU_CUBIC * SQRT_2_PI, SQRT_2_PI);
    // d/dx x·σ(2u) = σ + x·σ(1 − σ)·2u'; σ' is even.
    let e = exp_nonpositive(-2.0 * u.abs());
    let inv = 1.0 / (1.0 + e);
    let far = e * inv;
    let s = if x < 0.0 { far } else { inv };
    (2.0 * x * (far * inv)).mul_add(du, s)
}

/// x·σ(x).
#[inline(always)]
pub fn silu(x: f32) -> f32 {
    x / (1.0 + exp_normal(-x))
}

/// Derivative of [`silu`]: σ·(1 + x·(1 − σ)).
#[inline(always)]
pub fn silu_derivative(x: f32) -> f32 {
    let s = 1.0 / (1.0 + exp_normal(-x));
    s * x.mul_add(1.0 - s, 1.0)
}
