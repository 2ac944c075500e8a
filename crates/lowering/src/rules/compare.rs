//! Comparisons, choices and bounds.

use tnrs_hlo::{CompareDir, Value};
use tnrs_types::{DType, Scalar};

use crate::helpers::{map, Domain, Lowered};
use crate::{Arg, Ctx, LowerError, Row};

macro_rules! comparison {
    ($name:literal, $dir:ident) => {
        Row::new(concat!("aten::", $name), |cx| {
            map(cx, [0, 1], Domain::Exact, |[x, y]| x.compare(CompareDir::$dir, y))
        })
    };
}

/// Rows of this family.
pub const ROWS: &[Row] = &[
    comparison!("eq.Tensor", Eq),
    comparison!("eq.Scalar", Eq),
    comparison!("ne.Tensor", Ne),
    comparison!("ne.Scalar", Ne),
    comparison!("lt.Tensor", Lt),
    comparison!("lt.Scalar", Lt),
    comparison!("le.Tensor", Le),
    comparison!("le.Scalar", Le),
    comparison!("gt.Tensor", Gt),
    comparison!("gt.Scalar", Gt),
    comparison!("ge.Tensor", Ge),
    comparison!("ge.Scalar", Ge),
    Row::new("aten::where.self", where_self),
    Row::new("aten::masked_fill.Scalar", masked_fill).check(fillable),
    Row::new("aten::masked_fill.Tensor", masked_fill).check(fillable),
    Row::new("aten::clamp", |cx| clamp(cx, Some(1), Some(2))).narrow(&["min", "max"]),
    Row::new("aten::clamp.Tensor", |cx| clamp(cx, Some(1), Some(2))),
    Row::new("aten::clamp_min", |cx| clamp(cx, Some(1), None)).narrow(&["min", "max"]),
    Row::new("aten::clamp_min.Tensor", |cx| clamp(cx, Some(1), None)),
    Row::new("aten::clamp_max", |cx| clamp(cx, None, Some(1))).narrow(&["min", "max"]),
    Row::new("aten::clamp_max.Tensor", |cx| clamp(cx, None, Some(1))),
];

/// A mask: bool, or any other type compared with zero.
fn mask(cx: &mut Ctx, i: usize) -> Result<Value, crate::LowerError> {
    let t = cx.tensor(i)?;
    cx.cast(t.value, DType::Bool)
}

fn where_self(cx: &mut Ctx) -> Lowered {
    let p = mask(cx, 0)?;
    let common = cx.promoted(&[1, 2])?;
    let t = cx.operand(1, common, common)?;
    let f = cx.operand(2, common, common)?;
    let v = cx.math(|m| m.expr(p).select(m.expr(t), m.expr(f)).value())?;
    cx.finish(v)
}

/// A complex value does not fit real elements.
fn fillable(cx: &Ctx) -> Result<(), LowerError> {
    let into = cx.tensor(0)?.ty.dtype;
    let complex = match cx.args.get(2) {
        Some(Arg::Scalar(s)) => s.natural.is_complex(),
        Some(Arg::Tensor(t)) => t.ty.dtype.is_complex() && t.ty.dims.is_empty(),
        _ => false,
    };
    if complex && !into.is_complex() {
        return Err(LowerError::Runtime(Scalar::misfit(into)));
    }
    let mask = cx.tensor(1)?.ty.dtype;
    if mask != DType::Bool {
        return Err(LowerError::Runtime(format!(
            "masked_fill_ only supports boolean masks, but got mask with dtype {}",
            mask.cpp_name()
        )));
    }
    Ok(())
}

fn masked_fill(cx: &mut Ctx) -> Lowered {
    let x = cx.tensor(0)?;
    let p = mask(cx, 1)?;
    let value = cx.operand(2, x.ty.dtype, x.ty.dtype)?;
    let v = cx.math(|m| m.expr(p).select(m.expr(value), m.expr(x.value)).value())?;
    cx.finish(v)
}

/// The larger of x and the lower bound, then the smaller of that and the upper bound; bounds may be absent.
fn clamp(cx: &mut Ctx, lower: Option<usize>, upper: Option<usize>) -> Lowered {
    let lower = lower.filter(|&i| !cx.is_absent(i));
    let upper = upper.filter(|&i| !cx.is_absent(i));
    let mut positions = vec![0];
    positions.extend(lower.iter().chain(&upper));
    let common = cx.promoted(&positions)?;
    let x = cx.operand(0, common, common)?;
    let lo = lower.map(|i| cx.operand(i, common, common)).transpose()?;
    let hi = upper.map(|i| cx.operand(i, common, common)).transpose()?;
    let v = cx.math(|m| {
        let mut x = m.expr(x);
        if let Some(lo) = lo {
            x = x.max(m.expr(lo));
        }
        if let Some(hi) = hi {
            x = x.min(m.expr(hi));
        }
        x.value()
    })?;
    cx.finish(v)
}
