//! What a caller could not foresee.

use tnrs_types::Raises;

/// A failed execution. Kept on the stream and raised at the next synchronisation.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Fault {
    /// The data held an index outside its dim. Becomes the Python exception that `raises` names.
    #[error("{site}: index {index} is out of bounds for dimension {dim} with size {size}")]
    IndexOutOfRange {
        /// The operator.
        site: &'static str,
        /// The dim indexed.
        dim: i64,
        /// The offending index.
        index: i64,
        /// The dim's size.
        size: i64,
        /// `IndexError` or `RuntimeError`.
        raises: Raises,
    },
    /// A matrix has no factorisation or no solution. Becomes `torch.linalg.LinAlgError`.
    #[error("{0}")]
    Matrix(String),
    /// The data broke a rule of the operator. Becomes `RuntimeError`.
    #[error("{0}")]
    Data(&'static str),
    /// The device failed. Becomes `RuntimeError`.
    #[error("{0}")]
    Device(String),
}

/// Raw memory could not be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the driver could not allocate {bytes} bytes: {reason}")]
pub struct MemoryError {
    /// Bytes asked for.
    pub bytes: usize,
    /// The system's reason.
    pub reason: String,
}
