//! What a convolution is: sizes, strides and window numbers.

use tnrs_types::{DType, Dims};

use crate::gemm::Activation;

/// A convolution with any number of spatial dims, in the generality of StableHLO's `convolution`, with the roles of
/// dims already sorted: sizes and strides are listed as (batch, feature), spatial….
#[derive(Clone, Debug, PartialEq)]
pub struct ConvDesc {
    /// Element type of input and kernel.
    pub dtype: DType,
    /// Element type of the output: `dtype`, or F32 for operands of 16 bits.
    pub out: DType,
    /// Input batch size.
    pub batch: usize,
    /// Input features.
    pub in_features: usize,
    /// Output features (the kernel's output features).
    pub out_features: usize,
    /// Spatial sizes of the input.
    pub input: Dims,
    /// Spatial sizes of the kernel.
    pub kernel: Dims,
    /// Spatial sizes of the output.
    pub output: Dims,
    /// Element strides of the input: batch, feature, spatial….
    pub input_strides: Dims,
    /// Element strides of the kernel: output feature, input feature, spatial….
    pub kernel_strides: Dims,
    /// Element strides of the output: batch, feature, spatial….
    pub output_strides: Dims,
    /// Step of the window, per spatial dim.
    pub window_strides: Dims,
    /// Padding before, per spatial dim; may be negative.
    pub padding_low: Dims,
    /// Input dilation (1: none), per spatial dim.
    pub lhs_dilation: Dims,
    /// Kernel dilation (1: none), per spatial dim.
    pub rhs_dilation: Dims,
    /// Whether the kernel is reversed along a spatial dim.
    pub window_reversal: Vec<bool>,
    /// Groups of features: in_features / groups is the kernel's input feature size.
    pub feature_groups: usize,
    /// Groups of the batch: the output's batch size is batch / groups.
    pub batch_groups: usize,
    /// Add a bias of one element of `out`'s type (dense) per output feature.
    pub bias: bool,
    /// Applied after the bias, for floats only.
    pub activation: Activation,
}

impl ConvDesc {
    /// Whether the sum is one that PyTorch scatters, a transposed convolution or the gradient of an input: its window is
    /// reversed, and what is not an element of the input is no term of the sum, not even as zero times infinity.
    pub(super) fn scatters(&self) -> bool {
        self.window_reversal.contains(&true)
    }
}

/// Memory of one run.
#[derive(Clone, Copy, Debug)]
pub struct ConvPtrs {
    /// The input.
    pub input: *const u8,
    /// The kernel.
    pub kernel: *const u8,
    /// The bias, or null.
    pub bias: *const u8,
    /// The output.
    pub output: *mut u8,
}
