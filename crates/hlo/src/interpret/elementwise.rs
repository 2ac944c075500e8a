//! Comparison, selection and conversion.

use std::cmp::Ordering;

use tnrs_types::{BinaryKind, CompareDir};

use super::{binary, Element, Tensor};
use crate::TensorType;

/// `compare`.
pub fn compare(dir: CompareDir, x: &Tensor, y: &Tensor, ty: &TensorType) -> Tensor {
    let pairs = x.data.iter().zip(&y.data);
    let holds = |a: &Element, b: &Element| match dir {
        CompareDir::Eq => equal(a, b),
        CompareDir::Ne => !equal(a, b),
        CompareDir::Lt => order(a, b) == Some(Ordering::Less),
        CompareDir::Gt => order(a, b) == Some(Ordering::Greater),
        CompareDir::Le => matches!(order(a, b), Some(Ordering::Less | Ordering::Equal)),
        CompareDir::Ge => matches!(order(a, b), Some(Ordering::Greater | Ordering::Equal)),
    };
    Tensor { ty: ty.clone(), data: pairs.map(|(a, b)| Element::Bool(holds(a, b))).collect() }
}

fn equal(a: &Element, b: &Element) -> bool {
    match (a, b) {
        (Element::Complex(a, b), Element::Complex(c, d)) => a == c && b == d,
        _ => order(a, b) == Some(Ordering::Equal),
    }
}

/// IEEE order; `None` when one of them is NaN.
pub fn order(a: &Element, b: &Element) -> Option<Ordering> {
    match (a, b) {
        (Element::Bool(a), Element::Bool(b)) => Some(a.cmp(b)),
        (Element::Int(a), Element::Int(b)) => Some(a.cmp(b)),
        (Element::Float(a), Element::Float(b)) => a.partial_cmp(b),
        (a, b) => panic!("{a:?} and {b:?} have no order"),
    }
}

/// `select`.
pub fn select(p: &Tensor, t: &Tensor, f: &Tensor) -> Tensor {
    Tensor::generate(&t.ty, |i| if p.at_or_scalar(i).bool() { t.at(i) } else { f.at(i) })
}

/// `clamp`.
pub fn clamp(lo: &Tensor, x: &Tensor, hi: &Tensor) -> Tensor {
    let dtype = x.ty.dtype;
    Tensor::generate(&x.ty, |i| {
        let raised = binary::apply(BinaryKind::Maximum, x.at(i), lo.at_or_scalar(i), dtype);
        binary::apply(BinaryKind::Minimum, raised, hi.at_or_scalar(i), dtype)
    })
}

/// `convert`.
pub fn convert(x: &Tensor, ty: &TensorType) -> Tensor {
    Tensor { ty: ty.clone(), data: x.data.iter().map(|e| e.converted(ty.dtype)).collect() }
}

/// `bitcast_convert`.
pub fn bitcast_convert(x: &Tensor, ty: &TensorType) -> Tensor {
    let reinterpret = |e: &Element| {
        let mut bytes = Vec::new();
        e.encode(x.ty.dtype, &mut bytes);
        Element::decode(ty.dtype, &bytes)
    };
    Tensor { ty: ty.clone(), data: x.data.iter().map(reinterpret).collect() }
}
