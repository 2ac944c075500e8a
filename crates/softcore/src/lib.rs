//! The software NeuronCore: hlo to plan, and the machine that runs plans.
//!
//! [`compile`] turns a function and the layouts of its memory into an executable: a flat list of steps that call
//! precompiled kernels. There is no code generator. Elementwise instructions fuse into tile programs, shape
//! instructions become strides, results are written where the caller wants them, and temporaries share one workspace
//! that the caller provides, so that running a plan allocates nothing, except what a routine of a custom call needs.
//!
//! [`SoftcoreDriver`] is the device: memory, queues and events of this process.
//!
//! This crate has never heard of PyTorch or its operators, and does no arithmetic of its own.
mod driver;
mod error;
mod executable;
mod memory;
mod plan;
mod routine;
mod spec;
mod step;
mod view;

pub use driver::SoftcoreDriver;
pub use error::{CompileError, ConfigError};
pub use executable::compile;
pub use spec::{CompileSpec, ParamSpec, ResultSpec};
