//! Vector norms.

use tnrs_hlo::ReduceKind;
use tnrs_types::{Class, DType, Scalar};

use crate::helpers::{dim, Lowered};
use crate::rules::{binary, reduction};
use crate::{Ctx, Expr, LowerError, Row};

/// Rows of this family.
pub const ROWS: &[Row] = &[
    Row::new("aten::linalg_vector_norm", |cx| over_dims(cx, norm)).stat(&["ord"]),
    Row::new("aten::linalg__powsum", |cx| over_dims(cx, power_sum)).stat(&["ord"]),
    Row::new("aten::norm.ScalarOpt_dim", |cx| over_dims(cx, norm)).stat(&["p"]),
    Row::new("aten::norm.ScalarOpt_dim_dtype", |cx| over_dims(cx, norm)).stat(&["p"]),
    // The range of maxnorm is looked at by the meta kernel.
    Row::new("aten::renorm", renorm).exact().stat(&["p", "maxnorm"]),
];

/// The order of a norm; absent is 2.
pub fn order(cx: &Ctx, i: usize) -> Result<f64, LowerError> {
    if cx.is_absent(i) {
        return Ok(2.0);
    }
    match cx.known(i)? {
        Scalar::Complex(..) => Err(LowerError::runtime(
            "linalg.vector_norm: Expected a non-complex scalar as the order of norm.",
        )),
        p => Ok(p.to_f64()),
    }
}

fn over_dims(cx: &mut Ctx, f: impl for<'m> Fn(Expr<'m>, f64, &[i64]) -> Expr<'m>) -> Lowered {
    let p = order(cx, 1)?;
    let x = cx.tensor(0)?;
    let compute = compute_type(x.ty.dtype, cx.out(0)?.dtype);
    let single = x.ty.numel() == 1 && p.is_nan();
    let (x, dims) = reduction::operand(cx, Some(2), compute)?;
    // Of a single number PyTorch takes the absolute value, whatever the order.
    let p = if single { 1.0 } else { p };
    let v = cx.math(|m| f(m.expr(x), p, &dims).value())?;
    cx.finish_reshaped(&[v])
}

/// The result's opmath; complex when the operand is.
pub fn compute_type(operand: DType, result: DType) -> DType {
    match (operand.is_complex(), result.opmath()) {
        (true, DType::F64) => DType::C128,
        (true, _) => operand,
        (false, d) => d,
    }
}

/// Σ |x|ᵖ.
pub fn power_sum<'m>(x: Expr<'m>, p: f64, dims: &[i64]) -> Expr<'m> {
    if p == 2.0 {
        if !x.dtype().is_complex() {
            return (x * x).sum(dims);
        }
        let (re, im) = (x.real(), x.imag());
        // The magnitude of infinity is infinite, whatever the other part is.
        let square = re.is_inf().or(im.is_inf()).select(f64::INFINITY, re * re + im * im);
        return square.sum(dims);
    }
    let a = x.abs();
    if p == 0.0 {
        let one = a.int(1);
        return a.ne(0.0).select(one, 0.0).sum(dims);
    }
    binary::pow_known(a, Scalar::Float(p)).sum(dims)
}

/// The p-norm over dims.
pub fn norm<'m>(x: Expr<'m>, p: f64, dims: &[i64]) -> Expr<'m> {
    if p == f64::INFINITY {
        let a = x.abs();
        // A norm of nothing is 0, not the maximum's neutral element.
        return if reduction::count(x, dims) == 0 {
            a.sum(dims)
        } else {
            a.reduce(ReduceKind::Maximum, dims)
        };
    }
    if p == f64::NEG_INFINITY {
        return x.abs().reduce(ReduceKind::Minimum, dims);
    }
    let s = power_sum(x, p, dims);
    if p == 0.0 {
        return s;
    }
    binary::pow_known(s, Scalar::Float(1.0 / p))
}

/// Scales down the slices along a dim whose norm exceeds a bound.
fn renorm(cx: &mut Ctx) -> Lowered {
    let p = order(cx, 1)?;
    let x = cx.tensor(0)?;
    let rank = x.ty.rank();
    let d = dim(cx.int(2)?, rank)?;
    let compute = x.ty.dtype.opmath();
    if x.ty.dtype.class() <= Class::Int {
        return Err(LowerError::runtime(format!(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got {}",
            x.ty.dtype.torch_name()
        )));
    }
    let limit = cx.known(3)?.to_f64();
    let v = cx.cast(x.value, compute)?;
    let v = cx.math(|m| {
        let x = m.expr(v);
        let limit = m.splat(compute.real(), &[], Scalar::Float(limit));
        let others: Vec<i64> = (0..rank as i64).filter(|&o| o != d).collect();
        let n = norm(x, p, &others);
        let factor = n.gt(limit).select(limit / (n + 1e-7), 1.0);
        let factor = factor.broadcast_in_dim(&[d], &x.dims());
        (x * factor.cast(x.dtype())).value()
    })?;
    cx.finish(v)
}
