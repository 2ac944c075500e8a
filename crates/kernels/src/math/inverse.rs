//! Inverse trigonometric, hyperbolic and inverse hyperbolic functions in single precision; 1 ulp.

use std::f64::consts::{FRAC_PI_2, PI};

use super::{poly2, wide};

/// Where a function's cubic Taylor polynomial is exact to f32 and its closed form starts to cancel.
const SMALL: f64 = 1e-4;
/// Middle of [√5, 4], where the second polynomial of [`erf_inv`] holds, and 1 over half its length.
const FAR_MIDDLE: f64 = 3.118033988749895;
const FAR_SCALE: f64 = 1.1338305413635983;

/// Arc sine; NaN outside [−1, 1].
#[inline(always)]
pub fn asin(x: f32) -> f32 {
    let (big, p) = wide::asin_parts(f64::from(x.abs()));
    let y = if big { FRAC_PI_2 - 2.0 * p } else { p };
    (y as f32).copysign(x)
}

/// Arc cosine; NaN outside [−1, 1].
#[inline(always)]
pub fn acos(x: f32) -> f32 {
    let (big, p) = wide::asin_parts(f64::from(x.abs()));
    let negative = x < 0.0;
    let signed = if negative { -p } else { p };
    let two = 2.0 * p;
    let outer = if negative { PI - two } else { two };
    (if big { outer } else { FRAC_PI_2 - signed }) as f32
}

/// Arc tangent.
#[inline(always)]
pub fn atan(x: f32) -> f32 {
    (wide::atan_positive(f64::from(x.abs())) as f32).copysign(x)
}

/// Arc tangent of y/x in the quadrant of (x, y).
#[inline(always)]
pub fn atan2(y: f32, x: f32) -> f32 {
    let (ay, ax) = (f64::from(y.abs()), f64::from(x.abs()));
    let swap = ay > ax;
    let (lo, hi) = if swap { (ax, ay) } else { (ay, ax) };
    let q = lo / hi;
    let q = if hi == 0.0 { 0.0 } else { q };
    let q = if lo == f64::INFINITY { 1.0 } else { q };
    let a = wide::atan_positive(q);
    let a = if swap { FRAC_PI_2 - a } else { a };
    let a = if x.is_sign_negative() { PI - a } else { a };
    let r = (a as f32).copysign(y);
    if x.is_nan() || y.is_nan() {
        f32::NAN
    } else {
        r
    }
}

/// Hyperbolic sine.
#[inline(always)]
pub fn sinh(x: f32) -> f32 {
    let w = f64::from(x);
    let e = wide::exp(w);
    let y = 0.5 * (e - 1.0 / e);
    let small = (w * w * w).mul_add(1.0 / 6.0, w);
    // Below f32's least cube root the product is 0 and the sign of zero would be lost.
    let y = if w.abs() < SMALL { small } else { y };
    (if w == 0.0 { w } else { y }) as f32
}

/// Hyperbolic cosine.
#[inline(always)]
pub fn cosh(x: f32) -> f32 {
    let e = wide::exp(f64::from(x));
    (0.5 * (e + 1.0 / e)) as f32
}

/// Inverse hyperbolic sine.
#[inline(always)]
pub fn asinh(x: f32) -> f32 {
    let t = f64::from(x.abs());
    let y = wide::ln(t + t.mul_add(t, 1.0).sqrt());
    let small = (t * t * t).mul_add(-1.0 / 6.0, t);
    ((if t < SMALL { small } else { y }) as f32).copysign(x)
}

/// Inverse hyperbolic cosine; NaN below 1.
#[inline(always)]
pub fn acosh(x: f32) -> f32 {
    let t = f64::from(x);
    let y = wide::ln(t + t.mul_add(t, -1.0).sqrt());
    if x >= 1.0 {
        y as f32
    } else {
        f32::NAN
    }
}

/// Inverse hyperbolic tangent; NaN outside [−1, 1].
#[inline(always)]
pub fn atanh(x: f32) -> f32 {
    let t = f64::from(x.abs());
    let y = 0.5 * wide::ln((1.0 + t) / (1.0 - t));
    let small = (t * t * t).mul_add(1.0 / 3.0, t);
    let y = if t < SMALL { small } else { y };
    (if t <= 1.0 { y as f32 } else { f32::NAN }).copysign(x)
}

/// ln(1 + x); NaN below −1.
#[inline(always)]
pub fn ln_1p(x: f32) -> f32 {
    let w = f64::from(x);
    let y = wide::ln(1.0 + w);
    let small = w * (w * (1.0f64 / 3.0).mul_add(w, -0.5)).mul_add(1.0, 1.0);
    let y = if w.abs() < SMALL { small } else { y };
    if x >= -1.0 {
        y as f32
    } else {
        f32::NAN
    }
}

/// Complementary error function, also where the result is denormal.
#[inline(always)]
pub fn erfc(x: f32) -> f32 {
    let t = f64::from(x.abs());
    let t = if t > 10.2 { 10.2 } else { t };
    let y = wide::erfc_positive(t);
    (if x < 0.0 { 2.0 - y } else { y }) as f32
}

/// Inverse error function; ±inf at ±1, NaN outside. As x·P(w) with w = −ln(1 − x²), after M. Giles, "Approximating the
/// erfinv function" (2010): a polynomial in w below 5, one in √w up to f32's greatest w, 15.95.
#[inline(always)]
pub fn erf_inv(x: f32) -> f32 {
    let v = f64::from(x);
    let w = -wide::ln((1.0 - v) * (1.0 + v));
    let s = w.sqrt();
    let near = poly2!(
        w.mul_add(0.4, -1.0),
        1.501_409_351_138_807_8,
        0.616_600_691_976_649_6,
        -0.026_108_238_320_844_06,
        -0.019_573_564_069_985_08,
        0.008_525_439_331_651_35,
        -0.000_487_877_597_254_272_9,
        -0.000_834_355_971_004_808_2,
        0.000_292_138_342_593_875_85,
        2.108_272_628_502_573_5e-5,
        -4.140_299_715_218_618e-5,
        7.771_602_196_755_43e-6,
        2.932_067_760_049_782e-6,
        -1.207_358_163_942_349_2e-6
    );
    let far = poly2!(
        (s - FAR_MIDDLE) * FAR_SCALE,
        2.951_328_578_383_928_5,
        0.885_158_486_822_576_7,
        0.005_569_331_515_688_216,
        -0.003_710_202_944_761_802_3,
        0.002_349_590_421_150_830_3,
        -0.001_372_486_957_591_702_8,
        0.000_600_735_071_979_203_8,
        -0.000_136_235_335_844_080_15,
        -3.580_384_676_241_265e-5,
        4.877_411_866_872_833e-5,
        -1.691_331_794_140_3e-5,
        -2.817_262_882_770_233_3e-6,
        2.760_977_307_516_198_3e-6
    );
    let y = v * if w < 5.0 { near } else { far };
    let y = if x.abs() == 1.0 { f64::INFINITY.copysign(v) } else { y };
    if x.abs() <= 1.0 {
        y as f32
    } else {
        f32::NAN
    }
}
