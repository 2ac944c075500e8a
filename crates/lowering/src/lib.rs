//! ATen operators as hlo: one row, one rule, one place.
//!
//! A [`Row`] names an ATen overload and holds its rule, a pure function from operands (as hlo values with their
//! types) and static attributes to result values. Eager execution builds a function of one row, a compiled graph
//! one of many; registration of the in-place and `out=` overloads, the OpInfo tests and the coverage page all
//! follow from the same row.
//!
//! This crate has never heard of devices, memory, strides or Python.
mod ctx;
mod error;
mod expr;
pub mod helpers;
mod layout;
mod promote;
mod row;
mod rules;

pub use ctx::{Arg, Ctx, Outcome, Ret, ScalarArg, Source, Tensor};
pub use error::LowerError;
pub use expr::{Expr, Math, Operand};
pub use promote::{promote_types, result_type};
pub use row::{Check, Format, Infer, OutTypes, Row};
pub use rules::table;
