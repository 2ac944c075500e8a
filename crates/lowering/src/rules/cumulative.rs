//! Running sums, products and extremes.

use tnrs_hlo::{Composite, ReduceKind, Value};
use tnrs_types::{DType, Scalar};

use crate::helpers::{dim, Lowered};
use crate::{Arg, Ctx, LowerError, Outcome, Ret, Row};

/// Rows of this family.
pub const ROWS: &[Row] = &[
    Row::new("aten::cumsum", |cx| running(cx, ReduceKind::Add)),
    Row::new("aten::cumprod", |cx| running(cx, ReduceKind::Multiply)),
    Row::new("aten::cummax", |cx| extreme(cx, ReduceKind::Maximum)),
    Row::new("aten::cummin", |cx| extreme(cx, ReduceKind::Minimum)),
    Row::new("aten::_cummax_helper", |cx| helper(cx, ReduceKind::Maximum)).infer_by_rule(),
    Row::new("aten::_cummin_helper", |cx| helper(cx, ReduceKind::Minimum)).infer_by_rule(),
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

/// What `cummax` and `cummin` end in on the CPU: the results go to arguments 1 and 2.
fn helper(cx: &mut Ctx, kind: ReduceKind) -> Lowered {
    let along = cx.args.remove(3);
    let results = [cx.args.remove(1), cx.args.remove(1)];
    cx.args.push(along);
    cx.outs = results
        .iter()
        .map(|r| match r {
            Arg::Tensor(t) => Ok(t.ty.clone()),
            _ => Err(LowerError::runtime(format!("{}: values and indices must be tensors", cx.op))),
        })
        .collect::<Result<_, _>>()?;
    let outcome = extreme(cx, kind)?;
    let writes = outcome.rets.iter().enumerate().filter_map(|(i, r)| match r {
        Ret::Tensor(v) => Some((i + 1, 0, *v)),
        _ => None,
    });
    Ok(Outcome::writes(writes.collect()))
}

/// ln Σ eˣ of all elements so far; integers are not accepted.
fn log_sum(cx: &mut Ctx) -> Lowered {
    let x = cx.tensor(0)?;
    let compute = x.ty.dtype.opmath();
    if !compute.is_float() && !compute.is_complex() {
        return Err(LowerError::unsupported("operands that are not floats"));
    }
    let d = dim(cx.int(1)?, x.ty.rank())?;
    let mut v = cx.cast(x.value, compute)?;
    if x.ty.rank() > 0 {
        let ty = cx.b.ty(v).clone();
        v = cx.b.custom_call("log_cumulative_sum_exp", &[Scalar::Int(d)], &[v], &[ty])?[0];
    }
    Ok(cx.cast(v, x.ty.dtype)?.into())
}
