//! Elementwise functions of one operand.

use num_complex::Complex64;
use tnrs_types::{DType, UnaryKind};

use super::element::wrap;
use super::{special, Element, Tensor};
use crate::TensorType;

/// Applies a function elementwise.
pub fn unary(kind: UnaryKind, x: &Tensor, ty: &TensorType) -> Tensor {
    Tensor {
        ty: ty.clone(),
        data: x.data.iter().map(|e| apply(kind, *e, x.ty.dtype).rounded(ty.dtype)).collect(),
    }
}

fn apply(kind: UnaryKind, e: Element, dtype: DType) -> Element {
    match e {
        Element::Bool(b) => Element::Bool(!b),
        Element::Int(i) => Element::Int(integer(kind, i, dtype)),
        Element::Float(f) => match kind {
            UnaryKind::IsFinite => Element::Bool(f.is_finite()),
            UnaryKind::IsInf => Element::Bool(f.is_infinite()),
            UnaryKind::IsNan => Element::Bool(f.is_nan()),
            _ => Element::Float(float(kind, f)),
        },
        Element::Complex(re, im) => match kind {
            UnaryKind::Abs => Element::Float(re.hypot(im)),
            UnaryKind::Real => Element::Float(re),
            UnaryKind::Imag => Element::Float(im),
            _ => {
                let z = complex(kind, Complex64::new(re, im));
                Element::Complex(z.re, z.im)
            }
        },
    }
}

fn integer(kind: UnaryKind, i: i128, dtype: DType) -> i128 {
    let bits = 8 * dtype.size() as u32;
    let unsigned = (i as u128) << (128 - bits) >> (128 - bits);
    match kind {
        UnaryKind::Abs => i.abs(),
        UnaryKind::Sign => i.signum(),
        UnaryKind::Negate => -i,
        UnaryKind::Not => wrap(!i, dtype),
        UnaryKind::CountLeadingZeros => i128::from(unsigned.leading_zeros() - (128 - bits)),
        UnaryKind::Popcnt => i128::from(unsigned.count_ones()),
        other => panic!("{other:?} of an integer"),
    }
}

fn float(kind: UnaryKind, x: f64) -> f64 {
    use UnaryKind::*;
    match kind {
        Abs => x.abs(),
        Acos => x.acos(),
        Acosh => libm::acosh(x),
        Asin => x.asin(),
        Asinh => libm::asinh(x),
        Atan => x.atan(),
        Atanh => libm::atanh(x),
        Cbrt => x.cbrt(),
        Ceil => x.ceil(),
        Conj | Real => x,
        Cosh => x.cosh(),
        Cosine => x.cos(),
        Digamma => special::digamma(x),
        Erf => libm::erf(x),
        Erfc => libm::erfc(x),
        ErfInv => special::erf_inv(x),
        Exponential => x.exp(),
        ExponentialMinusOne => x.exp_m1(),
        Floor => x.floor(),
        Imag => 0.0,
        Lgamma => libm::lgamma(x),
        Log => x.ln(),
        LogPlusOne => x.ln_1p(),
        Logistic => 1.0 / (1.0 + (-x).exp()),
        Negate => -x,
        RoundNearestAfz => x.round(),
        RoundNearestEven => x.round_ties_even(),
        Rsqrt => 1.0 / x.sqrt(),
        Sign if x == 0.0 || x.is_nan() => x,
        Sign => 1f64.copysign(x),
        Sine => x.sin(),
        Sinh => x.sinh(),
        Sqrt => x.sqrt(),
        Tan => x.tan(),
        Tanh => x.tanh(),
        Trunc => x.trunc(),
        Not | Popcnt | CountLeadingZeros | IsFinite | IsInf | IsNan => {
            panic!("{kind:?} of a float")
        }
    }
}

fn complex(kind: UnaryKind, z: Complex64) -> Complex64 {
    use UnaryKind::*;
    let one = Complex64::new(1.0, 0.0);
    match kind {
        Acos => z.acos(),
        Acosh => z.acosh(),
        Asin => z.asin(),
        Asinh => z.asinh(),
        Atan => z.atan(),
        Atanh => z.atanh(),
        Conj => z.conj(),
        Cosh => z.cosh(),
        Cosine => z.cos(),
        Exponential => z.exp(),
        ExponentialMinusOne => exp_minus_one(z),
        Log => Complex64::new(z.re.hypot(z.im).ln(), z.im.atan2(z.re)),
        LogPlusOne => log_plus_one(z),
        Logistic => one / (one + (-z).exp()),
        Negate => -z,
        Rsqrt => one / z.sqrt(),
        Sign if z.re == 0.0 && z.im == 0.0 => z,
        Sign => z / z.re.hypot(z.im),
        Sine => z.sin(),
        Sinh => z.sinh(),
        Sqrt => z.sqrt(),
        Tan => {
            // tan z = −i·tanh(iz).
            let t = tanh(Complex64::new(-z.im, z.re));
            Complex64::new(t.im, -t.re)
        }
        Tanh => tanh(z),
        other => panic!("{other:?} of a complex number"),
    }
}

/// `e^z − 1` without cancellation near 0.
fn exp_minus_one(z: Complex64) -> Complex64 {
    let half_sine = (z.im / 2.0).sin();
    let shift = z.re.exp_m1();
    let cosine_minus_one = -2.0 * half_sine * half_sine;
    Complex64::new(shift + cosine_minus_one + shift * cosine_minus_one, z.re.exp() * z.im.sin())
}

/// `log(1 + z)` without cancellation near 0.
fn log_plus_one(z: Complex64) -> Complex64 {
    let u = 1.0 + z.re;
    let re = if z.re.abs() < 0.5 && z.im.abs() < 0.5 {
        0.5 * (z.re * (2.0 + z.re) + z.im * z.im).ln_1p()
    } else {
        u.hypot(z.im).ln()
    };
    Complex64::new(re, z.im.atan2(u))
}

/// `tanh(x + iy) = (sinh 2x + i·sin 2y) / (cosh 2x + cos 2y)`, which tends to ±1 for large |x|.
fn tanh(z: Complex64) -> Complex64 {
    if z.re.abs() > 300.0 {
        return Complex64::new(1f64.copysign(z.re), 0f64.copysign((2.0 * z.im).sin()));
    }
    let d = (2.0 * z.re).cosh() + (2.0 * z.im).cos();
    Complex64::new((2.0 * z.re).sinh() / d, (2.0 * z.im).sin() / d)
}
