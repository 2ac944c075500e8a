//! Functions of dense rows: softmax and normalisations, forward and backward.
//!
//! A function handles `rows` rows of `cols` contiguous elements, so a caller splits rows among threads. Reduced floats
//! are computed in f32. Every sum runs in the fixed lanes of [`lanes`], so results do not depend on the instruction set
//! beyond rounding of fused operations, nor on how rows are split.

mod lanes;
mod layer_norm;
mod rms_norm;
mod softmax;

use tnrs_types::DType;

use crate::isa;

pub use layer_norm::{
    layer_norm_grad_on, layer_norm_on, LayerNormArgs, LayerNormFn, LayerNormGradArgs, LayerNormGradFn,
};
pub use rms_norm::{rms_norm_grad_on, rms_norm_on, RmsNormArgs, RmsNormFn, RmsNormGradArgs, RmsNormGradFn};
pub use softmax::{softmax_grad_on, softmax_on, SoftmaxFn, SoftmaxGradFn};

/// Softmax (or log-softmax) of rows of type `from` into type `to`. A row of only −inf gives NaN.
///
/// Types: f64 to f64, and any pair of f32, bf16 and f16.
pub fn softmax(log: bool, from: DType, to: DType) -> Option<SoftmaxFn> {
    softmax_on(isa::current(), log, from, to)
}

/// Gradient of softmax (or log-softmax): `dy` and the result `y` of type `from`, `dx` of type `to`.
pub fn softmax_grad(log: bool, from: DType, to: DType) -> Option<SoftmaxGradFn> {
    softmax_grad_on(isa::current(), log, from, to)
}

/// Layer normalisation of rows of type `x` with weight and bias of type `w` (`x` itself, or f32 beside bf16 or f16).
pub fn layer_norm(x: DType, w: DType) -> Option<LayerNormFn> {
    layer_norm_on(isa::current(), x, w)
}

/// Gradient of [`layer_norm`].
pub fn layer_norm_grad(x: DType, w: DType) -> Option<LayerNormGradFn> {
    layer_norm_grad_on(isa::current(), x, w)
}

/// Root-mean-square normalisation of rows of type `x` with weight of type `w` (`x` itself, or f32 beside bf16 or f16).
pub fn rms_norm(x: DType, w: DType) -> Option<RmsNormFn> {
    rms_norm_on(isa::current(), x, w)
}

/// Gradient of [`rms_norm`].
pub fn rms_norm_grad(x: DType, w: DType) -> Option<RmsNormGradFn> {
    rms_norm_grad_on(isa::current(), x, w)
}

#[cfg(test)]
mod tests;
