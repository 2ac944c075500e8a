//! Distances of every pair of rows of one matrix, in the order (0, 1), (0, 2), …, (1, 2), ….

use tnrs_hlo::ScatterKind;
use tnrs_types::Scalar;

use super::distance::{norm_of, slope};
use crate::helpers::Lowered;
use crate::{Ctx, LowerError, Row};

/// Rows of this family.
pub(crate) const ROWS: &[Row] =
    &[Row::new("aten::_pdist_forward", forward), Row::new("aten::_pdist_backward", backward)];

/// First and second row of every pair of `n` rows.
fn pairs(n: i64) -> (Vec<i64>, Vec<i64>) {
    (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j))).unzip()
}

fn forward(cx: &mut Ctx) -> Lowered {
    let (x, p) = (cx.tensor(0)?, cx.float(1)?);
    let out = cx.out(0)?;
    if out.numel() == 0 {
        return Ok(cx.b.splat(out.dtype, &out.dims, Scalar::Int(0))?.into());
    }
    let (first, second) = pairs(x.ty.dims[0]);
    let v = cx.math(|m| {
        let x = m.expr(x.value);
        let d = (x.take_rows(0, m.ints(&first)) - x.take_rows(0, m.ints(&second))).abs();
        norm_of(d, p).broadcast(&out.dims).value()
    })?;
    Ok(v.into())
}

fn backward(cx: &mut Ctx) -> Lowered {
    let [dy, x] = [cx.tensor(0)?, cx.tensor(1)?];
    let (p, distance) = (cx.float(2)?, cx.tensor(3)?);
    if x.ty.rank() != 2 {
        return Err(LowerError::runtime("_pdist_backward requires a matrix"));
    }
    if x.ty.numel() == 0 || dy.ty.numel() == 0 || p == 0.0 {
        return Ok(cx.b.splat(x.ty.dtype, &x.ty.dims, Scalar::Int(0))?.into());
    }
    let (first, second) = pairs(x.ty.dims[0]);
    let v = cx.math(|m| {
        let x = m.expr(x.value);
        let (i, j) = (m.ints(&first), m.ints(&second));
        let d = x.take_rows(0, i) - x.take_rows(0, j);
        let [dy, r] = m.exprs([dy.value, distance.value]).map(|e| e.flatten().unsqueeze(1));
        let g = r.eq(0.0).select(0.0, slope(d, r, p) * dy);
        x.int(0).put_rows(ScatterKind::Add, 0, i, g).put_rows(ScatterKind::Add, 0, j, -g).value()
    })?;
    Ok(v.into())
}
