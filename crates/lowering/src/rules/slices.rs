//! Gradients of views, and writes through them: everything that puts a slice back into a whole.

use smallvec::smallvec;
use tnrs_hlo::ScatterKind;
use tnrs_types::{DType, Dims, Scalar};

use crate::expr::Expr;
use crate::helpers::{dim, Lowered};
use crate::layout::moved;
use crate::{Ctx, Row};

/// Rows of this family.
pub(crate) const ROWS: &[Row] = &[
    Row::new("aten::select_backward", select_backward),
    Row::new("aten::slice_backward", slice_backward),
    Row::new("aten::unfold_backward", unfold_backward),
    Row::new("aten::select_scatter", select_scatter),
    Row::new("aten::slice_scatter", slice_scatter),
];

/// An index counted from the end if negative.
fn position(i: i64, size: i64) -> i64 {
    if i < 0 {
        i + size
    } else {
        i
    }
}

fn select_backward(cx: &mut Ctx) -> Lowered {
    let (dy, out) = (cx.tensor(0)?, cx.out(0)?);
    let d = dim(cx.int(2)?, out.rank())? as usize;
    let n = out.dims[d];
    let i = position(cx.int(3)?, n);
    let v = cx.math(|m| m.expr(dy.value).unsqueeze(d).pad_dim(Scalar::Int(0), d, i, n - 1 - i, 0).value())?;
    Ok(v.into())
}

fn slice_backward(cx: &mut Ctx) -> Lowered {
    let (dy, out) = (cx.tensor(0)?, cx.out(0)?);
    let d = dim(cx.int(2)?, out.rank())? as usize;
    let (n, k) = (out.dims[d], dy.ty.dims[d]);
    let (start, step) = (position(cx.int(3)?, n).clamp(0, n), cx.int(5)?);
    let v = cx.math(|m| {
        if k == 0 {
            return m.splat(out.dtype, &out.dims, Scalar::Int(0)).value();
        }
        let covered = (k - 1) * step + 1;
        m.expr(dy.value).pad_dim(Scalar::Int(0), d, start, n - start - covered, step - 1).value()
    })?;
    Ok(v.into())
}

/// Windows along `dim`, whose elements are the last dim of the gradient, added back where they came from.
fn unfold_backward(cx: &mut Ctx) -> Lowered {
    let (dy, out) = (cx.tensor(0)?, cx.out(0)?);
    let (size, step) = (cx.int(3)?, cx.int(4)?);
    let acc = out.dtype.opmath();
    if out.rank() == 0 {
        let v = cx.b.reshape(dy.value, &[])?;
        return Ok(v.into());
    }
    let d = dim(cx.int(2)?, out.rank())? as usize;
    let windows = dy.ty.dims[d];
    let at: Vec<i64> = (0..windows).flat_map(|w| (0..size).map(move |s| w * step + s)).collect();
    let v = cx.math(|m| {
        let updates = m.expr(dy.value).cast(acc);
        let updates = updates.transpose(&moved(updates.rank(), updates.rank() - 1, d + 1));
        m.splat(acc, &out.dims, Scalar::Int(0))
            .put_rows(ScatterKind::Add, d, m.ints(&at).reshape(&[windows, size]), updates)
            .cast(out.dtype)
            .value()
    })?;
    Ok(v.into())
}

/// `x` with `part` written from `start` on along `d`, in steps.
fn written<'m>(x: Expr<'m>, part: Expr<'m>, d: usize, start: i64, step: i64) -> Expr<'m> {
    let count = part.dims()[d];
    if count == 0 {
        return x;
    }
    if step != 1 {
        let at: Vec<i64> = (0..count).map(|i| start + i * step).collect();
        return x.put_rows(ScatterKind::Set, d, x.math().ints(&at), part);
    }
    let mut starts: Dims = smallvec![0; x.rank()];
    starts[d] = start;
    let m = x.math();
    let starts: Vec<_> = starts.iter().map(|&s| m.splat(DType::I64, &[], Scalar::Int(s)).value()).collect();
    x.with(|b, v| b.dynamic_update_slice(v, part.value(), &starts))
}

fn select_scatter(cx: &mut Ctx) -> Lowered {
    let (x, part) = (cx.tensor(0)?, cx.tensor(1)?);
    let d = dim(cx.int(2)?, x.ty.rank())? as usize;
    let i = position(cx.int(3)?, x.ty.dims[d]);
    let part_value = cx.cast(part.value, x.ty.dtype)?;
    let v = cx.math(|m| {
        let [x, part] = m.exprs([x.value, part_value]);
        written(x, part.unsqueeze(d), d, i, 1).value()
    })?;
    Ok(v.into())
}

fn slice_scatter(cx: &mut Ctx) -> Lowered {
    let (x, part) = (cx.tensor(0)?, cx.tensor(1)?);
    let d = dim(cx.int(2)?, x.ty.rank())? as usize;
    let n = x.ty.dims[d];
    let start = position(cx.opt_int(3).unwrap_or(0), n).clamp(0, n);
    let end = position(cx.opt_int(4).unwrap_or(n), n).clamp(start, n);
    let step = cx.int(5)?;
    let count = (end - start + step - 1) / step;
    let part_value = cx.cast(part.value, x.ty.dtype)?;
    let v = cx.math(|m| {
        let [x, part] = m.exprs([x.value, part_value]);
        let part = part.broadcast(&crate::layout::with_dim(&x.dims(), d, count));
        written(x, part, d, start, step).value()
    })?;
    Ok(v.into())
}
