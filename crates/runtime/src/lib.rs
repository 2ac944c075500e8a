//! The runtime: a caching allocator, streams, events, pinned memory and launches over any driver.
//!
//! An executable is opaque here: this crate knows neither hlo nor ATen. The concurrency rules stand at the top of
//! the modules that hold shared state: `stream`, `mark`, `alloc`, `pinned`. No code holds two locks,
//! except that memory asks marks whether they are complete, and a stream starts its worker, under their own.
mod alloc;
mod current;
mod error;
mod event;
mod fork;
mod lane;
mod mark;
mod pinned;
mod record;
mod runtime;
mod stream;
mod sync;

pub use alloc::stats::{MemoryStats, Stat};
pub use alloc::{BlockInfo, BlockState, SegmentInfo};
pub use current::{
    current_device, current_stream, exchange_device, exchange_stream, MAX_DEVICES, STREAMS_PER_PRIORITY,
};
pub use error::{OutOfMemory, StreamFault};
pub use event::{ElapsedError, Event};
pub use fork::is_bad_fork;
pub use record::{HostFn, Launch};
pub use runtime::{Block, Runtime};
