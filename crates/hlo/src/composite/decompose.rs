//! The definitions of the composites, as plain ops.

use smallvec::{smallvec, SmallVec};

use super::{
    activation, attention, attention_grad, norm, norm_grad, optim, pack, philox, scan, softmax, window,
};
use crate::{infer, Builder, Composite, HloError, TensorType, Value};

/// Results of a decomposition, before the conversion to the result types.
pub(super) type Values = Result<SmallVec<[Value; 2]>, HloError>;

impl Composite {
    /// Appends the composite's definition to `b` and returns its results, which have the types `results`.
    ///
    /// Errors are those of `Builder::composite` with the same operands and results.
    pub fn decompose(
        &self,
        b: &mut Builder,
        operands: &[Value],
        results: &[TensorType],
    ) -> Result<SmallVec<[Value; 2]>, HloError> {
        {
            let types: SmallVec<[&TensorType; 8]> = operands.iter().map(|v| b.ty(*v)).collect();
            infer::composite(self, &types, results)?;
        }
        let x = operands;
        let values = match self {
            Composite::Gelu { tanh } => activation::gelu(b, x[0], *tanh),
            Composite::GeluGrad { tanh } => activation::gelu_grad(b, x[0], x[1], *tanh),
            Composite::Silu => activation::silu(b, x[0]),
            Composite::SiluGrad => activation::silu_grad(b, x[0], x[1]),
            Composite::Softmax { dim, log } => softmax::softmax(b, x[0], *dim, *log),
            Composite::SoftmaxGrad { dim, log } => softmax::grad(b, x[0], x[1], *dim, *log),
            Composite::LayerNorm { axis, eps, weight, bias } => {
                norm::layer_norm(b, x, *axis, *eps, *weight, *bias)
            }
            Composite::RmsNorm { axis, eps, .. } => norm::rms_norm(b, x, *axis, *eps),
            Composite::LayerNormGrad { axis, .. } => norm_grad::layer_norm(b, x, *axis),
            Composite::RmsNormGrad { axis, .. } => norm_grad::rms_norm(b, x, *axis),
            Composite::Sdpa { scale, causal, bias, dropout } => {
                attention::sdpa(b, x, &attention::Attrs::new(*scale, *causal, *bias, *dropout))
            }
            Composite::SdpaGrad { scale, causal, bias, dropout, bias_grad } => {
                let attrs = attention::Attrs::new(*scale, *causal, *bias, *dropout);
                attention_grad::sdpa_grad(b, x, &attrs, *bias_grad)
            }
            Composite::Philox => philox::philox(b, x[0], x[1], &results[0].dims),
            Composite::AdamStep { .. } => optim::adam(b, x, self),
            Composite::SgdStep { .. } => optim::sgd(b, x, self),
            Composite::ArgReduce { dim, max } => scan::arg_reduce(b, x[0], *dim, *max),
            Composite::Cumulative { dim, kind } => scan::cumulative(b, x[0], *dim, *kind),
            Composite::MaxPool { kernel, stride, padding, dilation } => {
                window::max_pool(b, x[0], [kernel, stride, padding, dilation], &results[0].dims)
            }
            Composite::Compact => pack::compact(b, x[0], x[1]),
            Composite::Nonzero => pack::nonzero(b, x[0]),
            Composite::CheckIndex { .. } | Composite::Assert { .. } => Ok(smallvec![x[0]]),
        }?;
        values.iter().zip(results).map(|(v, ty)| b.convert(*v, ty.dtype)).collect()
    }
}
