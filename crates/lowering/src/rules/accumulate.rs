//! How a scattered update meets the element it lands on: the part that `scatter_reduce` and `index_reduce` share.

use tnrs_hlo::{ScatterKind, Value};
use tnrs_types::{DType, Scalar};

use crate::expr::Expr;
use crate::{Ctx, LowerError};

/// A named way to combine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Combine {
    /// The last update wins.
    Set,
    /// Sum.
    Sum,
    /// Product.
    Product,
    /// Arithmetic mean; integers round down.
    Mean,
    /// Maximum.
    Max,
    /// Minimum.
    Min,
}

impl Combine {
    /// The name at a position.
    pub(super) fn parse(cx: &Ctx, i: usize) -> Result<Combine, LowerError> {
        match cx.text(i) {
            Some("sum") => Ok(Combine::Sum),
            Some("prod") => Ok(Combine::Product),
            Some("mean") => Ok(Combine::Mean),
            Some("amax") => Ok(Combine::Max),
            Some("amin") => Ok(Combine::Min),
            other => Err(LowerError::runtime(format!(
                "{}: reduce argument must be either sum, prod, mean, amax or amin, got {other:?}",
                cx.op
            ))),
        }
    }
    fn kind(self) -> ScatterKind {
        match self {
            Combine::Set => ScatterKind::Set,
            Combine::Sum | Combine::Mean => ScatterKind::Add,
            Combine::Product => ScatterKind::Multiply,
            Combine::Max => ScatterKind::Maximum,
            Combine::Min => ScatterKind::Minimum,
        }
    }
    /// The element that changes nothing.
    fn neutral(self, dtype: DType) -> Scalar {
        match self {
            Combine::Set | Combine::Sum | Combine::Mean => Scalar::Int(0),
            Combine::Product => Scalar::Int(1),
            Combine::Max => lowest(dtype),
            Combine::Min => highest(dtype),
        }
    }
}

/// The least number of a type.
pub(super) fn lowest(dtype: DType) -> Scalar {
    match dtype {
        d if d.is_float() => Scalar::Float(f64::NEG_INFINITY),
        DType::Bool => Scalar::Bool(false),
        d if d.is_unsigned() => Scalar::Int(0),
        d => Scalar::Int(i64::MIN >> (64 - 8 * d.size())),
    }
}

/// The greatest number of a type.
pub(super) fn highest(dtype: DType) -> Scalar {
    match dtype {
        d if d.is_float() => Scalar::Float(f64::INFINITY),
        DType::Bool => Scalar::Bool(true),
        d if d.is_unsigned() => Scalar::UInt(u64::MAX >> (64 - 8 * d.size())),
        d => Scalar::Int(i64::MAX >> (64 - 8 * d.size())),
    }
}

/// `x` with `updates` scattered in by `put(kind, base, updates)`. Without `include_self`, elements that receive an
/// update forget their old value. Sums, products and means of reduced floats accumulate in f32.
pub(super) fn reduce_into<'m>(
    x: Expr<'m>,
    updates: Expr<'m>,
    combine: Combine,
    include_self: bool,
    put: impl Fn(ScatterKind, Expr<'_>, Expr<'_>) -> Value,
) -> Expr<'m> {
    let m = x.math();
    let dtype = x.dtype();
    let acc = match combine {
        Combine::Sum | Combine::Product | Combine::Mean => dtype.opmath(),
        Combine::Set | Combine::Max | Combine::Min => dtype,
    };
    let (x, updates) = (x.cast(acc), updates.cast(acc));
    let base = if include_self {
        x
    } else {
        let neutral = updates.constant(combine.neutral(acc));
        m.expr(put(ScatterKind::Set, x, neutral))
    };
    let sum = m.expr(put(combine.kind(), base, updates));
    if combine != Combine::Mean {
        return sum.cast(dtype);
    }
    let before = if include_self { x.int(1) } else { x.int(0) };
    let counts = m.expr(put(ScatterKind::Add, before, updates.int(1)));
    let counts = counts.max(counts.int(1));
    let mean = sum / counts;
    let mean = if dtype.is_int() {
        // Integer division truncates; a negative remainder means one too many.
        let rest = sum - mean * counts;
        rest.lt(rest.int(0)).select(mean - mean.int(1), mean)
    } else {
        mean
    };
    mean.cast(dtype)
}
