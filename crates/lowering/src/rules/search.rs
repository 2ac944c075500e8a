//! Searching sorted sequences, membership, histograms: comparisons of every pair, counted.

use tnrs_hlo::{ReduceKind, ScatterKind, Value};
use tnrs_types::{DType, Dims, Scalar};

use crate::expr::{Expr, Math};
use crate::helpers::Lowered;
use crate::{promote_types, Ctx, LowerError, Row};

/// Rows of this family.
pub(crate) const ROWS: &[Row] = &[
    Row::new("aten::searchsorted.Tensor", |cx| searchsorted(cx, 0, 1)).exact(),
    Row::new("aten::searchsorted.Scalar", |cx| searchsorted(cx, 0, 1)).exact(),
    Row::new("aten::bucketize.Tensor", |cx| searchsorted(cx, 1, 0)).exact(),
    Row::new("aten::bucketize.Scalar", |cx| searchsorted(cx, 1, 0)).exact(),
    Row::new("aten::isin.Tensor_Tensor", isin).exact(),
    Row::new("aten::isin.Tensor_Scalar", isin).exact(),
    // PyTorch's meta kernel says that the result has no elements.
    Row::new("aten::isin.Scalar_Tensor", isin).infer_by_rule().exact(),
    Row::new("aten::histc", histc).stat(&["min", "max"]),
];

/// How many of `sequence` (last dim) are below each of `values`, or not above it.
fn positions<'m>(sequence: Expr<'m>, values: Expr<'m>, right: bool) -> Expr<'m> {
    let (s, v) = (sequence.dims(), values.dims());
    let n = *s.last().unwrap_or(&1);
    // A single sequence serves all values; otherwise each row has its own.
    let (s_dims, rank): (Dims, usize) = if s.len() == 1 {
        (Dims::from_slice(&[n]), v.len())
    } else {
        let mut d = Dims::from_slice(&s[..s.len() - 1]);
        d.extend([1, n]);
        (d, v.len())
    };
    let sequence = sequence.reshape(&s_dims);
    let values = values.unsqueeze(rank);
    // NaN is the greatest.
    let is_nan = |e: Expr<'m>| e.ne(e);
    let float = values.dtype().is_float();
    let counts = if right {
        let le = sequence.le(values);
        if float {
            le.or(is_nan(values))
        } else {
            le
        }
    } else {
        let lt = sequence.lt(values);
        if float {
            lt.or(is_nan(values).and(is_nan(sequence).not()))
        } else {
            lt
        }
    };
    counts.cast(DType::I64).reduce(ReduceKind::Add, &[rank as i64])
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
        positions(s, v, right).reshape(&out.dims).cast(out.dtype).value()
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
