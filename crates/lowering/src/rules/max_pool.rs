//! Max pooling with the positions of the maxima, and its gradient.

use tnrs_hlo::{Composite, ScatterKind, TensorType};
use tnrs_types::{DType, Dims, Raises, Scalar};

use super::window::Windows;
use crate::expr::Expr;
use crate::helpers::{is_plain_float, Lowered};
use crate::{Ctx, LowerError, Outcome, Row};

/// Rows of this family.
pub(crate) const ROWS: &[Row] = &[
    Row::new("aten::max_pool2d_with_indices", |cx| forward(cx, 2)),
    Row::new("aten::max_pool3d_with_indices", |cx| forward(cx, 3)),
    Row::new("aten::max_pool2d_with_indices_backward", |cx| put_back(cx, 2, 7)),
    Row::new("aten::max_pool3d_with_indices_backward", |cx| put_back(cx, 3, 7)),
    Row::new("aten::adaptive_max_pool2d", |cx| adaptive(cx, 2)),
    Row::new("aten::adaptive_max_pool3d", |cx| adaptive(cx, 3)),
    Row::new("aten::adaptive_max_pool2d_backward", |cx| put_back(cx, 2, 2)),
    Row::new("aten::adaptive_max_pool3d_backward", |cx| put_back(cx, 3, 2)),
    Row::new("aten::max_unpool2d", |cx| unpool(cx, 2)).format(&[0], |_, rank| rank == 4),
    Row::new("aten::max_unpool3d", |cx| unpool(cx, 3)),
];

/// More elements than this in a window make a program that is not worth compiling.
const MAX_ELEMENTS: i64 = 4096;

/// Keeps the larger of a running maximum and a candidate, with positions; NaN wins.
pub(super) fn challenge<'m>(best: (Expr<'m>, Expr<'m>), new: (Expr<'m>, Expr<'m>)) -> (Expr<'m>, Expr<'m>) {
    let mut wins = new.0.gt(best.0);
    if new.0.dtype().is_float() {
        wins = wins.or(new.0.ne(new.0));
    }
    (wins.select(new.0, best.0), wins.select(new.1, best.1))
}

fn forward(cx: &mut Ctx, spatial: usize) -> Lowered {
    cx.require(0, "max_pool", |d| is_plain_float(d) || d.is_int())?;
    let (x, out) = (cx.tensor(0)?, cx.out(0)?);
    let args = [Some(1), Some(2), Some(3), Some(4)];
    let w = Windows::new(cx, spatial, args, &x.ty.dims, &out.dims);
    if w.kernel.iter().product::<i64>() > MAX_ELEMENTS {
        return Err(LowerError::unsupported(format!(
            "{}: a window of {:?} elements",
            cx.op,
            w.kernel.as_slice()
        )));
    }
    let op =
        Composite::MaxPool { kernel: w.kernel, stride: w.stride, padding: w.padding, dilation: w.dilation };
    let index = TensorType::new(DType::I64, &out.dims);
    let r = cx.b.composite(op, &[x.value], &[out, index])?;
    Ok(Outcome::tensors(&r))
}

/// Scatters values of (…, windows) by flat positions within each plane of (…, positions), adding.
fn put_planes<'m>(
    values: Expr<'m>,
    indices: Expr<'m>,
    spatial: usize,
    out: &[i64],
    kind: ScatterKind,
) -> Expr<'m> {
    let m = values.math();
    let lead = out.len() - spatial;
    let planes: i64 = out[..lead].iter().product();
    let size: i64 = out[lead..].iter().product();
    let windows: i64 = values.dims()[lead..].iter().product();
    let at = indices.reshape(&[planes, windows]).flat_index(&[planes, size], 1);
    m.splat(values.dtype(), out, Scalar::Int(0)).put_flat(kind, at, values)
}

pub(super) fn put_back(cx: &mut Ctx, spatial: usize, indices: usize) -> Lowered {
    let (dy, indices, out) = (cx.tensor(0)?, cx.tensor(indices)?, cx.out(0)?);
    let acc = out.dtype.opmath();
    let v = cx.math(|m| {
        let [dy, at] = m.exprs([dy.value, indices.value]);
        put_planes(dy.cast(acc), at, spatial, &out.dims, ScatterKind::Add).cast(out.dtype).value()
    })?;
    Ok(v.into())
}

fn unpool(cx: &mut Ctx, spatial: usize) -> Lowered {
    cx.require(0, "max_unpool", is_plain_float)?;
    let (x, indices, out) = (cx.tensor(0)?, cx.tensor(1)?, cx.out(0)?);
    let size: i64 = out.dims[out.rank() - spatial..].iter().product();
    let site = cx.op;
    let v = cx.math(|m| {
        let [x, at] = m.exprs([x.value, indices.value]);
        let at = at.checked_as(Raises::Runtime, 0, size, site, 0);
        put_planes(x, at, spatial, &out.dims, ScatterKind::Set).value()
    })?;
    Ok(v.into())
}

/// First and one past the last operand position of result position `i` of `output` over `input`.
pub(super) fn adaptive_range(i: i64, input: i64, output: i64) -> (i64, i64) {
    let start = i * input / output;
    let end = ((i + 1) * input + output - 1) / output;
    (start, end)
}

fn adaptive(cx: &mut Ctx, spatial: usize) -> Lowered {
    cx.require(0, "adaptive_max_pool", is_plain_float)?;
    let (x, out) = (cx.tensor(0)?, cx.out(0)?);
    let rank = out.rank();
    let lead = rank - spatial;
    let (values, indices) = cx.math(|m| {
        let mut best = (m.expr(x.value), {
            let plane = Dims::from_slice(&x.ty.dims[lead..]);
            let n = tnrs_types::numel(&plane);
            m.iota(DType::I64, &[n], 0).reshape(&plane).broadcast(&x.ty.dims)
        });
        // One dim at a time from the last, so that ties keep the first position in row-major order.
        for d in (lead..rank).rev() {
            best = adaptive_dim(best, d, out.dims[d]);
        }
        (best.0.value(), best.1.value())
    })?;
    Ok(Outcome::tensors(&[values, indices]))
}

fn adaptive_dim<'m>(x: (Expr<'m>, Expr<'m>), dim: usize, output: i64) -> (Expr<'m>, Expr<'m>) {
    let m = x.0.math();
    let input = x.0.dims()[dim];
    let ranges: Vec<(i64, i64)> = (0..output).map(|i| adaptive_range(i, input, output)).collect();
    let longest = ranges.iter().map(|(s, e)| e - s).max().unwrap_or(0);
    let row = |k: i64| {
        // A shorter window sees its last element again, which changes nothing.
        let at: Vec<i64> = ranges.iter().map(|(s, e)| (s + k).min(e - 1)).collect();
        let at = m.ints(&at);
        (x.0.take_rows(dim, at), x.1.take_rows(dim, at))
    };
    (1..longest).fold(row(0), |best, k| challenge(best, row(k)))
}
