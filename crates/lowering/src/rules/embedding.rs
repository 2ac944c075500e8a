//! Embedding tables: rows out by index, gradients back in.

use tnrs_hlo::ScatterKind;
use tnrs_types::{DType, Scalar};

use crate::helpers::Lowered;
use crate::{Ctx, LowerError, Row};

/// Rows of this family.
pub(crate) const ROWS: &[Row] = &[
    // PyTorch's meta kernel asserts where the operator raises.
    Row::new("aten::embedding", embedding).infer_by_rule(),
    Row::new("aten::embedding_dense_backward", dense_backward),
];

fn embedding(cx: &mut Ctx) -> Lowered {
    let (weight, indices) = (cx.tensor(0)?, cx.tensor(1)?);
    if weight.ty.rank() != 2 {
        return Err(LowerError::runtime("'weight' must be 2-D"));
    }
    if !matches!(indices.ty.dtype, DType::I32 | DType::I64) {
        return Err(LowerError::Runtime(format!(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got {} \
             instead (while checking arguments for embedding)",
            indices.ty.dtype.hlo_name()
        )));
    }
    let rows = weight.ty.dims[0];
    let v = cx.math(|m| {
        let [weight, indices] = m.exprs([weight.value, indices.value]);
        let indices = indices.checked(0, rows, "aten::embedding", 0);
        weight.take_rows(0, indices).value()
    })?;
    Ok(v.into())
}

fn dense_backward(cx: &mut Ctx) -> Lowered {
    let (dy, indices) = (cx.tensor(0)?, cx.tensor(1)?);
    let (padding, by_frequency) = (cx.int(3)?, cx.bool(4));
    let out = cx.out(0)?;
    let acc = dy.ty.dtype.opmath();
    let v = cx.math(|m| {
        let [dy, indices] = m.exprs([dy.value, indices.value]);
        let indices = indices.cast(DType::I64).flatten();
        let n = indices.ty().numel();
        let width: i64 = out.dims[1..].iter().product();
        let mut dy = dy.cast(acc).reshape(&[n, width]);
        if by_frequency {
            let counts = m.splat(acc, &[out.dims[0]], Scalar::Int(0)).put_rows(
                ScatterKind::Add,
                0,
                indices,
                m.splat(acc, &[n], Scalar::Int(1)),
            );
            dy = dy / counts.take_rows(0, indices).reshape(&[n, 1]);
        }
        // A row of the padding index goes to index -1, which scatter drops.
        let kept =
            if padding >= 0 { indices.eq(indices.int(padding)).select(-1.0, indices) } else { indices };
        m.splat(acc, &[out.dims[0], width], Scalar::Int(0))
            .put_rows(ScatterKind::Add, 0, kept, dy)
            .reshape(&out.dims)
            .cast(out.dtype)
            .value()
    })?;
    Ok(v.into())
}
