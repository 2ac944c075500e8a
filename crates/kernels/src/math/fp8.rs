//! 8-bit floats: decoding by table, encoding with round to nearest even as PyTorch's casts do.
//!
//! | form | exponent, mantissa bits | bias | overflow and infinity | NaN |
//! |---|---|---|---|---|
//! | e4m3fn | 4, 3 | 7 | ±448, the greatest number | 0x7f, 0xff |
//! | e5m2 | 5, 2 | 15 | infinity | 0x7f, 0xff |
//! | e4m3fnuz | 4, 3 | 8 | NaN | 0x80 |
//! | e5m2fnuz | 5, 2 | 16 | NaN | 0x80 |
//! | e8m0fnu | 8, 0 | 127 | NaN | 0xff |

/// One form: `M` mantissa bits, exponent bias `BIAS`, `FNUZ` for the forms without negative zero, `INF` where
/// infinity exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct F8<const M: u32, const BIAS: i32, const FNUZ: bool, const INF: bool>(pub u8);

/// e4m3fn.
pub type E4m3fn = F8<3, 7, false, false>;
/// e5m2.
pub type E5m2 = F8<2, 15, false, true>;
/// e4m3fnuz.
pub type E4m3fnuz = F8<3, 8, true, false>;
/// e5m2fnuz.
pub type E5m2fnuz = F8<2, 16, true, false>;

impl<const M: u32, const BIAS: i32, const FNUZ: bool, const INF: bool> F8<M, BIAS, FNUZ, INF> {
    const TABLE: [f32; 256] = {
        let mut t = [0.0; 256];
        let mut i = 0;
        while i < 256 {
            t[i] = Self::decode(i as u8);
            i += 1;
        }
        t
    };
    /// Largest code of a finite magnitude.
    const MAX: u32 = match (FNUZ, INF) {
        (true, _) => 0x7f,
        (_, true) => 0x7b,
        _ => 0x7e,
    };

    const fn decode(code: u8) -> f32 {
        let a = (code & 0x7f) as u32;
        if FNUZ && code == 0x80 {
            return f32::NAN;
        }
        let sign = ((code as u32) & 0x80) << 24;
        if a > Self::MAX {
            return f32::from_bits(if INF && a == 0x7c { 0x7f80_0000 | sign } else { 0x7fc0_0000 | sign });
        }
        // The code's fields moved into place of f32's, then scaled by the difference of the biases.
        let scale = f32::from_bits(((127 + 127 - BIAS) as u32) << 23);
        f32::from_bits((a << (23 - M)) | sign) * scale
    }

    /// The same number.
    #[inline(always)]
    pub fn to_f32(self) -> f32 {
        Self::TABLE[self.0 as usize]
    }

    /// Rounds to nearest even; see the table of the module for what does not fit.
    #[inline(always)]
    pub fn from_f32(x: f32) -> Self {
        let bits = x.to_bits();
        let a = bits & 0x7fff_ffff;
        let sign = ((bits >> 24) & 0x80) as u8;
        // Least normal number of the form, as bits.
        let least = ((128 - BIAS) as u32) << 23;
        // Denormal results: adding a number whose last place is the form's least denormal rounds.
        let anchor = f32::from_bits(((128 - BIAS + 23 - M as i32) as u32) << 23);
        let small = (f32::from_bits(a) + anchor).to_bits().wrapping_sub(anchor.to_bits());
        let shift = 23 - M;
        let odd = (a >> shift) & 1;
        let half = (1u32 << (shift - 1)) - 1;
        let rebias = ((127 - BIAS) as u32) << 23;
        let normal = a.wrapping_sub(rebias).wrapping_add(half + odd) >> shift;
        let r = if a < least { small } else { normal };
        let over = if INF { 0x7c } else { Self::MAX };
        let over = if FNUZ { 0x80 } else { over };
        let nan = if FNUZ { 0x80 } else { 0x7f };
        let out = if r > Self::MAX || a >= 0x4f80_0000 { over } else { r };
        let out = if a > 0x7f80_0000 { nan } else { out };
        let signed = out as u8 | sign;
        F8(if FNUZ && (out == 0 || out == 0x80) { out as u8 } else { signed })
    }
}

/// e8m0fnu: a power of two without a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct E8m0fnu(pub u8);

impl E8m0fnu {
    /// The same number; the least is a denormal one.
    #[inline(always)]
    pub fn to_f32(self) -> f32 {
        let code = u32::from(self.0);
        f32::from_bits(match code {
            0 => 0x0040_0000,
            0xff => 0x7fc0_0000,
            _ => code << 23,
        })
    }

    /// The nearest power of two to the magnitude, as PyTorch's casts have it: halfway up, but down from a denormal
    /// number. Zero becomes the least power, infinity and NaN become NaN.
    #[inline(always)]
    pub fn from_f32(x: f32) -> Self {
        let a = x.to_bits() & 0x7fff_ffff;
        let exponent = a >> 23;
        let half = 0x0040_0000 + u32::from(exponent == 0);
        let up = u32::from(exponent != 0xff && (a & 0x007f_ffff) >= half);
        E8m0fnu((exponent + up) as u8)
    }
}
