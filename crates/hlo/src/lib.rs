//! The tensor IR: a static-shape subset of StableHLO.
//!
//! A [`Func`] is a straight-line list of instructions in SSA form over dense, row-major, statically shaped
//! values. Names, attributes and constraints are StableHLO's; a constraint's label (`add_c1`) is the same on
//! the check in `verify`, and in the test named by it. Layout (strides) is deliberately absent: it belongs
//! to the parameters and results of an executable, which is the business of whoever compiles a `Func`.
//!
//! This crate has never heard of PyTorch, of devices, or of memory.
mod builder;
mod composite;
pub mod custom;
mod error;
mod infer;
pub mod interpret;
mod ir;
mod literal;
pub mod names;
mod op;
pub mod passes;
mod reduction;
pub mod text;
mod verify;

pub use builder::Builder;
pub use composite::Composite;
pub use custom::CustomCall;
pub use error::HloError;
pub use interpret::{interpret, try_interpret, Fault};
pub use ir::{Func, Instr, TensorType, Value};
pub use literal::Literal;
pub use op::{ConvAttrs, ConvDims, DotDims, GatherDims, Op, ScatterDims};
pub use reduction::{body, neutral};
pub use text::intern;
pub use tnrs_types::{BinaryKind, CompareDir, ReduceKind, Scalar, ScatterKind, UnaryKind};
pub use verify::verify;
