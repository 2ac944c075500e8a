//! Distances between rows, and the cross product.

use tnrs_hlo::{ReduceKind, Value};
use tnrs_types::{Dims, Scalar};

use crate::expr::Expr;
use crate::helpers::{broadcast_dims, dim, Lowered};
use crate::{Ctx, Row};

/// Rows of this family.
pub(crate) const ROWS: &[Row] = &[
    Row::new("aten::_cdist_forward", cdist),
    Row::new("aten::_cdist_backward", cdist_backward),
    Row::new("aten::linalg_cross", cross).exact(),
];

/// Differences of every row of `x` (…, P, M) and every row of `y` (…, R, M): (…, P, R, M).
fn differences<'m>(x: Expr<'m>, y: Expr<'m>) -> Expr<'m> {
    x.unsqueeze(x.rank() - 1) - y.unsqueeze(y.rank() - 2)
}

/// The p-norm over the last dim of magnitudes.
pub(super) fn norm_of(d: Expr<'_>, p: f64) -> Expr<'_> {
    let last = [d.rank() as i64 - 1];
    if p == 0.0 {
        d.ne(0.0).cast(d.dtype()).sum(&last)
    } else if p == 1.0 {
        d.sum(&last)
    } else if p == 2.0 {
        (d * d).sum(&last).sqrt()
    } else if p.is_infinite() && d.dims()[last[0] as usize] > 0 {
        d.reduce(ReduceKind::Maximum, &last)
    } else if p.is_infinite() {
        d.sum(&last)
    } else {
        d.pow(p).sum(&last).pow(1.0 / p)
    }
}

/// The derivative of the p-norm `r` of differences `d` with respect to each of them; NaN or infinite where `r` is 0.
pub(super) fn slope<'m>(d: Expr<'m>, r: Expr<'m>, p: f64) -> Expr<'m> {
    if p == 0.0 {
        d.int(0)
    } else if p == 1.0 {
        d.sign()
    } else if p == 2.0 {
        d / r
    } else if p.is_infinite() {
        d.sign() * d.abs().eq(r).cast(d.dtype())
    } else {
        d.sign() * (d.abs() / r).pow(p - 1.0)
    }
}

fn cdist(cx: &mut Ctx) -> Lowered {
    let (x, y, p) = (cx.tensor(0)?, cx.tensor(1)?, cx.float(2)?);
    let out = cx.out(0)?;
    let v: Value = cx.math(|m| {
        let d = differences(m.expr(x.value), m.expr(y.value)).abs();
        norm_of(d, p).broadcast(&out.dims).value()
    })?;
    Ok(v.into())
}

/// The gradient for the first operand.
fn cdist_backward(cx: &mut Ctx) -> Lowered {
    let [dy, x, y] = [cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?];
    let (p, distance, out) = (cx.float(3)?, cx.tensor(4)?, cx.out(0)?);
    let rank = x.ty.rank().max(y.ty.rank());
    let lead = broadcast_dims(&x.ty.dims[..x.ty.rank() - 2], &y.ty.dims[..y.ty.rank() - 2])?;
    let mut full: Dims = lead;
    full.extend_from_slice(&x.ty.dims[x.ty.rank() - 2..]);
    if out.dims != full {
        // Without any pair of rows PyTorch does not broadcast.
        return Ok(cx.b.splat(out.dtype, &out.dims, Scalar::Int(0))?.into());
    }
    let v: Value = cx.math(|m| {
        let d = differences(m.expr(x.value), m.expr(y.value));
        let pair_rank = d.rank();
        let dy = m.expr(dy.value).unsqueeze(pair_rank - 1);
        let r = m.expr(distance.value).unsqueeze(pair_rank - 1);
        // At distance 0 the gradient is 0 by convention.
        let g = r.eq(0.0).select(0.0, slope(d, r, p) * dy);
        g.sum(&[rank as i64 - 1]).broadcast(&out.dims).value()
    })?;
    Ok(v.into())
}

fn cross(cx: &mut Ctx) -> Lowered {
    let out = cx.out(0)?;
    let d = dim(cx.int(2)?, out.rank())? as usize;
    let x = cx.operand(0, out.dtype, out.dtype.opmath())?;
    let y = cx.operand(1, out.dtype, out.dtype.opmath())?;
    let v: Value = cx.math(|m| {
        let [x, y] = m.exprs([x, y]).map(|e| e.broadcast(&out.dims));
        // Component i is x[i+1]·y[i+2] − x[i+2]·y[i+1].
        let turned = |e: Expr<'_>, by: i64| {
            let e = m.expr(e.value());
            m.concatenate(&[e.steps(d, by, 3, 1), e.steps(d, 0, by, 1)], d as i64).value()
        };
        let [x1, x2, y1, y2] = m.exprs([turned(x, 1), turned(x, 2), turned(y, 1), turned(y, 2)]);
        (x1 * y2 - x2 * y1).cast(out.dtype).value()
    })?;
    Ok(v.into())
}
