//! Constant tensors.

use std::sync::Arc;

use tnrs_types::Scalar;

use crate::interpret::{Element, Tensor};
use crate::TensorType;

/// A constant: every element equal, or dense row-major bytes in host byte order.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// All elements are this number, converted to the type's element type.
    Splat(TensorType, Scalar),
    /// Row-major elements, `numel * size` bytes.
    Dense(TensorType, Arc<[u8]>),
}

impl Literal {
    /// The literal's type.
    pub fn ty(&self) -> &TensorType {
        match self {
            Literal::Splat(t, _) | Literal::Dense(t, _) => t,
        }
    }

    /// A dense literal from numbers in row-major order, each converted to the element type; `None` when their count
    /// is not that of the type.
    pub fn from_scalars(ty: &TensorType, scalars: &[Scalar]) -> Option<Literal> {
        if scalars.len() as i64 != ty.numel() {
            return None;
        }
        let data = scalars.iter().map(|s| Element::from_scalar(*s, ty.dtype)).collect();
        Some(Tensor { ty: ty.clone(), data }.to_literal())
    }

    /// The elements as host numbers, in row-major order.
    pub fn scalars(&self) -> Vec<Scalar> {
        let tensor = Tensor::from_literal(self);
        let scalar = |e: &Element| match *e {
            Element::Bool(b) => Scalar::Bool(b),
            Element::Int(i) => i64::try_from(i).map_or(Scalar::UInt(i as u64), Scalar::Int),
            Element::Float(f) => Scalar::Float(f),
            Element::Complex(re, im) => Scalar::Complex(re, im),
        };
        tensor.data.iter().map(scalar).collect()
    }

    /// The same constant with every element written out.
    pub fn to_dense(&self) -> Literal {
        match self {
            Literal::Dense(..) => self.clone(),
            Literal::Splat(..) => Tensor::from_literal(self).to_literal(),
        }
    }
}
