//! Activation functions.

use smallvec::SmallVec;
use tnrs_hlo::{Composite, TensorType, Value};
use tnrs_types::DType;

use crate::helpers::{apply_as, dim, map, Domain, Lowered};
use crate::{Ctx, Expr, LowerError, Outcome, Row};

/// Rows of this family.
pub const ROWS: &[Row] = &[
    Row::new("aten::relu", |cx| map(cx, [0], Domain::Promoted, |[x]| x.max(0.0))),
    Row::new("aten::threshold", |cx| of_self(cx, [0, 1, 2], |[x, t, v]| x.le(t).select(v, x)))
        .narrow(&["value"]),
    Row::new("aten::leaky_relu", |cx| of_self(cx, [0, 1], |[x, k]| x.gt(0.0).select(x, x * k))),
    Row::new("aten::gelu", gelu).exact(),
    Row::new("aten::silu", silu),
    Row::new("aten::mish", |cx| map(cx, [0], Domain::Promoted, |[x]| x * x.exp().log1p().tanh())),
    Row::new("aten::elu", |cx| {
        of_self(cx, [0, 1, 2, 3], |[x, alpha, scale, input_scale]| {
            let negative = (x * input_scale).expm1() * (alpha * scale);
            x.lt(0.0).select(negative, x * scale)
        })
    }),
    Row::new("aten::hardtanh", |cx| of_self(cx, [0, 1, 2], |[x, lo, hi]| x.max(lo).min(hi)))
        .narrow(&["min_val", "max_val"]),
    Row::new("aten::hardswish", |cx| {
        map(cx, [0], Domain::Promoted, |[x]| x * (x + 3.0).max(0.0).min(6.0) / 6.0)
    }),
    Row::new("aten::hardsigmoid", |cx| {
        map(cx, [0], Domain::Promoted, |[x]| (x + 3.0).max(0.0).min(6.0) / 6.0)
    }),
    Row::new("aten::softplus", |cx| {
        of_self(cx, [0, 1, 2], |[x, beta, threshold]| {
            let t = x * beta;
            t.gt(threshold).select(x, t.exp().log1p() / beta)
        })
    })
    .exact(),
    Row::new("aten::softshrink", |cx| {
        of_self(cx, [0, 1], |[x, l]| {
            // x·0 instead of 0, so that NaN stays NaN.
            x.gt(l).select(x - l, x.lt(-l).select(x + l, x * 0.0))
        })
    })
    // Its range is looked at by the meta kernel.
    .stat(&["lambd"])
    .exact(),
    Row::new("aten::hardshrink", |cx| of_self(cx, [0, 1], |[x, l]| x.ge(-l).and(x.le(l)).select(0.0, x)))
        .narrow(&["lambd"])
        .exact(),
    Row::new("aten::log_sigmoid_forward", log_sigmoid_forward).exact(),
    Row::new("aten::_prelu_kernel", |cx| {
        map(cx, [0, 1], Domain::Promoted, |[x, w]| x.gt(0.0).select(x, w * x))
    }),
    Row::new("aten::glu", glu),
];

/// A rule whose type is `self`'s alone: numbers convert to it.
pub fn of_self<const N: usize>(
    cx: &mut Ctx,
    args: [usize; N],
    f: impl for<'m> FnOnce([Expr<'m>; N]) -> Expr<'m>,
) -> Lowered {
    let common = cx.promoted(&args[..1])?;
    let v = apply_as(cx, args, common, common.opmath(), f)?;
    cx.finish(v)
}

/// A composite of the arguments in their promoted type, which is also the result's.
pub fn composite<const N: usize>(cx: &mut Ctx, args: [usize; N], op: Composite) -> Lowered {
    let common = cx.promoted(&args)?;
    let dims = cx.broadcast_sizes(&args)?;
    let mut operands: SmallVec<[Value; 4]> = SmallVec::new();
    for i in args {
        let v = cx.operand(i, common, common)?;
        operands.push(cx.b.broadcast_to(v, &dims)?);
    }
    let v = cx.b.composite(op, &operands, &[TensorType::new(common, &dims)])?[0];
    cx.finish(v)
}

/// Whether `approximate` asks for the tanh form.
pub fn is_tanh(cx: &Ctx, i: usize) -> Result<bool, LowerError> {
    match cx.text(i) {
        None | Some("none") => Ok(false),
        Some("tanh") => Ok(true),
        Some(_) => Err(LowerError::runtime("approximate argument must be either none or tanh.")),
    }
}

fn gelu(cx: &mut Ctx) -> Lowered {
    let tanh = is_tanh(cx, 1)?;
    composite(cx, [0], Composite::Gelu { tanh })
}

fn silu(cx: &mut Ctx) -> Lowered {
    if cx.promoted(&[0])?.is_complex() {
        return map(cx, [0], Domain::Promoted, |[x]| x * x.sigmoid());
    }
    composite(cx, [0], Composite::Silu)
}

/// ln σ(x), and e^−|x| as PyTorch's CPU kernel keeps it for the backward; its meta kernel may expect an empty buffer.
fn log_sigmoid_forward(cx: &mut Ctx) -> Lowered {
    let x = cx.tensor(0)?;
    let compute = x.ty.dtype.opmath();
    let v = cx.cast(x.value, compute)?;
    let (y, z) = cx.math(|m| {
        let x = m.expr(v);
        let z = (-x.abs()).exp();
        ((x.min(0.0) - z.log1p()).value(), z.value())
    })?;
    let (y_ty, buffer_ty) = (cx.out(0)?, cx.out(1)?);
    let y = cx.fit(y, &y_ty)?;
    let buffer = if buffer_ty.dims == x.ty.dims {
        cx.fit(z, &buffer_ty)?
    } else {
        let zero = cx.number(tnrs_types::Scalar::Int(0), buffer_ty.dtype)?;
        cx.fit(zero, &buffer_ty)?
    };
    Ok(Outcome::tensors(&[y, buffer]))
}

/// The halves of `self` along a dim, in opmath, and the dim.
pub fn halves(cx: &mut Ctx, i: usize, d: i64) -> Result<(Value, i64, DType), LowerError> {
    let x = cx.tensor(i)?;
    let d = dim(d, x.ty.rank())?;
    let compute = x.ty.dtype.opmath();
    Ok((cx.cast(x.value, compute)?, d, compute))
}

fn glu(cx: &mut Ctx) -> Lowered {
    let (x, d, _) = halves(cx, 0, cx.opt_int(1).unwrap_or(-1))?;
    let v = cx.math(|m| {
        let x = m.expr(x);
        let n = x.dims()[d as usize];
        let (a, b) = (x.slice(d as usize, 0, n / 2), x.slice(d as usize, n / 2, n));
        (a * b.sigmoid()).value()
    })?;
    cx.finish(v)
}
