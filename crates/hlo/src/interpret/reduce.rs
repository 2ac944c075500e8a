//! `reduce` and `sort`.

use std::cmp::Ordering;

use tnrs_types::{Dims, ReduceKind};

use super::elementwise::order;
use super::tensor::{for_each, linear};
use super::{binary, Element, Tensor};
use crate::{body, neutral, TensorType};

/// `reduce`.
pub fn reduce(kind: ReduceKind, dims: &[i64], x: &Tensor, ty: &TensorType) -> Tensor {
    let dtype = ty.dtype;
    // The neutral element may not exist in a type without infinities, so it is not rounded to the type.
    let start = Element::from_scalar(neutral(kind, dtype), dtype.opmath());
    let mut sums = vec![start; ty.numel() as usize];
    for_each(&x.ty.dims, |i| {
        let kept: Dims = (0..i.len()).filter(|d| !dims.contains(&(*d as i64))).map(|d| i[d]).collect();
        let sum = &mut sums[linear(&ty.dims, &kept)];
        *sum = binary::apply(body(kind), *sum, x.at(i), dtype);
        if matches!(sum, Element::Int(_)) {
            *sum = sum.rounded(dtype);
        }
    });
    Tensor { ty: ty.clone(), data: sums.into_iter().map(|e| e.rounded(dtype)).collect() }
}

/// Order of `sort`: IEEE order with NaN greatest.
fn sort_order(a: &Element, b: &Element) -> Ordering {
    let nan = |e: &Element| matches!(e, Element::Float(f) if f.is_nan());
    order(a, b).unwrap_or_else(|| nan(a).cmp(&nan(b)))
}

/// `sort`.
pub fn sort(dim: i64, descending: bool, xs: &[&Tensor]) -> Vec<Tensor> {
    let keys = xs[0];
    let mut lines = keys.ty.dims.clone();
    lines[dim as usize] = lines[dim as usize].min(1);
    let mut sorted: Vec<Tensor> = xs.iter().map(|x| (*x).clone()).collect();
    for_each(&lines, |line| {
        let along = |k: i64| {
            let mut index = Dims::from_slice(line);
            index[dim as usize] = k;
            index
        };
        let mut places: Vec<i64> = (0..keys.ty.dims[dim as usize]).collect();
        places.sort_by(|a, b| {
            let order = sort_order(&keys.at(&along(*a)), &keys.at(&along(*b)));
            if descending {
                order.reverse()
            } else {
                order
            }
        });
        for (x, y) in xs.iter().zip(&mut sorted) {
            for (to, from) in places.iter().enumerate() {
                y.data[linear(&x.ty.dims, &along(to as i64))] = x.at(&along(*from));
            }
        }
    });
    sorted
}
