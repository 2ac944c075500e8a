//! Searching sorted sequences, membership, histograms.

use tnrs_hlo::{ReduceKind, ScatterKind, Value};
use tnrs_types::{DType, Scalar};

use crate::expr::{Expr, Math};
use crate::helpers::{in_range, Lowered};
use crate::{promote_types, Ctx, LowerError, Row};

/// Rows of this family.
pub(crate) const ROWS: &[Row] = &[
    Row::new("aten::searchsorted.Tensor", |cx| searchsorted(cx, 0, 1)).exact(),
    Row::new("aten::searchsorted.Scalar", |cx| searchsorted(cx, 0, 1)).exact(),
    Row::new("aten::bucketize.Tensor", |cx| searchsorted(cx, 1, 0)).exact(),
    Row::new("aten::bucketize.Scalar", |cx| searchsorted(cx, 1, 0)).exact(),
    Row::new("aten::isin.Tensor_Tensor", isin).free(&["element", "test_element"]).exact(),
    Row::new("aten::isin.Tensor_Scalar", isin).free(&["element", "test_element"]).exact(),
    // PyTorch's meta kernel says that the result of a number has no element.
    Row::new("aten::isin.Scalar_Tensor", isin).free(&["element", "test_element"]).exact().infer_by_rule(),
    Row::new("aten::histc", histc).stat(&["min", "max"]),
];

/// Sequences up to this long are compared with every value instead of bisected.
const COUNTED: i64 = 16;

/// Whether `key` of a sequence comes before the place of `value`. NaN is the greatest.
fn precedes<'m>(key: Expr<'m>, value: Expr<'m>, right: bool) -> Expr<'m> {
    let is_nan = |e: Expr<'m>| e.ne(e);
    match (right, value.dtype().is_float()) {
        (true, true) => key.le(value).or(is_nan(value)),
        (true, false) => key.le(value),
        (false, true) => key.lt(value).or(is_nan(value).and(is_nan(key).not())),
        (false, false) => key.lt(value),
    }
}

/// How many of `sequence` (sorted, last dim) are below each of `values`, or not above it.
fn positions<'m>(m: &'m Math, sequence: Expr<'m>, values: Expr<'m>, right: bool) -> Expr<'m> {
    let n = *sequence.dims().last().unwrap_or(&1);
    // A single sequence serves all values; otherwise each row has its own.
    let values = if sequence.rank() == 1 { values.flatten() } else { values };
    let (dim, dims) = (sequence.rank() - 1, sequence.dims());
    if n <= COUNTED {
        let before = precedes(sequence.unsqueeze(dim), values.unsqueeze(dim + 1), right);
        return before.cast(DType::I64).reduce(ReduceKind::Add, &[dim as i64 + 1]);
    }
    let index = if n <= i64::from(i32::MAX) { DType::I32 } else { DType::I64 };
    let mut at = m.splat(index, &values.dims(), Scalar::Int(0));
    // What is left to search starts at `at` and has the same length for every value.
    let mut left = n;
    while left > 0 {
        let half = (left / 2).max(1);
        let probe = at + at.int(half - 1);
        let key = sequence.flatten().take_rows(0, probe.flat_index(&dims, dim).flatten());
        let before = precedes(key.reshape(&values.dims()), values, right);
        at = before.select(at + at.int(half), at);
        left = if left == 1 { 0 } else { left - half };
    }
    at
}

/// The arguments `right` and, for `searchsorted`, `side` and `sorter` follow the operands and `out_int32`.
fn searchsorted(cx: &mut Ctx, sequence: usize, values: usize) -> Lowered {
    let rank = cx.tensor(sequence)?.ty.rank();
    // `bucketize` has one sequence for all values.
    if sequence == 1 && rank != 1 {
        return Err(LowerError::Runtime(format!(
            "boundaries tensor must be 1 dimension, but got dim({rank})"
        )));
    }
    let right = cx.bool(3) || cx.text(4) == Some("right");
    let common = cx.promoted(&[sequence, values])?;
    let s = cx.operand(sequence, common, common)?;
    let v = cx.operand(values, common, common)?;
    let sorter = cx.opt_tensor(5);
    let out = cx.out(0)?;
    let r = cx.math(|m| {
        let [mut s, v] = m.exprs([s, v]);
        if let Some(order) = sorter {
            let at = m.expr(order.value).cast(DType::I64);
            let at = at.flat_index(&s.dims(), s.rank() - 1);
            s = s.flatten().take_rows(0, at.flatten()).reshape(&s.dims());
        }
        positions(m, s, v, right).reshape(&out.dims).cast(out.dtype).value()
    })?;
    Ok(r.into())
}

fn isin(cx: &mut Ctx) -> Lowered {
    let common = cx.promoted(&[0, 1])?;
    let x = cx.operand(0, common, common)?;
    let set = cx.operand(1, common, common)?;
    let invert = cx.bool(3);
    let v = cx.math(|m| {
        let [x, set] = m.exprs([x, set]);
        let rank = x.rank();
        let set = set.flatten();
        let found = x.unsqueeze(rank).eq(set).reduce(ReduceKind::Or, &[rank as i64]);
        (if invert { found.not() } else { found }).value()
    })?;
    Ok(v.into())
}

/// The bounds of a histogram: given, or those of the data when both are equal.
fn bounds<'m>(m: &'m Math, x: Expr<'m>, low: f64, high: f64) -> (Expr<'m>, Expr<'m>) {
    let fixed = |v: f64| m.splat(x.dtype(), &[], Scalar::Float(v));
    if low != high || x.ty().numel() == 0 {
        return (fixed(low), fixed(high));
    }
    let (lo, hi) = (x.reduce(ReduceKind::Minimum, &[0]), x.reduce(ReduceKind::Maximum, &[0]));
    lo.is_finite().and(hi.is_finite()).assert("torch.histc: the range of the data is not finite");
    // A single value is widened by one on each side.
    let same = lo.eq(hi);
    (same.select(lo - 1.0, lo), same.select(hi + 1.0, hi))
}

fn histc(cx: &mut Ctx) -> Lowered {
    let (x, bins) = (cx.tensor(0)?, cx.int(1)?);
    for i in [2, 3] {
        in_range(cx.known(i)?, x.ty.dtype)?;
    }
    let (low, high) = (cx.known(2)?.to_f64(), cx.known(3)?.to_f64());
    let out = cx.out(0)?;
    if !low.is_finite() || !high.is_finite() {
        return Err(LowerError::runtime(format!("torch.histc: range of [{low}, {high}] is not finite")));
    }
    if low > high {
        return Err(LowerError::runtime("max must be larger than min"));
    }
    let acc = promote_types(x.ty.dtype, DType::F32);
    let v: Value = cx.math(|m| {
        let x = m.expr(x.value).flatten().cast(acc);
        let (lo, hi) = bounds(m, x, low, high);
        let at = ((x - lo) / (hi - lo) * bins as f64).floor();
        // The upper bound itself belongs to the last bin; what lies outside goes to -1, which scatter drops.
        let at = x.eq(hi).select((bins - 1) as f64, at);
        let inside = x.ge(lo).and(x.le(hi));
        let at = inside.select(at, -1.0).cast(DType::I64);
        m.splat(acc, &[bins], Scalar::Int(0))
            .put_rows(ScatterKind::Add, 0, at, x.int(1))
            .cast(out.dtype)
            .value()
    })?;
    Ok(v.into())
}
