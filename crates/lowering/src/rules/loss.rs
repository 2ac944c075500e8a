//! Losses of elements and their gradients.

use tnrs_hlo::Value;
use tnrs_types::DType;

use super::nll::{reduction, Reduction};
use crate::expr::Expr;
use crate::helpers::{is_plain_float, Domain, Lowered};
use crate::{Ctx, LowerError, Row};

/// Rows of this family.
pub(crate) const ROWS: &[Row] = &[
    Row::new("aten::mse_loss", |cx| {
        floats(cx, "mse")?;
        loss(cx, None, 2, |[x, t], _| {
            let d = x - t;
            d * d
        })
    }),
    Row::new("aten::mse_loss_backward", |cx| gradient(cx, None, 3, |[x, t], _| (x - t) * 2.0)),
    Row::new("aten::smooth_l1_loss", |cx| {
        floats(cx, "smooth_l1")?;
        loss(cx, Some(3), 2, |[x, t], beta| smooth_l1(x - t, beta))
    }),
    Row::new("aten::smooth_l1_loss_backward", |cx| {
        gradient(cx, Some(4), 3, |[x, t], beta| smooth_l1_slope(x - t, beta))
    }),
    // PyTorch's meta kernels of this one, `soft_margin_loss` and `binary_cross_entropy` promote the result's type.
    Row::new("aten::huber_loss", |cx| {
        if cx.float(3)? <= 0.0 {
            return Err(LowerError::runtime("huber_loss does not support non-positive values for delta."));
        }
        floats(cx, "huber")?;
        loss_as_input(cx, Some(3), 2, |[x, t], delta| {
            let d = (x - t).abs();
            d.le(delta).select(d * d * 0.5, (d - 0.5 * delta) * delta)
        })
    })
    .infer_by_rule(),
    Row::new("aten::huber_loss_backward", |cx| {
        gradient(cx, Some(4), 3, |[x, t], delta| {
            let d = x - t;
            d.abs().le(delta).select(d, d.sign() * delta)
        })
    }),
    Row::new("aten::soft_margin_loss", |cx| {
        let dtype = cx.tensor(0)?.ty.dtype;
        loss_as_input(cx, None, 2, |[x, t], _| rounded_exp(-t * x, dtype).log1p())
    })
    .infer_by_rule(),
    Row::new("aten::soft_margin_loss_backward", |cx| {
        let dtype = cx.out(0)?.dtype;
        gradient(cx, None, 3, |[x, t], _| {
            let e = rounded_exp(-t * x, dtype);
            (-t * e).cast(dtype).cast(t.dtype()) / (e + 1.0)
        })
    }),
    Row::new("aten::binary_cross_entropy", cross_entropy).infer_by_rule(),
    Row::new("aten::binary_cross_entropy_backward", cross_entropy_backward),
    Row::new("aten::binary_cross_entropy_with_logits", with_logits),
];

/// eˣ in the type of the result, whose range it may exceed as in PyTorch.
fn rounded_exp(x: Expr<'_>, dtype: DType) -> Expr<'_> {
    x.exp().cast(dtype).cast(x.dtype())
}

fn smooth_l1(d: Expr<'_>, beta: f64) -> Expr<'_> {
    let d = d.abs();
    if beta == 0.0 {
        return d;
    }
    d.lt(beta).select(d * d * (0.5 / beta), d - 0.5 * beta)
}

fn smooth_l1_slope(d: Expr<'_>, beta: f64) -> Expr<'_> {
    if beta == 0.0 {
        return d.sign();
    }
    d.abs().lt(beta).select(d / beta, d.sign())
}

/// Reduces all elements.
fn reduced(losses: Expr<'_>, reduction: Reduction) -> Expr<'_> {
    let all: Vec<i64> = (0..losses.rank() as i64).collect();
    match reduction {
        Reduction::None => losses,
        Reduction::Sum => losses.sum(&all),
        Reduction::Mean => losses.sum(&all) / losses.ty().numel() as f64,
    }
}

/// `Unsupported` unless input and target promote to a real float.
fn floats(cx: &Ctx, kernel: &str) -> Result<(), LowerError> {
    let dtype = cx.promoted(&[0, 1])?;
    if is_plain_float(dtype) {
        return Ok(());
    }
    Err(LowerError::no_kernel(kernel, dtype))
}

/// Refuses what does not convert to the result's type.
fn casts(from: DType, to: DType) -> Result<(), LowerError> {
    if from.casts_to(to) {
        return Ok(());
    }
    Err(LowerError::runtime(from.miscast(to)))
}

/// A loss of input and target (arguments 0 and 1), a static number at `number`, reduced as argument `reduce` says.
fn losses(
    cx: &mut Ctx,
    number: Option<usize>,
    reduce: usize,
    f: impl for<'m> Fn([Expr<'m>; 2], f64) -> Expr<'m>,
) -> Result<Value, LowerError> {
    let number = number.map_or(Ok(0.0), |i| cx.float(i))?;
    let how = reduction(cx, reduce)?;
    crate::helpers::apply(cx, [0, 1], Domain::Promoted, |[x, t]| reduced(f([x, t], number), how))
}

fn loss(
    cx: &mut Ctx,
    number: Option<usize>,
    reduce: usize,
    f: impl for<'m> Fn([Expr<'m>; 2], f64) -> Expr<'m>,
) -> Lowered {
    let v = losses(cx, number, reduce, f)?;
    cx.finish(v)
}

/// As [`loss`], in the input's type.
fn loss_as_input(
    cx: &mut Ctx,
    number: Option<usize>,
    reduce: usize,
    f: impl for<'m> Fn([Expr<'m>; 2], f64) -> Expr<'m>,
) -> Lowered {
    let dtype = cx.tensor(0)?.ty.dtype;
    casts(cx.promoted(&[0, 1])?, dtype)?;
    let v = losses(cx, number, reduce, f)?;
    Ok(cx.cast(v, dtype)?.into())
}

/// The gradient of such a loss: arguments are the incoming gradient, input and target; `slope` is the derivative.
fn gradient(
    cx: &mut Ctx,
    number: Option<usize>,
    reduce: usize,
    slope: impl for<'m> Fn([Expr<'m>; 2], f64) -> Expr<'m>,
) -> Lowered {
    let number = number.map_or(Ok(0.0), |i| cx.float(i))?;
    let how = reduction(cx, reduce)?;
    let v = crate::helpers::apply(cx, [0, 1, 2], Domain::Promoted, |[dy, x, t]| {
        let g = slope([x, t], number);
        match how {
            Reduction::Mean => g * (dy / g.ty().numel() as f64),
            _ => g * dy,
        }
    })?;
    cx.finish(v)
}

/// An optional factor in the computing type.
fn optional(cx: &mut Ctx, i: usize, acc: DType) -> Result<Option<Value>, LowerError> {
    match cx.opt_tensor(i) {
        Some(t) => Ok(Some(cx.cast(t.value, acc)?)),
        None => Ok(None),
    }
}

fn times<'m>(x: Expr<'m>, factor: Option<Value>) -> Expr<'m> {
    match factor {
        Some(v) => x * x.math().expr(v),
        None => x,
    }
}

/// Whether numbers are in [0, 1].
fn unit(x: Expr<'_>) -> Expr<'_> {
    x.ge(0.0).and(x.le(1.0))
}

/// Logarithms are bounded below by -100, so that a certain wrong answer costs a finite amount.
fn cross_entropy(cx: &mut Ctx) -> Lowered {
    let [x, t] = [cx.tensor(0)?, cx.tensor(1)?].map(|t| t.ty.dtype);
    if x != t {
        let [t, x] = [t, x].map(DType::torch_name);
        return Err(LowerError::runtime(format!("Found dtype {t} but expected {x}")));
    }
    cx.require(0, "binary_cross_entropy", is_plain_float)?;
    let (how, weight) = (reduction(cx, 3)?, optional(cx, 2, x.opmath())?);
    let v = crate::helpers::apply(cx, [0, 1], Domain::Promoted, |[x, t]| {
        unit(x).assert("all elements of input should be between 0 and 1");
        unit(t).assert("all elements of target should be between 0 and 1");
        let yes = x.log().max(-100.0);
        let no = (-x).log1p().max(-100.0);
        reduced(times((t - 1.0) * no - t * yes, weight), how)
    })?;
    Ok(cx.cast(v, x)?.into())
}

fn cross_entropy_backward(cx: &mut Ctx) -> Lowered {
    let acc = cx.out(0)?.dtype.opmath();
    let (how, weight) = (reduction(cx, 4)?, optional(cx, 3, acc)?);
    let v = crate::helpers::apply(cx, [0, 1, 2], Domain::Promoted, |[dy, x, t]| {
        let spread = ((1.0 - x) * x).max(1e-12);
        let g = times(dy * (x - t) / spread, weight);
        match how {
            Reduction::Mean => g / x.ty().numel() as f64,
            _ => g,
        }
    })?;
    cx.finish(v)
}

fn with_logits(cx: &mut Ctx) -> Lowered {
    cx.require(0, "log_sigmoid_cpu", is_plain_float)?;
    casts(cx.promoted(&[0, 1])?, cx.tensor(1)?.ty.dtype)?;
    let acc = cx.out(0)?.dtype.opmath();
    let (how, weight, positive) = (reduction(cx, 4)?, optional(cx, 2, acc)?, optional(cx, 3, acc)?);
    let v = crate::helpers::apply(cx, [0, 1], Domain::Promoted, |[x, t]| {
        // -log σ(x) without overflow.
        let softplus = (-x.abs()).exp().log1p() + (-x).max(0.0);
        let losses = match positive {
            Some(p) => {
                let p = x.math().expr(p);
                (1.0 - t) * x + ((p - 1.0) * t + 1.0) * softplus
            }
            None => (1.0 - t) * x + softplus,
        };
        reduced(times(losses, weight), how)
    })?;
    cx.finish(v)
}
