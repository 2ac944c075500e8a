//! The device interface: what a driver must be able to do, and nothing about how.
//!
//! A [`Driver`] owns devices. Memory is raw and uncached (the caching allocator is the runtime's), a [`Queue`]
//! runs work in order, an [`Executable`] is an opaque compiled program, an [`Event`] marks a point in a queue.
//!
//! **Who validates.** Everything above this layer: sizes, dtypes, bounds of memory, lifetimes. A driver checks
//! nothing twice; an error from here is only what the caller could not foresee, such as an index that the data
//! holds, a device that is lost, or memory that is exhausted.
//!
//! This crate has never heard of PyTorch, or of what an executable computes.
pub mod conformance;
mod error;
pub mod null;

pub use error::{Fault, MemoryError};

use std::sync::Arc;

/// One argument of a launch.
#[derive(Clone, Copy, Debug)]
pub enum Arg {
    /// Address of the first element of a tensor in device memory.
    Memory(*mut u8),
    /// A number, already converted to the parameter's element type, in host byte order from byte 0 on.
    Scalar([u8; 16]),
}
// SAFETY: an `Arg` is an address or plain bytes; who dereferences it promises validity (see `Executable::run`).
unsafe impl Send for Arg {}
// SAFETY: as above; shared access reads the address only.
unsafe impl Sync for Arg {}

/// A compiled program. Arguments are its parameters in order, then its results in order.
pub trait Executable: Send + Sync {
    /// Name for profiles and error messages, such as `aten::add.Tensor`.
    fn name(&self) -> &str;
    /// Bytes of workspace one run needs (64-byte aligned); 0 for most.
    fn workspace_bytes(&self) -> usize;
    /// Estimated nanoseconds of one run on one core; decides between running inline and handing off.
    fn cost_ns(&self) -> u64;
    /// Runs to completion on the calling thread (and the driver's helpers).
    ///
    /// # Safety
    /// Every `Arg::Memory` is valid for the extent that the program's types and layouts say, `workspace` for
    /// [`Executable::workspace_bytes`], and nobody else writes them (or reads what this writes) meanwhile.
    unsafe fn run(&self, args: &[Arg], workspace: *mut u8) -> Result<(), Fault>;
}

/// What a device is.
#[derive(Clone, Debug)]
pub struct DeviceProps {
    /// Name, such as `softcore (AVX-512, 2 threads)`.
    pub name: String,
    /// Bytes of memory.
    pub total_memory: usize,
    /// Threads or engines that execute programs.
    pub cores: usize,
    /// NeuronCore generation that the device stands for (softcore reports 3).
    pub capability: (u32, u32),
}

/// A point in a queue.
pub trait Event: Send + Sync {
    /// Whether all work before the point is done.
    fn is_complete(&self) -> bool;
    /// Blocks the calling thread until it is.
    fn wait(&self);
    /// When it completed, in nanoseconds of a monotonic clock; `None` before.
    fn completed_ns(&self) -> Option<u64>;
}

/// An in-order execution queue of one device. Calls come from one thread at a time.
pub trait Queue: Send {
    /// Runs or enqueues an executable.
    ///
    /// # Safety
    /// As [`Executable::run`], until the work completes.
    unsafe fn execute(
        &mut self,
        exe: &Arc<dyn Executable>,
        args: &[Arg],
        workspace: *mut u8,
    ) -> Result<(), Fault>;
    /// Copies bytes between device memories, or between device memory and pinned or pageable host memory.
    ///
    /// # Safety
    /// Both ranges are valid for `bytes` and do not overlap, until the work completes.
    unsafe fn copy(&mut self, dst: *mut u8, src: *const u8, bytes: usize) -> Result<(), Fault>;
    /// Marks this point.
    fn record(&mut self) -> Arc<dyn Event>;
    /// Blocks until all work is done.
    fn synchronize(&mut self) -> Result<(), Fault>;
}

/// A family of devices.
pub trait Driver: Send + Sync {
    /// Driver name, such as `softcore`.
    fn name(&self) -> &str;
    /// Number of devices.
    fn device_count(&self) -> usize;
    /// Properties of a device (`device < device_count()`).
    fn properties(&self, device: usize) -> DeviceProps;
    /// Whether the host can read and write device memory at the same address.
    fn host_visible(&self) -> bool;
    /// Allocates raw device memory, 4096-byte aligned.
    fn allocate(&self, device: usize, bytes: usize) -> Result<*mut u8, MemoryError>;
    /// Releases memory from [`Driver::allocate`].
    ///
    /// # Safety
    /// `ptr` and `bytes` are those of one allocation, released once, with no work on it outstanding.
    unsafe fn release(&self, device: usize, ptr: *mut u8, bytes: usize);
    /// A new queue on a device.
    fn queue(&self, device: usize) -> Box<dyn Queue>;
    /// Threads that take part in executing one program; 1 means nothing is gained by running asynchronously.
    fn threads(&self) -> usize;
}
