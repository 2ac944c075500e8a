//! Convolution and its gradients, of any rank, as one `convolution` each.
//!
//! The gradient of the input is the transposed convolution of the output's gradient; the gradient of the weight is
//! the convolution of the input with the output's gradient as kernel, features and batch exchanged.

use smallvec::smallvec;
use tnrs_hlo::{ConvAttrs, ConvDims, Value};
use tnrs_types::{DType, Dims, Scalar};

use super::norm_layer::mask;
use crate::expr::Expr;
use crate::helpers::Lowered;
use crate::{Ctx, LowerError, Outcome, Ret, Row, Tensor};

/// Rows of this family.
pub(crate) const ROWS: &[Row] = &[
    Row::new("aten::convolution_overrideable", forward)
        .infer_by_rule()
        .format(&[0, 1], |d, rank| rank == 4 || matches!(d, DType::F32 | DType::BF16 | DType::C64)),
    Row::new("aten::convolution_backward_overrideable", backward)
        .infer_by_rule()
        .format(&[1, 2], |d, rank| d.is_float() && (rank == 4 || matches!(d, DType::F32 | DType::BF16))),
];

/// The attributes that all of a convolution's three products share.
#[derive(Clone, Debug)]
pub(super) struct Geometry {
    pub(super) stride: Dims,
    pub(super) padding: Dims,
    pub(super) dilation: Dims,
    pub(super) transposed: bool,
    pub(super) output_padding: Dims,
    pub(super) groups: i64,
}

impl Geometry {
    /// From six arguments that start at a position.
    fn new(cx: &Ctx, i: usize, spatial: usize) -> Result<Geometry, LowerError> {
        let list = |j: usize, default: i64| -> Dims {
            let v = cx.ints(j).unwrap_or_default();
            match v.len() {
                0 => smallvec![default; spatial],
                1 => smallvec![v[0]; spatial],
                _ => v,
            }
        };
        Ok(Geometry {
            stride: list(i, 1),
            padding: list(i + 1, 0),
            dilation: list(i + 2, 1),
            transposed: cx.bool(i + 3),
            output_padding: list(i + 4, 0),
            groups: cx.int(i + 5)?,
        })
    }
    fn rank(&self) -> usize {
        self.stride.len()
    }
    /// Size of the output's spatial dims for an input's and a kernel's.
    fn output(&self, input: &[i64], kernel: &[i64]) -> Dims {
        (0..self.rank())
            .map(|i| {
                let reach = self.dilation[i] * (kernel[i] - 1);
                if self.transposed {
                    (input[i] - 1) * self.stride[i] - 2 * self.padding[i] + reach + self.output_padding[i] + 1
                } else {
                    (input[i] + 2 * self.padding[i] - reach - 1) / self.stride[i] + 1
                }
            })
            .collect()
    }
}

/// Batch, feature, spatial dims in order.
fn dim_numbers(rank: usize) -> ConvDims {
    let spatial: Dims = (2..2 + rank as i64).collect();
    ConvDims {
        input_batch: 0,
        input_feature: 1,
        input_spatial: spatial.clone(),
        kernel_input_feature: 1,
        kernel_output_feature: 0,
        kernel_spatial: spatial.clone(),
        output_batch: 0,
        output_feature: 1,
        output_spatial: spatial,
    }
}

fn plain(rank: usize) -> ConvAttrs {
    ConvAttrs {
        dims: dim_numbers(rank),
        window_strides: smallvec![1; rank],
        padding_low: smallvec![0; rank],
        padding_high: smallvec![0; rank],
        lhs_dilation: smallvec![1; rank],
        rhs_dilation: smallvec![1; rank],
        window_reversal: vec![false; rank],
        feature_group_count: 1,
        batch_group_count: 1,
    }
}

fn convolve<'m>(x: Expr<'m>, w: Expr<'m>, attrs: ConvAttrs, out: DType) -> Expr<'m> {
    x.with(|b, v| b.convolution(v, w.value(), attrs, out))
}

/// The strided convolution with a weight of (out features, in features per group, kernel…), with exactly these
/// output sizes.
fn correlate<'m>(x: Expr<'m>, w: Expr<'m>, g: &Geometry, output: &[i64], out: DType) -> Expr<'m> {
    let (input, kernel) = (x.dims(), w.dims());
    let mut a = plain(g.rank());
    a.window_strides = g.stride.clone();
    a.rhs_dilation = g.dilation.clone();
    a.padding_low = g.padding.clone();
    for i in 0..g.rank() {
        let covered = (output[i] - 1) * g.stride[i] + g.dilation[i] * (kernel[2 + i] - 1) + 1;
        // Never more than the given padding: what the last window does not reach is cut, which changes nothing.
        a.padding_high[i] = covered - input[2 + i] - g.padding[i];
    }
    a.feature_group_count = g.groups;
    convolve(x, w, a, out)
}

/// The transposed convolution with a weight of (in features, out features per group, kernel…), with exactly these
/// output sizes.
fn spread<'m>(x: Expr<'m>, w: Expr<'m>, g: &Geometry, output: &[i64], out: DType) -> Expr<'m> {
    let (input, kernel) = (x.dims(), w.dims());
    let apart = |i: usize| {
        let step = g.stride[i];
        step == kernel[2 + i] && g.dilation[i] == 1 && g.padding[i] == 0 && output[i] == input[2 + i] * step
    };
    if g.groups == 1 && (0..g.rank()).all(apart) {
        return blocks(x, w, output, out);
    }
    let mut a = plain(g.rank());
    a.lhs_dilation = g.stride.clone();
    a.rhs_dilation = g.dilation.clone();
    a.window_reversal = vec![true; g.rank()];
    a.dims.kernel_input_feature = 0;
    a.dims.kernel_output_feature = 1;
    for i in 0..g.rank() {
        let reach = g.dilation[i] * (kernel[2 + i] - 1);
        let dilated = (input[2 + i] - 1) * g.stride[i] + 1;
        a.padding_low[i] = reach - g.padding[i];
        a.padding_high[i] = output[i] - dilated - a.padding_low[i] + reach;
    }
    a.feature_group_count = g.groups;
    convolve(x, grouped_kernel(w, g.groups), a, out)
}

/// The transposed convolution whose windows touch without overlapping: a product per position, put side by side.
fn blocks<'m>(x: Expr<'m>, w: Expr<'m>, output: &[i64], out: DType) -> Expr<'m> {
    let (input, kernel) = (x.dims(), w.dims());
    let rank = output.len();
    let mut point = Dims::from_slice(&[kernel[0], kernel[1..].iter().product()]);
    point.extend(std::iter::repeat_n(1, rank));
    let mut a = plain(rank);
    a.dims.kernel_input_feature = 0;
    a.dims.kernel_output_feature = 1;
    let y = convolve(x, w.reshape(&point), a, out);
    // (n, o, kernel…, space…) to (n, o, first space, first kernel, …).
    let mut apart = Dims::from_slice(&[input[0], kernel[1]]);
    apart.extend_from_slice(&kernel[2..]);
    apart.extend_from_slice(&input[2..]);
    let mut perm: Dims = smallvec![0, 1];
    perm.extend((0..rank as i64).flat_map(|i| [2 + rank as i64 + i, 2 + i]));
    let mut sizes = Dims::from_slice(&apart[..2]);
    sizes.extend_from_slice(output);
    y.reshape(&apart).transpose(&perm).reshape(&sizes)
}

/// (groups·i, o, kernel…) to (i, groups·o, kernel…).
fn grouped_kernel(w: Expr<'_>, groups: i64) -> Expr<'_> {
    if groups == 1 {
        return w;
    }
    let dims = w.dims();
    let (inputs, outputs) = (dims[0] / groups, dims[1]);
    let mut apart: Dims = smallvec![groups, inputs];
    apart.extend_from_slice(&dims[1..]);
    let mut perm: Dims = smallvec![1, 0];
    perm.extend(2..apart.len() as i64);
    let mut joined: Dims = smallvec![inputs, groups * outputs];
    joined.extend_from_slice(&dims[2..]);
    w.reshape(&apart).transpose(&perm).reshape(&joined)
}

/// The gradient of the weight of `correlate(wide)` for the gradient `narrow` of its result: sizes `weight`.
fn weight_gradient<'m>(
    wide: Expr<'m>,
    narrow: Expr<'m>,
    g: &Geometry,
    weight: &[i64],
    out: DType,
) -> Expr<'m> {
    let (input, output) = (wide.dims(), narrow.dims());
    let mut a = plain(g.rank());
    a.dims.input_batch = 1;
    a.dims.input_feature = 0;
    a.dims.kernel_input_feature = 0;
    a.dims.kernel_output_feature = 1;
    a.dims.output_batch = 1;
    a.dims.output_feature = 0;
    a.window_strides = g.dilation.clone();
    a.rhs_dilation = g.stride.clone();
    a.padding_low = g.padding.clone();
    for i in 0..g.rank() {
        let covered = (weight[2 + i] - 1) * g.dilation[i] + (output[2 + i] - 1) * g.stride[i] + 1;
        a.padding_high[i] = covered - input[2 + i] - g.padding[i];
    }
    a.batch_group_count = g.groups;
    convolve(wide, narrow, a, out)
}

/// The bias along the feature dim of a result of these sizes.
fn add_bias<'m>(y: Expr<'m>, bias: Expr<'m>) -> Expr<'m> {
    y + bias.cast(y.dtype()).along(1, &y.dims())
}

fn forward(cx: &mut Ctx) -> Lowered {
    let (x, w, bias) = (cx.tensor(0)?, cx.tensor(1)?, cx.opt_tensor(2));
    if x.ty.rank() < 3 || x.ty.rank() != w.ty.rank() {
        return Err(LowerError::runtime(format!(
            "convolution: expected input and weight of equal rank above 2, got {:?} and {:?}",
            x.ty.dims.as_slice(),
            w.ty.dims.as_slice()
        )));
    }
    let g = Geometry::new(cx, 3, x.ty.rank() - 2)?;
    let dilated = g.dilation.iter().any(|&d| d > 1);
    // Those that the CPU has no kernel for either.
    if x.ty.dtype.is_int() && x.ty.dtype != DType::I64 && (g.transposed || dilated) {
        return Err(LowerError::unsupported(format!(
            "\"slow_conv\" not implemented for '{}'",
            x.ty.dtype.hlo_name()
        )));
    }
    Ok(convolved(cx, &x, &w, bias.as_ref(), &g)?.into())
}

/// The convolution of a batch with a weight of the same rank.
pub(super) fn convolved(
    cx: &mut Ctx,
    x: &Tensor,
    w: &Tensor,
    bias: Option<&Tensor>,
    g: &Geometry,
) -> Result<Value, LowerError> {
    let spatial = g.output(&x.ty.dims[2..], &w.ty.dims[2..]);
    let features = if g.transposed { w.ty.dims[1] * g.groups } else { w.ty.dims[0] };
    let mut dims: Dims = smallvec![x.ty.dims[0], features];
    dims.extend_from_slice(&spatial);
    if dims.iter().any(|&d| d < 0) {
        return Err(LowerError::runtime(format!(
            "Calculated output size {:?} is too small",
            dims.as_slice()
        )));
    }
    let dtype = x.ty.dtype;
    let acc = if bias.is_some() { dtype.opmath() } else { dtype };
    cx.math(|m| {
        let (x, w) = (m.expr(x.value), m.expr(w.value));
        let y = if tnrs_types::numel(&dims) == 0 || x.ty().numel() == 0 {
            m.splat(acc, &dims, Scalar::Int(0))
        } else if g.transposed {
            spread(x, w, g, &spatial, acc)
        } else {
            correlate(x, w, g, &spatial, acc)
        };
        let y = match bias {
            Some(b) => add_bias(y, m.expr(b.value)),
            None => y,
        };
        y.cast(dtype).value()
    })
}

fn backward(cx: &mut Ctx) -> Lowered {
    let [dy, x, w] = [cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?];
    let g = Geometry::new(cx, 3, x.ty.rank() - 2)?;
    let mask = mask(cx, 9)?;
    gradients(cx, [&dy, &x, &w], &g, &mask)
}

/// The gradients of input, weight and bias that are wanted, for (gradient, input, weight) of one rank.
pub(super) fn gradients(cx: &mut Ctx, [dy, x, w]: [&Tensor; 3], g: &Geometry, mask: &[bool]) -> Lowered {
    let dtype = x.ty.dtype;
    let empty = x.ty.numel() == 0 || dy.ty.numel() == 0;
    let grads = cx.math(|m| {
        let [dy, x, w] = m.exprs([dy.value, x.value, w.value]);
        let (xs, ws) = (x.dims(), w.dims());
        let conjugate = |e: Expr<'_>| {
            let e = m.expr(e.value());
            if dtype.is_complex() { e.conj() } else { e }.value()
        };
        let dx = mask[0].then(|| {
            let w = m.expr(conjugate(w));
            match (empty, g.transposed) {
                (true, _) => x.int(0),
                (_, true) => correlate(dy, w, g, &xs[2..], dtype),
                (_, false) => spread(dy, w, g, &xs[2..], dtype),
            }
        });
        let dw = mask[1].then(|| {
            let x = m.expr(conjugate(x));
            match (empty, g.transposed) {
                (true, _) => w.int(0),
                (_, true) => weight_gradient(dy, x, g, &ws, dtype),
                (_, false) => weight_gradient(x, dy, g, &ws, dtype),
            }
        });
        let db = mask[2].then(|| {
            let dims: Vec<i64> = (0..dy.rank() as i64).filter(|&d| d != 1).collect();
            dy.sum(&dims)
        });
        [dx, dw, db].map(|g| g.map(Expr::value))
    })?;
    let ret = |v: Option<Value>| v.map_or(Ret::Undefined, Ret::Tensor);
    Ok(Outcome { rets: grads.into_iter().map(ret).collect(), writes: Vec::new() })
}
