//! What can be wrong with a program.

/// An error of construction or verification.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HloError {
    /// A constraint does not hold. `label` is the StableHLO label (`dot_general_c3`).
    #[error("{op}: constraint {label} does not hold: {detail}")]
    Constraint {
        /// StableHLO op name.
        op: &'static str,
        /// Label of the constraint.
        label: &'static str,
        /// What was found.
        detail: String,
    },
    /// The operation exists but not for these types.
    #[error("{op} is not supported for {detail}")]
    Unsupported {
        /// StableHLO op name.
        op: &'static str,
        /// The types.
        detail: String,
    },
}
