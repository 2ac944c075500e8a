//! Elements chosen by what the data says: positions that are not zero, elements under a mask.

use tnrs_hlo::{Composite, ScatterKind, TensorType, Value};
use tnrs_types::{contiguous_strides, DType, Scalar};

use crate::expr::{Expr, Math};
use crate::helpers::{broadcast_dims, Lowered};
use crate::{Ctx, LowerError, Outcome, Ret, Row};

/// Rows of this family. Their sizes are nothing that a meta kernel could know.
pub(crate) const ROWS: &[Row] = &[
    Row::new("aten::nonzero", nonzero)
        .infer_by_rule()
        .exact_as("nonzero: Expected out tensor to have scalar type {want} but got scalar type{got}"),
    Row::new("aten::masked_select", masked_select)
        .infer_by_rule()
        .exact_as("masked_select(): self and result must have the same scalar type"),
    Row::new("aten::nonzero_static", nonzero_static),
];

/// The elements of `x` (n) where `mask` (n) holds, in order, and how many there are. See [`Composite::Compact`].
pub(super) fn compact<'m>(m: &'m Math, mask: Expr<'m>, x: Expr<'m>) -> (Expr<'m>, Expr<'m>) {
    let types = [x.ty(), TensorType::new(DType::I64, &[])];
    match m.composite(Composite::Compact, &[mask, x], &types).as_deref() {
        Some(&[y, count]) => (y, count),
        _ => (x, x),
    }
}

/// A result of which the first `count` positions along dim 0 are used.
pub(super) fn front(value: Value, count: Value) -> Ret {
    Ret::Bounded { value, dim: 0, count }
}

fn nonzero(cx: &mut Ctx) -> Lowered {
    let x = cx.tensor(0)?;
    let found = cx.cast(x.value, DType::Bool)?;
    let rows = TensorType::new(DType::I64, &[x.ty.numel(), x.ty.rank() as i64]);
    let r = cx.b.composite(Composite::Nonzero, &[found], &[rows, TensorType::new(DType::I64, &[])])?;
    Ok(Outcome { rets: vec![front(r[0], r[1])], writes: Vec::new() })
}

fn masked_select(cx: &mut Ctx) -> Lowered {
    let (x, mask) = (cx.tensor(0)?, cx.tensor(1)?);
    if mask.ty.dtype != DType::Bool {
        return Err(LowerError::runtime("masked_select: expected BoolTensor for mask"));
    }
    let dims = broadcast_dims(&x.ty.dims, &mask.ty.dims)?;
    let (y, count) = cx.math(|m| {
        let [x, mask] = m.exprs([x.value, mask.value]).map(|e| e.broadcast(&dims).flatten());
        let (y, count) = compact(m, mask, x);
        (y.value(), count.value())
    })?;
    Ok(Outcome { rets: vec![front(y, count)], writes: Vec::new() })
}

/// Positions of nonzero elements in row-major order, cut or filled up to a stated number.
fn nonzero_static(cx: &mut Ctx) -> Lowered {
    let (x, size, fill) = (cx.tensor(0)?, cx.int(1)?, cx.int(2)?);
    let out = cx.out(0)?;
    let strides = contiguous_strides(&x.ty.dims);
    let n = x.ty.numel();
    let v = cx.math(|m| {
        let found = m.expr(x.value).flatten().cast(DType::Bool);
        let counts = found.cast(DType::I64);
        let order = super::rearrange::cumulative(counts);
        // The k-th one goes to row k; the others, and those beyond the last row, are dropped.
        let row = found.select(order - order.int(1), -1.0);
        let at = m.iota(DType::I64, &[n], 0);
        let mut columns = Vec::new();
        for (d, stride) in strides.iter().enumerate() {
            let index = (at / at.int(*stride)) % at.int(x.ty.dims[d]);
            let column = m.splat(DType::I64, &[size], Scalar::Int(fill));
            columns.push(column.put_rows(ScatterKind::Set, 0, row, index).unsqueeze(1));
        }
        match columns[..] {
            [] => m.splat(DType::I64, &out.dims, Scalar::Int(0)),
            [one] => one,
            _ => m.concatenate(&columns, 1),
        }
        .value()
    })?;
    Ok(v.into())
}
