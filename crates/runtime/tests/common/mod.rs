//! What the tests share: a driver that outlives its runtime, and executables that wait, log and write.
#![allow(dead_code, reason = "each test binary uses a part")]

use std::sync::{Arc, Condvar, Mutex};
use tnrs_hal::null::{HostExecutable, NullDriver};
use tnrs_hal::{Arg, DeviceProps, Driver, Executable, Fault, MemoryError, Queue};
use tnrs_runtime::{Launch, Runtime};

/// An estimate that sends a launch to the worker.
pub const SLOW: u64 = 1_000_000;

/// A null driver that a test keeps a hand on.
pub struct Shared(pub Arc<NullDriver>);

impl Driver for Shared {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn device_count(&self) -> usize {
        self.0.device_count()
    }
    fn properties(&self, device: usize) -> DeviceProps {
        self.0.properties(device)
    }
    fn host_visible(&self) -> bool {
        self.0.host_visible()
    }
    fn allocate(&self, device: usize, bytes: usize) -> Result<*mut u8, MemoryError> {
        self.0.allocate(device, bytes)
    }
    unsafe fn release(&self, device: usize, ptr: *mut u8, bytes: usize) {
        // SAFETY: the caller's promise is the same one.
        unsafe { self.0.release(device, ptr, bytes) }
    }
    fn queue(&self, device: usize) -> Box<dyn Queue> {
        self.0.queue(device)
    }
    fn threads(&self) -> usize {
        self.0.threads()
    }
}

/// A runtime over a null driver with two devices of `memory` bytes, where slow programs run beside the caller.
pub fn runtime(memory: usize) -> (Runtime, Arc<NullDriver>) {
    let driver = Arc::new(NullDriver::new(2, memory, 2));
    (Runtime::new(Box::new(Shared(driver.clone()))), driver)
}

/// A launch without arguments.
pub fn plain(exe: &Arc<dyn Executable>) -> Launch<'_> {
    with(exe, &[])
}

/// A launch with arguments.
pub fn with<'a>(exe: &'a Arc<dyn Executable>, args: &'a [Arg]) -> Launch<'a> {
    Launch { exe, args, workspace: std::ptr::null_mut(), stack: None }
}

/// Launches an executable that touches no device memory.
pub fn launch(runtime: &Runtime, stream: i64, exe: &Arc<dyn Executable>) {
    // SAFETY: the executables of these tests touch no memory but their own, unless they go through `with`.
    unsafe { runtime.launch(0, stream, plain(exe)) }.expect("launches do not block");
}

/// A door that programs wait at.
#[derive(Clone, Default)]
pub struct Door(Arc<(Mutex<bool>, Condvar)>);

impl Door {
    pub fn open(&self) {
        *self.0 .0.lock().unwrap() = true;
        self.0 .1.notify_all();
    }

    pub fn pass(&self) {
        let mut open = self.0 .0.lock().unwrap();
        while !*open {
            open = self.0 .1.wait(open).unwrap();
        }
    }

    /// A program that waits until the door opens.
    pub fn program(&self) -> Arc<dyn Executable> {
        let door = self.clone();
        HostExecutable::shared("test::door", SLOW, move |_| {
            door.pass();
            Ok(())
        })
    }
}

/// A list that programs append to.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<u32>>>);

impl Log {
    pub fn read(&self) -> Vec<u32> {
        self.0.lock().unwrap().clone()
    }

    /// A program that appends `value`.
    pub fn program(&self, cost_ns: u64, value: u32) -> Arc<dyn Executable> {
        let log = self.0.clone();
        HostExecutable::shared("test::log", cost_ns, move |_| {
            log.lock().unwrap().push(value);
            Ok(())
        })
    }
}

/// A program that faults with an index out of range.
pub fn faulty(cost_ns: u64, index: i64) -> Arc<dyn Executable> {
    HostExecutable::shared("test::index", cost_ns, move |_| {
        Err(Fault::IndexOutOfRange {
            site: "test::index",
            dim: 0,
            index,
            size: 3,
            raises: tnrs_types::Raises::Index,
        })
    })
}
