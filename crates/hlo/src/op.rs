//! The operation set. Semantics are StableHLO's unless a comment says otherwise.

use tnrs_types::{BinaryKind, CompareDir, Dims, FftKind, ReduceKind, ScatterKind, UnaryKind};

use crate::{Composite, CustomCall, Literal};

/// Dimension numbers of `dot_general`. The result is batch dims, then lhs free dims, then rhs free dims.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct DotDims {
    /// Batching dims of the left operand.
    pub lhs_batch: Dims,
    /// Batching dims of the right operand.
    pub rhs_batch: Dims,
    /// Contracted dims of the left operand.
    pub lhs_contract: Dims,
    /// Contracted dims of the right operand.
    pub rhs_contract: Dims,
}

/// Which dim of input, kernel and output plays which role in `convolution`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "StableHLO's convolution dimension numbers")]
pub struct ConvDims {
    pub input_batch: i64,
    pub input_feature: i64,
    pub input_spatial: Dims,
    pub kernel_input_feature: i64,
    pub kernel_output_feature: i64,
    pub kernel_spatial: Dims,
    pub output_batch: i64,
    pub output_feature: i64,
    pub output_spatial: Dims,
}

/// Attributes of `convolution`, one entry per spatial dim.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "StableHLO's convolution attributes")]
pub struct ConvAttrs {
    pub dims: ConvDims,
    pub window_strides: Dims,
    pub padding_low: Dims,
    pub padding_high: Dims,
    pub lhs_dilation: Dims,
    pub rhs_dilation: Dims,
    pub window_reversal: Vec<bool>,
    pub feature_group_count: i64,
    pub batch_group_count: i64,
}

/// Dimension numbers of `gather` (without batching dims); out-of-range start indices are clamped.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "StableHLO's gather dimension numbers")]
pub struct GatherDims {
    pub offset_dims: Dims,
    pub collapsed_slice_dims: Dims,
    pub start_index_map: Dims,
    pub index_vector_dim: i64,
    pub slice_sizes: Dims,
}

/// Dimension numbers of `scatter` (without batching dims); updates out of range are dropped.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "StableHLO's scatter dimension numbers")]
pub struct ScatterDims {
    pub update_window_dims: Dims,
    pub inserted_window_dims: Dims,
    pub scatter_dims_to_operand_dims: Dims,
    pub index_vector_dim: i64,
}

/// An operation with its attributes. Operand order is StableHLO's.
#[derive(Clone, Debug)]
pub enum Op {
    /// `constant`.
    Constant(Literal),
    /// `iota` along a dim; the result type is the instruction's result type.
    Iota {
        /// The dim that counts.
        dim: i64,
    },
    /// Elementwise function of one operand.
    Unary(UnaryKind),
    /// Elementwise function of two operands.
    Binary(BinaryKind),
    /// `compare` → bool.
    Compare(CompareDir),
    /// `select(pred, on_true, on_false)`; `pred` may be rank 0.
    Select,
    /// `clamp(min, operand, max)`; `min` and `max` may be rank 0.
    Clamp,
    /// `convert` to the result's element type. Float to integer truncates toward zero; out of range and NaN are
    /// implementation-defined (softcore and the interpreter do as PyTorch's CPU kernels: by way of a signed word, whose
    /// least number stands for both, and of which narrower types keep the low bits); anything to bool is `!= 0`.
    /// Float8_e4m3fn has no infinity: what is beyond its range becomes its greatest number, as in PyTorch.
    Convert,
    /// `bitcast_convert` to the result's element type of equal size.
    BitcastConvert,
    /// `broadcast_in_dim`: operand dim `i` becomes result dim `dims[i]`; size-1 dims expand.
    BroadcastInDim {
        /// Result dim of each operand dim.
        dims: Dims,
    },
    /// `reshape` to the result's sizes.
    Reshape,
    /// `transpose`: result dim `i` is operand dim `perm[i]`.
    Transpose {
        /// The permutation.
        perm: Dims,
    },
    /// `slice` with static bounds.
    Slice {
        /// First index per dim.
        start: Dims,
        /// One past the last index per dim.
        limit: Dims,
        /// Positive step per dim.
        stride: Dims,
    },
    /// `dynamic_slice(operand, start_0, …)`, starts clamped; sizes are the result's.
    DynamicSlice,
    /// `dynamic_update_slice(operand, update, start_0, …)`, starts clamped.
    DynamicUpdateSlice,
    /// `pad(operand, value)`; low and high may be negative, interior is not.
    Pad {
        /// Elements added before, per dim.
        low: Dims,
        /// Elements added after, per dim.
        high: Dims,
        /// Elements added between neighbours, per dim.
        interior: Dims,
    },
    /// `concatenate` along a dim.
    Concatenate {
        /// The dim.
        dim: i64,
    },
    /// `reverse` along dims.
    Reverse {
        /// The dims.
        dims: Dims,
    },
    /// `dot_general`; the element type of the result may be wider than that of the operands (f32 from bf16).
    DotGeneral(DotDims),
    /// `convolution`.
    Convolution(Box<ConvAttrs>),
    /// `reduce` of one operand over dims, starting from the kind's neutral element. Reduced floats accumulate in f32.
    Reduce {
        /// The body.
        kind: ReduceKind,
        /// The reduced dims, ascending.
        dims: Dims,
    },
    /// `gather(operand, start_indices)`.
    Gather(Box<GatherDims>),
    /// `scatter(operand, indices, updates)`. No program may rely on a window that is partly out of range: StableHLO
    /// drops its elements one by one, as the interpreter does, XLA drops it whole.
    Scatter {
        /// The body.
        kind: ScatterKind,
        /// Dimension numbers.
        dims: Box<ScatterDims>,
    },
    /// `sort` of one or more operands of equal sizes along a dim, by the first operand; stable.
    /// NaN sorts as the greatest value (as PyTorch does).
    Sort {
        /// The dim.
        dim: i64,
        /// Largest first.
        descending: bool,
    },
    /// `fft` over the last one to three dims. The inverse kinds divide by the number of elements of the transform.
    Fft {
        /// Which transform.
        kind: FftKind,
        /// Sizes of the transform: those of the real side for [`FftKind::Rfft`] and [`FftKind::Irfft`].
        length: Dims,
    },
    /// `composite`: a named operation that every executor may run as its decomposition. See [`Composite`].
    Composite(Composite),
    /// `custom_call`: a routine without a decomposition. See [`CustomCall`].
    CustomCall(Box<CustomCall>),
}

impl Op {
    /// Whether it has to run although nobody uses its results: it may fault.
    pub fn has_effect(&self) -> bool {
        matches!(self, Op::Composite(Composite::CheckIndex { .. } | Composite::Assert { .. }))
    }
}
