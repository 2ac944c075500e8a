//! `reduce` and `sort`.

use tnrs_types::{DType, ReduceKind};

use super::{check, in_range, unique, without, Types};
use crate::{HloError, TensorType};

pub fn reduce(kind: ReduceKind, dims: &[i64], x: &TensorType) -> Result<TensorType, HloError> {
    check!(in_range(dims, x.rank()), "reduce", "reduce_c4", "dims {dims:?} of {x}");
    check!(unique(dims), "reduce", "reduce_c5", "dims {dims:?} repeat");
    let d = x.dtype;
    let ok = match kind {
        ReduceKind::Add | ReduceKind::Multiply => true,
        ReduceKind::Maximum | ReduceKind::Minimum => !d.is_complex(),
        ReduceKind::And | ReduceKind::Or | ReduceKind::Xor => d.is_int() || d == DType::Bool,
    };
    check!(ok, "reduce", "reduce_c6", "{kind:?} of {x}");
    Ok(TensorType { dtype: d, dims: without(&x.dims, dims) })
}

pub fn sort(dim: i64, xs: &[&TensorType]) -> Result<Types, HloError> {
    check!(!xs.is_empty(), "sort", "sort_c1", "no operands");
    check!(
        xs.iter().all(|x| x.dims == xs[0].dims),
        "sort",
        "sort_c3",
        "sizes differ: {}",
        super::composite::list(xs)
    );
    check!(in_range(&[dim], xs[0].rank()), "sort", "sort_c4", "dim {dim} of {}", xs[0]);
    check!(!xs[0].dtype.is_complex(), "sort", "sort_c5", "complex numbers have no order");
    Ok(xs.iter().map(|x| (*x).clone()).collect())
}
