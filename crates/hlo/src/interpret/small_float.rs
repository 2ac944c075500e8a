//! Floats of 8 and 16 bits, by their parameters.

use tnrs_types::DType;

/// What the greatest codes mean.
#[derive(Clone, Copy, PartialEq)]
enum Special {
    /// IEEE: the greatest exponent holds infinity and NaN.
    Ieee,
    /// No infinity; NaN is the greatest code of either sign.
    Finite,
    /// A power of two; NaN is the greatest code.
    Power,
    /// No infinity and no negative zero, whose code is NaN.
    FiniteUnsignedZero,
}

/// A binary floating-point format.
#[derive(Clone, Copy)]
pub struct Format {
    exponent: u32,
    mantissa: u32,
    bias: i32,
    special: Special,
}

/// The code of the nearest power of two, as PyTorch's conversion from f32 has it: what is halfway goes up, unless it
/// is a denormal number; zero becomes the least power, infinity NaN.
fn power(a: f64) -> u32 {
    let a = a as f32;
    let exponent = a.to_bits() >> 23;
    if exponent == 0xff {
        return 0xff;
    }
    let half = if exponent == 0 { 0.5 } else { 1.5 };
    let significand = f64::from(a) * f64::from(127 - exponent.max(1) as i32).exp2();
    let up = if exponent == 0 { significand > half } else { significand >= half };
    exponent + u32::from(up)
}

impl Format {
    /// Format of a reduced float type. Parameters are those of IEEE 754, of bfloat16, of the OCP 8-bit formats
    /// and of their FNUZ forms.
    pub fn of(dtype: DType) -> Format {
        let (exponent, mantissa, bias, special) = match dtype {
            DType::F16 => (5, 10, 15, Special::Ieee),
            DType::BF16 => (8, 7, 127, Special::Ieee),
            DType::F8E5M2 => (5, 2, 15, Special::Ieee),
            DType::F8E4M3FN => (4, 3, 7, Special::Finite),
            DType::F8E4M3FNUZ => (4, 3, 8, Special::FiniteUnsignedZero),
            DType::F8E5M2FNUZ => (5, 2, 16, Special::FiniteUnsignedZero),
            DType::F8E8M0FNU => (8, 0, 127, Special::Power),
            other => panic!("{other:?} is not a reduced float"),
        };
        Format { exponent, mantissa, bias, special }
    }

    fn sign(self) -> u32 {
        1 << (self.exponent + self.mantissa)
    }

    /// First code that is no finite number.
    fn beyond(self) -> u32 {
        match self.special {
            Special::Ieee => self.sign() - (1 << self.mantissa),
            Special::Finite | Special::Power => self.sign() - 1,
            Special::FiniteUnsignedZero => self.sign(),
        }
    }

    fn nan(self) -> u32 {
        match self.special {
            Special::Ieee => self.beyond() + (1 << (self.mantissa - 1)),
            Special::Finite | Special::Power => self.sign() - 1,
            Special::FiniteUnsignedZero => self.sign(),
        }
    }

    /// The code of the nearest number, ties to even. Overflow, infinity included, gives infinity in the IEEE formats,
    /// the greatest number in e4m3fn, and NaN in the FNUZ forms: PyTorch's conversions.
    pub fn encode(self, x: f64) -> u32 {
        if x.is_nan() {
            return self.nan();
        }
        if self.special == Special::Power {
            return power(x.abs());
        }
        let sign = if x.is_sign_negative() { self.sign() } else { 0 };
        let overflow = match self.special {
            Special::Ieee => sign + self.beyond(),
            Special::Finite | Special::Power => sign + self.beyond() - 1,
            Special::FiniteUnsignedZero => self.nan(),
        };
        let a = x.abs();
        if a.is_infinite() {
            return overflow;
        }
        let least = 1 - self.bias;
        let exponent = ((a.to_bits() >> 52) as i32 - 1023).max(least);
        let steps = (a * f64::from(self.mantissa as i32 - exponent).exp2()).round_ties_even();
        // A normal number has 2^mantissa steps or more, which carries one into the exponent field.
        let code = steps as u64 + (((exponent - least) as u64) << self.mantissa);
        if code >= u64::from(self.beyond()) {
            return overflow;
        }
        if code == 0 && self.special == Special::FiniteUnsignedZero {
            return 0;
        }
        sign + code as u32
    }

    /// The number of a code.
    pub fn decode(self, code: u32) -> f64 {
        if self.special == Special::Power {
            return if code == 0xff { f64::NAN } else { f64::from(code as i32 - 127).exp2() };
        }
        let magnitude = code & (self.sign() - 1);
        let negative = code & self.sign() != 0;
        if self.special == Special::FiniteUnsignedZero && negative && magnitude == 0 {
            return f64::NAN;
        }
        let value = if magnitude >= self.beyond() {
            if self.special == Special::Ieee && magnitude == self.beyond() {
                f64::INFINITY
            } else {
                f64::NAN
            }
        } else {
            let field = magnitude >> self.mantissa;
            let fraction = magnitude & ((1 << self.mantissa) - 1);
            let (significand, exponent) = if field == 0 {
                (fraction, 1 - self.bias)
            } else {
                (fraction + (1 << self.mantissa), field as i32 - self.bias)
            };
            f64::from(significand) * f64::from(exponent - self.mantissa as i32).exp2()
        };
        if negative {
            -value
        } else {
            value
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_bits_agree_with_the_half_crate() {
        let (f16, bf16) = (Format::of(DType::F16), Format::of(DType::BF16));
        for code in 0..=u16::MAX {
            let (a, b) = (half::f16::from_bits(code), half::bf16::from_bits(code));
            let same = |x: f64, y: f64| x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan());
            assert!(same(f16.decode(code.into()), a.to_f64()), "{code:#x}");
            assert!(same(bf16.decode(code.into()), b.to_f64()), "{code:#x}");
        }
        let mut state = 1u64;
        for _ in 0..200_000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
            let narrow = f32::from_bits((state >> 32) as u32);
            let x = f64::from(narrow);
            if x.is_nan() {
                continue;
            }
            assert_eq!(f16.encode(x), half::f16::from_f32(narrow).to_bits().into(), "{x}");
            assert_eq!(bf16.encode(x), half::bf16::from_f32(narrow).to_bits().into(), "{x}");
        }
    }

    #[test]
    fn eight_bits_round_trip_and_have_the_published_extremes() {
        for (dtype, max, min) in [
            (DType::F8E4M3FN, 448.0, (-9f64).exp2()),
            (DType::F8E5M2, 57344.0, (-16f64).exp2()),
            (DType::F8E4M3FNUZ, 240.0, (-10f64).exp2()),
            (DType::F8E5M2FNUZ, 57344.0, (-17f64).exp2()),
        ] {
            let format = Format::of(dtype);
            let all = (0..256).map(|c| format.decode(c)).filter(|x| x.is_finite());
            assert_eq!(all.clone().fold(0.0, f64::max), max, "{dtype:?}");
            let least = all.filter(|x| *x > 0.0).fold(f64::INFINITY, f64::min);
            assert_eq!(least, min, "{dtype:?}");
            for code in 0..256 {
                let x = format.decode(code);
                if !x.is_nan() {
                    assert_eq!(format.encode(x), code, "{dtype:?} {x}");
                }
            }
            let overflow = format.decode(format.encode(-1e9));
            match dtype {
                DType::F8E5M2 => assert_eq!(overflow, f64::NEG_INFINITY),
                DType::F8E4M3FN => assert_eq!(overflow, -448.0),
                _ => assert!(overflow.is_nan()),
            }
        }
    }
}
