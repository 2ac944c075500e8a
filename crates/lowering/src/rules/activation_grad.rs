//! Gradients of activation functions.

use tnrs_hlo::Composite;

use crate::helpers::{apply, apply_as, map, Domain, Lowered};
use crate::rules::activation::{composite, halves, is_tanh};
use crate::rules::parts;
use crate::{Ctx, Expr, Row};

/// Rows of this family.
pub const ROWS: &[Row] = &[
    Row::new("aten::threshold_backward", |cx| numbers(cx, [0, 1, 2], |[g, x, t]| x.le(t).select(0.0, g))),
    Row::new("aten::leaky_relu_backward", |cx| {
        numbers(cx, [0, 1, 2], |[g, x, k]| x.gt(0.0).select(g, g * k))
    }),
    Row::new("aten::gelu_backward", |cx| {
        let tanh = is_tanh(cx, 2)?;
        composite(cx, [0, 1], Composite::GeluGrad { tanh })
    }),
    Row::new("aten::silu_backward", silu_backward),
    Row::new("aten::mish_backward", |cx| {
        map(cx, [0, 1], Domain::Promoted, |[g, x]| {
            let t = x.exp().log1p().tanh();
            g * (t + x * x.sigmoid() * (1.0 - t * t))
        })
    }),
    Row::new("aten::elu_backward", elu_backward),
    Row::new("aten::hardtanh_backward", |cx| {
        numbers(cx, [0, 1, 2, 3], |[g, x, lo, hi]| x.le(lo).or(x.ge(hi)).select(0.0, g))
    }),
    Row::new("aten::hardswish_backward", |cx| {
        map(cx, [0, 1], Domain::Promoted, |[g, x]| {
            let middle = x.ge(3.0).select(g, g * (x / 3.0 + 0.5));
            x.le(-3.0).select(0.0, middle)
        })
    }),
    Row::new("aten::hardsigmoid_backward", |cx| {
        map(cx, [0, 1], Domain::Promoted, |[g, x]| x.gt(-3.0).and(x.lt(3.0)).select(g / 6.0, 0.0))
    }),
    Row::new("aten::softplus_backward", |cx| {
        numbers(cx, [0, 1, 2, 3], |[g, x, beta, threshold]| {
            let t = x * beta;
            t.gt(threshold).select(g, g * t.sigmoid())
        })
    }),
    Row::new("aten::softshrink_backward", |cx| {
        numbers(cx, [0, 1, 2], |[g, x, l]| x.ge(-l).and(x.le(l)).select(0.0, g))
    }),
    Row::new("aten::hardshrink_backward", |cx| {
        numbers(cx, [0, 1, 2], |[g, x, l]| x.ge(-l).and(x.le(l)).select(0.0, g))
    }),
    Row::new("aten::log_sigmoid_backward", |cx| {
        map(cx, [0, 1], Domain::Promoted, |[g, x]| g * (-x).sigmoid())
    }),
    Row::new("aten::tanh_backward", |cx| {
        map(cx, [0, 1], Domain::Promoted, |[g, y]| g * parts::conj(1.0 - y * y))
    }),
    Row::new("aten::sigmoid_backward", |cx| {
        map(cx, [0, 1], Domain::Promoted, |[g, y]| g * parts::conj(1.0 - y) * parts::conj(y))
    }),
    Row::new("aten::_prelu_kernel_backward", prelu_backward),
    Row::new("aten::glu_backward", glu_backward),
    // Forward-mode derivatives; PyTorch has no meta kernels for them.
    Row::new("aten::glu_jvp", glu_jvp).infer_by_rule(),
    Row::new("aten::glu_backward_jvp", glu_backward_jvp).infer_by_rule(),
];

/// A rule of two tensors whose numbers (from the third argument on) do not take part in promotion.
fn numbers<const N: usize>(
    cx: &mut Ctx,
    args: [usize; N],
    f: impl for<'m> FnOnce([Expr<'m>; N]) -> Expr<'m>,
) -> Lowered {
    let common = cx.promoted(&args[..2])?;
    let v = apply_as(cx, args, common, common.opmath(), f)?;
    cx.finish(v)
}

fn silu_backward(cx: &mut Ctx) -> Lowered {
    if cx.promoted(&[0, 1])?.is_complex() {
        return map(cx, [0, 1], Domain::Promoted, |[g, x]| {
            let s = x.sigmoid();
            g * parts::conj(s * (x * (1.0 - s) + 1.0))
        });
    }
    composite(cx, [0, 1], Composite::SiluGrad)
}

/// Of the forward's operand, or of its result when `is_result`.
fn elu_backward(cx: &mut Ctx) -> Lowered {
    let is_result = cx.bool(4);
    let common = cx.promoted(&[0, 5])?;
    let v = apply_as(cx, [0, 5, 1, 2, 3], common, common.opmath(), |[g, x, a, scale, k]| {
        let c = a * scale;
        let slope = if is_result { k * (x + c) } else { k * c * (x * k).exp() };
        x.le(0.0).select(g * slope, g * scale)
    })?;
    cx.finish(v)
}

fn prelu_backward(cx: &mut Ctx) -> Lowered {
    let dx = apply(cx, [0, 1, 2], Domain::Promoted, |[g, x, w]| x.gt(0.0).select(g, w * g))?;
    let dw = apply(cx, [0, 1], Domain::Promoted, |[g, x]| x.gt(0.0).select(0.0, x * g))?;
    cx.finish_all(&[dx, dw])
}

fn glu_backward(cx: &mut Ctx) -> Lowered {
    let d = cx.int(2)?;
    let (x, d, compute) = halves(cx, 1, d)?;
    let g = cx.tensor(0)?;
    let g = cx.cast(g.value, compute)?;
    let v = cx.math(|m| {
        let (x, g) = (m.expr(x), m.expr(g));
        let n = x.dims()[d as usize];
        let (a, b) = (x.slice(d as usize, 0, n / 2), x.slice(d as usize, n / 2, n));
        let s = b.sigmoid();
        let da = g * s;
        m.concatenate(&[da, da * a * (1.0 - s)], d).value()
    })?;
    cx.finish(v)
}

/// d(a σ(b)) = da σ(b) + a σ(b) (1 − σ(b)) db, from the result a σ(b), [a, b] and [da, db].
fn glu_jvp(cx: &mut Ctx) -> Lowered {
    let dtype = cx.tensor(1)?.ty.dtype;
    let along = cx.int(3)?;
    let (x, d, compute) = halves(cx, 1, along)?;
    let [y, dx] = [cx.tensor(0)?.value, cx.tensor(2)?.value];
    let [y, dx] = [cx.cast(y, compute)?, cx.cast(dx, compute)?];
    let v = cx.math(|m| {
        let [_, b] = split(m.expr(x), d);
        let [da, db] = split(m.expr(dx), d);
        let s = b.sigmoid();
        (da * s + m.expr(y) * (1.0 - s) * db).value()
    })?;
    Ok(cx.cast(v, dtype)?.into())
}

/// The differential of [`glu_backward`], [g σ, g a σ (1 − σ)].
fn glu_backward_jvp(cx: &mut Ctx) -> Lowered {
    let dtype = cx.tensor(2)?.ty.dtype;
    let along = cx.int(5)?;
    let (x, d, compute) = halves(cx, 2, along)?;
    let [gx, dg, dx] = [cx.tensor(0)?.value, cx.tensor(3)?.value, cx.tensor(4)?.value];
    let [gx, dg, dx] = [cx.cast(gx, compute)?, cx.cast(dg, compute)?, cx.cast(dx, compute)?];
    let v = cx.math(|m| {
        let [a, b] = split(m.expr(x), d);
        let [da, db] = split(m.expr(dx), d);
        // From the gradient of the first half, which is g·s.
        let [ga, _] = split(m.expr(gx), d);
        let (dg, s) = (m.expr(dg), b.sigmoid());
        let rest = 1.0 - s;
        let first = dg * s + ga * rest * db;
        let second = (first * a + ga * da - ga * a * s * db) * rest;
        m.concatenate(&[first, second], d).value()
    })?;
    Ok(cx.cast(v, dtype)?.into())
}

fn split(x: Expr<'_>, d: i64) -> [Expr<'_>; 2] {
    let d = d as usize;
    let n = x.dims()[d];
    [x.slice(d, 0, n / 2), x.slice(d, n / 2, n)]
}
