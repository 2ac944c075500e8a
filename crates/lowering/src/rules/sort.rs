//! Sorting and order statistics. NaN is the greatest value.

use tnrs_hlo::{Composite, ReduceKind, TensorType, Value};
use tnrs_types::{DType, Dims, Scalar};

use crate::expr::{Expr, Math};
use crate::helpers::{dim, Lowered};
use crate::{Ctx, LowerError, Outcome, Row, Tensor};

/// Rows of this family.
pub(crate) const ROWS: &[Row] = &[
    Row::new("aten::sort", |cx| sort(cx, 1)).exact(),
    Row::new("aten::sort.stable", |cx| sort(cx, 2)).exact(),
    Row::new("aten::topk", topk),
    Row::new("aten::kthvalue", kthvalue).exact_as("output values must be of same type as input"),
    // PyTorch has no meta kernel for it.
    Row::new("aten::mode", mode).infer_by_rule(),
    Row::new("aten::median", |cx| median_all(cx, false)),
    Row::new("aten::nanmedian", |cx| median_all(cx, true)),
    Row::new("aten::median.dim", |cx| median(cx, false)),
    Row::new("aten::nanmedian.dim", |cx| median(cx, true)),
];

/// Values and positions in order along a dim. Rank 0 is one element.
fn ordered<'m>(m: &'m Math, x: &Tensor, dim: usize, descending: bool) -> (Expr<'m>, Expr<'m>) {
    let dims = match x.ty.rank() {
        0 => Dims::from_slice(&[1]),
        _ => x.ty.dims.clone(),
    };
    let v = m.expr(x.value).reshape(&dims);
    let at = m.iota(DType::I64, &dims, dim as i64);
    let sorted = m.sort(&[v, at], dim as i64, descending);
    (sorted[0], sorted[1])
}

fn refuse_complex(cx: &Ctx, x: &Tensor) -> Result<(), LowerError> {
    if x.ty.dtype.is_complex() {
        return Err(LowerError::runtime(format!("{}: complex numbers have no order", cx.op)));
    }
    Ok(())
}

/// `at` is the position of the dim; the direction follows.
fn sort(cx: &mut Ctx, at: usize) -> Lowered {
    let x = cx.tensor(0)?;
    refuse_complex(cx, &x)?;
    let d = dim(cx.int(at)?, x.ty.rank())? as usize;
    let descending = cx.bool(at + 1);
    let r = cx.math(|m| {
        let (v, i) = ordered(m, &x, d, descending);
        [v, i].map(|e| e.reshape(&x.ty.dims).value())
    })?;
    Ok(Outcome::tensors(&r))
}

fn topk(cx: &mut Ctx) -> Lowered {
    let (x, k) = (cx.tensor(0)?, cx.int(1)?);
    refuse_complex(cx, &x)?;
    let d = dim(cx.int(2)?, x.ty.rank())? as usize;
    let (largest, out) = (cx.bool(3), cx.out(0)?);
    let r = cx.math(|m| {
        let (v, i) = ordered(m, &x, d, largest);
        [v, i].map(|e| e.steps(d, 0, k, 1).reshape(&out.dims).value())
    })?;
    Ok(Outcome::tensors(&r))
}

fn kthvalue(cx: &mut Ctx) -> Lowered {
    let (x, k) = (cx.tensor(0)?, cx.int(1)?);
    refuse_complex(cx, &x)?;
    let d = dim(cx.int(2)?, x.ty.rank())? as usize;
    let out = cx.out(0)?;
    let r = cx.math(|m| {
        let (v, i) = ordered(m, &x, d, false);
        [v, i].map(|e| e.steps(d, k - 1, k, 1).reshape(&out.dims).value())
    })?;
    Ok(Outcome::tensors(&r))
}

/// The lower median of each row: of the numbers only, or NaN if there is any.
fn middle<'m>(m: &'m Math, x: &Tensor, d: usize, ignore_nan: bool) -> (Expr<'m>, Expr<'m>) {
    let (v, i) = ordered(m, x, d, false);
    let n = v.dims()[d];
    if !v.dtype().is_float() {
        let k = (n - 1) / 2;
        return (v.steps(d, k, k + 1, 1), i.steps(d, k, k + 1, 1));
    }
    let numbers = v.eq(v).cast(DType::I64).reduce_keep(ReduceKind::Add, &[d as i64]);
    let k = if ignore_nan {
        let half = (numbers - numbers.int(1)) / numbers.int(2);
        half.max(half.int(0))
    } else {
        // NaNs come last, so the first one is where the numbers end.
        let all = numbers.eq(numbers.int(n));
        all.select(numbers.int((n - 1) / 2), numbers)
    };
    let at = k.flat_index(&v.dims(), d);
    let pick = |e: Expr<'m>| e.flatten().take_rows(0, at.flatten()).reshape(&at.dims());
    (pick(v), pick(i))
}

fn median(cx: &mut Ctx, ignore_nan: bool) -> Lowered {
    let x = cx.tensor(0)?;
    refuse_complex(cx, &x)?;
    let d = dim(cx.int(1)?, x.ty.rank())? as usize;
    if x.ty.dims.get(d) == Some(&0) {
        return Err(LowerError::Index(format!(
            "{}(): Expected reduction dim {d} to have non-zero size.",
            if ignore_nan { "nanmedian" } else { "median" }
        )));
    }
    let out = cx.out(0)?;
    let r = cx.math(|m| {
        let (v, i) = middle(m, &x, d, ignore_nan);
        [v, i].map(|e| e.reshape(&out.dims).value())
    })?;
    Ok(Outcome::tensors(&r))
}

fn median_all(cx: &mut Ctx, ignore_nan: bool) -> Lowered {
    let x = cx.tensor(0)?;
    refuse_complex(cx, &x)?;
    if x.ty.numel() == 0 {
        // What the CPU makes of NaN: the least of the wide integers.
        let nan = match x.ty.dtype {
            DType::I32 | DType::I64 => Scalar::Int(x.ty.dtype.least_int() as i64),
            _ => Scalar::Float(f64::NAN),
        };
        return Ok(cx.number(nan, x.ty.dtype)?.into());
    }
    let flat: Value = cx.math(|m| m.expr(x.value).flatten().value())?;
    let row = Tensor { value: flat, ty: cx.b.ty(flat).clone(), wrapped: false };
    let v = cx.math(|m| middle(m, &row, 0, ignore_nan).0.reshape(&[]).value())?;
    Ok(v.into())
}

/// The least of the most frequent values of each row, and its last position: in sorted order the place within its run
/// of equal values is largest first at the end of the first longest run.
fn mode(cx: &mut Ctx) -> Lowered {
    let x = cx.tensor(0)?;
    refuse_complex(cx, &x)?;
    let rank = x.ty.rank();
    let d = dim(cx.int(1)?, rank)? as usize;
    let keep = cx.bool(2);
    let mut sizes = if rank == 0 { Dims::from_slice(&[1]) } else { x.ty.dims.clone() };
    let n = sizes[d];
    if n == 0 {
        return Err(LowerError::Index(format!("mode(): Expected reduction dim {d} to have non-zero size.")));
    }
    let [v, at, start] = cx.math(|m| {
        let (v, at) = ordered(m, &x, d, false);
        let place = m.iota(DType::I64, &sizes, d as i64);
        let zero: Dims = sizes.iter().map(|_| 0).collect();
        let (mut low, mut high) = (zero.clone(), zero);
        (low[d], high[d]) = (1, -1);
        let fresh = v.ne(v.pad(Scalar::Int(0), &low, &high)).or(place.eq(0.0));
        [v.value(), at.value(), fresh.select(place, 0.0).value()]
    })?;
    let along = d as i64;
    let whole = TensorType::new(DType::I64, &sizes);
    let running = Composite::Cumulative { dim: along, kind: ReduceKind::Maximum };
    let start = cx.b.composite(running, &[start], &[whole])?[0];
    let length = cx.math(|m| (m.iota(DType::I64, &sizes, along) - m.expr(start)).value())?;
    let full = sizes.clone();
    sizes.remove(d);
    let types = [TensorType::new(DType::I64, &sizes), TensorType::new(DType::I64, &sizes)];
    let best = cx.b.composite(Composite::ArgReduce { dim: along, max: true }, &[length], &types)?[1];
    let out: Dims = match (rank, keep) {
        (0, _) => Dims::new(),
        (_, true) => crate::helpers::keep_dims(&full, &[along]),
        _ => sizes,
    };
    let r = cx.math(|m| {
        let best = m.expr(best).reshape(&crate::helpers::keep_dims(&full, &[along]));
        let best = best.flat_index(&full, d).flatten();
        [v, at].map(|e| m.expr(e).flatten().take_rows(0, best).reshape(&out).value())
    })?;
    Ok(Outcome::tensors(&r))
}
