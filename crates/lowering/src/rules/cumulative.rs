//! Running sums, products and extremes.

use tnrs_hlo::{Composite, ReduceKind, Value};
use tnrs_types::{DType, Dims, Scalar};

use crate::helpers::{dim, Lowered};
use crate::{Ctx, Expr, LowerError, Row};

/// Rows of this family.
pub const ROWS: &[Row] = &[
    Row::new("aten::cumsum", |cx| running(cx, ReduceKind::Add)),
    Row::new("aten::cumprod", |cx| running(cx, ReduceKind::Multiply)),
    Row::new("aten::cummax", |cx| extreme(cx, ReduceKind::Maximum)),
    Row::new("aten::cummin", |cx| extreme(cx, ReduceKind::Minimum)),
    // PyTorch has no meta kernel for it.
    Row::new("aten::_logcumsumexp", log_sum).infer_by_rule(),
];

fn scan(cx: &mut Ctx, v: Value, dim: i64, kind: ReduceKind) -> Result<Value, LowerError> {
    let ty = cx.b.ty(v).clone();
    if ty.rank() == 0 || ty.numel() == 0 {
        return Ok(v);
    }
    Ok(cx.b.composite(Composite::Cumulative { dim, kind }, &[v], &[ty])?[0])
}

fn running(cx: &mut Ctx, kind: ReduceKind) -> Lowered {
    let x = cx.tensor(0)?;
    let d = dim(cx.int(1)?, x.ty.rank())?;
    let compute = cx.out(0)?.dtype.opmath();
    let v = cx.cast(x.value, compute)?;
    let v = scan(cx, v, d, kind)?;
    cx.finish(v)
}

/// The running extreme and the last position that attained it: the running maximum of the positions whose element
/// equals the extreme so far (or is NaN, as then the extreme is).
fn extreme(cx: &mut Ctx, kind: ReduceKind) -> Lowered {
    let x = cx.tensor(0)?;
    let d = dim(cx.int(1)?, x.ty.rank())?;
    let dtype = match x.ty.dtype {
        DType::Bool => DType::U8,
        other => other,
    };
    let v = cx.cast(x.value, dtype)?;
    let values = scan(cx, v, d, kind)?;
    let positions = cx.math(|m| {
        let (x, top) = (m.expr(v), m.expr(values));
        let sizes = x.dims();
        if sizes.is_empty() {
            return m.splat(DType::I64, &sizes, Scalar::Int(0)).value();
        }
        let hit = x.eq(top).or(x.ne(x));
        hit.select(m.iota(DType::I64, &sizes, d), 0.0).value()
    })?;
    let positions = scan(cx, positions, d, ReduceKind::Maximum)?;
    cx.finish_all(&[values, positions])
}

/// ln (eᵃ + eᵇ) = a + ln (1 + eᵇ⁻ᵃ), where a has the greater real part: the imaginary part stays that of a, give or take a
/// quarter turn.
fn log_sum_of_two<'m>(a: Expr<'m>, b: Expr<'m>) -> Expr<'m> {
    let swap = b.real().gt(a.real());
    let (top, low) = (swap.select(b, a), swap.select(a, b));
    let none = low.real().eq(f64::NEG_INFINITY);
    none.select(top, top + (low - top).exp().log1p())
}

/// Most complex elements that are added in order. Which multiple of 2π an imaginary part holds depends on the order;
/// longer sums keep to no order.
const IN_ORDER: i64 = 64;

fn log_sums_in_order(x: Expr<'_>, dim: usize) -> Expr<'_> {
    let size = x.dims()[dim];
    if size == 0 {
        return x;
    }
    let mut sums = vec![x.steps(dim, 0, 1, 1)];
    for i in 1..size {
        let so_far = sums[i as usize - 1];
        sums.push(log_sum_of_two(so_far, x.steps(dim, i, i + 1, 1)));
    }
    x.math().concatenate(&sums, dim as i64)
}

/// ln Σ eˣ of all elements so far, by doubling: after step k each element covers the 2ᵏ before it. Unlike a cumulative
/// sum of exponentials relative to the overall maximum, this keeps small leading elements.
fn log_sum(cx: &mut Ctx) -> Lowered {
    let x = cx.tensor(0)?;
    let compute = x.ty.dtype.opmath();
    if !compute.is_float() && !compute.is_complex() {
        return Err(LowerError::unsupported("operands that are not floats"));
    }
    let mut v = cx.cast(x.value, compute)?;
    let sizes = x.ty.dims.clone();
    if sizes.is_empty() {
        return Ok(cx.cast(v, x.ty.dtype)?.into());
    }
    let d = dim(cx.int(1)?, sizes.len())? as usize;
    if compute.is_complex() && sizes[d] <= IN_ORDER {
        let r = cx.math(|m| log_sums_in_order(m.expr(v), d).value())?;
        return Ok(cx.cast(r, x.ty.dtype)?.into());
    }
    let none = cx.number(Scalar::Float(f64::NEG_INFINITY), compute)?;
    let zeros: Dims = smallvec::smallvec![0; sizes.len()];
    let mut shift = 1;
    while shift < sizes[d] {
        let (mut low, mut high) = (zeros.clone(), zeros.clone());
        (low[d], high[d]) = (shift, -shift);
        let earlier = cx.b.pad(v, none, &low, &high, &zeros)?;
        v = cx.math(|m| {
            let (a, b) = (m.expr(v), m.expr(earlier));
            if compute.is_complex() {
                return log_sum_of_two(a, b).value();
            }
            let top = a.max(b);
            let base = top.is_inf().select(0.0, top);
            let sum = (a - base).exp() + (b - base).exp();
            (sum.log() + base).value()
        })?;
        shift *= 2;
    }
    Ok(cx.cast(v, x.ty.dtype)?.into())
}
