//! `layer_norm` and `rms_norm`.

use smallvec::smallvec;
use tnrs_types::Dims;

use super::decompose::Values;
use super::math::{add_c, mean_keep, opmath, spread};
use crate::{Builder, HloError, Value};

/// The dims from `axis` on.
pub fn normalized(b: &Builder, x: Value, axis: i64) -> Dims {
    (axis..b.ty(x).rank() as i64).collect()
}

/// `(x − mean)·rstd·w + b` with `rstd = 1/√(var + eps)` and the biased variance.
pub fn layer_norm(
    b: &mut Builder,
    operands: &[Value],
    axis: i64,
    eps: f64,
    weight: bool,
    bias: bool,
) -> Values {
    let math = opmath(b, operands);
    let x = b.convert(operands[0], math)?;
    let dims = normalized(b, x, axis);
    let mean = mean_keep(b, x, &dims)?;
    let mean_full = spread(b, mean, x)?;
    let centred = b.sub(x, mean_full)?;
    let (mut y, rstd) = scaled(b, centred, &dims, eps)?;
    let mut affine = operands[1..].iter();
    if weight {
        let w = affine.next().expect("counted by inference");
        let w = b.convert(*w, math)?;
        let w = spread(b, w, x)?;
        y = b.mul(y, w)?;
    }
    if bias {
        let c = affine.next().expect("counted by inference");
        let c = b.convert(*c, math)?;
        let c = spread(b, c, x)?;
        y = b.add(y, c)?;
    }
    Ok(smallvec![y, mean, rstd])
}

/// `x·rstd·w` with `rstd = 1/√(mean(x²) + eps)`.
pub fn rms_norm(b: &mut Builder, operands: &[Value], axis: i64, eps: f64) -> Values {
    let math = opmath(b, operands);
    let x = b.convert(operands[0], math)?;
    let dims = normalized(b, x, axis);
    let (mut y, rstd) = scaled(b, x, &dims, eps)?;
    if let Some(w) = operands.get(1) {
        let w = b.convert(*w, math)?;
        let w = spread(b, w, x)?;
        y = b.mul(y, w)?;
    }
    Ok(smallvec![y, rstd])
}

/// `x·rstd` and `rstd = 1/√(mean(x²) + eps)`.
fn scaled(b: &mut Builder, x: Value, dims: &[i64], eps: f64) -> Result<(Value, Value), HloError> {
    let square = b.mul(x, x)?;
    let mean = mean_keep(b, square, dims)?;
    let shifted = add_c(b, mean, eps)?;
    let rstd = b.rsqrt(shifted)?;
    let full = spread(b, rstd, x)?;
    Ok((b.mul(x, full)?, rstd))
}
