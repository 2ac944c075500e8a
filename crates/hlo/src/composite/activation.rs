//! `gelu`, `silu` and their gradients.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, SQRT_2};

use smallvec::smallvec;
use tnrs_types::UnaryKind;

use super::decompose::Values;
use super::math::{add_c, mul_c, one_minus, opmath};
use crate::{Builder, HloError, Value};

/// Cubic coefficient of the tanh approximation (Hendrycks and Gimpel, 2016).
const CUBIC: f64 = 0.044715;
/// √(2/π), the slope of the tanh approximation.
const SLOPE: f64 = SQRT_2 * FRAC_2_SQRT_PI * 0.5;

/// `x·Φ(x)`.
pub fn gelu(b: &mut Builder, x: Value, tanh: bool) -> Values {
    let math = opmath(b, &[x]);
    let x = b.convert(x, math)?;
    let phi = if tanh { tanh_cdf(b, x)?.0 } else { erf_cdf(b, x)? };
    Ok(smallvec![b.mul(x, phi)?])
}

/// `Φ(x) = (1 + erf(x/√2)) / 2`.
fn erf_cdf(b: &mut Builder, x: Value) -> Result<Value, HloError> {
    let scaled = mul_c(b, x, FRAC_1_SQRT_2)?;
    let erf = b.unary(UnaryKind::Erf, scaled)?;
    let sum = add_c(b, erf, 1.0)?;
    mul_c(b, sum, 0.5)
}

/// `(1 + t) / 2` and `t = tanh(√(2/π)·(x + 0.044715·x³))`.
fn tanh_cdf(b: &mut Builder, x: Value) -> Result<(Value, Value), HloError> {
    let square = b.mul(x, x)?;
    let cube = b.mul(square, x)?;
    let cubic = mul_c(b, cube, CUBIC)?;
    let sum = b.add(x, cubic)?;
    let inner = mul_c(b, sum, SLOPE)?;
    let t = b.tanh(inner)?;
    let one = add_c(b, t, 1.0)?;
    Ok((mul_c(b, one, 0.5)?, t))
}

/// `dy·(Φ(x) + x·Φ'(x))`.
pub fn gelu_grad(b: &mut Builder, dy: Value, x: Value, tanh: bool) -> Values {
    let math = opmath(b, &[dy, x]);
    let (dy, x) = (b.convert(dy, math)?, b.convert(x, math)?);
    let square = b.mul(x, x)?;
    let (phi, density) = if tanh {
        let (phi, t) = tanh_cdf(b, x)?;
        let t_square = b.mul(t, t)?;
        let slope = one_minus(b, t_square)?;
        let inner = mul_c(b, square, 3.0 * CUBIC)?;
        let inner = add_c(b, inner, 1.0)?;
        let inner = mul_c(b, inner, 0.5 * SLOPE)?;
        (phi, b.mul(slope, inner)?)
    } else {
        let exponent = mul_c(b, square, -0.5)?;
        let bell = b.exp(exponent)?;
        let density = mul_c(b, bell, FRAC_2_SQRT_PI * FRAC_1_SQRT_2 * 0.5)?;
        (erf_cdf(b, x)?, density)
    };
    let product = b.mul(x, density)?;
    let slope = b.add(phi, product)?;
    Ok(smallvec![b.mul(dy, slope)?])
}

/// `x·σ(x)`.
pub fn silu(b: &mut Builder, x: Value) -> Values {
    let math = opmath(b, &[x]);
    let x = b.convert(x, math)?;
    let sigma = b.unary(UnaryKind::Logistic, x)?;
    Ok(smallvec![b.mul(x, sigma)?])
}

/// `dy·σ(x)·(1 + x·(1 − σ(x)))`.
pub fn silu_grad(b: &mut Builder, dy: Value, x: Value) -> Values {
    let math = opmath(b, &[dy, x]);
    let (dy, x) = (b.convert(dy, math)?, b.convert(x, math)?);
    let sigma = b.unary(UnaryKind::Logistic, x)?;
    let rest = one_minus(b, sigma)?;
    let slope = b.mul(x, rest)?;
    let slope = add_c(b, slope, 1.0)?;
    let scaled = b.mul(dy, sigma)?;
    Ok(smallvec![b.mul(scaled, slope)?])
}
