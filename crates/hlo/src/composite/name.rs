//! Names of composites, for text and messages.

use crate::Composite;

impl Composite {
    /// Every composite's name.
    pub const NAMES: &'static [&'static str] = &[
        "gelu",
        "gelu_grad",
        "silu",
        "silu_grad",
        "softmax",
        "softmax_grad",
        "layer_norm",
        "layer_norm_grad",
        "rms_norm",
        "rms_norm_grad",
        "sdpa",
        "sdpa_grad",
        "philox",
        "adam_step",
        "sgd_step",
        "arg_reduce",
        "cumulative",
        "max_pool",
        "compact",
        "nonzero",
        "check_index",
        "assert",
    ];

    /// The composite's name, as the text form writes it.
    pub fn name(&self) -> &'static str {
        match self {
            Composite::Gelu { .. } => "gelu",
            Composite::GeluGrad { .. } => "gelu_grad",
            Composite::Silu => "silu",
            Composite::SiluGrad => "silu_grad",
            Composite::Softmax { .. } => "softmax",
            Composite::SoftmaxGrad { .. } => "softmax_grad",
            Composite::LayerNorm { .. } => "layer_norm",
            Composite::LayerNormGrad { .. } => "layer_norm_grad",
            Composite::RmsNorm { .. } => "rms_norm",
            Composite::RmsNormGrad { .. } => "rms_norm_grad",
            Composite::Sdpa { .. } => "sdpa",
            Composite::SdpaGrad { .. } => "sdpa_grad",
            Composite::Philox => "philox",
            Composite::AdamStep { .. } => "adam_step",
            Composite::SgdStep { .. } => "sgd_step",
            Composite::ArgReduce { .. } => "arg_reduce",
            Composite::Cumulative { .. } => "cumulative",
            Composite::MaxPool { .. } => "max_pool",
            Composite::Compact => "compact",
            Composite::Nonzero => "nonzero",
            Composite::CheckIndex { .. } => "check_index",
            Composite::Assert { .. } => "assert",
        }
    }
}
