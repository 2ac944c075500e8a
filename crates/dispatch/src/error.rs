//! What a call can end with.

use tnrs_hal::Fault;
use tnrs_hlo::HloError;
use tnrs_lowering::LowerError;
use tnrs_runtime::StreamFault;
use tnrs_types::Raises;

/// A failed call, by the Python exception it becomes.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CallError {
    /// `RuntimeError`.
    #[error("{0}")]
    Runtime(String),
    /// `IndexError`.
    #[error("{0}")]
    Index(String),
    /// `torch.linalg.LinAlgError`.
    #[error("{0}")]
    LinAlg(String),
    /// `ValueError`.
    #[error("{0}")]
    Value(String),
    /// `TypeError`.
    #[error("{0}")]
    Type(String),
    /// `torch.OutOfMemoryError`.
    #[error("{0}")]
    OutOfMemory(String),
    /// No native rule: the caller falls back to the CPU or raises `NotImplementedError`.
    #[error("{0}")]
    Unsupported(String),
    /// The host holds the exception.
    #[error("the host holds an exception")]
    Host,
}

impl CallError {
    /// A fault of a stream's work, as an exception.
    pub fn from_fault(fault: StreamFault) -> Self {
        match fault.fault {
            Fault::IndexOutOfRange { raises: Raises::Index, .. } => CallError::Index(fault.to_string()),
            Fault::Matrix(_) => CallError::LinAlg(fault.to_string()),
            Fault::IndexOutOfRange { .. } | Fault::Data(_) | Fault::Device(_) => {
                CallError::Runtime(fault.to_string())
            }
        }
    }

    /// A rule's error; `operands` describes the call for the message.
    pub fn from_rule(error: LowerError, op: &str, operands: &str) -> Self {
        match error {
            LowerError::Unsupported(m) => CallError::Unsupported(format!("{op}: {m}; operands: {operands}")),
            LowerError::Runtime(m) => CallError::Runtime(m),
            LowerError::Index(m) => CallError::Index(m),
            LowerError::Value(m) => CallError::Value(m),
            LowerError::Type(m) => CallError::Type(m),
            // An operator that does not exist for these element types: the CPU raises PyTorch's error.
            LowerError::Hlo(e @ HloError::Unsupported { .. }) => {
                CallError::Unsupported(format!("{op}: {e}; operands: {operands}"))
            }
            // Operands that the rule was not written for. The CPU refuses them, or knows what they give.
            LowerError::Hlo(e) => CallError::Unsupported(format!(
                "internal error: the lowering of {op} built an illegal program: {e}; operands: {operands}"
            )),
        }
    }
}
