//! Fourier transforms: `torch.fft` and `stft` come down to three operators.
//!
//! StableHLO transforms up to three trailing dims, so dims are brought to the end, three at a time. Its inverse
//! divides by the number of elements; PyTorch's `normalization` is 0 for no factor, 1 for its root, 2 for itself.

use tnrs_types::{inverse, DType, Dims, FftKind, Scalar};

use crate::helpers::{dim, Lowered};
use crate::{Ctx, Expr, LowerError, Row};

/// Rows of this family.
pub(crate) const ROWS: &[Row] =
    &[Row::new("aten::_fft_c2c", c2c), Row::new("aten::_fft_r2c", r2c), Row::new("aten::_fft_c2r", c2r)];

/// Dims of transform in one hlo op.
const MOST: usize = 3;

/// The dims of argument 1.
fn dims(cx: &Ctx, rank: usize) -> Result<Vec<usize>, LowerError> {
    let list = cx.ints(1).unwrap_or_default();
    list.iter().map(|&d| dim(d, rank).map(|d| d as usize)).collect()
}

/// The factor of a transform of `count` elements, over what the hlo op does by itself.
fn factor(normalization: i64, count: f64, inverse: bool) -> f64 {
    let wanted = match normalization {
        1 => 1.0 / count.sqrt(),
        2 => 1.0 / count,
        _ => 1.0,
    };
    match (inverse, normalization) {
        (true, 2) => 1.0,
        (true, _) => wanted * count,
        (false, _) => wanted,
    }
}

fn scaled(x: Expr<'_>, factor: f64) -> Expr<'_> {
    if factor == 1.0 {
        x
    } else {
        x * x.constant(Scalar::Float(factor))
    }
}

/// The transform over up to three dims, which may be anywhere; the last of them is the one that changes its size.
fn over<'m>(x: Expr<'m>, kind: FftKind, dims: &[usize], length: &[i64]) -> Expr<'m> {
    let mut perm: Dims = (0..x.rank() as i64).filter(|&d| !dims.contains(&(d as usize))).collect();
    perm.extend(dims.iter().map(|&d| d as i64));
    let y = x.transpose(&perm).with(|b, v| b.fft(kind, v, length));
    y.transpose(&inverse(&perm))
}

/// A complex transform over any number of dims.
fn complex<'m>(mut x: Expr<'m>, inverse: bool, dims: &[usize]) -> Expr<'m> {
    let kind = if inverse { FftKind::Ifft } else { FftKind::Fft };
    for some in dims.chunks(MOST) {
        let sizes = x.dims();
        let length: Dims = some.iter().map(|&d| sizes[d]).collect();
        x = over(x, kind, some, &length);
    }
    x
}

fn count(sizes: &[i64], dims: &[usize]) -> f64 {
    dims.iter().map(|&d| sizes[d] as f64).product()
}

fn c2c(cx: &mut Ctx) -> Lowered {
    let x = cx.tensor(0)?;
    let dims = dims(cx, x.ty.rank())?;
    let inverse = !cx.bool(3);
    let factor = factor(cx.int(2)?, count(&x.ty.dims, &dims), inverse);
    let y = cx.math(|m| scaled(complex(m.expr(x.value), inverse, &dims), factor).value())?;
    cx.finish(y)
}

/// Of a real tensor. `onesided` leaves out the second half of the last dim, which is the mirror image of the first.
fn r2c(cx: &mut Ctx) -> Lowered {
    let x = cx.tensor(0)?;
    if !matches!(x.ty.dtype, DType::F32 | DType::F64) {
        return Err(LowerError::runtime(format!(
            "expected scalar type Float or Double but found {}",
            x.ty.dtype.hlo_name()
        )));
    }
    let dims = dims(cx, x.ty.rank())?;
    let onesided = cx.bool(3);
    let factor = factor(cx.int(2)?, count(&x.ty.dims, &dims), false);
    let y = cx.math(|m| {
        let mut y = m.expr(x.value);
        let Some((&last, rest)) = dims.split_last() else { return y.value() };
        let n = x.ty.dims[last];
        // The dims beside the last that fit the op with it; the others follow.
        let (others, beside) =
            rest.split_at(if onesided { rest.len().saturating_sub(MOST - 1) } else { rest.len() });
        let first: Vec<usize> = beside.iter().copied().chain([last]).collect();
        let length: Dims = first.iter().map(|&d| x.ty.dims[d]).collect();
        y = scaled(over(y, FftKind::Rfft, &first, &length), factor);
        if !onesided && n > 2 {
            let mirror = y.steps(last, 1, (n + 1) / 2, 1).reverse(&[last as i64]).conj();
            y = m.concatenate(&[y, mirror], last as i64);
        }
        complex(y, false, others).value()
    })?;
    cx.finish(y)
}

/// To a real tensor whose last dim has `last_dim_size` elements.
fn c2r(cx: &mut Ctx) -> Lowered {
    let x = cx.tensor(0)?;
    if !x.ty.dtype.is_complex() {
        return Err(LowerError::runtime(format!(
            "expected a complex tensor but found {}",
            x.ty.dtype.hlo_name()
        )));
    }
    let dims = dims(cx, x.ty.rank())?;
    let n = cx.int(3)?;
    let Some((&last, rest)) = dims.split_last() else { return cx.finish(x.value) };
    let factor = factor(cx.int(2)?, count(&x.ty.dims, rest) * n as f64, true);
    let y = cx.math(|m| {
        let (others, beside) = rest.split_at(rest.len().saturating_sub(MOST - 1));
        let mut y = complex(m.expr(x.value), true, others);
        if y.dims()[last] > n / 2 + 1 {
            y = y.steps(last, 0, n / 2 + 1, 1);
        }
        let first: Vec<usize> = beside.iter().copied().chain([last]).collect();
        let mut length: Dims = first.iter().map(|&d| x.ty.dims[d]).collect();
        length[first.len() - 1] = n;
        scaled(over(y, FftKind::Irfft, &first, &length), factor).value()
    })?;
    cx.finish(y)
}
