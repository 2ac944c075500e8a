//! Reductions of consecutive segments of one dim, by the names of PyTorch's `segment_reduce` and its backward.
//!
//! The data is (outer, length, inner) and the segments of each outer row are stated by their offsets or lengths,
//! (outer, n). The attribute `kind` counts sum, mean, maximum, minimum, product from 0; `initial` is NaN when `given`
//! is 0.

use tnrs_types::DType;

use super::{arity, ensure, CustomCall, Target};
use crate::TensorType;

/// Rows of this family.
pub(super) const TARGETS: &[Target] = &[
    // Operands: data; lengths (outer, n) or, with `offsets`, where segments start and end (outer, n + 1), i64.
    // Result: (outer, n, inner). `exact` requires lengths to add up to the dim.
    Target {
        name: "segment_reduce",
        attrs: &["kind", "offsets", "exact", "given", "initial"],
        check: forward,
    },
    // Operands: the result's gradient, the result, data, lengths or offsets. Result: the data's gradient.
    Target { name: "segment_reduce_grad", attrs: &["kind", "offsets", "given", "initial"], check: backward },
];

fn fits(c: &CustomCall, data: &TensorType, marks: &TensorType, reduced: &TensorType) -> bool {
    let more = i64::from(c.flag("offsets"));
    data.rank() == 3
        && reduced.rank() == 3
        && marks.dtype == DType::I64
        && marks.dims[..] == [data.dims[0], reduced.dims[1] + more]
        && reduced.dims[..] == [data.dims[0], reduced.dims[1], data.dims[2]]
        && data.dtype.is_float()
        && data.dtype.size() > 1
        && data.dtype == reduced.dtype
}

fn forward(c: &CustomCall, x: &[&TensorType], r: &[TensorType]) -> Result<(), String> {
    arity(x, 2, r, 1)?;
    ensure(fits(c, x[0], x[1], &r[0]), "sizes of data, segments and result", x, r)
}

fn backward(c: &CustomCall, x: &[&TensorType], r: &[TensorType]) -> Result<(), String> {
    arity(x, 4, r, 1)?;
    let ok = fits(c, x[2], x[3], x[0]) && x[1] == x[0] && r[0] == *x[2];
    ensure(ok, "sizes of gradients, data and segments", x, r)
}
