//! Maps of one dim at a time: padding by reflection or replication, nearest-neighbour and interpolating resizing.
//!
//! Each is linear and separable: along a dim, result position i is a weighted sum of a few operand positions. The
//! gradient scatters with the same positions and weights.

use smallvec::SmallVec;
use tnrs_hlo::ScatterKind;
use tnrs_types::{DType, Dims, Scalar};

use crate::expr::{Expr, Math};
use crate::helpers::{is_plain_float, Lowered};
use crate::layout::with_dim;
use crate::{Ctx, LowerError, Row};

/// Rows of this family.
pub(crate) const ROWS: &[Row] = &[
    Row::new("aten::reflection_pad1d", |cx| pad(cx, 1, reflect)),
    Row::new("aten::reflection_pad2d", |cx| pad(cx, 2, reflect)).format(&[0], any),
    Row::new("aten::reflection_pad3d", |cx| pad(cx, 3, reflect)).format(&[0], any),
    Row::new("aten::replication_pad1d", |cx| pad(cx, 1, replicate)),
    Row::new("aten::replication_pad2d", |cx| pad(cx, 2, replicate)).format(&[0], any),
    Row::new("aten::replication_pad3d", |cx| pad(cx, 3, replicate)).format(&[0], any),
    Row::new("aten::reflection_pad1d_backward", |cx| pad_grad(cx, 1, reflect)),
    Row::new("aten::reflection_pad2d_backward", |cx| pad_grad(cx, 2, reflect)).format(&[1], any),
    Row::new("aten::reflection_pad3d_backward", |cx| pad_grad(cx, 3, reflect)).format(&[1], any),
    Row::new("aten::replication_pad1d_backward", |cx| pad_grad(cx, 1, replicate)),
    Row::new("aten::replication_pad2d_backward", |cx| pad_grad(cx, 2, replicate)).format(&[1], any),
    Row::new("aten::replication_pad3d_backward", |cx| pad_grad(cx, 3, replicate)).format(&[1], any),
    Row::new("aten::upsample_nearest1d", |cx| up(cx, 1, None, Mode::Nearest)),
    Row::new("aten::upsample_nearest2d", |cx| up(cx, 2, None, Mode::Nearest)),
    Row::new("aten::upsample_nearest3d", |cx| up(cx, 3, None, Mode::Nearest)),
    Row::new("aten::_upsample_nearest_exact1d", |cx| up(cx, 1, None, Mode::NearestExact)),
    Row::new("aten::_upsample_nearest_exact2d", |cx| up(cx, 2, None, Mode::NearestExact)),
    Row::new("aten::_upsample_nearest_exact3d", |cx| up(cx, 3, None, Mode::NearestExact)),
    Row::new("aten::upsample_linear1d", |cx| up(cx, 1, Some(2), Mode::Linear)),
    Row::new("aten::upsample_bilinear2d", |cx| up(cx, 2, Some(2), Mode::Linear)),
    Row::new("aten::upsample_trilinear3d", |cx| up(cx, 3, Some(2), Mode::Linear)),
    Row::new("aten::upsample_bicubic2d", |cx| up(cx, 2, Some(2), Mode::Cubic)),
    Row::new("aten::_upsample_bilinear2d_aa", |cx| up(cx, 2, Some(2), Mode::LinearSmooth)),
    Row::new("aten::_upsample_bicubic2d_aa", |cx| up(cx, 2, Some(2), Mode::CubicSmooth)),
    Row::new("aten::_upsample_bilinear2d_aa_backward", |cx| down(cx, 2, Some(3), Mode::LinearSmooth)),
    Row::new("aten::_upsample_bicubic2d_aa_backward", |cx| down(cx, 2, Some(3), Mode::CubicSmooth)),
    Row::new("aten::_upsample_lanczos2d_aa", |cx| up(cx, 2, Some(2), Mode::LanczosSmooth)),
    Row::new("aten::_upsample_lanczos2d_aa_backward", |cx| down(cx, 2, Some(3), Mode::LanczosSmooth)),
    Row::new("aten::upsample_nearest1d_backward", |cx| down(cx, 1, None, Mode::Nearest)),
    Row::new("aten::upsample_nearest2d_backward", |cx| down(cx, 2, None, Mode::Nearest)),
    Row::new("aten::upsample_nearest3d_backward", |cx| down(cx, 3, None, Mode::Nearest)),
    Row::new("aten::_upsample_nearest_exact1d_backward", |cx| down(cx, 1, None, Mode::NearestExact)),
    Row::new("aten::_upsample_nearest_exact2d_backward", |cx| down(cx, 2, None, Mode::NearestExact)),
    Row::new("aten::_upsample_nearest_exact3d_backward", |cx| down(cx, 3, None, Mode::NearestExact)),
    Row::new("aten::upsample_linear1d_backward", |cx| down(cx, 1, Some(3), Mode::Linear)),
    Row::new("aten::upsample_bilinear2d_backward", |cx| down(cx, 2, Some(3), Mode::Linear)),
    Row::new("aten::upsample_trilinear3d_backward", |cx| down(cx, 3, Some(3), Mode::Linear)),
    Row::new("aten::upsample_bicubic2d_backward", |cx| down(cx, 2, Some(3), Mode::Cubic)),
];

/// Results of every type take the order of the operand.
fn any(_: DType, _: usize) -> bool {
    true
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Nearest,
    NearestExact,
    Linear,
    Cubic,
    /// Linear over as many operand positions as one result position covers.
    LinearSmooth,
    /// Cubic likewise.
    CubicSmooth,
    /// The sinc function windowed by a wider one, likewise.
    LanczosSmooth,
}

/// One term of the weighted sum along a dim: for each result position, an operand position and its weight. A negative
/// position is none: the result position has fewer terms than others.
struct Tap {
    at: Vec<i64>,
    weight: Option<Vec<f64>>,
}

impl Tap {
    /// The operand positions, with the first one for none.
    fn rows<'m>(&self, m: &'m Math) -> Expr<'m> {
        let at: Vec<i64> = self.at.iter().map(|&i| i.max(0)).collect();
        m.ints(&at)
    }
    /// `x`, which has this dim's result positions, times the weights.
    fn weighted<'m>(&self, x: Expr<'m>, dim: usize) -> Expr<'m> {
        let Some(w) = &self.weight else { return x };
        let y = x * x.math().floats_along(x.dtype(), w, dim, &x.dims());
        if self.at.iter().all(|&i| i >= 0) {
            return y;
        }
        let at = x.math().ints(&self.at).along(dim, &x.dims());
        at.lt(0.0).select(0.0, y)
    }
}

type Taps = SmallVec<[Tap; 4]>;

fn copy_tap(at: Vec<i64>) -> Taps {
    let mut taps = Taps::new();
    taps.push(Tap { at, weight: None });
    taps
}

/// Applies taps along a dim.
fn apply<'m>(x: Expr<'m>, dim: usize, taps: &[Tap]) -> Expr<'m> {
    let m = x.math();
    let term = |t: &Tap| t.weighted(x.take_rows(dim, t.rows(m)), dim);
    let mut sum = term(&taps[0]);
    for t in &taps[1..] {
        sum = sum + term(t);
    }
    sum
}

/// Weights per operand position: of each result position, with the positions ascending.
fn rows_of(taps: &[Tap]) -> Vec<Vec<(i64, f64)>> {
    let count = taps.first().map_or(0, |t| t.at.len());
    (0..count)
        .map(|i| {
            let mut row: Vec<(i64, f64)> = Vec::new();
            for t in taps.iter().filter(|t| t.at[i] >= 0) {
                let w = t.weight.as_ref().map_or(1.0, |w| w[i]);
                match row.iter_mut().find(|(at, _)| *at == t.at[i]) {
                    Some((_, sum)) => *sum += w,
                    None => row.push((t.at[i], w)),
                }
            }
            row
        })
        .collect()
}

/// As [`apply`] for bytes: with 16-bit fixed-point weights of as many fractional bits as fit, as PyTorch's CPU kernels
/// for images, rounded to bytes after each dim.
fn apply_fixed<'m>(x: Expr<'m>, dim: usize, taps: &[Tap]) -> Expr<'m> {
    let m = x.math();
    let rows = rows_of(taps);
    let largest = rows.iter().flatten().map(|(_, w)| *w).fold(0.0, f64::max);
    let fits = |bits: &i32| ((0.5 + largest * f64::from(1 << (bits + 1))) as i64) < 1 << 15;
    let bits = (0..22).take_while(fits).count() as i32;
    let fixed = |w: f64| (w * f64::from(1 << bits) + if w < 0.0 { -0.5 } else { 0.5 }) as i64;
    let longest = rows.iter().map(Vec::len).max().unwrap_or(0);
    let size = x.dims()[dim];
    let wide = x.cast(DType::I32);
    let mut dims = x.dims();
    dims[dim] = rows.len() as i64;
    let mut sum = m.splat(DType::I32, &dims, Scalar::Int(if bits == 0 { 0 } else { 1 << (bits - 1) }));
    for k in 0..longest {
        let tap = |row: &Vec<(i64, f64)>| row.get(k).copied().unwrap_or((size - 1, 0.0));
        let at: Vec<i64> = rows.iter().map(|r| tap(r).0).collect();
        let weight: Vec<i64> = rows.iter().map(|r| fixed(tap(r).1)).collect();
        let weight = m.ints(&weight).cast(DType::I32).along(dim, &dims);
        sum = sum + wide.take_rows(dim, m.ints(&at)) * weight;
    }
    let shifted = sum.shr(sum.int(i64::from(bits)));
    shifted.max(shifted.int(0)).min(shifted.int(255)).cast(DType::U8)
}

/// The adjoint of [`apply`] for an operand of `size` along the dim.
fn adjoint<'m>(dy: Expr<'m>, dim: usize, size: i64, taps: &[Tap]) -> Expr<'m> {
    let m = dy.math();
    let mut sum = m.splat(dy.dtype(), &with_dim(&dy.dims(), dim, size), Scalar::Int(0));
    for t in taps {
        sum = sum.put_rows(ScatterKind::Add, dim, t.rows(m), t.weighted(dy, dim));
    }
    sum
}

fn reflect(i: i64, n: i64) -> i64 {
    let i = i.abs();
    if i < n {
        i
    } else {
        2 * (n - 1) - i
    }
}

fn replicate(i: i64, n: i64) -> i64 {
    i.clamp(0, n - 1)
}

fn pad_taps(cx: &Ctx, arg: usize, k: usize, n: i64, source: fn(i64, i64) -> i64) -> Taps {
    let list = cx.ints(arg).unwrap_or_default();
    let (low, high) = (list[2 * k], list[2 * k + 1]);
    copy_tap((-low..n + high).map(|i| source(i, n)).collect())
}

fn pad(cx: &mut Ctx, spatial: usize, source: fn(i64, i64) -> i64) -> Lowered {
    let (x, out) = (cx.tensor(0)?, cx.out(0)?);
    let rank = x.ty.rank();
    if x.ty.numel() == 0 {
        return Ok(cx.b.splat(out.dtype, &out.dims, Scalar::Int(0))?.into());
    }
    let taps: Vec<(usize, Taps)> = (0..spatial)
        .map(|k| {
            let dim = rank - 1 - k;
            (dim, pad_taps(cx, 1, k, x.ty.dims[dim], source))
        })
        .collect();
    let v = cx.math(|m| taps.iter().fold(m.expr(x.value), |x, (dim, t)| apply(x, *dim, t)).value())?;
    Ok(v.into())
}

fn pad_grad(cx: &mut Ctx, spatial: usize, source: fn(i64, i64) -> i64) -> Lowered {
    let (dy, out) = (cx.tensor(0)?, cx.out(0)?);
    let rank = out.rank();
    let acc = out.dtype.opmath();
    if out.numel() == 0 {
        return Ok(cx.b.splat(out.dtype, &out.dims, Scalar::Int(0))?.into());
    }
    let taps: Vec<(usize, Taps)> = (0..spatial)
        .map(|k| {
            let dim = rank - 1 - k;
            (dim, pad_taps(cx, 2, k, out.dims[dim], source))
        })
        .collect();
    let v = cx.math(|m| {
        taps.iter()
            .fold(m.expr(dy.value).cast(acc), |g, (dim, t)| adjoint(g, *dim, out.dims[*dim], t))
            .cast(out.dtype)
            .value()
    })?;
    Ok(v.into())
}

/// Operand steps per result step.
fn ratio(input: i64, output: i64, align: bool, scale: Option<f64>) -> f64 {
    if align {
        if output > 1 {
            (input - 1) as f64 / (output - 1) as f64
        } else {
            0.0
        }
    } else {
        match scale {
            Some(s) if s > 0.0 => 1.0 / s,
            _ => input as f64 / output as f64,
        }
    }
}

/// The taps along one dim. Positions are computed in f32 for all but f64, as PyTorch computes them.
fn taps(mode: Mode, input: i64, output: i64, align: bool, scale: Option<f64>, f64s: bool) -> Taps {
    let round = |v: f64| if f64s { v } else { f64::from(v as f32) };
    let step = round(ratio(input, output, align, scale));
    let centre = |i: i64| {
        if align {
            round(step * i as f64)
        } else {
            round(round(step * (i as f64 + 0.5)) - 0.5)
        }
    };
    let last = input - 1;
    match mode {
        Mode::Nearest | Mode::NearestExact => {
            // Nearest positions are computed in f32 whatever the element type.
            let step = ratio(input, output, false, scale) as f32;
            let shift = if mode == Mode::Nearest { 0.0 } else { 0.5 };
            let at = |i: i64| ((i as f32 + shift) * step).floor() as i64;
            copy_tap((0..output).map(|i| at(i).clamp(0, last)).collect())
        }
        Mode::Linear => {
            let source: Vec<f64> = (0..output).map(|i| centre(i).max(0.0)).collect();
            let low: Vec<i64> = source.iter().map(|s| (*s as i64).min(last)).collect();
            let high = low.iter().map(|l| (l + 1).min(last)).collect();
            let weight: Vec<f64> =
                source.iter().zip(&low).map(|(s, l)| round(s - *l as f64).clamp(0.0, 1.0)).collect();
            let rest = weight.iter().map(|w| 1.0 - w).collect();
            Taps::from_iter([Tap { at: low, weight: Some(rest) }, Tap { at: high, weight: Some(weight) }])
        }
        Mode::LinearSmooth => smooth_taps([input, output], step, 1.0, round, |x| (1.0 - x.abs()).max(0.0)),
        Mode::CubicSmooth => smooth_taps([input, output], step, 2.0, round, |x| cubic(x, -0.5)),
        Mode::LanczosSmooth => {
            let pi = round(std::f64::consts::PI);
            smooth_taps([input, output], step, 3.0, round, |x| lanczos(x, pi))
        }
        Mode::Cubic => (-1..3)
            .map(|k| {
                let mut at = Vec::new();
                let mut weight = Vec::new();
                for i in 0..output {
                    let s = centre(i);
                    let floor = s.floor();
                    at.push((floor as i64 + k).clamp(0, last));
                    weight.push(cubic(round(s - floor) - k as f64, -0.75));
                }
                Tap { at, weight: Some(weight) }
            })
            .collect(),
    }
}

/// Taps of a filter of `radius` operand steps that widens with the ratio of a reduction, so that no operand position
/// is skipped. Weights of a result position sum to 1.
fn smooth_taps(
    [input, output]: [i64; 2],
    step: f64,
    radius: f64,
    round: impl Fn(f64) -> f64,
    filter: impl Fn(f64) -> f64,
) -> Taps {
    let widen = step.max(1.0);
    let support = round(radius * widen);
    let inverse = if step >= 1.0 { round(1.0 / step) } else { 1.0 };
    let rows: Vec<(i64, Vec<f64>)> = (0..output)
        .map(|i| {
            let centre = round(step * (i as f64 + 0.5));
            let first = ((centre - support + 0.5) as i64).max(0);
            let end = ((centre + support + 0.5) as i64).min(input);
            let weights: Vec<f64> = (first..end)
                .map(|j| filter(round(round(round(j as f64 - centre) + 0.5) * inverse)))
                .collect();
            let total: f64 = weights.iter().sum();
            (first, weights.iter().map(|w| if total == 0.0 { *w } else { w / total }).collect())
        })
        .collect();
    let longest = rows.iter().map(|(_, w)| w.len()).max().unwrap_or(1).max(1);
    (0..longest)
        .map(|k| Tap {
            at: rows.iter().map(|(first, w)| if k < w.len() { first + k as i64 } else { -1 }).collect(),
            weight: Some(rows.iter().map(|(_, w)| w.get(k).copied().unwrap_or(0.0)).collect()),
        })
        .collect()
}

/// sinc(x)·sinc(x/3) up to 3, with sinc(x) = sin(πx)/πx.
fn lanczos(x: f64, pi: f64) -> f64 {
    let sinc = |x: f64| {
        let t = pi * x;
        if t == 0.0 {
            1.0
        } else {
            t.sin() / t
        }
    };
    if x.abs() < 3.0 {
        sinc(x) * sinc(x / 3.0)
    } else {
        0.0
    }
}

/// The cubic convolution kernel; `a` is its slope at 1.
fn cubic(x: f64, a: f64) -> f64 {
    let x = x.abs();
    if x <= 1.0 {
        ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
    } else if x < 2.0 {
        ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a
    } else {
        0.0
    }
}

/// Taps for each spatial dim of a resize between two size lists; dims that keep their positions have none. `align` is
/// the position of align_corners, `scales` that of the first scale.
fn resize_taps(
    cx: &Ctx,
    input: &[i64],
    output: &[i64],
    spatial: usize,
    scales: usize,
    align: Option<usize>,
    mode: Mode,
    dtype: DType,
) -> Vec<(usize, Taps)> {
    let rank = input.len();
    let align_corners = align.is_some_and(|i| cx.bool(i));
    (0..spatial)
        .filter_map(|k| {
            let dim = rank - spatial + k;
            let (n, o) = (input[dim], output[dim]);
            let scale = cx.float(scales + k).ok();
            let same = n == o && (scale.is_none() || align_corners || scale == Some(1.0));
            // The weights of bytes are computed in f64 before they become fixed-point numbers.
            let precise = dtype == DType::F64 || dtype == DType::U8 && spatial == 2;
            let t = taps(mode, n, o, align_corners, scale, precise);
            (!same).then_some((dim, t))
        })
        .collect()
}

fn up(cx: &mut Ctx, spatial: usize, align: Option<usize>, mode: Mode) -> Lowered {
    let (x, out) = (cx.tensor(0)?, cx.out(0)?);
    let scales = align.map_or(2, |a| a + 1);
    let acc = compute_type(mode, out.dtype)?;
    let taps = resize_taps(cx, &x.ty.dims, &out.dims, spatial, scales, align, mode, out.dtype);
    if spatial == 2 && out.dtype == DType::U8 && acc != DType::U8 {
        let v = cx.math(|m| {
            // Columns first, as each pass rounds.
            taps.iter().rev().fold(m.expr(x.value), |x, (dim, t)| apply_fixed(x, *dim, t)).value()
        })?;
        return Ok(v.into());
    }
    let v = cx.math(|m| {
        let x = m.expr(x.value).cast(acc);
        let y = taps.iter().fold(x, |x, (dim, t)| apply(x, *dim, t));
        rounded(y, mode, out.dtype).value()
    })?;
    Ok(v.into())
}

fn down(cx: &mut Ctx, spatial: usize, align: Option<usize>, mode: Mode) -> Lowered {
    let (dy, out) = (cx.tensor(0)?, cx.out(0)?);
    compute_type(mode, out.dtype)?;
    let scales = align.map_or(3, |a| a + 1);
    let acc = out.dtype.opmath();
    let dims: Dims = dy.ty.dims.clone();
    let taps = resize_taps(cx, &out.dims, &dims, spatial, scales, align, mode, out.dtype);
    let v = cx.math(|m| {
        let dy = m.expr(dy.value).cast(acc);
        taps.iter().fold(dy, |g, (dim, t)| adjoint(g, *dim, out.dims[*dim], t)).cast(out.dtype).value()
    })?;
    Ok(v.into())
}

/// Copies need no arithmetic; images of bytes are weighted in f32.
fn compute_type(mode: Mode, dtype: DType) -> Result<DType, LowerError> {
    match mode {
        Mode::Nearest | Mode::NearestExact if dtype == DType::U8 || is_plain_float(dtype) => Ok(dtype),
        _ if dtype == DType::U8 => Ok(DType::F32),
        Mode::LanczosSmooth if dtype.is_reduced_float() => Err(LowerError::unsupported(format!(
            "\"compute_index_ranges_weights\" not implemented for '{}'",
            dtype.hlo_name()
        ))),
        _ if is_plain_float(dtype) => Ok(dtype.opmath()),
        _ => Err(LowerError::unsupported(format!(
            "\"compute_indices_weights\" not implemented for '{}'",
            dtype.hlo_name()
        ))),
    }
}

fn rounded(y: Expr<'_>, mode: Mode, dtype: DType) -> Expr<'_> {
    if dtype == DType::U8 && !matches!(mode, Mode::Nearest | Mode::NearestExact) {
        return (y + 0.5).floor().max(0.0).min(255.0).cast(dtype);
    }
    y.cast(dtype)
}
