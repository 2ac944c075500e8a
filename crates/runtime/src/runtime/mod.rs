//! The runtime object: one driver, its devices, and the operations on them.
mod memory;
mod streams;

pub use memory::Block;

use crate::alloc::{DeviceMemory, Streams};
use crate::current::{MAX_DEVICES, STREAMS};
use crate::fork;
use crate::mark::Mark;
use crate::pinned::PinnedMemory;
use crate::stream::Stream;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, OnceLock};
use tnrs_hal::{DeviceProps, Driver};
use tnrs_types::flags::LAUNCH_BLOCKING;

/// Everything between the framework and a driver.
///
/// Device arguments are indices below [`Runtime::device_count`]; methods panic on others, as on an index out of range.
pub struct Runtime {
    // Fields drop in this order: streams finish their work before memory goes.
    devices: Vec<Device>,
    pinned: PinnedMemory,
    blocking: AtomicBool,
    /// Whether a program gains from running beside the caller.
    parallel: bool,
    driver: Arc<dyn Driver>,
}

struct Device {
    streams: DeviceStreams,
    memory: DeviceMemory,
    /// How many streams were handed out, per priority.
    handed_out: [AtomicUsize; 2],
}

/// The streams of a device, made when first used.
struct DeviceStreams {
    driver: Arc<dyn Driver>,
    device: usize,
    table: [OnceLock<Stream>; STREAMS],
}

impl DeviceStreams {
    #[inline]
    fn get(&self, stream: usize) -> &Stream {
        self.table[stream].get_or_init(|| Stream::new(self.driver.queue(self.device)))
    }

    /// Streams that were used so far, by id.
    fn used(&self) -> impl Iterator<Item = &Stream> {
        self.table.iter().filter_map(OnceLock::get)
    }
}

impl Streams for DeviceStreams {
    fn mark(&self, stream: usize) -> Arc<Mark> {
        self.get(stream).mark()
    }

    fn drain_all(&self) {
        // All streams start before the first is waited for.
        let pending: Vec<(&Stream, Arc<Mark>)> =
            self.used().filter_map(|stream| Some((stream, stream.begin_drain()?))).collect();
        for (stream, mark) in pending {
            stream.wait(&mark);
        }
    }
}

static GLOBAL: OnceLock<Runtime> = OnceLock::new();

impl Runtime {
    /// A runtime of its own, for tests and tools. Dropping it finishes all work and releases all memory.
    ///
    /// # Panics
    /// When the driver has more than [`MAX_DEVICES`] devices.
    pub fn new(driver: Box<dyn Driver>) -> Runtime {
        let driver: Arc<dyn Driver> = driver.into();
        let count = driver.device_count();
        assert!(count <= MAX_DEVICES, "{count} devices are more than {MAX_DEVICES}");
        let device = |device| Device {
            streams: DeviceStreams {
                driver: driver.clone(),
                device,
                table: [const { OnceLock::new() }; STREAMS],
            },
            memory: DeviceMemory::new(driver.clone(), device),
            handed_out: [AtomicUsize::new(0), AtomicUsize::new(0)],
        };
        Runtime {
            devices: (0..count).map(device).collect(),
            pinned: PinnedMemory::new(),
            blocking: AtomicBool::new(LAUNCH_BLOCKING.is_on()),
            parallel: driver.threads() > 1,
            driver,
        }
    }

    /// Makes the process's runtime; a second call returns the first one and drops its driver. From now on a forked
    /// child [is bad](crate::is_bad_fork).
    pub fn init(driver: Box<dyn Driver>) -> &'static Runtime {
        fork::watch();
        GLOBAL.get_or_init(|| Runtime::new(driver))
    }

    /// The process's runtime.
    ///
    /// # Panics
    /// Before [`Runtime::init`].
    #[inline]
    pub fn get() -> &'static Runtime {
        Runtime::try_get().expect("the Neuron runtime is not initialised")
    }

    /// The process's runtime; `None` before [`Runtime::init`].
    #[inline]
    pub fn try_get() -> Option<&'static Runtime> {
        GLOBAL.get()
    }

    /// The driver.
    pub fn driver(&self) -> &dyn Driver {
        &*self.driver
    }

    /// Number of devices.
    #[inline]
    pub fn device_count(&self) -> usize {
        self.devices.len()
    }

    /// Properties of a device.
    pub fn properties(&self, device: usize) -> DeviceProps {
        self.driver.properties(device)
    }
}
