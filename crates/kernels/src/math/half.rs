//! bf16 and f16 as bit patterns, converted by integer arithmetic that vectorises on every instruction set.
//!
//! The processor's bf16 conversion flushes denormals to zero, so it is not used here.

/// bfloat16.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(transparent)]
pub struct Bf16(pub u16);

/// IEEE half precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(transparent)]
pub struct F16(pub u16);

impl Bf16 {
    /// Rounds to nearest even; every NaN becomes 0x7fc0.
    #[inline(always)]
    pub fn from_f32(x: f32) -> Self {
        let b = x.to_bits();
        let r = (b.wrapping_add(0x7fff + ((b >> 16) & 1)) >> 16) as u16;
        Bf16(if x.is_nan() { 0x7fc0 } else { r })
    }

    /// The same number.
    #[inline(always)]
    pub fn to_f32(self) -> f32 {
        f32::from_bits(u32::from(self.0) << 16)
    }
}

impl F16 {
    /// Rounds to nearest even; overflow gives infinity, NaN a quiet NaN.
    #[inline(always)]
    pub fn from_f32(x: f32) -> Self {
        let bits = x.to_bits();
        let sign = bits & 0x8000_0000;
        let a = bits ^ sign;
        // Denormal results: adding ½ aligns the significand so that the addition itself rounds.
        let small = (f32::from_bits(a) + 0.5).to_bits().wrapping_sub(0x3f00_0000);
        let odd = (a >> 13) & 1;
        let normal = a.wrapping_sub(0x3800_0000).wrapping_add(0xfff + odd) >> 13;
        let r = if a < 0x3880_0000 { small } else { normal };
        let r = if a >= 0x4780_0000 { 0x7c00 } else { r };
        let r = if a > 0x7f80_0000 { 0x7e00 } else { r };
        F16((r | (sign >> 16)) as u16)
    }

    /// The same number.
    #[inline(always)]
    pub fn to_f32(self) -> f32 {
        let h = u32::from(self.0);
        let a = (h & 0x7fff) << 13;
        // Scaling by 2¹¹² moves the exponent bias and normalises denormals.
        let scaled = f32::from_bits(a) * f32::from_bits(0x7780_0000);
        let special = a | 0x7f80_0000;
        let m = if a >= 0x0f80_0000 { special } else { scaled.to_bits() };
        f32::from_bits(m | (h & 0x8000) << 16)
    }
}
