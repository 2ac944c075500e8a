//! Average pooling: window sums one dim at a time, divided by how many elements count.

use tnrs_types::{DType, Dims, Scalar};

use super::max_pool::adaptive_range;
use super::window::Windows;
use crate::expr::{Expr, Math};
use crate::helpers::{is_plain_float, Lowered};
use crate::{Ctx, LowerError, Row};

/// Rows of this family.
pub(crate) const ROWS: &[Row] = &[
    Row::new("aten::avg_pool2d", |cx| forward(cx, 2)),
    Row::new("aten::avg_pool3d", |cx| forward(cx, 3)).exact(),
    Row::new("aten::avg_pool2d_backward", |cx| backward(cx, 2)),
    Row::new("aten::avg_pool3d_backward", |cx| backward(cx, 3)),
    Row::new("aten::_adaptive_avg_pool2d", |cx| adaptive(cx, 2)),
    Row::new("aten::_adaptive_avg_pool3d", |cx| adaptive(cx, 3)),
    Row::new("aten::adaptive_avg_pool2d.out", |cx| adaptive_out(cx, 2)).infer_by_rule(),
    Row::new("aten::adaptive_avg_pool3d.out", |cx| adaptive_out(cx, 3)).infer_by_rule(),
    Row::new("aten::adaptive_avg_pool3d_backward.grad_input", |cx| {
        cx.outs = vec![cx.tensor(1)?.ty];
        adaptive_backward(cx, 3)
    })
    .infer_by_rule(),
    Row::new("aten::_adaptive_avg_pool2d_backward", |cx| adaptive_backward(cx, 2)),
    Row::new("aten::_adaptive_avg_pool3d_backward", |cx| adaptive_backward(cx, 3)),
];

/// The divisors of all windows, in the trailing sizes of `dims`.
fn divisors<'m>(m: &'m Math, w: &Windows, include_pad: bool, fixed: Option<i64>, dtype: DType) -> Expr<'m> {
    let grid = w.output.clone();
    if let Some(n) = fixed {
        return m.splat(dtype, &grid, Scalar::Int(n));
    }
    let mut product = m.splat(dtype, &grid, Scalar::Int(1));
    for d in 0..w.spatial() {
        let counts: Vec<f64> = (0..w.output[d])
            .map(|o| {
                let start = w.start(d, o);
                let end = (start + w.kernel[d]).min(w.input[d] + w.padding[d]);
                let (start, end) =
                    if include_pad { (start, end) } else { (start.max(0), end.min(w.input[d])) };
                (end - start) as f64
            })
            .collect();
        product = product * m.floats_along(dtype, &counts, d, &grid);
    }
    product
}

fn forward(cx: &mut Ctx, spatial: usize) -> Lowered {
    cx.require(0, "avg_pool", |d| is_plain_float(d) || d == DType::I64)?;
    let (x, out) = (cx.tensor(0)?, cx.out(0)?);
    let args = [Some(1), Some(2), Some(3), None];
    let w = Windows::new(cx, spatial, args, &x.ty.dims, &out.dims);
    let (include_pad, fixed) = (cx.bool(5), cx.opt_int(6));
    let acc = out.dtype.opmath();
    let v = cx.math(|m| {
        let mut sum = w.pad(m.expr(x.value).cast(acc), Scalar::Int(0));
        for d in 0..spatial {
            let mut total = w.element(sum, d, 0);
            for k in 1..w.kernel[d] {
                total = total + w.element(sum, d, k);
            }
            sum = total;
        }
        let average = if acc.is_float() {
            sum / divisors(m, &w, include_pad, fixed, acc)
        } else {
            sum / divisors(m, &w, include_pad, fixed, DType::F32).cast(acc)
        };
        average.cast(out.dtype).value()
    })?;
    Ok(v.into())
}

fn backward(cx: &mut Ctx, spatial: usize) -> Lowered {
    let (dy, out) = (cx.tensor(0)?, cx.out(0)?);
    let args = [Some(2), Some(3), Some(4), None];
    let w = Windows::new(cx, spatial, args, &out.dims, &dy.ty.dims);
    let (include_pad, fixed) = (cx.bool(6), cx.opt_int(7));
    let acc = out.dtype.opmath();
    let lead = out.rank() - spatial;
    let v = cx.math(|m| {
        let dy = m.expr(dy.value).cast(acc);
        let mut g = dy / divisors(m, &w, include_pad, fixed, acc);
        for d in 0..spatial {
            let mut total = w.put_element(g, d, 0);
            for k in 1..w.kernel[d] {
                total = total + w.put_element(g, d, k);
            }
            // Cut the padding off, and extend to data that no window reaches.
            let high = w.input[d] + w.padding[d] - w.covered(d);
            g = total.pad_dim(Scalar::Int(0), lead + d, -w.padding[d], high, 0);
        }
        g.cast(out.dtype).value()
    })?;
    Ok(v.into())
}

/// Along a dim, result position i is the sum of the operand positions of its range.
fn range_sums<'m>(x: Expr<'m>, dim: usize, ranges: &[(i64, i64)]) -> Expr<'m> {
    let m = x.math();
    let longest = ranges.iter().map(|(s, e)| e - s).max().unwrap_or(0);
    let size = x.dims()[dim];
    // Equal neighbouring ranges that tile the dim are a plain reduction.
    let tiles = ranges.iter().enumerate().all(|(i, r)| *r == (i as i64 * longest, (i as i64 + 1) * longest));
    if tiles && longest * ranges.len() as i64 == size {
        let apart = crate::layout::splice(&x.dims(), dim, &[ranges.len() as i64, longest]);
        return x.reshape(&apart).sum(&[dim as i64 + 1]);
    }
    let row = |k: i64| {
        let at: Vec<i64> = ranges.iter().map(|(s, _)| (s + k).min(size - 1)).collect();
        let rows = x.take_rows(dim, m.ints(&at));
        if ranges.iter().all(|(s, e)| s + k < *e) {
            return rows;
        }
        let inside: Vec<i64> = ranges.iter().map(|(s, e)| i64::from(s + k < *e)).collect();
        let inside = m.ints(&inside).cast(DType::Bool).along(dim, &rows.dims());
        inside.select(rows, 0.0)
    };
    (1..longest).fold(row(0), |sum, k| sum + row(k))
}

fn lengths<'m>(m: &'m Math, ranges: &[(i64, i64)], dim: usize, dims: &[i64], dtype: DType) -> Expr<'m> {
    let counts: Vec<f64> = ranges.iter().map(|(s, e)| (e - s) as f64).collect();
    m.floats_along(dtype, &counts, dim, dims)
}

fn forward_ranges(input: i64, output: i64) -> Vec<(i64, i64)> {
    (0..output).map(|i| adaptive_range(i, input, output)).collect()
}

/// Refuses operands that have no element but for an empty batch.
fn adaptive_of_something(cx: &Ctx, spatial: usize) -> Result<(), LowerError> {
    let dims = cx.tensor(0)?.ty.dims;
    match (1..dims.len()).find(|&d| dims[d] == 0 && (dims.len() <= spatial + 2)) {
        Some(d) => Err(LowerError::runtime(format!(
            "adaptive_avg_pool{spatial}d(): Expected input to have non-zero size for non-batch dimensions, but input has sizes {dims:?} with dimension {d} being empty"
        ))),
        None => Ok(()),
    }
}

fn adaptive(cx: &mut Ctx, spatial: usize) -> Lowered {
    adaptive_of_something(cx, spatial)?;
    cx.require(0, "adaptive_avg_pool", is_plain_float)?;
    let (x, out) = (cx.tensor(0)?, cx.out(0)?);
    let acc = out.dtype.opmath();
    let rank = out.rank();
    let v = cx.math(|m| {
        let mut y = m.expr(x.value).cast(acc);
        for d in rank - spatial..rank {
            let ranges = forward_ranges(x.ty.dims[d], out.dims[d]);
            y = range_sums(y, d, &ranges);
            y = y / lengths(m, &ranges, d, &y.dims(), acc);
        }
        y.cast(out.dtype).value()
    })?;
    Ok(v.into())
}

/// As [`adaptive`] for an overload without a meta kernel.
fn adaptive_out(cx: &mut Ctx, spatial: usize) -> Lowered {
    let mut ty = cx.tensor(0)?.ty;
    let wanted = cx.ints(1).unwrap_or_default();
    let rank = ty.rank();
    if rank != spatial + 1 && rank != spatial + 2 || wanted.len() != spatial {
        return Err(LowerError::runtime(format!(
            "{}: expected {}-D or {}-D input and an output_size of {spatial} numbers",
            cx.op,
            spatial + 1,
            spatial + 2
        )));
    }
    ty.dims[rank - spatial..].copy_from_slice(&wanted);
    cx.outs = vec![ty];
    adaptive(cx, spatial)
}

fn adaptive_backward(cx: &mut Ctx, spatial: usize) -> Lowered {
    let (dy, out) = (cx.tensor(0)?, cx.out(0)?);
    let acc = out.dtype.opmath();
    let rank = out.rank();
    let dims: Dims = dy.ty.dims.clone();
    let v = cx.math(|m| {
        let mut g = m.expr(dy.value).cast(acc);
        for d in rank - spatial..rank {
            let (input, output) = (out.dims[d], dims[d]);
            let ranges = forward_ranges(input, output);
            g = g / lengths(m, &ranges, d, &g.dims(), acc);
            // Seen from an operand position, the windows that cover it are a range as well.
            let covering: Vec<(i64, i64)> = (0..input)
                .map(|j| {
                    let has = |i: &i64| (ranges[*i as usize].0..ranges[*i as usize].1).contains(&j);
                    let first = (0..output).find(has).unwrap_or(0);
                    let end = (0..output).rev().find(has).map_or(first, |i| i + 1);
                    (first, end)
                })
                .collect();
            g = range_sums(g, d, &covering);
        }
        g.cast(out.dtype).value()
    })?;
    Ok(v.into())
}
