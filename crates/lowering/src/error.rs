//! Why a rule could not lower a call.

use tnrs_types::DType;

/// The error of a rule. The message of `Unsupported` is followed by the operands when it reaches the user.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LowerError {
    /// No native lowering for these operands: the call falls back or raises `NotImplementedError`.
    #[error("{0}")]
    Unsupported(String),
    /// The caller's mistake: `RuntimeError` with PyTorch's message.
    #[error("{0}")]
    Runtime(String),
    /// The caller's mistake: `IndexError`.
    #[error("{0}")]
    Index(String),
    /// The caller's mistake: `ValueError`.
    #[error("{0}")]
    Value(String),
    /// The caller's mistake: `TypeError`.
    #[error("{0}")]
    Type(String),
    /// The rule built an illegal program: a bug here.
    #[error(transparent)]
    Hlo(#[from] tnrs_hlo::HloError),
}

impl LowerError {
    /// `Unsupported` with a message.
    pub fn unsupported(message: impl Into<String>) -> Self {
        LowerError::Unsupported(message.into())
    }
    /// `Runtime` with a message.
    pub fn runtime(message: impl Into<String>) -> Self {
        LowerError::Runtime(message.into())
    }
    /// `Unsupported`, in the CPU backend's words for an element type that a kernel of its lacks.
    pub fn no_kernel(kernel: &str, dtype: DType) -> Self {
        LowerError::Unsupported(format!("\"{kernel}\" not implemented for '{}'", dtype.torch_name()))
    }
}
