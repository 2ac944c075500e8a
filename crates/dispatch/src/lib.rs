//! From a call to a launch.
//!
//! A call names an operator and brings borrowed views of its arguments ([`raw`]). Its *key* is everything that can
//! change the compiled program: operator, element types, sizes, strides, static attributes ([`key`]). A hit in the
//! cache allocates the outputs and launches ([`call()`]); a miss asks PyTorch's meta kernels for output types, runs the
//! lowering rule, compiles and remembers ([`compile`]). Numbers that do not shape the program travel as operands, so
//! a changing learning rate never recompiles.
//!
//! What this crate needs from the framework (meta inference, tensor allocation, generators) comes through the
//! [`Host`] trait; it has never heard of the C ABI or of Python.
mod assemble;
mod bounded;
mod cache;
mod call;
mod compile;
mod copy;
mod dump;
mod encode;
mod entry;
mod error;
pub mod graph;
mod host;
mod key;
mod ledger;
mod ops;
pub mod raw;

pub use cache::{cache_len, clear_cache};
pub use call::{call, Rets};
pub use copy::copy;
pub use dump::set_dump;
pub use error::CallError;
pub use host::{Host, OutMeta};
pub use ledger::{
    executed_ops, fallback, fallback_ops, reset_executed_ops, reset_fallback_ops, FallbackPolicy,
};
pub use ops::{declare, row_count, row_name, ArgKind, Schema, Variant};
pub use tnrs_hlo::TensorType;
