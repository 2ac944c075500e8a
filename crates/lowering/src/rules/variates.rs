//! Draws from distributions given elementwise by tensors, and their derivatives: routines, see `tnrs_hlo::custom`.

use tnrs_hlo::{TensorType, Value};
use tnrs_types::DType;

use crate::helpers::{apply, Domain, Lowered};
use crate::rules::random::only;
use crate::{Ctx, LowerError, Row};

/// Rows of this family.
pub const ROWS: &[Row] = &[
    // PyTorch lacks the meta kernels of some.
    Row::new("aten::poisson", |cx| {
        let v = draw(cx, "poisson", &[0])?;
        rounded(cx, v)
    })
    .infer_by_rule(),
    Row::new("aten::binomial", |cx| {
        let v = draw(cx, "binomial", &[0, 1])?;
        rounded(cx, v)
    })
    .infer_by_rule(),
    Row::new("aten::_standard_gamma", standard_gamma).infer_by_rule(),
    Row::new("aten::_standard_gamma_grad", |cx| {
        only(cx, cx.tensor(0)?.ty.dtype, DType::is_float)?;
        let v = apply(cx, [0, 1], Domain::Float, |[alpha, x]| {
            x.math().elementwise("standard_gamma_grad", &[], &[alpha, x])
        })?;
        rounded(cx, v)
    })
    .infer_by_rule(),
    Row::new("aten::_sample_dirichlet", sample_dirichlet).infer_by_rule(),
    Row::new("aten::_dirichlet_grad", |cx| {
        only(cx, cx.tensor(0)?.ty.dtype, DType::is_float)?;
        let v = apply(cx, [0, 1, 2], Domain::Float, |[x, alpha, total]| {
            x.math().elementwise("dirichlet_grad", &[], &[x, alpha, total])
        })?;
        rounded(cx, v)
    })
    .infer_by_rule(),
];

/// The outcome in the first operand's type.
fn rounded(cx: &mut Ctx, v: Value) -> Lowered {
    let dtype = cx.tensor(0)?.ty.dtype;
    Ok(cx.cast(v, dtype)?.into())
}

/// Random words that a call reserves of its generator's stream: more than an element of it will ever draw.
const WORDS: i64 = 1 << 14;

/// Variates of the routine `name` with parameters from the arguments at `args`, in f64.
fn draw(cx: &mut Ctx, name: &str, args: &[usize]) -> Result<Value, LowerError> {
    for &i in args {
        let dtype = cx.tensor(i)?.ty.dtype;
        if name == "binomial" && !dtype.is_float() {
            let what = ["count", "prob"][i];
            return Err(LowerError::Value(format!(
                "binomial only supports floating-point dtypes for {what}, got: {}",
                dtype.torch_name()
            )));
        }
        only(cx, dtype, DType::is_float)?;
    }
    let sizes = cx.broadcast_sizes(args)?;
    let mut operands = Vec::with_capacity(args.len() + 2);
    for &i in args {
        let v = cx.operand(i, DType::F64, DType::F64)?;
        if name == "poisson" {
            cx.math(|m| m.expr(v).ge(0.0).assert("invalid Poisson rate, expected rate to be non-negative"))?;
        }
        operands.push(cx.b.broadcast_to(v, &sizes)?);
    }
    let (seed, offset) = cx.philox(WORDS);
    operands.extend([seed, offset]);
    Ok(cx.b.custom_call(name, &[], &operands, &[TensorType::new(DType::F64, &sizes)])?[0])
}

/// The least positive normal number of a float type.
fn tiny(d: DType) -> f64 {
    match d {
        DType::F64 => f64::MIN_POSITIVE,
        DType::F16 => 2f64.powi(-14),
        _ => f32::MIN_POSITIVE.into(),
    }
}

/// At least the least positive number, for a draw is never 0.
fn standard_gamma(cx: &mut Ctx) -> Lowered {
    let least = tiny(cx.tensor(0)?.ty.dtype);
    let v = draw(cx, "ln_gamma_variate", &[0])?;
    let v = cx.math(|m| m.expr(v).exp().max(least).value())?;
    rounded(cx, v)
}

/// Gamma variates over their sum, by their logarithms so that small shapes do not underflow, and strictly inside
/// (0, 1).
fn sample_dirichlet(cx: &mut Ctx) -> Lowered {
    let x = cx.tensor(0)?;
    let v = draw(cx, "ln_gamma_variate", &[0])?;
    let (least, most) = (tiny(x.ty.dtype), 1.0 - eps(x.ty.dtype) / 2.0);
    let v = cx.math(|m| {
        let logs = m.expr(v);
        let last = [x.ty.rank().saturating_sub(1) as i64];
        let dims: &[i64] = if x.ty.rank() == 0 { &[] } else { &last };
        let weights = (logs - logs.reduce_keep(tnrs_hlo::ReduceKind::Maximum, dims)).exp();
        let share = weights / weights.reduce_keep(tnrs_hlo::ReduceKind::Add, dims);
        share.max(least).min(most).value()
    })?;
    rounded(cx, v)
}

/// The distance from 1 to the next number of a float type.
fn eps(d: DType) -> f64 {
    2f64.powi(1 - super::random::digits(d) as i32)
}
