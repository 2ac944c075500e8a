//! Fractional max pooling: windows of one size whose starts a random number per plane and dim decides.

use tnrs_types::{DType, Dims, Scalar};

use super::accumulate::lowest;
use super::max_pool::{challenge, put_back};
use crate::expr::{Expr, Math};
use crate::helpers::Lowered;
use crate::{Ctx, LowerError, Outcome, Row};

/// Rows of this family.
pub(crate) const ROWS: &[Row] = &[
    Row::new("aten::fractional_max_pool2d", |cx| forward(cx, 2)),
    Row::new("aten::fractional_max_pool3d", |cx| forward(cx, 3)),
    Row::new("aten::fractional_max_pool2d_backward", |cx| {
        same_planes(cx, 2)?;
        put_back(cx, 2, 4)
    }),
    Row::new("aten::fractional_max_pool3d_backward", |cx| {
        same_planes(cx, 3)?;
        cx.outs = vec![cx.tensor(1)?.ty];
        put_back(cx, 3, 4)
    })
    .infer_by_rule(),
];

/// The gradient has the sizes of the pooled planes.
fn same_planes(cx: &Ctx, spatial: usize) -> Result<(), LowerError> {
    let (dy, at) = (cx.tensor(0)?, cx.tensor(4)?);
    if dy.ty.numel() != at.ty.numel() {
        return Err(LowerError::runtime(format!(
            "fractional_max_pool{spatial}d_backward: the gradient {:?} and the indices {:?} have other sizes",
            dy.ty.dims.as_slice(),
            at.ty.dims.as_slice()
        )));
    }
    Ok(())
}

/// First positions of the windows along one dim, (planes, windows): ⌊(i + u)·α⌋ − ⌊u·α⌋ for the random number u, every
/// step rounded to the samples' type as on the CPU; the last window ends with the data.
fn starts<'m>(u: Expr<'m>, input: i64, window: i64, windows: i64) -> Expr<'m> {
    let m = u.math();
    let dtype = u.dtype();
    let acc = dtype.opmath();
    let planes = u.dims()[0];
    let last = m.splat(DType::I64, &[planes, 1], Scalar::Int(input - window));
    if windows == 1 {
        return last;
    }
    let number = |v: i64| m.splat(acc, &[], Scalar::Int(v)).cast(dtype).cast(acc);
    let rounded = |e: Expr<'m>| e.cast(dtype).cast(acc);
    let alpha = rounded(number(input - window) / number(windows - 1));
    let u = u.cast(acc).reshape(&[planes, 1]);
    let i = m.iota(acc, &[planes, windows - 1], 1);
    let whole = |e: Expr<'m>| rounded(e).trunc().cast(DType::I64);
    let first = whole(rounded(i + u) * alpha) - whole(u * alpha);
    m.concatenate(&[first, last], 1)
}

fn forward(cx: &mut Ctx, spatial: usize) -> Lowered {
    let (x, samples) = (cx.tensor(0)?, cx.tensor(3)?);
    let window = cx.ints(1).unwrap_or_default();
    let (out, at) = (cx.out(0)?, cx.out(1)?);
    let lead = out.rank() - spatial;
    let planes: i64 = out.dims[..lead].iter().product();
    let input = Dims::from_slice(&x.ty.dims[lead..]);
    let output = Dims::from_slice(&out.dims[lead..]);
    if samples.ty.dtype != x.ty.dtype {
        return Err(LowerError::runtime("Expect _random_samples to have the same dtype as input"));
    }
    // Samples for more planes than there are may be given.
    let channels = x.ty.dims[lead - 1];
    let batch: i64 = x.ty.dims[..lead - 1].iter().product();
    let fits = matches!(samples.ty.dims[..], [n, c, d] if n >= batch && c == channels && d == spatial as i64);
    if !fits {
        return Err(LowerError::runtime(format!(
            "Expect _random_samples of ({batch}, {channels}, {spatial}), got {:?}",
            samples.ty.dims.as_slice()
        )));
    }
    let r = cx.math(|m| {
        let all = samples.ty.numel() / spatial as i64;
        let u = m.expr(samples.value).reshape(&[all, spatial as i64]).steps(0, 0, planes, 1);
        let starts: Vec<Expr<'_>> = (0..spatial)
            .map(|d| {
                // In planes the first random number belongs to the inner dim, in volumes to the outermost.
                let nth = if spatial == 2 { 1 - d as i64 } else { d as i64 };
                let column = u.steps(1, nth, nth + 1, 1);
                starts(column, input[d], window[d], output[d])
            })
            .collect();
        let (best, found) = maxima(m, m.expr(x.value), &starts, &window, &input, &output, planes);
        [best.reshape(&out.dims).value(), found.reshape(&at.dims).value()]
    })?;
    Ok(Outcome::tensors(&r))
}

/// Maxima and their positions within a plane, (planes, output…).
fn maxima<'m>(
    m: &'m Math,
    x: Expr<'m>,
    starts: &[Expr<'m>],
    window: &[i64],
    input: &[i64],
    output: &[i64],
    planes: i64,
) -> (Expr<'m>, Expr<'m>) {
    let spatial = input.len();
    let mut grid = Dims::from_slice(&[planes]);
    grid.extend_from_slice(output);
    let strides = tnrs_types::contiguous_strides(input);
    let size: i64 = input.iter().product();
    let base = (0..spatial).fold(m.splat(DType::I64, &grid, Scalar::Int(0)), |sum, d| {
        let start = starts[d].broadcast_in_dim(&[0, 1 + d as i64], &grid);
        sum + start * start.int(strides[d])
    });
    let plane = m.iota(DType::I64, &grid, 0);
    let plane = plane * plane.int(size);
    let flat = x.flatten();
    let count: i64 = window.iter().product();
    let mut best = (m.splat(x.dtype(), &grid, lowest(x.dtype())), base);
    for k in 0..count {
        let (mut rest, mut step) = (k, 0);
        for d in (0..spatial).rev() {
            step += rest % window[d] * strides[d];
            rest /= window[d];
        }
        let at = base + base.int(step);
        let value = flat.take_rows(0, (plane + at).flatten()).reshape(&grid);
        best = challenge(best, (value, at));
    }
    best
}
