//! Elementwise functions of two operands.

use num_complex::Complex64;
use tnrs_types::{BinaryKind, DType};

use super::element::wrap;
use super::{Element, Tensor};
use crate::TensorType;

/// Applies a function elementwise.
pub fn binary(kind: BinaryKind, x: &Tensor, y: &Tensor, ty: &TensorType) -> Tensor {
    let pairs = x.data.iter().zip(&y.data);
    Tensor {
        ty: ty.clone(),
        data: pairs.map(|(a, b)| apply(kind, *a, *b, x.ty.dtype).rounded(ty.dtype)).collect(),
    }
}

/// The function on two elements of one type; the result is not yet rounded.
pub fn apply(kind: BinaryKind, a: Element, b: Element, dtype: DType) -> Element {
    match (a, b) {
        (Element::Bool(a), Element::Bool(b)) => Element::Bool(boolean(kind, a, b)),
        (Element::Int(a), Element::Int(b)) => Element::Int(integer(kind, a, b, dtype)),
        (Element::Float(a), Element::Float(b)) => match kind {
            BinaryKind::Complex => Element::Complex(a, b),
            _ => Element::Float(float(kind, a, b)),
        },
        (Element::Complex(a, b), Element::Complex(c, d)) => {
            let z = complex(kind, Complex64::new(a, b), Complex64::new(c, d));
            Element::Complex(z.re, z.im)
        }
        (a, b) => panic!("{kind:?} of {a:?} and {b:?}"),
    }
}

/// On bools, addition is disjunction and multiplication conjunction.
fn boolean(kind: BinaryKind, a: bool, b: bool) -> bool {
    match kind {
        BinaryKind::Add | BinaryKind::Or | BinaryKind::Maximum => a || b,
        BinaryKind::Multiply | BinaryKind::And | BinaryKind::Minimum => a && b,
        BinaryKind::Xor => a != b,
        other => panic!("{other:?} of bools"),
    }
}

/// Division by zero gives −1 and leaves the dividend as the remainder; a shift by the width or more shifts all out.
fn integer(kind: BinaryKind, a: i128, b: i128, dtype: DType) -> i128 {
    let bits = 8 * dtype.size() as u32;
    let unsigned = (a as u128) << (128 - bits) >> (128 - bits);
    let shift = u32::try_from(b).ok().filter(|s| *s < bits);
    match kind {
        BinaryKind::Add => a + b,
        BinaryKind::Subtract => a - b,
        BinaryKind::Multiply => a.wrapping_mul(b),
        BinaryKind::Divide if b == 0 => -1,
        BinaryKind::Divide => a / b,
        BinaryKind::Remainder if b == 0 => a,
        BinaryKind::Remainder => a % b,
        BinaryKind::Maximum => a.max(b),
        BinaryKind::Minimum => a.min(b),
        BinaryKind::And => a & b,
        BinaryKind::Or => a | b,
        BinaryKind::Xor => a ^ b,
        BinaryKind::Power => power(a, b, dtype),
        BinaryKind::ShiftLeft => shift.map_or(0, |s| (unsigned << s) as i128),
        BinaryKind::ShiftRightLogical => shift.map_or(0, |s| (unsigned >> s) as i128),
        BinaryKind::ShiftRightArithmetic => {
            let signed = (a << (128 - bits)) >> (128 - bits);
            signed >> shift.unwrap_or(bits - 1)
        }
        BinaryKind::Atan2 | BinaryKind::Complex => panic!("{kind:?} of integers"),
    }
}

/// Wrapping power; a negative exponent gives the reciprocal truncated toward zero.
fn power(base: i128, exponent: i128, dtype: DType) -> i128 {
    if exponent < 0 {
        return match base {
            1 => 1,
            -1 if exponent % 2 == 0 => 1,
            -1 => -1,
            _ => 0,
        };
    }
    let (mut base, mut exponent, mut result) = (base, exponent, 1i128);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = wrap(result.wrapping_mul(base), dtype);
        }
        base = wrap(base.wrapping_mul(base), dtype);
        exponent >>= 1;
    }
    result
}

fn float(kind: BinaryKind, a: f64, b: f64) -> f64 {
    match kind {
        BinaryKind::Add => a + b,
        BinaryKind::Subtract => a - b,
        BinaryKind::Multiply => a * b,
        BinaryKind::Divide => a / b,
        BinaryKind::Remainder => a % b,
        BinaryKind::Power => a.powf(b),
        BinaryKind::Atan2 => a.atan2(b),
        BinaryKind::Maximum => extreme(a, b, a > b || (a == b && b.is_sign_negative())),
        BinaryKind::Minimum => extreme(a, b, a < b || (a == b && a.is_sign_negative())),
        other => panic!("{other:?} of floats"),
    }
}

/// `a` when it wins; NaN wins over all; of zeros of two signs, the one that IEEE 754-2019 orders so.
fn extreme(a: f64, b: f64, a_wins: bool) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else if a_wins {
        a
    } else {
        b
    }
}

fn complex(kind: BinaryKind, a: Complex64, b: Complex64) -> Complex64 {
    match kind {
        BinaryKind::Add => a + b,
        BinaryKind::Subtract => a - b,
        BinaryKind::Multiply => a * b,
        BinaryKind::Divide => divide(a, b),
        BinaryKind::Power => power_complex(a, b),
        // −i·log((x + iy) / √(x² + y²)) with y the first operand.
        BinaryKind::Atan2 => {
            let i = Complex64::i();
            let root = (a * a + b * b).sqrt();
            -i * ((b + i * a) / root).ln()
        }
        other => panic!("{other:?} of complex numbers"),
    }
}

/// Division scaled by the greater part of the divisor, so that squares do not overflow.
fn divide(a: Complex64, b: Complex64) -> Complex64 {
    let scale = b.re.abs().max(b.im.abs());
    if scale == 0.0 || !scale.is_finite() {
        return a / b;
    }
    let b = b / scale;
    let d = b.re * b.re + b.im * b.im;
    let product = a * b.conj();
    Complex64::new(product.re / d / scale, product.im / d / scale)
}

fn power_complex(a: Complex64, b: Complex64) -> Complex64 {
    if b.re == 0.0 && b.im == 0.0 {
        return Complex64::new(1.0, 0.0);
    }
    if a.re == 0.0 && a.im == 0.0 && b.re > 0.0 {
        return Complex64::new(0.0, 0.0);
    }
    (a.ln() * b).exp()
}
