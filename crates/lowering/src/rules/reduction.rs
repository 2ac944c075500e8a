//! Sums, means, products, extremes and truth over dims.

use tnrs_hlo::{ReduceKind, TensorType, Value};
use tnrs_types::{DType, Dims};

use crate::helpers::{dim, Lowered};
use crate::rules::arithmetic::times_one;
use crate::{Ctx, Expr, LowerError, Row};

/// `amax` and `amin`, of an `out=` argument.
const EXTREMES: &str =
    "Expected the dtype for input and out to match, but got {want} for input's dtype and {got} for \
                        out's dtype.";

/// Rows of this family.
pub const ROWS: &[Row] = &[
    Row::new("aten::sum", |cx| over_out(cx, None, sum)),
    Row::new("aten::sum.dim_IntList", |cx| over_out(cx, Some(1), sum)),
    Row::new("aten::nansum", nansum),
    Row::new("aten::mean", |cx| over_out(cx, None, mean)),
    Row::new("aten::mean.dim", |cx| over_out(cx, Some(1), mean)),
    Row::new("aten::prod", |cx| over_out(cx, None, product)),
    Row::new("aten::prod.dim_int", |cx| over_out(cx, Some(1), product)),
    Row::new("aten::amax", |cx| over_self(cx, Some(1), greatest)).exact_as(EXTREMES),
    Row::new("aten::amin", |cx| over_self(cx, Some(1), least)).exact_as(EXTREMES),
    Row::new("aten::max", |cx| of_something(cx, "max").and_then(|()| over_self(cx, None, greatest))),
    Row::new("aten::min", |cx| of_something(cx, "min").and_then(|()| over_self(cx, None, least))),
    Row::new("aten::all", |cx| truth(cx, None, ReduceKind::And)),
    Row::new("aten::all.dim", |cx| truth(cx, Some(1), ReduceKind::And)),
    Row::new("aten::all.dims", |cx| truth(cx, Some(1), ReduceKind::And)),
    Row::new("aten::any", |cx| truth(cx, None, ReduceKind::Or)),
    Row::new("aten::any.dim", |cx| truth(cx, Some(1), ReduceKind::Or)),
    Row::new("aten::any.dims", |cx| truth(cx, Some(1), ReduceKind::Or)),
    Row::new("aten::count_nonzero", count_nonzero),
    Row::new("aten::count_nonzero.dim_IntList", count_nonzero),
    Row::new("aten::aminmax", aminmax).exact(),
    Row::new("aten::_aminmax", aminmax_of).infer_by_rule(),
    Row::new("aten::_aminmax.dim", aminmax_of).infer_by_rule(),
    Row::new("aten::logsumexp", logsumexp),
];

/// `self` in a given type and the dims that the argument names (all without one).
pub fn operand(cx: &mut Ctx, dims: Option<usize>, compute: DType) -> Result<(Value, Dims), LowerError> {
    let x = cx.tensor(0)?;
    let rank = x.ty.rank();
    let dims = match dims {
        Some(i) => cx.reduced_dims(i, rank)?,
        None => (0..rank as i64).collect(),
    };
    Ok((cx.cast(x.value, compute)?, dims))
}

/// A reduction that computes in the opmath of its result type.
fn over_out(cx: &mut Ctx, dims: Option<usize>, f: impl for<'m> Fn(Expr<'m>, &[i64]) -> Expr<'m>) -> Lowered {
    let compute = cx.out(0)?.dtype.opmath();
    let (x, dims) = operand(cx, dims, compute)?;
    let v = cx.math(|m| f(m.expr(x), &dims).value())?;
    cx.finish_reshaped(&[v])
}

fn nansum(cx: &mut Ctx) -> Lowered {
    if cx.tensor(0)?.ty.dtype.is_complex() {
        return Err(LowerError::runtime("nansum on CPU does not support complex inputs"));
    }
    over_out(cx, Some(1), |x, dims| sum(zero_nan(x), dims))
}

/// Nothing has no extreme.
fn of_something(cx: &Ctx, name: &str) -> Result<(), LowerError> {
    if cx.tensor(0)?.ty.numel() > 0 {
        return Ok(());
    }
    Err(LowerError::runtime(format!(
        "{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the \
         'dim' argument."
    )))
}

/// A reduction that computes in `self`'s type.
fn over_self(cx: &mut Ctx, dims: Option<usize>, f: impl for<'m> Fn(Expr<'m>, &[i64]) -> Expr<'m>) -> Lowered {
    let compute = cx.tensor(0)?.ty.dtype;
    let (x, dims) = operand(cx, dims, compute)?;
    let v = cx.math(|m| f(m.expr(x), &dims).value())?;
    cx.finish_reshaped(&[v])
}

fn sum<'m>(x: Expr<'m>, dims: &[i64]) -> Expr<'m> {
    x.sum(dims)
}

/// How many elements one result of a reduction comes from.
pub fn count(x: Expr<'_>, dims: &[i64]) -> i64 {
    let sizes = x.dims();
    dims.iter().map(|&d| sizes[d as usize]).product()
}

fn mean<'m>(x: Expr<'m>, dims: &[i64]) -> Expr<'m> {
    x.sum(dims) / count(x, dims) as f64
}

/// The product. Of complex numbers, infinities show where PyTorch's CPU multiplies by one: at first, as in the reduction
/// here, but at last for columns that fill four of its vectors of 256 bits.
fn product<'m>(x: Expr<'m>, dims: &[i64]) -> Expr<'m> {
    let r = x.reduce(ReduceKind::Multiply, dims);
    if !x.dtype().is_complex() || r.ty().numel() == 0 {
        return r;
    }
    let last = dims.iter().max().map_or(0, |&d| d as usize + 1);
    let columns: i64 = x.dims()[last..].iter().product();
    let lanes = 4 * 32 / x.dtype().size() as i64;
    let vectors = if count(x, dims) == 1 { columns } else { columns / lanes * lanes };
    if vectors == 0 || (last == x.dims().len() && vectors != columns) {
        return r;
    }
    let flat = r.reshape(&[r.ty().numel() / columns, columns]);
    let column = x.math().iota(DType::I64, &flat.dims(), 1);
    column.lt(vectors as f64).select(times_one(flat), flat).reshape(&r.dims())
}

fn zero_nan(x: Expr<'_>) -> Expr<'_> {
    if x.dtype().is_float() {
        x.is_nan().select(0.0, x)
    } else {
        x
    }
}

/// The maximum; of truth values, whether any is true.
pub fn greatest<'m>(x: Expr<'m>, dims: &[i64]) -> Expr<'m> {
    let kind = match x.dtype() {
        DType::Bool => ReduceKind::Or,
        _ => ReduceKind::Maximum,
    };
    x.reduce(kind, dims)
}

/// The minimum; of truth values, whether all are true.
pub fn least<'m>(x: Expr<'m>, dims: &[i64]) -> Expr<'m> {
    let kind = match x.dtype() {
        DType::Bool => ReduceKind::And,
        _ => ReduceKind::Minimum,
    };
    x.reduce(kind, dims)
}

fn truth(cx: &mut Ctx, dims: Option<usize>, kind: ReduceKind) -> Lowered {
    let (x, dims) = operand(cx, dims, DType::Bool)?;
    let v = cx.math(|m| m.expr(x).reduce(kind, &dims).value())?;
    cx.finish_reshaped(&[v])
}

fn count_nonzero(cx: &mut Ctx) -> Lowered {
    let (x, dims) = operand(cx, Some(1), DType::Bool)?;
    let v = cx.math(|m| m.expr(x).cast(DType::I64).sum(&dims).value())?;
    cx.finish_reshaped(&[v])
}

fn aminmax(cx: &mut Ctx) -> Lowered {
    let compute = cx.tensor(0)?.ty.dtype;
    let (x, dims) = operand(cx, Some(1), compute)?;
    let (lo, hi) = cx.math(|m| {
        let x = m.expr(x);
        (least(x, &dims).value(), greatest(x, &dims).value())
    })?;
    cx.finish_reshaped(&[lo, hi])
}

/// The older overloads, which have no meta kernel.
fn aminmax_of(cx: &mut Ctx) -> Lowered {
    let x = cx.tensor(0)?;
    let kept = match cx.opt_int(1) {
        None => Dims::new(),
        Some(d) => {
            let d = dim(d, x.ty.rank())? as usize;
            let mut kept = x.ty.dims.clone();
            if cx.bool(2) && d < kept.len() {
                kept[d] = 1;
            } else if d < kept.len() {
                kept.remove(d);
            }
            kept
        }
    };
    cx.outs = vec![TensorType::new(x.ty.dtype, &kept); 2];
    aminmax(cx)
}

/// ln Σ eˣ, relative to the largest real part; an infinite one is not subtracted from itself.
fn logsumexp_formula<'m>(x: Expr<'m>, dims: &[i64]) -> Expr<'m> {
    let size = if x.dtype().is_complex() { x.real() } else { x };
    let top = size.reduce_keep(ReduceKind::Maximum, dims);
    let top = top.is_inf().select(0.0, top).cast(x.dtype());
    let sum = (x - top).exp().sum(dims);
    sum.log() + top.reshape(&sum.dims())
}

fn logsumexp(cx: &mut Ctx) -> Lowered {
    let compute = cx.out(0)?.dtype.opmath();
    let (x, dims) = operand(cx, Some(1), compute)?;
    let v = cx.math(|m| {
        let x = m.expr(x);
        if count(x, &dims) == 0 {
            x.exp().sum(&dims).log().value()
        } else {
            logsumexp_formula(x, &dims).value()
        }
    })?;
    cx.finish_reshaped(&[v])
}
