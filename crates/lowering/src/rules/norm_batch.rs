//! Batch normalisation: statistics over all dims but the channel dim 1, computed in f32 for reduced floats.

use tnrs_hlo::{TensorType, Value};
use tnrs_types::{DType, Dims, Scalar};

use super::norm_layer::{mask, wanted};
use crate::expr::Expr;
use crate::helpers::Lowered;
use crate::{Ctx, LowerError, Outcome, Ret, Row, Tensor};

/// Rows of this family.
pub(crate) const ROWS: &[Row] = &[
    Row::new("aten::native_batch_norm", |cx| forward(cx, &LEGACY)).dynamic(&["momentum"]).castable(),
    Row::new("aten::_native_batch_norm_legit", |cx| forward(cx, &LEGACY)).dynamic(&["momentum"]),
    Row::new("aten::_native_batch_norm_legit.no_stats", |cx| forward(cx, &NO_STATS))
        .dynamic(&["momentum"])
        .castable(),
    Row::new("aten::_native_batch_norm_legit_no_training", |cx| forward(cx, &NO_TRAINING))
        .dynamic(&["momentum"])
        .castable(),
    Row::new("aten::_native_batch_norm_legit_functional", |cx| forward(cx, &FUNCTIONAL))
        .dynamic(&["momentum"]),
    Row::new("aten::_batch_norm_with_update", |cx| forward(cx, &WITH_UPDATE)).dynamic(&["momentum"]),
    Row::new("aten::_batch_norm_with_update_functional", |cx| forward(cx, &UPDATE_FUNCTIONAL))
        .dynamic(&["momentum"]),
    Row::new("aten::_batch_norm_no_update", |cx| forward(cx, &NO_UPDATE)).dynamic(&["momentum"]).castable(),
    Row::new("aten::_native_batch_norm_legit.out", |cx| forward_out(cx, &LEGACY))
        .dynamic(&["momentum"])
        .infer_by_rule(),
    Row::new("aten::_batch_norm_with_update.out", |cx| forward_out(cx, &WITH_UPDATE))
        .dynamic(&["momentum"])
        .infer_by_rule(),
    Row::new("aten::native_batch_norm_backward", backward),
    Row::new("aten::batch_norm_backward", backward),
];

/// What distinguishes the forward overloads.
struct Form {
    /// The running statistics are arguments 3 and 4.
    running: bool,
    /// Where the training flag is, or its value.
    training: Result<usize, bool>,
    /// Position of the momentum; epsilon follows.
    momentum: usize,
    /// New running statistics are returned instead of written.
    functional: bool,
    /// An empty workspace is returned.
    reserve: bool,
}

const LEGACY: Form = Form { running: true, training: Ok(5), momentum: 6, functional: false, reserve: false };
const NO_STATS: Form = Form { running: false, training: Ok(3), momentum: 4, ..LEGACY };
const NO_TRAINING: Form = Form { training: Err(false), momentum: 5, ..LEGACY };
const FUNCTIONAL: Form = Form { functional: true, ..LEGACY };
const WITH_UPDATE: Form = Form { training: Err(true), momentum: 5, reserve: true, ..LEGACY };
const UPDATE_FUNCTIONAL: Form = Form { functional: true, ..WITH_UPDATE };
const NO_UPDATE: Form = Form { training: Err(false), ..WITH_UPDATE };

/// The dims that statistics run over.
fn reduced(rank: usize) -> Dims {
    (0..rank as i64).filter(|&d| d != 1).collect()
}

/// A value per channel, in the sizes of the data.
fn per_channel<'m>(v: Expr<'m>, like: Expr<'m>) -> Expr<'m> {
    v.cast(like.dtype()).along(1, &like.dims())
}

fn forward(cx: &mut Ctx, form: &Form) -> Lowered {
    let (x, w, b) = (cx.tensor(0)?, cx.opt_tensor(1), cx.opt_tensor(2));
    let running = |cx: &Ctx, i: usize| form.running.then(|| cx.opt_tensor(i)).flatten();
    let running = [running(cx, 3), running(cx, 4)];
    let training = match form.training {
        Ok(i) => cx.bool(i),
        Err(fixed) => fixed,
    };
    let acc = x.ty.dtype.opmath();
    let eps = cx.float(form.momentum + 1)?;
    let updates = training && running.iter().any(Option::is_some);
    let momentum = if updates { Some(cx.scalar(form.momentum, acc)?) } else { None };
    if cx.outs.len() < 3 {
        cx.outs = stated(cx, training)?;
    }
    let stats = [cx.out(1)?, cx.out(2)?];
    if !training && running.iter().any(Option::is_none) {
        return Err(LowerError::runtime(format!(
            "{}: running_mean and running_var are required outside training",
            cx.op
        )));
    }
    let dims = reduced(x.ty.rank());
    let count = x.ty.numel() / x.ty.dims.get(1).copied().unwrap_or(1).max(1);
    let values = running.clone().map(|t| t.map(|t| t.value));
    let out = cx.out(0)?;
    let (y, saved, new) = cx.math(|m| {
        let data = m.expr(x.value).cast(acc);
        let (mean, var) = if training {
            let mean = data.sum(&dims) / count as f64;
            let centred = data - per_channel(mean, data);
            (mean, (centred * centred).sum(&dims) / count as f64)
        } else {
            let [mean, var] = values.map(|v| v.map_or(data, |v| m.expr(v).cast(acc)));
            (mean, var)
        };
        let invstd = (var + eps).rsqrt();
        let scale = match &w {
            Some(w) => invstd * m.expr(w.value).cast(acc),
            None => invstd,
        };
        // As PyTorch's CPU: a factor and a term per channel.
        let shift = match &b {
            Some(b) => m.expr(b.value).cast(acc) - mean * scale,
            None => -(mean * scale),
        };
        let y = data * per_channel(scale, data) + per_channel(shift, data);
        let saved = [mean, invstd].map(Expr::value);
        // Running variance is the unbiased one.
        let unbiased = var * (count as f64 / (count - 1).max(1) as f64);
        let blend = |old: Option<Value>, new: Expr<'_>| {
            let old = m.expr(old?);
            let (new, t) = (m.expr(new.value()), m.expr(momentum?));
            let kept = old.cast(acc) * (t.int(1) - t);
            Some((kept + new * t).cast(old.dtype()).value())
        };
        let new = [blend(values[0], mean), blend(values[1], unbiased)];
        (y.cast(out.dtype).value(), saved, new)
    })?;
    let mut rets = vec![Ret::Tensor(y)];
    for (v, ty) in saved.into_iter().zip(&stats) {
        // Outside training some overloads return empty statistics.
        let v = if ty.numel() == 0 {
            cx.b.splat(ty.dtype, &ty.dims, Scalar::Int(0))?
        } else {
            cx.b.convert(v, ty.dtype)?
        };
        rets.push(Ret::Tensor(v));
    }
    if form.reserve {
        rets.push(Ret::Tensor(cx.b.splat(DType::U8, &[0], Scalar::Int(0))?));
    }
    let mut outcome = Outcome { rets, writes: Vec::new() };
    for (i, (new, old)) in new.into_iter().zip(&running).enumerate() {
        let value = new.or(old.as_ref().map(|t| t.value));
        match (form.functional, value, new) {
            (true, Some(v), _) => {
                let ty = cx.out(outcome.rets.len())?;
                outcome.rets.push(Ret::Tensor(cx.b.convert(v, ty.dtype)?));
            }
            (false, _, Some(v)) => outcome.writes.push((3 + i, 0, v)),
            _ => {}
        }
    }
    Ok(outcome)
}

/// Types of result and statistics where PyTorch has no meta kernel. Outside training none are saved; parameters in f32
/// make those of reduced floats f32.
fn stated(cx: &Ctx, training: bool) -> Result<Vec<TensorType>, LowerError> {
    let x = cx.tensor(0)?.ty;
    let mixed = (1..5).filter_map(|i| cx.opt_tensor(i)).any(|t| t.ty.dtype == DType::F32);
    let dtype = if mixed { x.dtype.opmath() } else { x.dtype };
    let channels = if training { x.dims.get(1).copied().unwrap_or(1) } else { 0 };
    let stats = TensorType::new(dtype, &[channels]);
    Ok(vec![x, stats.clone(), stats])
}

/// An `out=` overload that writes the running statistics as well: those come first among what it writes.
fn forward_out(cx: &mut Ctx, form: &Form) -> Lowered {
    let mut running = [cx.tensor(3)?.value, cx.tensor(4)?.value];
    let outcome = forward(cx, form)?;
    for (argument, _, value) in outcome.writes {
        running[argument - 3] = value;
    }
    let mut rets: Vec<Ret> = running.map(Ret::Tensor).into();
    rets.extend(outcome.rets);
    Ok(Outcome { rets, writes: Vec::new() })
}

/// Gradients for data, weight and bias.
fn backward(cx: &mut Ctx) -> Lowered {
    let (dy, x) = (cx.tensor(0)?, cx.tensor(1)?);
    let [w, running_mean, running_var, mean, invstd] = [2, 3, 4, 5, 6].map(|i| cx.opt_tensor(i));
    let (training, eps, mask) = (cx.bool(7), cx.float(8)?, mask(cx, 9)?);
    let acc = x.ty.dtype.opmath();
    let stats: [Option<Tensor>; 2] = if training { [mean, invstd] } else { [running_mean, running_var] };
    let [Some(first), Some(second)] = stats else {
        return Err(LowerError::runtime(format!("{}: statistics are missing", cx.op)));
    };
    let dims = reduced(x.ty.rank());
    let count = x.ty.numel() / x.ty.dims.get(1).copied().unwrap_or(1).max(1);
    let param = w.as_ref().map_or(x.ty.dtype, |w| w.ty.dtype);
    let grads = cx.math(|m| {
        let [dy, x] = m.exprs([dy.value, x.value]).map(|e| e.cast(acc));
        let [mean, second] = m.exprs([first.value, second.value]).map(|e| e.cast(acc));
        let invstd = if training { second } else { (second + eps).rsqrt() };
        let centred = x - per_channel(mean, x);
        let (db, dw) = (dy.sum(&dims), (dy * centred).sum(&dims) * invstd);
        let scale = match &w {
            Some(w) => invstd * m.expr(w.value).cast(acc),
            None => invstd,
        };
        let mut dx = dy * per_channel(scale, x);
        if training {
            let n = count.max(1) as f64;
            dx = (dx - per_channel(scale * db / n, x)) - centred * per_channel(scale * invstd * dw / n, x);
        }
        [dx, dw.cast(param), db.cast(param)].map(Expr::value)
    })?;
    let dx = cx.b.convert(grads[0], x.ty.dtype)?;
    Ok(wanted(&[dx, grads[1], grads[2]], &mask))
}
