//! Layer and RMS normalisation, one composite each.

use tnrs_hlo::{Composite, TensorType, Value};
use tnrs_types::{DType, Dims};

use crate::helpers::Lowered;
use crate::{Arg, Ctx, LowerError, Outcome, Ret, Row, Tensor};

/// Rows of this family.
pub(crate) const ROWS: &[Row] = &[
    Row::new("aten::native_layer_norm", layer_norm),
    Row::new("aten::native_layer_norm_backward", layer_norm_backward),
    Row::new("aten::_fused_rms_norm", rms_norm).infer_by_rule(),
    Row::new("aten::_fused_rms_norm_backward", rms_norm_backward),
];

/// A list of truth values, such as which gradients are wanted.
pub(super) fn mask(cx: &Ctx, i: usize) -> Result<Vec<bool>, LowerError> {
    match cx.args.get(i) {
        Some(Arg::Bools(v)) => Ok(v.clone()),
        other => Err(LowerError::runtime(format!(
            "{}: argument {i} must be a list of bools, got {other:?}",
            cx.op
        ))),
    }
}

/// The wanted ones of several gradients.
pub(super) fn wanted(grads: &[Value], mask: &[bool]) -> Outcome {
    let pick = |(&g, &m): (&Value, &bool)| if m { Ret::Tensor(g) } else { Ret::Undefined };
    Outcome { rets: grads.iter().zip(mask).map(pick).collect(), writes: Vec::new() }
}

/// First normalised dim and sizes of the statistics, for a list of normalised sizes at a position.
fn axis(cx: &Ctx, x: &Tensor, i: usize) -> (usize, Dims) {
    let axis = x.ty.rank() - cx.ints(i).map_or(0, |n| n.len());
    let stats = (0..x.ty.rank()).map(|d| if d < axis { x.ty.dims[d] } else { 1 }).collect();
    (axis, stats)
}

fn layer_norm(cx: &mut Ctx) -> Lowered {
    let x = cx.tensor(0)?;
    let (axis, stats) = axis(cx, &x, 1);
    let (w, b) = (cx.opt_tensor(2), cx.opt_tensor(3));
    // The composite takes a bias only after a weight.
    let w = match (w, &b) {
        (None, Some(b)) => Some(cx.b.splat(b.ty.dtype, &b.ty.dims, tnrs_types::Scalar::Int(1))?),
        (w, _) => w.map(|w| w.value),
    };
    let b = b.map(|b| b.value);
    let op =
        Composite::LayerNorm { axis: axis as i64, eps: cx.float(4)?, weight: w.is_some(), bias: b.is_some() };
    let operands: Vec<Value> = [Some(x.value), w, b].into_iter().flatten().collect();
    let stat = TensorType::new(x.ty.dtype.opmath(), &stats);
    let r = cx.b.composite(op, &operands, &[x.ty.clone(), stat.clone(), stat])?;
    cx.finish_all(&r)
}

fn layer_norm_backward(cx: &mut Ctx) -> Lowered {
    let [dy, x, mean, rstd] = [cx.tensor(0)?, cx.tensor(1)?, cx.tensor(3)?, cx.tensor(4)?];
    let (axis, stats) = axis(cx, &x, 2);
    let (w, mask) = (cx.opt_tensor(5), mask(cx, 7)?);
    let stat = TensorType::new(x.ty.dtype.opmath(), &stats);
    let mut operands = vec![dy.value, x.value];
    for s in [mean, rstd] {
        let s = cx.b.convert(s.value, stat.dtype)?;
        operands.push(cx.b.reshape(s, &stats)?);
    }
    let param = TensorType::new(w.as_ref().map_or(x.ty.dtype, |w| w.ty.dtype), &x.ty.dims[axis..]);
    operands.extend(w.iter().map(|w| w.value));
    let op = Composite::LayerNormGrad { axis: axis as i64, weight: w.is_some() };
    let grads = cx.b.composite(op, &operands, &[x.ty.clone(), param.clone(), param])?;
    Ok(wanted(&grads, &mask))
}

/// PyTorch's epsilon when none is given: that of the type the norm is computed in.
fn default_eps(dtype: DType) -> f64 {
    match dtype.opmath().real() {
        DType::F64 => f64::EPSILON,
        _ => f64::from(f32::EPSILON),
    }
}

fn rms_norm(cx: &mut Ctx) -> Lowered {
    let x = cx.tensor(0)?;
    let (axis, stats) = axis(cx, &x, 1);
    let w = cx.opt_tensor(2);
    let eps = cx.float(3).unwrap_or_else(|_| default_eps(x.ty.dtype));
    if x.ty.dtype.is_complex() {
        return complex_rms_norm(cx, &x, w, axis, eps);
    }
    let op = Composite::RmsNorm { axis: axis as i64, eps, weight: w.is_some() };
    let out = w.as_ref().map_or(x.ty.dtype, |w| crate::promote_types(x.ty.dtype, w.ty.dtype));
    let mut operands = vec![x.value];
    operands.extend(w.map(|w| w.value));
    let stat = TensorType::new(x.ty.dtype.opmath(), &stats);
    let r = cx.b.composite(op, &operands, &[TensorType::new(out, &x.ty.dims), stat])?;
    Ok(Outcome::tensors(&r))
}

/// The mean of squares, not of squared magnitudes, as PyTorch defines it for complex numbers.
fn complex_rms_norm(cx: &mut Ctx, x: &Tensor, w: Option<Tensor>, axis: usize, eps: f64) -> Lowered {
    let count: i64 = x.ty.dims[axis..].iter().product();
    let dims: Vec<i64> = (axis as i64..x.ty.rank() as i64).collect();
    let w = w.map(|w| w.value);
    let (y, rstd) = cx.math(|m| {
        let x = m.expr(x.value);
        let mean = (x * x).reduce_keep(tnrs_hlo::ReduceKind::Add, &dims) / count as f64;
        let rstd = (mean + eps).rsqrt();
        let y = x * rstd;
        let y = match w {
            Some(w) => y * m.expr(w),
            None => y,
        };
        (y.value(), rstd.value())
    })?;
    Ok(Outcome::tensors(&[y, rstd]))
}

fn rms_norm_backward(cx: &mut Ctx) -> Lowered {
    let [dy, x, rstd] = [cx.tensor(0)?, cx.tensor(1)?, cx.tensor(3)?];
    let (axis, stats) = axis(cx, &x, 2);
    let (w, mask) = (cx.opt_tensor(4), mask(cx, 5)?);
    if x.ty.dtype.is_complex() {
        return Err(LowerError::unsupported("aten::_fused_rms_norm_backward: complex operands"));
    }
    let rstd = cx.b.convert(rstd.value, x.ty.dtype.opmath())?;
    let rstd = cx.b.reshape(rstd, &stats)?;
    let param = TensorType::new(w.as_ref().map_or(x.ty.dtype, |w| w.ty.dtype), &x.ty.dims[axis..]);
    let mut operands = vec![dy.value, x.value, rstd];
    operands.extend(w.iter().map(|w| w.value));
    let op = Composite::RmsNormGrad { axis: axis as i64, weight: w.is_some() };
    let grads = cx.b.composite(op, &operands, &[x.ty.clone(), param])?;
    Ok(wanted(&grads, &mask))
}
