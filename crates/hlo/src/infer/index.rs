//! `gather` and `scatter`.

use tnrs_types::{Dims, ScatterKind};

use super::{check, in_range, sorted, unique, without};
use crate::{GatherDims, HloError, ScatterDims, TensorType};

/// Number of components of one index vector, and the sizes of the grid of index vectors.
fn index_grid(indices: &TensorType, vector_dim: i64) -> (usize, Dims) {
    if vector_dim == indices.rank() as i64 {
        (1, indices.dims.clone())
    } else {
        let size = indices.dims[vector_dim as usize];
        (size as usize, without(&indices.dims, &[vector_dim]))
    }
}

pub fn gather(d: &GatherDims, x: &TensorType, indices: &TensorType) -> Result<TensorType, HloError> {
    const OP: &str = "gather";
    check!(
        x.rank() == d.offset_dims.len() + d.collapsed_slice_dims.len(),
        OP,
        "gather_c1",
        "offset dims {:?} and collapsed dims {:?} for {x}",
        d.offset_dims,
        d.collapsed_slice_dims
    );
    check!(
        (0..=indices.rank() as i64).contains(&d.index_vector_dim),
        OP,
        "gather_c2",
        "index_vector_dim {} of {indices}",
        d.index_vector_dim
    );
    check!(indices.dtype.is_int(), OP, "gather_i2", "start indices are {indices}");
    let (components, grid) = index_grid(indices, d.index_vector_dim);
    check!(
        d.start_index_map.len() == components,
        OP,
        "gather_c3",
        "start_index_map {:?} for index vectors of {components}",
        d.start_index_map
    );
    check!(
        unique(&d.offset_dims) && sorted(&d.offset_dims),
        OP,
        "gather_c4",
        "offset dims {:?}",
        d.offset_dims
    );
    let rank = grid.len() + d.offset_dims.len();
    check!(
        in_range(&d.offset_dims, rank),
        OP,
        "gather_c5",
        "offset dims {:?} of a result of rank {rank}",
        d.offset_dims
    );
    check!(unique(&d.collapsed_slice_dims), OP, "gather_c6", "collapsed dims {:?}", d.collapsed_slice_dims);
    check!(sorted(&d.collapsed_slice_dims), OP, "gather_c7", "collapsed dims {:?}", d.collapsed_slice_dims);
    check!(
        in_range(&d.collapsed_slice_dims, x.rank()),
        OP,
        "gather_c8",
        "collapsed dims {:?} of {x}",
        d.collapsed_slice_dims
    );
    check!(d.slice_sizes.len() == x.rank(), OP, "gather_c20", "slice sizes {:?} of {x}", d.slice_sizes);
    check!(
        d.collapsed_slice_dims.iter().all(|&c| d.slice_sizes[c as usize] <= 1),
        OP,
        "gather_c9",
        "collapsed dims {:?} with slice sizes {:?}",
        d.collapsed_slice_dims,
        d.slice_sizes
    );
    check!(unique(&d.start_index_map), OP, "gather_c18", "start_index_map {:?}", d.start_index_map);
    check!(
        in_range(&d.start_index_map, x.rank()),
        OP,
        "gather_c19",
        "start_index_map {:?} of {x}",
        d.start_index_map
    );
    check!(
        d.slice_sizes.iter().zip(&x.dims).all(|(s, n)| 0 <= *s && s <= n),
        OP,
        "gather_c21",
        "slice sizes {:?} of {x}",
        d.slice_sizes
    );
    let offsets = without(&d.slice_sizes, &d.collapsed_slice_dims);
    let (mut offsets, mut grid) = (offsets.into_iter(), grid.into_iter());
    let dims = (0..rank as i64).map(|i| {
        let from = if d.offset_dims.contains(&i) { &mut offsets } else { &mut grid };
        from.next().expect("one size for each result dim")
    });
    Ok(TensorType { dtype: x.dtype, dims: dims.collect() })
}

pub fn scatter(
    kind: ScatterKind,
    d: &ScatterDims,
    x: &TensorType,
    indices: &TensorType,
    updates: &TensorType,
) -> Result<TensorType, HloError> {
    const OP: &str = "scatter";
    check!(
        x.rank() == d.update_window_dims.len() + d.inserted_window_dims.len(),
        OP,
        "scatter_c2",
        "update window dims {:?} and inserted dims {:?} for {x}",
        d.update_window_dims,
        d.inserted_window_dims
    );
    check!(x.dtype == updates.dtype, OP, "scatter_c6", "operand is {x}, updates are {updates}");
    check!(
        unique(&d.update_window_dims) && sorted(&d.update_window_dims),
        OP,
        "scatter_c7",
        "update window dims {:?}",
        d.update_window_dims
    );
    check!(
        in_range(&d.update_window_dims, updates.rank()),
        OP,
        "scatter_c8",
        "update window dims {:?} of {updates}",
        d.update_window_dims
    );
    check!(unique(&d.inserted_window_dims), OP, "scatter_c9", "inserted dims {:?}", d.inserted_window_dims);
    check!(sorted(&d.inserted_window_dims), OP, "scatter_c10", "inserted dims {:?}", d.inserted_window_dims);
    check!(
        in_range(&d.inserted_window_dims, x.rank()),
        OP,
        "scatter_c11",
        "inserted dims {:?} of {x}",
        d.inserted_window_dims
    );
    check!(
        (0..=indices.rank() as i64).contains(&d.index_vector_dim),
        OP,
        "scatter_c22",
        "index_vector_dim {} of {indices}",
        d.index_vector_dim
    );
    check!(indices.dtype.is_int(), OP, "scatter_i2", "indices are {indices}");
    let (components, grid) = index_grid(indices, d.index_vector_dim);
    let map = &d.scatter_dims_to_operand_dims;
    check!(
        map.len() == components,
        OP,
        "scatter_c19",
        "scatter_dims_to_operand_dims {map:?} for index vectors of {components}"
    );
    check!(unique(map), OP, "scatter_c20", "scatter_dims_to_operand_dims {map:?}");
    check!(in_range(map, x.rank()), OP, "scatter_c21", "scatter_dims_to_operand_dims {map:?} of {x}");
    let window = without(&x.dims, &d.inserted_window_dims);
    let found = d.update_window_dims.iter().map(|&u| updates.dims[u as usize]);
    check!(
        found.zip(&window).all(|(u, w)| u <= *w) && without(&updates.dims, &d.update_window_dims) == grid,
        OP,
        "scatter_c4",
        "updates {updates} for operand {x} and indices {indices}"
    );
    let ok = match kind {
        ScatterKind::Maximum | ScatterKind::Minimum => !x.dtype.is_complex(),
        ScatterKind::Set | ScatterKind::Add | ScatterKind::Multiply => true,
    };
    check!(ok, OP, "scatter_c23", "{kind:?} of {x}");
    Ok(x.clone())
}
