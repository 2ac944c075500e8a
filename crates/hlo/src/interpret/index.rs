//! `gather` and `scatter`.

use tnrs_types::{BinaryKind, Dims, ScatterKind};

use super::tensor::{for_each, linear, within};
use super::{binary, Element, Tensor};
use crate::{GatherDims, ScatterDims, TensorType};

/// The parts of an index whose dims are, and are not, in a list.
fn split(index: &[i64], dims: &[i64]) -> (Dims, Dims) {
    let (mut listed, mut others) = (Dims::new(), Dims::new());
    for (d, &i) in index.iter().enumerate() {
        if dims.contains(&(d as i64)) {
            listed.push(i);
        } else {
            others.push(i);
        }
    }
    (listed, others)
}

/// The index vector at a position of the grid, placed into an operand index by the map.
fn start_index(indices: &Tensor, grid: &[i64], vector_dim: i64, map: &[i64], rank: usize) -> Vec<i128> {
    let mut start = vec![0; rank];
    for (component, &d) in map.iter().enumerate() {
        let mut at = Dims::from_slice(grid);
        if vector_dim < indices.ty.rank() as i64 {
            at.insert(vector_dim as usize, component as i64);
        }
        start[d as usize] = indices.at(&at).int();
    }
    start
}

/// `gather`.
pub fn gather(d: &GatherDims, x: &Tensor, indices: &Tensor, ty: &TensorType) -> Tensor {
    Tensor::generate(ty, |i| {
        let (offset, grid) = split(i, &d.offset_dims);
        let start = start_index(indices, &grid, d.index_vector_dim, &d.start_index_map, x.ty.rank());
        let mut offsets = offset.iter();
        let from: Dims = (0..x.ty.rank())
            .map(|dim| {
                let room = x.ty.dims[dim] - d.slice_sizes[dim];
                let base = start[dim].clamp(0, i128::from(room)) as i64;
                if d.collapsed_slice_dims.contains(&(dim as i64)) {
                    base
                } else {
                    base + offsets.next().expect("one offset a kept dim")
                }
            })
            .collect();
        x.at(&from)
    })
}

/// `scatter`: updates meet the elements in row-major order of the updates; sums are rounded once.
pub fn scatter(kind: ScatterKind, d: &ScatterDims, x: &Tensor, indices: &Tensor, updates: &Tensor) -> Tensor {
    let dtype = x.ty.dtype;
    let mut data = x.data.clone();
    for_each(&updates.ty.dims, |u| {
        let (window, grid) = split(u, &d.update_window_dims);
        let start =
            start_index(indices, &grid, d.index_vector_dim, &d.scatter_dims_to_operand_dims, x.ty.rank());
        let mut offsets = window.iter();
        let to: Option<Dims> = (0..x.ty.rank())
            .map(|dim| {
                let inserted = d.inserted_window_dims.contains(&(dim as i64));
                let offset = if inserted { 0 } else { *offsets.next().expect("one offset a window dim") };
                i64::try_from(start[dim] + i128::from(offset)).ok()
            })
            .collect();
        if let Some(to) = to.filter(|to| within(&x.ty.dims, to)) {
            let old = &mut data[linear(&x.ty.dims, &to)];
            let update = updates.at(u);
            *old = match kind {
                ScatterKind::Set => update,
                ScatterKind::Add => binary::apply(BinaryKind::Add, *old, update, dtype),
                ScatterKind::Multiply => binary::apply(BinaryKind::Multiply, *old, update, dtype),
                ScatterKind::Maximum => binary::apply(BinaryKind::Maximum, *old, update, dtype),
                ScatterKind::Minimum => binary::apply(BinaryKind::Minimum, *old, update, dtype),
            };
            if matches!(old, Element::Int(_)) {
                *old = old.rounded(dtype);
            }
        }
    });
    Tensor { ty: x.ty.clone(), data: data.into_iter().map(|e| e.rounded(dtype)).collect() }
}
