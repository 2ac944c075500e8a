//! Variance and standard deviation.

use tnrs_hlo::ReduceKind;

use crate::helpers::Lowered;
use crate::rules::reduction::{count, operand};
use crate::rules::unary;
use crate::{Ctx, Expr, Row};

/// Rows of this family.
pub const ROWS: &[Row] = &[
    Row::new("aten::var.correction", |cx| variance(cx, false, false)).stat(&["correction"]),
    Row::new("aten::std.correction", |cx| variance(cx, true, false)).stat(&["correction"]),
    Row::new("aten::var_mean.correction", |cx| variance(cx, false, true)).stat(&["correction"]),
    Row::new("aten::std_mean.correction", |cx| variance(cx, true, true)).stat(&["correction"]),
];

/// A mean over kept dims as PyTorch comes to it, updating it element by element: infinity only if the element at `end`,
/// the last it takes, is infinite and no other; else NaN once any element is not finite.
pub(super) fn stepwise_mean<'m>(mean: Expr<'m>, x: Expr<'m>, dims: &[i64], end: &[i64]) -> Expr<'m> {
    if x.dtype().is_complex() {
        let part = |m, x| stepwise_mean(m, x, dims, end);
        return part(mean.real(), x.real()).complex(part(mean.imag(), x.imag()));
    }
    let strange = x.is_finite().not().cast(x.dtype()).reduce_keep(ReduceKind::Add, dims);
    let last = dims.iter().zip(end).fold(x, |x, (&d, &i)| x.slice(d as usize, i, i + 1));
    ended(mean, strange, last)
}

/// Such a mean, from how many elements are not finite and the last that it takes.
pub(super) fn ended<'m>(mean: Expr<'m>, strange: Expr<'m>, last: Expr<'m>) -> Expr<'m> {
    let alone = strange.eq(1.0).and(last.is_inf());
    strange.eq(0.0).select(mean, alone.select(last, f64::NAN))
}

/// Mean squared distance from the mean, over `n − correction`; of complex numbers, the sum over both parts.
fn variance(cx: &mut Ctx, root: bool, with_mean: bool) -> Lowered {
    let correction = if cx.is_absent(2) { 1.0 } else { cx.known(2)?.to_f64() };
    let compute = cx.tensor(0)?.ty.dtype.opmath();
    if !compute.is_float() && !compute.is_complex() {
        return Err(crate::LowerError::runtime("std and var only support floating point and complex dtypes"));
    }
    let (x, dims) = operand(cx, Some(1), compute)?;
    let (spread, mean) = cx.math(|m| {
        let x = m.expr(x);
        let n = count(x, &dims) as f64;
        let mean = unary::over(x.reduce_keep(ReduceKind::Add, &dims), n);
        let d = x - mean;
        let square = if x.dtype().is_complex() { d.real() * d.real() + d.imag() * d.imag() } else { d * d };
        let var = square.sum(&dims) / (n - correction).max(0.0);
        let spread = if root { var.sqrt() } else { var };
        let mean = if with_mean && n > 0.0 {
            let end: Vec<i64> = dims.iter().map(|&d| x.dims()[d as usize] - 1).collect();
            stepwise_mean(mean, x, &dims, &end)
        } else {
            mean
        };
        (spread.value(), mean.value())
    })?;
    if with_mean {
        cx.finish_reshaped(&[spread, mean])
    } else {
        cx.finish_reshaped(&[spread])
    }
}
