//! Variance and standard deviation.

use crate::helpers::Lowered;
use crate::rules::reduction::{count, operand};
use crate::rules::unary;
use crate::{Ctx, Row};

/// Rows of this family.
pub const ROWS: &[Row] = &[
    Row::new("aten::var.correction", |cx| variance(cx, false, false)).stat(&["correction"]),
    Row::new("aten::std.correction", |cx| variance(cx, true, false)).stat(&["correction"]),
    Row::new("aten::var_mean.correction", |cx| variance(cx, false, true)).stat(&["correction"]),
    Row::new("aten::std_mean.correction", |cx| variance(cx, true, true)).stat(&["correction"]),
];

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
        let mean = unary::over(x.reduce_keep(tnrs_hlo::ReduceKind::Add, &dims), n);
        let d = x - mean;
        let square = if x.dtype().is_complex() { d.real() * d.real() + d.imag() * d.imag() } else { d * d };
        let var = square.sum(&dims) / (n - correction).max(0.0);
        let spread = if root { var.sqrt() } else { var };
        // PyTorch updates the mean element by element, so that infinity minus infinity comes up.
        let mean = if with_mean && n > 1.0 {
            mean + unary::nothing(d).reduce_keep(tnrs_hlo::ReduceKind::Add, &dims)
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
