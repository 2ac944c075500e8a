//! The null driver: every method a driver needs, over plain host memory, with nothing compiled.
//!
//! It is the skeleton to copy when writing a driver, and the device under the runtime's own tests: executables
//! run synchronously on the thread that submits them, so a queue is always complete.
use crate::{Arg, DeviceProps, Driver, Event, Executable, Fault, MemoryError, Queue};
use std::alloc::Layout;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// Alignment of every allocation, as [`Driver::allocate`] promises.
const ALIGN: usize = 4096;

/// A driver without a device.
pub struct NullDriver {
    devices: usize,
    total_memory: usize,
    threads: usize,
    /// Bytes allocated per device and not released.
    in_use: Vec<AtomicUsize>,
}

impl NullDriver {
    /// `devices` devices with `total_memory` bytes each. `threads` is what [`Driver::threads`] reports.
    pub fn new(devices: usize, total_memory: usize, threads: usize) -> NullDriver {
        NullDriver {
            devices,
            total_memory,
            threads,
            in_use: (0..devices).map(|_| AtomicUsize::new(0)).collect(),
        }
    }

    /// Bytes of a device that are allocated and not released.
    pub fn in_use(&self, device: usize) -> usize {
        self.in_use[device].load(Ordering::SeqCst)
    }
}

impl Driver for NullDriver {
    fn name(&self) -> &str {
        "null"
    }

    fn device_count(&self) -> usize {
        self.devices
    }

    fn properties(&self, _device: usize) -> DeviceProps {
        DeviceProps {
            name: "null".into(),
            total_memory: self.total_memory,
            cores: self.threads,
            capability: (0, 0),
        }
    }

    fn host_visible(&self) -> bool {
        true
    }

    fn allocate(&self, device: usize, bytes: usize) -> Result<*mut u8, MemoryError> {
        let fail = |reason: &str| MemoryError { bytes, reason: reason.into() };
        let layout =
            Layout::from_size_align(bytes.max(1), ALIGN).map_err(|_| fail("the size is not addressable"))?;
        let before = self.in_use[device].fetch_add(bytes, Ordering::SeqCst);
        if before + bytes > self.total_memory {
            self.in_use[device].fetch_sub(bytes, Ordering::SeqCst);
            return Err(fail("the device is full"));
        }
        // SAFETY: the layout has a non-zero size.
        let ptr = unsafe { std::alloc::alloc(layout) };
        if ptr.is_null() {
            self.in_use[device].fetch_sub(bytes, Ordering::SeqCst);
            return Err(fail("the host is out of memory"));
        }
        Ok(ptr)
    }

    unsafe fn release(&self, device: usize, ptr: *mut u8, bytes: usize) {
        // SAFETY: `bytes` is the size of the allocation, for which this layout was valid.
        unsafe {
            let layout = Layout::from_size_align_unchecked(bytes.max(1), ALIGN);
            std::alloc::dealloc(ptr, layout);
        }
        self.in_use[device].fetch_sub(bytes, Ordering::SeqCst);
    }

    fn queue(&self, _device: usize) -> Box<dyn Queue> {
        Box::new(NullQueue)
    }

    fn threads(&self) -> usize {
        self.threads
    }
}

/// A queue that runs work while it is submitted.
struct NullQueue;

impl Queue for NullQueue {
    unsafe fn execute(
        &mut self,
        exe: &Arc<dyn Executable>,
        args: &[Arg],
        workspace: *mut u8,
    ) -> Result<(), Fault> {
        // SAFETY: the caller's promise is the same one.
        unsafe { exe.run(args, workspace) }
    }

    unsafe fn copy(&mut self, dst: *mut u8, src: *const u8, bytes: usize) -> Result<(), Fault> {
        // SAFETY: the caller promises two valid ranges of `bytes` that do not overlap.
        unsafe { std::ptr::copy_nonoverlapping(src, dst, bytes) };
        Ok(())
    }

    fn record(&mut self) -> Arc<dyn Event> {
        Arc::new(Reached(clock_ns()))
    }

    fn synchronize(&mut self) -> Result<(), Fault> {
        Ok(())
    }
}

/// An event that was complete when it was made, at this time.
struct Reached(u64);

impl Event for Reached {
    fn is_complete(&self) -> bool {
        true
    }

    fn wait(&self) {}

    fn completed_ns(&self) -> Option<u64> {
        Some(self.0)
    }
}

/// Nanoseconds of a monotonic clock that starts with its first call.
pub fn clock_ns() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// An executable that calls a host function; what tests of drivers and of the runtime launch.
pub struct HostExecutable<F> {
    name: String,
    cost_ns: u64,
    body: F,
}

impl<F> HostExecutable<F>
where
    F: Fn(&[Arg]) -> Result<(), Fault> + Send + Sync + 'static,
{
    /// An executable with this name and estimated cost, without workspace.
    pub fn shared(name: &str, cost_ns: u64, body: F) -> Arc<dyn Executable> {
        Arc::new(HostExecutable { name: name.into(), cost_ns, body })
    }
}

impl<F> Executable for HostExecutable<F>
where
    F: Fn(&[Arg]) -> Result<(), Fault> + Send + Sync,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn workspace_bytes(&self) -> usize {
        0
    }

    fn cost_ns(&self) -> u64 {
        self.cost_ns
    }

    unsafe fn run(&self, args: &[Arg], _workspace: *mut u8) -> Result<(), Fault> {
        (self.body)(args)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_driver_conforms() {
        crate::conformance::check(&NullDriver::new(2, 64 << 20, 1));
    }

    #[test]
    fn a_full_device_refuses() {
        let driver = NullDriver::new(1, 1 << 20, 1);
        let ptr = driver.allocate(0, 1 << 20).unwrap();
        let error = driver.allocate(0, 1).unwrap_err();
        assert_eq!(error.bytes, 1);
        // SAFETY: `ptr` is the allocation above, released once.
        unsafe { driver.release(0, ptr, 1 << 20) };
        assert_eq!(driver.in_use(0), 0);
    }
}
