//! Why a program did not compile or a driver did not start.

/// The error of [`crate::compile`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// The specification does not fit the function: the caller's mistake.
    #[error("{func}: {detail}")]
    Spec {
        /// Name of the function.
        func: String,
        /// What does not fit.
        detail: String,
    },
    /// No kernel computes this operation on these types.
    #[error("{func}: {op} is not supported on softcore for {detail}")]
    Unsupported {
        /// Name of the function.
        func: String,
        /// The operation.
        op: String,
        /// Its operand types.
        detail: String,
    },
    /// A decomposition built an illegal program: a bug of the hlo crate.
    #[error(transparent)]
    Hlo(#[from] tnrs_hlo::HloError),
}

/// A setting in the environment that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}={value}: {reason}")]
pub struct ConfigError {
    /// Name of the variable.
    pub name: &'static str,
    /// Its value.
    pub value: String,
    /// What is wrong and what would be right.
    pub reason: String,
}
