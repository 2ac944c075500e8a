//! One element of a tensor, whatever its type.

use tnrs_types::{Class, DType, Scalar};

use super::small_float::Format;

/// A number in the widest type of its family.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Element {
    /// Truth value.
    Bool(bool),
    /// Integer, already wrapped to its type.
    Int(i128),
    /// Real number, already rounded to its type.
    Float(f64),
    /// Complex number (real, imaginary), already rounded to its type.
    Complex(f64, f64),
}

impl Element {
    /// The truth value of a bool element.
    pub fn bool(self) -> bool {
        match self {
            Element::Bool(b) => b,
            other => panic!("{other:?} is not a bool"),
        }
    }

    /// The integer of an integer element.
    pub fn int(self) -> i128 {
        match self {
            Element::Int(i) => i,
            other => panic!("{other:?} is not an integer"),
        }
    }

    /// Zero of a type.
    pub fn zero(dtype: DType) -> Element {
        match dtype.class() {
            Class::Bool => Element::Bool(false),
            Class::Int => Element::Int(0),
            Class::Float => Element::Float(0.0),
            Class::Complex => Element::Complex(0.0, 0.0),
        }
    }

    /// The element as one of `dtype`, of the same family: integers wrap, floats round to nearest even.
    pub fn rounded(self, dtype: DType) -> Element {
        match self {
            Element::Bool(_) => self,
            Element::Int(i) => Element::Int(wrap(i, dtype)),
            Element::Float(f) => Element::Float(round(f, dtype)),
            Element::Complex(re, im) => {
                let real = dtype.real();
                Element::Complex(round(re, real), round(im, real))
            }
        }
    }

    /// `convert`: to any type.
    pub fn converted(self, to: DType) -> Element {
        match to.class() {
            Class::Bool => Element::Bool(match self {
                Element::Bool(b) => b,
                Element::Int(i) => i != 0,
                Element::Float(f) => f != 0.0,
                Element::Complex(re, im) => re != 0.0 || im != 0.0,
            }),
            Class::Int => Element::Int(match self {
                Element::Bool(b) => i128::from(b),
                Element::Int(i) => wrap(i, to),
                Element::Float(f) | Element::Complex(f, _) => truncate(f, to),
            }),
            Class::Float => Element::Float(self.real_part(to)),
            Class::Complex => {
                let im = match self {
                    Element::Complex(_, im) => round(im, to.real()),
                    _ => 0.0,
                };
                Element::Complex(self.real_part(to.real()), im)
            }
        }
    }

    fn real_part(self, to: DType) -> f64 {
        match self {
            Element::Bool(b) => f64::from(u8::from(b)),
            Element::Int(i) if to == DType::F64 => i as f64,
            Element::Int(i) => round(to_odd(i), to),
            Element::Float(f) | Element::Complex(f, _) => round(f, to),
        }
    }

    /// A host scalar as an element of a type.
    pub fn from_scalar(s: Scalar, dtype: DType) -> Element {
        let wide = match s {
            Scalar::Bool(b) => Element::Bool(b),
            Scalar::Int(i) => Element::Int(i128::from(i)),
            Scalar::UInt(u) => Element::Int(i128::from(u)),
            Scalar::Float(f) => Element::Float(f),
            Scalar::Complex(re, im) => Element::Complex(re, im),
        };
        wide.converted(dtype)
    }

    /// Reads an element from its bytes in host order.
    pub fn decode(dtype: DType, bytes: &[u8]) -> Element {
        let size = bytes.len();
        let mut raw = [0u8; 16];
        raw[..size].copy_from_slice(bytes);
        let bits = u128::from_le_bytes(if cfg!(target_endian = "little") {
            raw
        } else {
            let mut swapped = raw;
            swapped[..size].reverse();
            swapped
        });
        match dtype.class() {
            Class::Bool => Element::Bool(bits != 0),
            Class::Int => Element::Int(wrap(bits as i128, dtype)),
            Class::Float => Element::Float(float_from_bits(bits as u64, dtype)),
            Class::Complex => {
                let half = size / 2;
                let part = |b: &[u8]| match Element::decode(dtype.real(), b) {
                    Element::Float(f) => f,
                    other => panic!("{other:?} is not a float"),
                };
                Element::Complex(part(&bytes[..half]), part(&bytes[half..]))
            }
        }
    }

    /// Appends the element's bytes in host order.
    pub fn encode(self, dtype: DType, out: &mut Vec<u8>) {
        let mut push = |bits: u64, size: usize| {
            let bytes = bits.to_ne_bytes();
            if cfg!(target_endian = "little") {
                out.extend_from_slice(&bytes[..size]);
            } else {
                out.extend_from_slice(&bytes[8 - size..]);
            }
        };
        match self {
            Element::Bool(b) => push(u64::from(b), 1),
            Element::Int(i) => push(i as u64, dtype.size()),
            Element::Float(f) => push(float_to_bits(f, dtype), dtype.size()),
            Element::Complex(re, im) => {
                let real = dtype.real();
                push(float_to_bits(re, real), real.size());
                push(float_to_bits(im, real), real.size());
            }
        }
    }
}

/// An integer modulo the range of a type.
pub fn wrap(i: i128, dtype: DType) -> i128 {
    let unused = 128 - 8 * dtype.size() as u32;
    if dtype.is_unsigned() {
        ((i as u128) << unused >> unused) as i128
    } else {
        i << unused >> unused
    }
}

/// A float truncated toward zero by way of a signed word, as processors do: 64 bits for `ui32` and `i64`, 32 for others.
/// The word's least number stands for NaN and for what it cannot hold; narrower types keep the low bits. `ui64` saturates.
fn truncate(f: f64, dtype: DType) -> i128 {
    let least = match dtype {
        DType::U64 => return (f as u64).into(),
        DType::I64 | DType::U32 => -(1i128 << 63),
        _ => -(1i128 << 31),
    };
    let word = f as i128;
    wrap(if f.is_nan() || !(least..-least).contains(&word) { least } else { word }, dtype)
}

/// An integer rounded to odd in f64, so that a second rounding to a narrower float rounds as one.
fn to_odd(i: i128) -> f64 {
    let nearest = i as f64;
    let back = nearest as i128;
    if back == i {
        return nearest;
    }
    let toward_zero = if (back > i) == (i > 0) { f64::from_bits(nearest.to_bits() - 1) } else { nearest };
    f64::from_bits(toward_zero.to_bits() | 1)
}

/// A real number rounded to a float type.
pub fn round(f: f64, dtype: DType) -> f64 {
    match dtype {
        DType::F64 => f,
        DType::F32 => f64::from(f as f32),
        small => {
            let format = Format::of(small);
            format.decode(format.encode(f))
        }
    }
}

fn float_to_bits(f: f64, dtype: DType) -> u64 {
    match dtype {
        DType::F64 => f.to_bits(),
        DType::F32 => u64::from((f as f32).to_bits()),
        small => u64::from(Format::of(small).encode(f)),
    }
}

fn float_from_bits(bits: u64, dtype: DType) -> f64 {
    match dtype {
        DType::F64 => f64::from_bits(bits),
        DType::F32 => f64::from(f32::from_bits(bits as u32)),
        small => Format::of(small).decode(bits as u32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_wrap_and_floats_pass_a_word() {
        assert_eq!(wrap(300, DType::U8), 44);
        assert_eq!(wrap(200, DType::I8), -56);
        assert_eq!(Element::Float(f64::NAN).converted(DType::I32), Element::Int(-(1 << 31)));
        assert_eq!(Element::Float(3e9).converted(DType::I32), Element::Int(-(1 << 31)));
        assert_eq!(Element::Float(-1.0).converted(DType::U8), Element::Int(255));
        assert_eq!(Element::Float(f64::INFINITY).converted(DType::U8), Element::Int(0));
        assert_eq!(Element::Float(-2.9).converted(DType::I64), Element::Int(-2));
    }

    #[test]
    fn integers_round_once_to_narrow_floats() {
        for i in [
            (1i128 << 62) + (1 << 38) + 1,
            (1i128 << 62) + (1 << 38),
            -(1i128 << 62) - (1 << 38) - 1,
            (1i128 << 53) + 1,
        ] {
            let Element::Float(f) = Element::Int(i).converted(DType::F32) else { panic!("not a float") };
            assert_eq!(f as f32, i as f32, "{i}");
        }
    }

    #[test]
    fn bytes_round_trip_for_every_type() {
        for &dtype in DType::ALL {
            for value in [0i64, 1, 2, 3] {
                let e = Element::from_scalar(Scalar::Int(value), dtype);
                let mut bytes = Vec::new();
                e.encode(dtype, &mut bytes);
                assert_eq!(bytes.len(), dtype.size());
                assert_eq!(Element::decode(dtype, &bytes), e, "{dtype:?}");
            }
        }
    }
}
