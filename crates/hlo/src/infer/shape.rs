//! Ops that move elements.

use tnrs_types::Dims;

use super::{check, in_range, unique};
use crate::{HloError, TensorType};

type Inferred = Result<TensorType, HloError>;

fn with_dims(x: &TensorType, dims: Dims) -> Inferred {
    Ok(TensorType { dtype: x.dtype, dims })
}

pub fn broadcast_in_dim(dims: &[i64], x: &TensorType, want: &TensorType) -> Inferred {
    const OP: &str = "broadcast_in_dim";
    check!(x.dtype == want.dtype, OP, "broadcast_in_dim_c1", "operand is {x}, result is {want}");
    check!(dims.len() == x.rank(), OP, "broadcast_in_dim_c2", "{} dims for operand {x}", dims.len());
    check!(
        in_range(dims, want.rank()),
        OP,
        "broadcast_in_dim_c3",
        "dims {dims:?} of operand {x} in result {want}"
    );
    check!(unique(dims), OP, "broadcast_in_dim_c4", "dims {dims:?} repeat");
    check!(
        x.dims.iter().zip(dims).all(|(&n, &d)| n == 1 || n == want.dims[d as usize]),
        OP,
        "broadcast_in_dim_c5",
        "operand {x} does not expand to {want} by dims {dims:?}"
    );
    Ok(want.clone())
}

pub fn reshape(x: &TensorType, want: &TensorType) -> Inferred {
    check!(x.dtype == want.dtype, "reshape", "reshape_c1", "operand is {x}, result is {want}");
    check!(
        want.dims.iter().all(|&n| n >= 0) && x.numel() == want.numel(),
        "reshape",
        "reshape_c2",
        "operand {x} has {} elements, result {want} has {}",
        x.numel(),
        want.numel()
    );
    Ok(want.clone())
}

pub fn transpose(perm: &[i64], x: &TensorType) -> Inferred {
    check!(
        perm.len() == x.rank() && in_range(perm, x.rank()) && unique(perm),
        "transpose",
        "transpose_c2",
        "{perm:?} does not permute the dims of {x}"
    );
    with_dims(x, perm.iter().map(|&d| x.dims[d as usize]).collect())
}

pub fn slice(start: &[i64], limit: &[i64], stride: &[i64], x: &TensorType) -> Inferred {
    let n = x.rank();
    check!(
        start.len() == n && limit.len() == n && stride.len() == n,
        "slice",
        "slice_c2",
        "start {start:?}, limit {limit:?}, stride {stride:?} of {x}"
    );
    check!(
        (0..n).all(|d| 0 <= start[d] && start[d] <= limit[d] && limit[d] <= x.dims[d]),
        "slice",
        "slice_c3",
        "start {start:?}, limit {limit:?} of {x}"
    );
    check!(stride.iter().all(|&s| s > 0), "slice", "slice_c4", "stride {stride:?}");
    let dims = (0..n).map(|d| (limit[d] - start[d] + stride[d] - 1) / stride[d]);
    with_dims(x, dims.collect())
}

/// Checks that start indices are rank-0 integers of one type, one a dim.
fn starts(
    op: &'static str,
    [count, same]: [&'static str; 2],
    x: &TensorType,
    starts: &[&TensorType],
) -> Result<(), HloError> {
    check!(starts.len() == x.rank(), op, count, "{} start indices for {x}", starts.len());
    check!(
        starts.iter().all(|s| s.rank() == 0 && s.dtype.is_int() && s.dtype == starts[0].dtype),
        op,
        same,
        "start indices must be integers of rank 0 and one type"
    );
    Ok(())
}

pub fn dynamic_slice(x: &TensorType, at: &[&TensorType], want: &TensorType) -> Inferred {
    const OP: &str = "dynamic_slice";
    check!(x.dtype == want.dtype, OP, "dynamic_slice_c1", "operand is {x}, result is {want}");
    starts(OP, ["dynamic_slice_c2", "dynamic_slice_c3"], x, at)?;
    check!(want.rank() == x.rank(), OP, "dynamic_slice_c2", "sizes {:?} of {x}", want.dims);
    check!(
        want.dims.iter().zip(&x.dims).all(|(s, n)| 0 <= *s && s <= n),
        OP,
        "dynamic_slice_c4",
        "sizes {:?} of {x}",
        want.dims
    );
    Ok(want.clone())
}

pub fn dynamic_update_slice(x: &TensorType, update: &TensorType, at: &[&TensorType]) -> Inferred {
    const OP: &str = "dynamic_update_slice";
    check!(x.dtype == update.dtype, OP, "dynamic_update_slice_c2", "operand is {x}, update is {update}");
    check!(x.rank() == update.rank(), OP, "dynamic_update_slice_c3", "operand is {x}, update is {update}");
    starts(OP, ["dynamic_update_slice_c4", "dynamic_update_slice_c5"], x, at)?;
    check!(
        update.dims.iter().zip(&x.dims).all(|(s, n)| s <= n),
        OP,
        "dynamic_update_slice_c6",
        "operand is {x}, update is {update}"
    );
    Ok(x.clone())
}

pub fn pad(low: &[i64], high: &[i64], interior: &[i64], x: &TensorType, value: &TensorType) -> Inferred {
    let n = x.rank();
    check!(
        value.dtype == x.dtype && value.rank() == 0,
        "pad",
        "pad_c1",
        "operand is {x}, padding value is {value}"
    );
    check!(
        low.len() == n && high.len() == n && interior.len() == n,
        "pad",
        "pad_c2",
        "low {low:?}, high {high:?}, interior {interior:?} for {x}"
    );
    check!(interior.iter().all(|&i| i >= 0), "pad", "pad_c3", "interior {interior:?}");
    let dims: Dims = (0..n)
        .map(|d| {
            let size = x.dims[d];
            size + (size - 1).max(0) * interior[d] + low[d] + high[d]
        })
        .collect();
    check!(
        dims.iter().all(|&d| d >= 0),
        "pad",
        "pad_c4",
        "low {low:?} and high {high:?} take more than all of {x}"
    );
    with_dims(x, dims)
}

pub fn concatenate(dim: i64, xs: &[&TensorType]) -> Inferred {
    const OP: &str = "concatenate";
    check!(!xs.is_empty(), OP, "concatenate_c3", "no operands");
    let first = xs[0];
    check!(
        xs.iter().all(|x| x.dtype == first.dtype),
        OP,
        "concatenate_c1",
        "element types differ: {}",
        super::composite::list(xs)
    );
    check!(in_range(&[dim], first.rank()), OP, "concatenate_c4", "dim {dim} of {first}");
    let d = dim as usize;
    check!(
        xs.iter()
            .all(|x| x.rank() == first.rank() && (0..x.rank()).all(|i| i == d || x.dims[i] == first.dims[i])),
        OP,
        "concatenate_c2",
        "sizes differ outside dim {dim}: {}",
        super::composite::list(xs)
    );
    let mut dims = first.dims.clone();
    dims[d] = xs.iter().map(|x| x.dims[d]).sum();
    with_dims(first, dims)
}

pub fn reverse(dims: &[i64], x: &TensorType) -> Inferred {
    check!(unique(dims), "reverse", "reverse_c2", "dims {dims:?} repeat");
    check!(in_range(dims, x.rank()), "reverse", "reverse_c3", "dims {dims:?} of {x}");
    Ok(x.clone())
}
