//! Ops that move elements.

use tnrs_types::Dims;

use super::tensor::within;
use super::{Element, Tensor};
use crate::TensorType;

/// `iota`.
pub fn iota(dim: i64, ty: &TensorType) -> Tensor {
    Tensor::generate(ty, |i| Element::Int(i128::from(i[dim as usize])).converted(ty.dtype))
}

/// `broadcast_in_dim`.
pub fn broadcast_in_dim(dims: &[i64], x: &Tensor, ty: &TensorType) -> Tensor {
    Tensor::generate(ty, |i| {
        let from: Dims =
            dims.iter().zip(&x.ty.dims).map(|(&d, &n)| if n == 1 { 0 } else { i[d as usize] }).collect();
        x.at(&from)
    })
}

/// `reshape`.
pub fn reshape(x: &Tensor, ty: &TensorType) -> Tensor {
    Tensor { ty: ty.clone(), data: x.data.clone() }
}

/// `transpose`.
pub fn transpose(perm: &[i64], x: &Tensor, ty: &TensorType) -> Tensor {
    Tensor::generate(ty, |i| {
        let mut from: Dims = smallvec::smallvec![0; perm.len()];
        for (to, &d) in perm.iter().enumerate() {
            from[d as usize] = i[to];
        }
        x.at(&from)
    })
}

/// `slice`.
pub fn slice(start: &[i64], stride: &[i64], x: &Tensor, ty: &TensorType) -> Tensor {
    Tensor::generate(ty, |i| {
        let from: Dims = (0..i.len()).map(|d| start[d] + i[d] * stride[d]).collect();
        x.at(&from)
    })
}

/// Start indices, clamped so that a window of the given sizes fits.
fn clamped(starts: &[&Tensor], sizes: &[i64], dims: &[i64]) -> Dims {
    let each = starts.iter().zip(sizes.iter().zip(dims));
    each.map(|(s, (size, n))| s.data[0].int().clamp(0, i128::from(n - size)) as i64).collect()
}

/// `dynamic_slice`.
pub fn dynamic_slice(x: &Tensor, starts: &[&Tensor], ty: &TensorType) -> Tensor {
    let start = clamped(starts, &ty.dims, &x.ty.dims);
    let stride: Dims = smallvec::smallvec![1; start.len()];
    slice(&start, &stride, x, ty)
}

/// `dynamic_update_slice`.
pub fn dynamic_update_slice(x: &Tensor, update: &Tensor, starts: &[&Tensor]) -> Tensor {
    let start = clamped(starts, &update.ty.dims, &x.ty.dims);
    Tensor::generate(&x.ty, |i| {
        let from: Dims = i.iter().zip(&start).map(|(i, s)| i - s).collect();
        if within(&update.ty.dims, &from) {
            update.at(&from)
        } else {
            x.at(i)
        }
    })
}

/// `pad`.
pub fn pad(low: &[i64], interior: &[i64], x: &Tensor, value: &Tensor, ty: &TensorType) -> Tensor {
    Tensor::generate(ty, |i| {
        let on_grid = (0..i.len()).all(|d| (i[d] - low[d]) % (interior[d] + 1) == 0);
        let from: Dims = (0..i.len()).map(|d| (i[d] - low[d]).div_euclid(interior[d] + 1)).collect();
        if on_grid && within(&x.ty.dims, &from) {
            x.at(&from)
        } else {
            value.data[0]
        }
    })
}

/// `concatenate`.
pub fn concatenate(dim: i64, xs: &[&Tensor], ty: &TensorType) -> Tensor {
    Tensor::generate(ty, |i| {
        let mut from = Dims::from_slice(i);
        let at = &mut from[dim as usize];
        let mut operands = xs.iter();
        let mut x = operands.next().expect("at least one operand");
        while *at >= x.ty.dims[dim as usize] {
            *at -= x.ty.dims[dim as usize];
            x = operands.next().expect("sizes add up");
        }
        x.at(&from)
    })
}

/// `reverse`.
pub fn reverse(dims: &[i64], x: &Tensor) -> Tensor {
    Tensor::generate(&x.ty, |i| {
        let mut from = Dims::from_slice(i);
        for &d in dims {
            from[d as usize] = x.ty.dims[d as usize] - 1 - i[d as usize];
        }
        x.at(&from)
    })
}
