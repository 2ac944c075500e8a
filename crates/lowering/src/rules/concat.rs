//! Joining and padding.

use tnrs_types::{Dims, Scalar};

use crate::helpers::{dim, Lowered};
use crate::{Ctx, LowerError, Row, Tensor};

/// Rows of this family.
pub(crate) const ROWS: &[Row] = &[
    Row::new("aten::cat", cat),
    // PyTorch's meta kernel looks at the dim again once for each tensor, before it compares their sizes.
    Row::new("aten::stack", stack).infer_by_rule(),
    Row::new("aten::_stack", stack).infer_by_rule(),
    Row::new("aten::constant_pad_nd", constant_pad),
    Row::new("aten::block_diag", block_diag),
];

fn cat(cx: &mut Ctx) -> Lowered {
    let out = cx.out(0)?;
    let axis = dim(cx.int(1)?, out.rank())?;
    // A rank-1 tensor without elements joins anything, for compatibility with old programs.
    let legacy = |t: &Tensor| t.ty.rank() == 1 && t.ty.dims[0] == 0 && out.rank() != 1;
    let parts: Vec<Tensor> =
        cx.tensors(0)?.into_iter().filter(|t| !legacy(t) && (t.ty.numel() > 0 || out.numel() == 0)).collect();
    let mut values = Vec::with_capacity(parts.len());
    for t in &parts {
        values.push(cx.cast(t.value, out.dtype)?);
    }
    match values[..] {
        [] => Ok(cx.b.splat(out.dtype, &out.dims, Scalar::Int(0))?.into()),
        [one] => Ok(one.into()),
        _ => Ok(cx.b.concatenate(&values, axis)?.into()),
    }
}

fn stack(cx: &mut Ctx) -> Lowered {
    let parts = cx.tensors(0)?;
    let Some(first) = parts.first() else {
        return Err(LowerError::runtime("stack expects a non-empty TensorList"));
    };
    let axis = dim(cx.int(1)?, first.ty.rank() + 1)?;
    if let Some(n) = parts.iter().position(|t| t.ty.dims != first.ty.dims) {
        return Err(LowerError::runtime(format!(
            "stack expects each tensor to be equal size, but got {:?} at entry 0 and {:?} at entry {n}",
            first.ty.dims, parts[n].ty.dims
        )));
    }
    let dtype = cx.promoted(&[0])?;
    let mut row = first.ty.dims.clone();
    row.insert(axis as usize, 1);
    let mut values = Vec::with_capacity(parts.len());
    for t in &parts {
        let v = cx.cast(t.value, dtype)?;
        values.push(cx.b.reshape(v, &row)?);
    }
    Ok(cx.b.concatenate(&values, axis)?.into())
}

/// Amounts before and after each dim, from PyTorch's list that starts at the last dim.
pub(super) fn pad_amounts(list: &[i64], rank: usize) -> Result<(Dims, Dims), LowerError> {
    if !list.len().is_multiple_of(2) || list.len() > 2 * rank {
        return Err(LowerError::runtime(format!(
            "Length of pad must be even and no more than twice the number of dimensions of the input. Pad length is {} while the input has {rank} dimensions.",
            list.len()
        )));
    }
    let mut low: Dims = smallvec::smallvec![0; rank];
    let mut high = low.clone();
    for (i, pair) in list.chunks(2).enumerate() {
        low[rank - 1 - i] = pair[0];
        high[rank - 1 - i] = pair[1];
    }
    Ok((low, high))
}

fn constant_pad(cx: &mut Ctx) -> Lowered {
    let x = cx.tensor(0)?;
    let list = cx.ints(1).unwrap_or_default();
    let (low, high) = pad_amounts(&list, x.ty.rank())?;
    let value = cx.scalar(2, x.ty.dtype)?;
    let interior: Dims = smallvec::smallvec![0; x.ty.rank()];
    Ok(cx.b.pad(x.value, value, &low, &high, &interior)?.into())
}

fn block_diag(cx: &mut Ctx) -> Lowered {
    let (parts, out) = (cx.tensors(0)?, cx.out(0)?);
    let mut values = Vec::with_capacity(parts.len());
    for t in &parts {
        let v = cx.cast(t.value, out.dtype)?;
        let dims = match t.ty.dims[..] {
            [] => [1, 1],
            [n] => [1, n],
            [r, c, ..] => [r, c],
        };
        values.push((v, dims));
    }
    let v = cx.math(|m| {
        let mut column = 0;
        let rows: Vec<_> = values
            .iter()
            .map(|&(v, dims)| {
                let after = out.dims[1] - column - dims[1];
                let row = m.expr(v).reshape(&dims).pad_dim(Scalar::Int(0), 1, column, after, 0);
                column += dims[1];
                row
            })
            .collect();
        match rows[..] {
            [] => m.splat(out.dtype, &out.dims, Scalar::Int(0)),
            [one] => one,
            _ => m.concatenate(&rows, 0),
        }
        .value()
    })?;
    Ok(v.into())
}
