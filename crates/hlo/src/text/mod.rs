//! Text forms: our own, which is read back, and StableHLO's.
//!
//! Our form, one function:
//! ```text
//! func @name(%x: f32[2,3], %y: f32[3]) {
//!   %0 = broadcast_in_dim %y {dims=[1]} : f32[2,3]
//!   %1 = add %x, %0 : f32[2,3]
//!   return %1
//! }
//! ```
mod attr;
mod attr_composite;
pub mod case;
mod lexer;
mod parse;
mod print;
mod stablehlo;

pub use attr_composite::intern;
pub use parse::parse;
pub use print::print;
pub use stablehlo::stablehlo;

/// Text that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct ParseError {
    /// Line, from 1.
    pub line: usize,
    /// What was expected or violated.
    pub message: String,
}
