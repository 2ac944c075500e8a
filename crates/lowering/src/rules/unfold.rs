//! Sliding blocks to columns and back.

use smallvec::smallvec;
use tnrs_types::{DType, Dims, Scalar};

use super::window::Windows;
use crate::expr::Expr;
use crate::helpers::{is_plain_float, Lowered};
use crate::{Ctx, Row};

/// Rows of this family.
pub(crate) const ROWS: &[Row] = &[Row::new("aten::im2col", im2col), Row::new("aten::col2im", col2im)];

/// Windows from kernel, dilation, padding and stride, which start at a position, over data of these sizes.
fn windows(cx: &Ctx, i: usize, input: &[i64]) -> Windows {
    let args = [Some(i), Some(i + 3), Some(i + 2), Some(i + 1)];
    let mut w = Windows::new(cx, 2, args, input, input);
    w.output = (0..2)
        .map(|d| {
            let reach = w.dilation[d] * (w.kernel[d] - 1) + 1;
            (w.input[d] + 2 * w.padding[d] - reach) / w.stride[d] + 1
        })
        .collect();
    w
}

/// (N, C, H, W) sizes of an operand that may lack the batch.
fn with_batch(dims: &[i64], full: usize) -> Dims {
    let mut d: Dims = smallvec![1; full - dims.len()];
    d.extend_from_slice(dims);
    d
}

fn im2col(cx: &mut Ctx) -> Lowered {
    cx.require(0, "im2col_out_cpu", |d| is_plain_float(d) || d.is_complex() || d == DType::Bool)?;
    let (x, out) = (cx.tensor(0)?, cx.out(0)?);
    let dims = with_batch(&x.ty.dims, 4);
    let w = windows(cx, 1, &dims);
    let v = cx.math(|m| {
        let padded = w.pad(m.expr(x.value).reshape(&dims), Scalar::Int(0));
        let parts: Vec<Expr<'_>> = w
            .elements()
            .iter()
            .map(|e| {
                let part = w.element(w.element(padded, 0, e[0]), 1, e[1]);
                part.unsqueeze(2)
            })
            .collect();
        let all = match parts[..] {
            [one] => one,
            _ => m.concatenate(&parts, 2),
        };
        all.reshape(&out.dims).value()
    })?;
    Ok(v.into())
}

fn col2im(cx: &mut Ctx) -> Lowered {
    let (x, out) = (cx.tensor(0)?, cx.out(0)?);
    let dims = with_batch(&out.dims, 4);
    let w = windows(cx, 2, &dims);
    let acc = out.dtype.opmath();
    let k = w.kernel[1];
    let apart = [dims[0], dims[1], w.kernel[0] * k, w.output[0], w.output[1]];
    let v = cx.math(|m| {
        let columns = m.expr(x.value).cast(acc).reshape(&apart);
        let part = |e: &Dims| {
            let part = columns.at(2, e[0] * k + e[1]);
            w.put_element(w.put_element(part, 1, e[1]), 0, e[0])
        };
        let elements = w.elements();
        let mut sum = part(&elements[0]);
        for e in &elements[1..] {
            sum = sum + part(e);
        }
        for d in 0..2 {
            let high = w.input[d] + w.padding[d] - w.covered(d);
            sum = sum.pad_dim(Scalar::Int(0), 2 + d, -w.padding[d], high, 0);
        }
        sum.reshape(&out.dims).cast(out.dtype).value()
    })?;
    Ok(v.into())
}
