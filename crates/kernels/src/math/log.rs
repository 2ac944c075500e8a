//! Natural logarithm in single precision.

use super::poly2;

/// ln x; 1 ulp. Negative gives NaN, zero −inf.
#[inline(always)]
pub fn ln(x: f32) -> f32 {
    let tiny = x < f32::MIN_POSITIVE;
    let y = if tiny { x * 8_388_608.0 } else { x };
    let shift = if tiny { -23.0 } else { 0.0 };
    let bits = y.to_bits();
    // The mantissa is brought into [2/3, 4/3), so that the argument near 1 has exponent 0 and nothing cancels.
    let e = (bits.wrapping_sub(0x3f2a_aaab) as i32) >> 23;
    let f = f32::from_bits(bits.wrapping_sub((e << 23) as u32)) - 1.0;
    let p = poly2!(
        f,
        0.333_333_34,
        -0.249_998_26,
        0.199_996_84,
        -0.166_793_61,
        0.143_026_02,
        -0.121_985_16,
        0.107_709_56,
        -0.128_340_51,
        0.119_529_85
    );
    let r = p.mul_add(f, -0.5).mul_add(f * f, f);
    let r = (e as f32 + shift).mul_add(std::f32::consts::LN_2, r);
    // Positive finite numbers in one unsigned comparison; written with floats, it becomes a slow classification.
    let plain = x.to_bits().wrapping_sub(1) < 0x7f7f_ffff;
    let special = if x < 0.0 { f32::NAN } else { x };
    let special = if x == 0.0 { f32::NEG_INFINITY } else { special };
    if plain {
        r
    } else {
        special
    }
}
