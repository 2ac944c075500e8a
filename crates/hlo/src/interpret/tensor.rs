//! A tensor of elements, and how its elements are numbered.

use std::sync::Arc;

use tnrs_types::{contiguous_strides, Dims};

use super::Element;
use crate::{Literal, TensorType};

/// Elements in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Element type and sizes.
    pub ty: TensorType,
    /// The elements.
    pub data: Vec<Element>,
}

impl Tensor {
    /// A tensor whose element at each index is given by a function of the index; elements are rounded to the type.
    pub fn generate(ty: &TensorType, mut f: impl FnMut(&[i64]) -> Element) -> Tensor {
        let mut data = Vec::with_capacity(ty.numel() as usize);
        for_each(&ty.dims, |i| data.push(f(i).rounded(ty.dtype)));
        Tensor { ty: ty.clone(), data }
    }

    /// The element at an index.
    pub fn at(&self, index: &[i64]) -> Element {
        self.data[linear(&self.ty.dims, index)]
    }

    /// The element at an index, or the only element of a rank-0 tensor.
    pub fn at_or_scalar(&self, index: &[i64]) -> Element {
        if self.ty.rank() == 0 {
            self.data[0]
        } else {
            self.at(index)
        }
    }

    /// Decodes a literal.
    pub fn from_literal(literal: &Literal) -> Tensor {
        let ty = literal.ty().clone();
        let data = match literal {
            Literal::Splat(_, value) => {
                vec![Element::from_scalar(*value, ty.dtype); ty.numel() as usize]
            }
            Literal::Dense(_, bytes) => {
                bytes.chunks_exact(ty.dtype.size()).map(|b| Element::decode(ty.dtype, b)).collect()
            }
        };
        Tensor { ty, data }
    }

    /// Encodes a dense literal.
    pub fn to_literal(&self) -> Literal {
        let mut bytes = Vec::with_capacity(self.data.len() * self.ty.dtype.size());
        for e in &self.data {
            e.encode(self.ty.dtype, &mut bytes);
        }
        Literal::Dense(self.ty.clone(), Arc::from(bytes))
    }
}

/// Row-major position of an index.
pub fn linear(dims: &[i64], index: &[i64]) -> usize {
    let strides = contiguous_strides(dims);
    let at: i64 = strides.iter().zip(index).map(|(s, i)| s * i).sum();
    at as usize
}

/// Whether an index lies within the sizes.
pub fn within(dims: &[i64], index: &[i64]) -> bool {
    dims.iter().zip(index).all(|(n, i)| 0 <= *i && i < n)
}

/// Calls a function with each index in row-major order.
pub fn for_each(dims: &[i64], mut f: impl FnMut(&[i64])) {
    if dims.contains(&0) {
        return;
    }
    let mut index: Dims = smallvec::smallvec![0; dims.len()];
    loop {
        f(&index);
        let mut d = dims.len();
        loop {
            if d == 0 {
                return;
            }
            d -= 1;
            index[d] += 1;
            if index[d] < dims[d] {
                break;
            }
            index[d] = 0;
        }
    }
}
