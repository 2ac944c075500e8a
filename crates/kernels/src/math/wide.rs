//! Functions in f64 arithmetic with about 1e-11 relative error, enough to round correctly to f32 nearly always.
//!
//! Arguments come from f32 values, so none is denormal or huge in f64.

use super::poly;

/// 1.5·2⁵². Adding it rounds to an integer, which is then the low bits of the sum.
const MAGIC: f64 = 6_755_399_441_055_744.0;

/// eˣ with `x` clamped to ±700; NaN stays NaN.
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    let x = if x > 700.0 { 700.0 } else { x };
    let x = if x < -700.0 { -700.0 } else { x };
    let t = x.mul_add(std::f64::consts::LOG2_E, MAGIC);
    let n = t - MAGIC;
    let r = n.mul_add(-std::f64::consts::LN_2, x);
    let p = poly!(
        r,
        1.0,
        1.0,
        0.499_999_999_996_640_4,
        0.166_666_666_672_65,
        0.041_666_666_962_334_99,
        0.008_333_333_095_022_788,
        0.001_388_881_113_442_594_3,
        0.000_198_415_392_744_349_48,
        2.4880813227512697e-05,
        2.749_296_364_618_627e-6
    );
    let scale = f64::from_bits(t.to_bits().wrapping_add(1023) << 52);
    p * scale
}

/// ln x for `x ≥ 0`: zero gives −inf, +inf and NaN themselves; negative is not meaningful.
#[inline(always)]
pub fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    // √½ as bits: the mantissa comes into [√½, √2).
    let e = (bits.wrapping_sub(0x3fe6_a09e_667f_3bcd) as i64) >> 52;
    let m = f64::from_bits(bits.wrapping_sub((e << 52) as u64));
    let n = f64::from_bits(MAGIC.to_bits().wrapping_add(e as u64)) - MAGIC;
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let p = poly!(
        z,
        0.666_666_666_758_040_8,
        0.399_999_956_209_725_8,
        0.285_721_092_334_833_5,
        0.221_761_861_131_806_04,
        0.195_841_819_582_904_64
    );
    let r = (p * z).mul_add(s, s + s);
    let r = n.mul_add(std::f64::consts::LN_2, r);
    let r = if x == 0.0 { f64::NEG_INFINITY } else { r };
    // Written so that NaN and +inf take the second arm.
    if x < f64::INFINITY {
        r
    } else {
        x
    }
}

/// Sine and cosine for `|x| < 2⁴⁵`.
#[inline(always)]
pub fn sin_cos(x: f64) -> (f64, f64) {
    let t = x.mul_add(std::f64::consts::FRAC_2_PI, MAGIC);
    let n = t - MAGIC;
    // π/2 in two parts.
    let r = n.mul_add(-std::f64::consts::FRAC_PI_2, x);
    let r = n.mul_add(-6.123_233_995_736_766e-17, r);
    let k = t.to_bits();
    let q = r * r;
    let s = poly!(
        q,
        -0.166_666_666_666_315_66,
        0.008_333_333_325_266_985,
        -0.000_198_412_638_202_105_93,
        2.755_535_713_955_742e-6,
        -2.476_160_620_476_593_4e-8
    );
    let s = (s * q).mul_add(r, r);
    let c = poly!(
        q,
        1.0,
        -0.5,
        0.041_666_666_666_600_87,
        -0.001_388_888_887_810_128_8,
        2.480_158_089_889_484_5e-5,
        -2.755_555_458_134_792_7e-7,
        2.064_697_341_430_528e-9
    );
    let odd = k & 1 != 0;
    let (a, b) = if odd { (c, s) } else { (s, c) };
    let flip_sin = (k & 2) << 62;
    let flip_cos = (k.wrapping_add(1) & 2) << 62;
    (f64::from_bits(a.to_bits() ^ flip_sin), f64::from_bits(b.to_bits() ^ flip_cos))
}

/// Arc tangent of `x ≥ 0` (+inf gives π/2, NaN stays).
#[inline(always)]
pub fn atan_positive(x: f64) -> f64 {
    use std::f64::consts::{FRAC_PI_2, FRAC_PI_4};
    // Cut at tan π/8 and tan 3π/8.
    let mid = x > 0.414_213_562_373_095_03;
    let high = x > 2.414_213_562_373_095;
    let num = if mid { x - 1.0 } else { x };
    let den = if mid { x + 1.0 } else { 1.0 };
    let off = if mid { FRAC_PI_4 } else { 0.0 };
    let num = if high { -1.0 } else { num };
    let den = if high { x } else { den };
    let off = if high { FRAC_PI_2 } else { off };
    let a = num / den;
    let q = a * a;
    let p = poly!(
        q,
        -0.333_333_333_316_966_9,
        0.199_999_996_855_487_2,
        -0.142_856_935_923_230_15,
        0.111_104_498_960_146_25,
        -0.090_791_365_285_136_94,
        0.075_685_327_861_990_06,
        -0.058_910_334_903_685_38,
        0.030_894_357_744_499_164
    );
    (p * q).mul_add(a, a) + off
}

/// The pieces of arc sine at `t = |x|`: `(big, p)` with asin t = p where `!big`, π/2 − 2p where `big` (t > ½).
#[inline(always)]
pub fn asin_parts(t: f64) -> (bool, f64) {
    let big = t > 0.5;
    let half = 0.5 * (1.0 - t);
    let z = if big { half } else { t * t };
    let root = half.sqrt();
    let s = if big { root } else { t };
    let p = poly!(
        z,
        0.166_666_666_696_958_32,
        0.074_999_995_255_955_42,
        0.044_643_112_467_869_395,
        0.03037523329094801,
        0.022_471_301_771_112_732,
        0.016_477_804_746_384_255,
        0.018_630_045_429_812_923,
        -0.002_857_380_920_707_469_5,
        0.031_958_420_794_404_05
    );
    (big, (p * z).mul_add(s, s))
}

/// erfc(x) for `0 ≤ x ≤ 10.2`.
#[inline(always)]
pub fn erfc_positive(x: f64) -> f64 {
    let t = (x - 4.0) / (x + 4.0);
    let h = poly!(
        t,
        1.232_995_118_625_232_6,
        -0.139_621_116_868_833_72,
        0.015_379_652_178_561_408,
        0.068_097_056_679_695_64,
        -0.101_039_067_538_354_76,
        0.093_732_774_735_953_43,
        -0.066_330_393_049_022_97,
        0.037_168_136_617_799_35,
        -0.016_196_961_532_941_947,
        0.005_029_299_223_339_209,
        -0.000_763_333_027_738_505_5,
        -0.000_196_773_729_124_733_76,
        0.000_164_195_041_370_047_75,
        -1.591_832_168_287_788_5e-5,
        -1.575_236_101_025_318_7e-5
    );
    exp(-x * x) * h / (1.0 + 2.0 * x)
}
