//! Host scalars: a number that is not (yet) an element of a tensor.

use crate::{Class, DType};

/// A host number with the widest type of its family.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// Truth value.
    Bool(bool),
    /// Signed integer.
    Int(i64),
    /// Unsigned integer above `i64::MAX`.
    UInt(u64),
    /// Real number.
    Float(f64),
    /// Complex number (real, imaginary).
    Complex(f64, f64),
}

impl Scalar {
    /// Family of the number.
    pub fn class(self) -> Class {
        match self {
            Scalar::Bool(_) => Class::Bool,
            Scalar::Int(_) | Scalar::UInt(_) => Class::Int,
            Scalar::Float(_) => Class::Float,
            Scalar::Complex(..) => Class::Complex,
        }
    }

    /// The number as f64; the real part of a complex number.
    pub fn to_f64(self) -> f64 {
        match self {
            Scalar::Bool(b) => f64::from(u8::from(b)),
            Scalar::Int(i) => i as f64,
            Scalar::UInt(u) => u as f64,
            Scalar::Float(f) | Scalar::Complex(f, _) => f,
        }
    }

    /// The number as i64; floats truncate toward zero and saturate, unsigned wraps.
    pub fn to_i64(self) -> i64 {
        match self {
            Scalar::Bool(b) => i64::from(b),
            Scalar::Int(i) => i,
            Scalar::UInt(u) => u as i64,
            Scalar::Float(f) | Scalar::Complex(f, _) => f as i64,
        }
    }

    /// Whether the number is exactly this integer.
    pub fn is(self, n: i64) -> bool {
        match self {
            Scalar::Complex(re, im) => im == 0.0 && re == n as f64,
            Scalar::Float(f) => f == n as f64,
            other => other.to_i64() == n && !matches!(other, Scalar::UInt(_)),
        }
    }

    /// Whether the number converts to `dtype` by PyTorch's rules: within its range, infinities to floats only, NaN to all
    /// but integers, complex numbers to real types only on the real line. Truth values are never out of range, and
    /// negative integers wrap where an unsigned type can hold their magnitude.
    pub fn fits(self, dtype: DType) -> bool {
        match (self, dtype.class()) {
            (_, Class::Bool) => true,
            (Scalar::Complex(re, im), Class::Complex) => {
                Scalar::Float(re).fits(dtype.real()) && Scalar::Float(im).fits(dtype.real())
            }
            (Scalar::Complex(re, im), _) => im == 0.0 && Scalar::Float(re).fits(dtype),
            (_, Class::Complex) => self.fits(dtype.real()),
            (Scalar::Float(f), Class::Float) => !f.is_finite() || f.abs() <= dtype.greatest(),
            (Scalar::Float(f), Class::Int) => f >= dtype.least_int() && f <= dtype.greatest(),
            (Scalar::Bool(_), _) => true,
            (_, Class::Float) => self.to_f64().abs() <= dtype.greatest(),
            (Scalar::UInt(_), Class::Int) => dtype == DType::U64,
            (Scalar::Int(i), Class::Int) => {
                let bits = 8 * dtype.size() as u32;
                match dtype.is_unsigned() {
                    true => bits == 64 || i.unsigned_abs() >> bits == 0,
                    false => i >> (bits - 1) == 0 || i >> (bits - 1) == -1,
                }
            }
        }
    }

    /// PyTorch's message about a number that does not fit.
    pub fn misfit(dtype: DType) -> String {
        format!("value cannot be converted to type {} without overflow", dtype.c_name())
    }

    /// The natural element type of the number before promotion: bool, i64, f64 or c128.
    pub fn natural_dtype(self) -> DType {
        match self.class() {
            Class::Bool => DType::Bool,
            Class::Int => DType::I64,
            Class::Float => DType::F64,
            Class::Complex => DType::C128,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_conversions() {
        let cases = [
            (Scalar::Int(300), DType::U8, false),
            (Scalar::Int(255), DType::U8, true),
            (Scalar::Int(-1), DType::U8, true),
            (Scalar::Int(-300), DType::U8, false),
            (Scalar::Int(-128), DType::I8, true),
            (Scalar::Int(128), DType::I8, false),
            (Scalar::Int(i64::MIN), DType::I64, true),
            (Scalar::UInt(u64::MAX), DType::I64, false),
            (Scalar::UInt(u64::MAX), DType::U64, true),
            (Scalar::Float(1e6), DType::F16, false),
            (Scalar::Float(f64::INFINITY), DType::F16, true),
            (Scalar::Float(f64::NAN), DType::I32, false),
            (Scalar::Float(f64::NAN), DType::F32, true),
            (Scalar::Float(1e39), DType::BF16, false),
            (Scalar::Float(1e300), DType::Bool, true),
            (Scalar::Complex(1.0, 1.0), DType::F32, false),
            (Scalar::Complex(1.0, 0.0), DType::F32, true),
            (Scalar::Complex(1.0, 1e300), DType::C64, false),
        ];
        for (s, dtype, fits) in cases {
            assert_eq!(s.fits(dtype), fits, "{s:?} to {dtype:?}");
        }
    }
}
