//! 16-bit floats as bits, in branch-free form that vectorises on every instruction set.

/// bf16 bits to f32.
#[inline(always)]
pub(crate) fn from_bf16(h: u16) -> f32 {
    f32::from_bits(u32::from(h) << 16)
}

/// f32 to bf16 bits, rounding to nearest even; NaN becomes a quiet NaN.
#[inline(always)]
pub(crate) fn to_bf16(x: f32) -> u16 {
    let b = x.to_bits();
    let rounded = b.wrapping_add(0x7fff + ((b >> 16) & 1)) >> 16;
    let nan = (b >> 16) | 0x40;
    (if x.is_nan() { nan } else { rounded }) as u16
}

/// f16 bits to f32.
#[inline(always)]
pub(crate) fn from_f16(h: u16) -> f32 {
    let h = u32::from(h);
    let magnitude = (h & 0x7fff) << 13;
    // 2^112 moves the exponent bias from 15 to 127 and normalises denormals.
    let scaled = (f32::from_bits(magnitude) * f32::from_bits(0x7780_0000)).to_bits();
    let special = if magnitude >= 0x0f80_0000 { 0x7f80_0000 } else { 0 };
    f32::from_bits(scaled | special | (h & 0x8000) << 16)
}

/// f32 to f16 bits, rounding to nearest even; NaN becomes a quiet NaN.
#[inline(always)]
pub(crate) fn to_f16(x: f32) -> u16 {
    let sign = (x.to_bits() >> 16) & 0x8000;
    let a = x.to_bits() & 0x7fff_ffff;
    // Normal: rebias the exponent by -112 and round at bit 13.
    let normal = a.wrapping_add(0xc800_0fff + ((a >> 13) & 1)) >> 13;
    // Below 2^-14: adding 0.5 leaves the result, rounded, in the low mantissa bits.
    let small = (f32::from_bits(a) + 0.5).to_bits().wrapping_sub(0x3f00_0000);
    let large = if a > 0x7f80_0000 { 0x7e00 } else { 0x7c00 };
    let magnitude = if a < 0x3880_0000 { small } else { normal };
    let magnitude = if a >= 0x4780_0000 { large } else { magnitude };
    (sign | magnitude) as u16
}

/// An element type that reads and writes as f32.
pub(crate) trait Elem: Copy {
    /// To f32, exactly.
    fn get(self) -> f32;
    /// From f32, rounded to nearest even.
    fn put(x: f32) -> Self;
}

/// bf16 bits.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Bf16(pub(crate) u16);

/// f16 bits.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct F16(pub(crate) u16);

impl Elem for f32 {
    #[inline(always)]
    fn get(self) -> f32 {
        self
    }
    #[inline(always)]
    fn put(x: f32) -> f32 {
        x
    }
}

impl Elem for Bf16 {
    #[inline(always)]
    fn get(self) -> f32 {
        from_bf16(self.0)
    }
    #[inline(always)]
    fn put(x: f32) -> Bf16 {
        Bf16(to_bf16(x))
    }
}

impl Elem for F16 {
    #[inline(always)]
    fn get(self) -> f32 {
        from_f16(self.0)
    }
    #[inline(always)]
    fn put(x: f32) -> F16 {
        F16(to_f16(x))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};

    #[test]
    fn every_16_bit_pattern_widens_as_ieee_says() {
        for bits in 0..=u16::MAX {
            let (b, h) = (bf16::from_bits(bits).to_f32(), f16::from_bits(bits).to_f32());
            assert!(from_bf16(bits) == b || b.is_nan() && from_bf16(bits).is_nan());
            assert!(from_f16(bits) == h || h.is_nan() && from_f16(bits).is_nan());
            assert_eq!(from_f16(bits).is_sign_negative(), h.is_sign_negative());
        }
    }

    #[test]
    fn narrowing_rounds_to_nearest_even() {
        for bits in (0..=u32::MAX).step_by(977) {
            let x = f32::from_bits(bits);
            let (b, h) = (bf16::from_f32(x), f16::from_f32(x));
            if x.is_nan() {
                assert!(bf16::from_bits(to_bf16(x)).is_nan() && f16::from_bits(to_f16(x)).is_nan());
            } else {
                assert_eq!((to_bf16(x), to_f16(x)), (b.to_bits(), h.to_bits()), "{x:e}");
            }
        }
    }
}
