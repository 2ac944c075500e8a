//! What a reduction kind is made of.

use tnrs_types::{BinaryKind, Class, DType, ReduceKind, Scalar};

/// The binary function that a reduction folds with.
pub fn body(kind: ReduceKind) -> BinaryKind {
    match kind {
        ReduceKind::Add => BinaryKind::Add,
        ReduceKind::Multiply => BinaryKind::Multiply,
        ReduceKind::Maximum => BinaryKind::Maximum,
        ReduceKind::Minimum => BinaryKind::Minimum,
        ReduceKind::And => BinaryKind::And,
        ReduceKind::Or => BinaryKind::Or,
        ReduceKind::Xor => BinaryKind::Xor,
    }
}

/// The neutral element of a reduction in an element type. In a float type without infinities, -inf and +inf convert
/// to NaN; such types reduce in f32.
pub fn neutral(kind: ReduceKind, dtype: DType) -> Scalar {
    let bits = 8 * dtype.size() as u32;
    let (least, greatest) = match dtype.class() {
        Class::Bool => (Scalar::Bool(false), Scalar::Bool(true)),
        Class::Int if dtype.is_unsigned() => (Scalar::Int(0), Scalar::UInt(u64::MAX >> (64 - bits))),
        Class::Int => (Scalar::Int(i64::MIN >> (64 - bits)), Scalar::Int(i64::MAX >> (64 - bits))),
        Class::Float | Class::Complex => (Scalar::Float(f64::NEG_INFINITY), Scalar::Float(f64::INFINITY)),
    };
    match kind {
        ReduceKind::Add | ReduceKind::Or | ReduceKind::Xor => Scalar::Int(0),
        ReduceKind::Multiply => Scalar::Int(1),
        ReduceKind::Maximum => least,
        ReduceKind::Minimum => greatest,
        ReduceKind::And if dtype == DType::Bool => Scalar::Bool(true),
        ReduceKind::And => Scalar::Int(-1),
    }
}
