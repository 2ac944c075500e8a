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
