//! What a gather or scatter is, in StableHLO's numbers, with sizes and strides.

use tnrs_types::{DType, Dims, ScatterKind};

/// `gather(operand, indices)`: StableHLO semantics without batching dims; start indices are clamped.
#[derive(Clone, Debug, PartialEq)]
pub struct GatherDesc {
    /// Bytes of one element of operand and result: 1, 2, 4, 8 or 16.
    pub elem: usize,
    /// Sizes of the operand.
    pub operand: Dims,
    /// Element strides of the operand.
    pub operand_strides: Dims,
    /// Integer element type of the indices.
    pub index_dtype: DType,
    /// Sizes of the indices.
    pub indices: Dims,
    /// Element strides of the indices.
    pub index_strides: Dims,
    /// Sizes of the result.
    pub result: Dims,
    /// Element strides of the result.
    pub result_strides: Dims,
    /// Result dims that run inside a slice.
    pub offset_dims: Dims,
    /// Operand dims of slice size 1 that the result leaves out.
    pub collapsed_slice_dims: Dims,
    /// The operand dim that each component of an index vector addresses.
    pub start_index_map: Dims,
    /// The dim of the indices that holds index vectors; their rank when each index is a vector of one.
    pub index_vector_dim: i64,
    /// Slice size per operand dim.
    pub slice_sizes: Dims,
}

/// `scatter` into a result that already holds the operand: StableHLO semantics without batching dims; updates
/// whose element lies outside the result are dropped. Updates meet an element in the row-major order of the index vectors, whatever
/// the number of threads, so `Set` keeps the last update and sums are reproducible.
#[derive(Clone, Debug, PartialEq)]
pub struct ScatterDesc {
    /// How an update meets the element.
    pub kind: ScatterKind,
    /// Element type of result and updates.
    pub dtype: DType,
    /// Sizes of the result.
    pub result: Dims,
    /// Element strides of the result.
    pub result_strides: Dims,
    /// Integer element type of the indices.
    pub index_dtype: DType,
    /// Sizes of the indices.
    pub indices: Dims,
    /// Element strides of the indices.
    pub index_strides: Dims,
    /// Sizes of the updates.
    pub updates: Dims,
    /// Element strides of the updates.
    pub update_strides: Dims,
    /// Update dims that run inside a window.
    pub update_window_dims: Dims,
    /// Result dims of window size 1 that the updates leave out.
    pub inserted_window_dims: Dims,
    /// The result dim that each component of an index vector addresses.
    pub scatter_dims_to_operand_dims: Dims,
    /// The dim of the indices that holds index vectors; their rank when each index is a vector of one.
    pub index_vector_dim: i64,
}
