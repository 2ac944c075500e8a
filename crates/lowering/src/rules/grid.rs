//! Sampling of images at arbitrary positions, and the gradients for the image and the positions.
//!
//! Each sample is a weighted sum of the pixels around its position, one tap per pixel; pixels outside the image count
//! as zero. The positions of one axis never mix with another's, so that a tap is a product of per-axis weights.

use tnrs_hlo::ScatterKind;
use tnrs_types::{contiguous_strides, DType, Dims, Scalar};

use super::norm_layer::{mask, wanted};
use crate::expr::{Expr, Math};
use crate::helpers::Lowered;
use crate::{Ctx, LowerError, Row};

/// Rows of this family.
pub(crate) const ROWS: &[Row] = &[
    Row::new("aten::grid_sampler_2d", |cx| forward(cx, 2)),
    Row::new("aten::grid_sampler_3d", |cx| forward(cx, 3)),
    Row::new("aten::grid_sampler_2d_backward", |cx| backward(cx, 2)),
    Row::new("aten::grid_sampler_3d_backward", |cx| backward(cx, 3)),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Linear,
    Nearest,
    Cubic,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Padding {
    Zeros,
    Border,
    Reflection,
}

/// How positions become pixels.
#[derive(Clone, Copy)]
struct Sampling {
    mode: Mode,
    padding: Padding,
    align: bool,
}

impl Sampling {
    /// From the interpolation mode, padding mode and corner alignment at a position.
    fn new(cx: &Ctx, i: usize) -> Result<Sampling, LowerError> {
        let mode = match cx.int(i)? {
            0 => Mode::Linear,
            1 => Mode::Nearest,
            2 => Mode::Cubic,
            other => return Err(LowerError::runtime(format!("grid_sampler: {other} is not a mode"))),
        };
        let padding = match cx.int(i + 1)? {
            0 => Padding::Zeros,
            1 => Padding::Border,
            2 => Padding::Reflection,
            other => return Err(LowerError::runtime(format!("grid_sampler: {other} is not a padding"))),
        };
        Ok(Sampling { mode, padding, align: cx.bool(i + 2) })
    }
}

/// A value and its derivative by the grid's coordinate.
#[derive(Clone, Copy)]
struct Dual<'m> {
    v: Expr<'m>,
    d: Expr<'m>,
}

/// One pixel along one axis: its index, its weight, and the weight's derivative.
struct Tap<'m> {
    at: Expr<'m>,
    weight: Dual<'m>,
}

/// From [-1, 1] to pixels.
fn unnormalized(g: Expr<'_>, size: i64, align: bool) -> Dual<'_> {
    let n = size as f64;
    if align {
        let s = (n - 1.0) / 2.0;
        Dual { v: (g + 1.0) * s, d: g.constant(Scalar::Float(s)) }
    } else {
        Dual { v: ((g + 1.0) * n - 1.0) / 2.0, d: g.constant(Scalar::Float(n / 2.0)) }
    }
}

/// Into [0, size − 1]; the derivative is 0 where a bound applies.
fn clipped(p: Dual<'_>, size: i64) -> Dual<'_> {
    let last = (size - 1) as f64;
    let inside = p.v.gt(0.0).and(p.v.lt(last));
    // A position that is not a number becomes 0, as PyTorch's comparisons make it.
    let v = p.v.ge(0.0).select(p.v, 0.0).min(last);
    Dual { v, d: inside.select(p.d, 0.0) }
}

/// Mirrored at `low / 2` and `high / 2` until inside.
fn reflected(p: Dual<'_>, low: i64, high: i64) -> Dual<'_> {
    if low == high {
        return Dual { v: p.v.int(0), d: p.d.int(0) };
    }
    let (min, span) = (low as f64 / 2.0, (high - low) as f64 / 2.0);
    let from = p.v - min;
    let distance = from.abs();
    let turns = (distance / span).floor();
    let extra = distance - turns * span;
    let even = (turns - (turns * 0.5).floor() * 2.0).eq(0.0);
    let v = even.select(extra + min, span - extra + min);
    let sign = from.lt(0.0).select(-p.d, p.d);
    Dual { v, d: even.select(sign, -sign) }
}

fn bounded(p: Dual<'_>, size: i64, s: Sampling) -> Dual<'_> {
    match s.padding {
        Padding::Zeros => p,
        Padding::Border => clipped(p, size),
        Padding::Reflection if s.align => clipped(reflected(p, 0, 2 * (size - 1)), size),
        Padding::Reflection => clipped(reflected(p, -1, 2 * size - 1), size),
    }
}

/// The cubic convolution kernel with a = -0.75 of the distance `x`, and its derivative by `x`.
fn cubic(x: Expr<'_>) -> Dual<'_> {
    const A: f64 = -0.75;
    let (sign, x) = (x.sign(), x.abs());
    let near = x.le(1.0);
    let v_near = ((x * (A + 2.0) - (A + 3.0)) * x) * x + 1.0;
    let v_far = ((x * A - 5.0 * A) * x + 8.0 * A) * x - 4.0 * A;
    let d_near = (x * (3.0 * (A + 2.0)) - 2.0 * (A + 3.0)) * x;
    let d_far = (x * (3.0 * A) - 10.0 * A) * x + 8.0 * A;
    Dual { v: near.select(v_near, v_far), d: near.select(d_near, d_far) * sign }
}

/// The taps along one axis for grid coordinates `g`.
fn taps<'m>(g: Expr<'m>, size: i64, s: Sampling) -> Vec<Tap<'m>> {
    let raw = unnormalized(g, size, s.align);
    let (one, zero) = (g.int(1), g.int(0));
    match s.mode {
        Mode::Nearest => {
            let at = bounded(raw, size, s).v.round();
            vec![Tap { at, weight: Dual { v: one, d: zero } }]
        }
        Mode::Linear => {
            let p = bounded(raw, size, s);
            let low = p.v.floor();
            let t = p.v - low;
            vec![
                Tap { at: low, weight: Dual { v: 1.0 - t, d: -p.d } },
                Tap { at: low + 1.0, weight: Dual { v: t, d: p.d } },
            ]
        }
        Mode::Cubic => {
            // Cubic taps are bounded one by one, not the position.
            let low = raw.v.floor();
            let t = raw.v - low;
            (-1..3)
                .map(|k| {
                    let w = cubic(t - f64::from(k));
                    let at = bounded(Dual { v: low + f64::from(k), d: zero }, size, s).v;
                    Tap { at, weight: Dual { v: w.v, d: w.d * raw.d } }
                })
                .collect()
        }
    }
}

/// A pixel of every sample: its flat position in the plane, −1 outside; the axis taps it is made of.
struct Pixel {
    axes: Vec<usize>,
}

/// Every combination of taps.
fn pixels(counts: &[usize]) -> Vec<Pixel> {
    let mut all = vec![Pixel { axes: Vec::new() }];
    for &n in counts {
        let extend = |p: &Pixel, k: usize| {
            let mut axes = p.axes.clone();
            axes.push(k);
            Pixel { axes }
        };
        all = all.iter().flat_map(|p| (0..n).map(move |k| extend(p, k))).collect();
    }
    all
}

/// Images whose samples are taken one image at a time.
const MAX_APART: i64 = 16;

/// Sizes that samplers share: images (N, C, plane), grid (N, samples).
struct Shape {
    n: i64,
    c: i64,
    plane: Dims,
    samples: i64,
}

impl Shape {
    fn new(input: &[i64], grid: &[i64]) -> Shape {
        Shape {
            n: input[0],
            c: input[1],
            plane: Dims::from_slice(&input[2..]),
            samples: grid[1..grid.len() - 1].iter().product(),
        }
    }
    fn size(&self) -> i64 {
        self.plane.iter().product()
    }
    /// Taps of every spatial dim, in the plane's order; the grid lists coordinates from the last dim on.
    fn taps<'m>(&self, grid: Expr<'m>, s: Sampling) -> Vec<Vec<Tap<'m>>> {
        let k = self.plane.len();
        let grid = grid.reshape(&[self.n, self.samples, k as i64]);
        (0..k).map(|d| taps(grid.at(2, (k - 1 - d) as i64), self.plane[d], s)).collect()
    }
    /// Whether a pixel is in the plane, and its position (N, samples); 0 outside.
    fn locate<'m>(&self, m: &'m Math, taps: &[Vec<Tap<'m>>], p: &Pixel) -> (Expr<'m>, Expr<'m>) {
        let strides = contiguous_strides(&self.plane);
        let dims = [self.n, self.samples];
        let mut inside = m.splat(DType::Bool, &dims, Scalar::Bool(true));
        let mut flat = m.splat(DType::I64, &dims, Scalar::Int(0));
        for (d, &k) in p.axes.iter().enumerate() {
            let at = taps[d][k].at;
            let ok = at.ge(0.0).and(at.lt(self.plane[d] as f64));
            inside = inside.and(ok);
            let index = ok.select(at, 0.0).cast(DType::I64);
            flat = flat + index * index.int(strides[d]);
        }
        (inside, flat)
    }
    /// (N, samples) positions as flat positions into (N, C, plane), for each channel.
    fn spread<'m>(&self, at: Expr<'m>) -> Expr<'m> {
        let dims = [self.n, self.c, self.samples];
        at.reshape(&[self.n, 1, self.samples]).broadcast(&dims).flat_index(&[self.n, self.c, self.size()], 2)
    }
    /// The pixels of an image (N, C, plane) at (N, samples) positions, for each channel: (N, C, samples).
    fn taken<'m>(&self, image: Expr<'m>, at: Expr<'m>) -> Expr<'m> {
        let dims = [self.n, self.c, self.samples];
        if self.n > MAX_APART || at.ty().numel() == 0 {
            return image.flatten().take_rows(0, self.spread(at));
        }
        // One list of positions serves every channel of an image.
        let image = image.reshape(&[self.n, self.c, self.size()]);
        let one = |n: i64| image.at(0, n).take_rows(1, at.at(0, n));
        let all: Vec<Expr<'m>> = (0..self.n).map(one).collect();
        match all[..] {
            [one] => one.reshape(&dims),
            _ => image.math().concatenate(&all, 0).reshape(&dims),
        }
    }
    fn per_channel<'m>(&self, x: Expr<'m>) -> Expr<'m> {
        x.reshape(&[self.n, 1, self.samples])
    }
}

fn forward(cx: &mut Ctx, spatial: usize) -> Lowered {
    cx.require(0, "grid_sampler", crate::helpers::is_plain_float)?;
    let (x, grid) = (cx.tensor(0)?, cx.tensor(1)?);
    let (s, out) = (Sampling::new(cx, 2)?, cx.out(0)?);
    refuse_cubic_volumes(s, spatial)?;
    // PyTorch's CPU computes in the type of the image.
    let acc = out.dtype;
    let shape = Shape::new(&x.ty.dims, &grid.ty.dims);
    let dims = [shape.n, shape.c, shape.samples];
    let v = cx.math(|m| {
        let image = m.expr(x.value).cast(acc);
        let taps = shape.taps(m.expr(grid.value).cast(acc), s);
        let counts: Vec<usize> = taps.iter().map(Vec::len).collect();
        let mut sum = m.splat(acc, &dims, Scalar::Int(0));
        for p in pixels(&counts) {
            let (inside, flat) = shape.locate(m, &taps, &p);
            let weight = weight(&taps, &p);
            let value = shape.taken(image, flat);
            let (inside, weight) = (shape.per_channel(inside), shape.per_channel(weight));
            // In a plane, a pixel outside is zero times its weight, which is NaN for a position that is not finite; in a
            // volume it is skipped.
            sum = sum
                + match spatial == 2 {
                    true => inside.select(value, 0.0) * weight,
                    false => inside.select(value * weight, 0.0),
                };
        }
        sum.reshape(&out.dims).cast(out.dtype).value()
    })?;
    Ok(v.into())
}

fn refuse_cubic_volumes(s: Sampling, spatial: usize) -> Result<(), LowerError> {
    if s.mode == Mode::Cubic && spatial == 3 {
        return Err(LowerError::runtime("grid_sampler(): bicubic interpolation only supports 4D input"));
    }
    Ok(())
}

/// The product of a pixel's weights.
fn weight<'m>(taps: &[Vec<Tap<'m>>], p: &Pixel) -> Expr<'m> {
    slope(taps, p, usize::MAX)
}

/// The same with the derivative by coordinate `by` in place of that axis's weight.
fn slope<'m>(taps: &[Vec<Tap<'m>>], p: &Pixel, by: usize) -> Expr<'m> {
    let factor = |d: usize| {
        let w = taps[d][p.axes[d]].weight;
        if d == by {
            w.d
        } else {
            w.v
        }
    };
    (1..p.axes.len()).fold(factor(0), |w, d| w * factor(d))
}

fn backward(cx: &mut Ctx, spatial: usize) -> Lowered {
    let [dy, x, grid] = [cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?];
    let (s, mask) = (Sampling::new(cx, 3)?, mask(cx, 6)?);
    refuse_cubic_volumes(s, spatial)?;
    let acc = x.ty.dtype.opmath();
    let shape = Shape::new(&x.ty.dims, &grid.ty.dims);
    let dims = [shape.n, shape.c, shape.samples];
    let grads = cx.math(|m| {
        let dy = m.expr(dy.value).cast(acc).reshape(&dims);
        let image = m.expr(x.value).cast(acc);
        // Positions in the image's type, as forward; sums are more exact.
        let taps = shape.taps(m.expr(grid.value).cast(x.ty.dtype), s);
        let counts: Vec<usize> = taps.iter().map(Vec::len).collect();
        let mut dx = m.splat(acc, &x.ty.dims, Scalar::Int(0));
        let mut slopes = vec![m.splat(acc, &[shape.n, shape.samples], Scalar::Int(0)); spatial];
        for p in pixels(&counts) {
            let (inside, flat) = shape.locate(m, &taps, &p);
            let inside_all = shape.per_channel(inside);
            let at = shape.spread(flat);
            if mask[0] {
                let part = inside_all.select(dy * shape.per_channel(weight(&taps, &p).cast(acc)), 0.0);
                dx = dx.put_flat(ScatterKind::Add, at, part);
            }
            if mask[1] {
                let value = inside_all.select(shape.taken(image, flat) * dy, 0.0).sum(&[1]);
                for (d, g) in slopes.iter_mut().enumerate() {
                    *g = *g + value * slope(&taps, &p, d).cast(acc);
                }
            }
        }
        let columns: Vec<Expr<'_>> = slopes.iter().rev().map(|g| g.unsqueeze(2)).collect();
        let dgrid = m.concatenate(&columns, 2).reshape(&grid.ty.dims);
        [dx.cast(x.ty.dtype), dgrid.cast(grid.ty.dtype)].map(Expr::value)
    })?;
    // PyTorch always returns the gradient of the grid.
    Ok(wanted(&grads, &[mask[0], true]))
}
