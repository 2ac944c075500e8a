//! The software NeuronCore as a device.

use std::sync::Arc;
use std::time::Instant;

use tnrs_hal::{Arg, DeviceProps, Driver, Event, Executable, Fault, MemoryError, Queue};
use tnrs_kernels::{isa, pool};
use tnrs_types::flags::{self, Flag};

use crate::memory::{physical, Hbm};
use crate::ConfigError;

/// The driver of the software NeuronCores. All cores share the process's worker threads.
pub struct SoftcoreDriver {
    cores: Vec<Hbm>,
}

impl SoftcoreDriver {
    /// A driver as the environment describes it: `NEURON_RT_VISIBLE_CORES`, `NEURON_RT_NUM_CORES`,
    /// `TORCH_NEURONX_SOFTCORE_HBM`.
    pub fn new() -> Result<Self, ConfigError> {
        Self::with_settings(
            flags::VISIBLE_CORES.get().as_deref(),
            flags::NUM_CORES.get().as_deref(),
            flags::SOFTCORE_HBM.get().as_deref(),
        )
    }

    /// A driver with explicit settings, each as the environment variable of the same name would hold it.
    pub fn with_settings(
        visible_cores: Option<&str>,
        num_cores: Option<&str>,
        hbm: Option<&str>,
    ) -> Result<Self, ConfigError> {
        let count = match visible_cores {
            Some(text) => visible(text)?,
            None => number(num_cores.unwrap_or(flags::NUM_CORES.default))?,
        };
        let total = match hbm {
            Some(text) => match flags::parse_bytes(text) {
                Some(b) if b > 0 => b as usize,
                _ => {
                    return Err(config(
                        &flags::SOFTCORE_HBM,
                        text,
                        "expected a positive byte count such as 512M or 8G",
                    ))
                }
            },
            None => physical() / 4 * 3 / count,
        };
        Ok(SoftcoreDriver { cores: (0..count).map(|_| Hbm::new(total)).collect() })
    }
}

fn config(flag: &Flag, value: &str, reason: &str) -> ConfigError {
    ConfigError { name: flag.name, value: value.to_owned(), reason: reason.to_owned() }
}

fn number(text: &str) -> Result<usize, ConfigError> {
    match text.trim().parse::<usize>() {
        Ok(n) if (1..=1024).contains(&n) => Ok(n),
        _ => Err(config(&flags::NUM_CORES, text, "expected a number of cores from 1 to 1024")),
    }
}

/// Number of cores in a list (`0,1,2`) or range (`4-7`) of rising contiguous core numbers.
fn visible(text: &str) -> Result<usize, ConfigError> {
    let bad = |reason| config(&flags::VISIBLE_CORES, text, reason);
    let mut next: Option<usize> = None;
    let mut count = 0;
    for part in text.split(',') {
        let (lo, hi) = part.split_once('-').unwrap_or((part, part));
        let (Ok(lo), Ok(hi)) = (lo.trim().parse::<usize>(), hi.trim().parse::<usize>()) else {
            return Err(bad("expected core numbers such as `0`, `0,1` or `0-3`"));
        };
        if hi < lo || hi - lo >= 1024 || next.is_some_and(|n| n != lo) {
            return Err(bad("core numbers must rise without gaps"));
        }
        next = Some(hi + 1);
        count += hi - lo + 1;
    }
    if count > 1024 {
        return Err(bad("more than 1024 cores"));
    }
    Ok(count)
}

impl Driver for SoftcoreDriver {
    fn name(&self) -> &str {
        "softcore"
    }
    fn device_count(&self) -> usize {
        self.cores.len()
    }
    fn properties(&self, device: usize) -> DeviceProps {
        DeviceProps {
            name: format!("softcore ({:?}, {} threads)", isa::current(), self.threads()),
            total_memory: self.cores[device].total,
            cores: self.threads(),
            capability: (3, 0),
        }
    }
    fn host_visible(&self) -> bool {
        true
    }
    fn allocate(&self, device: usize, bytes: usize) -> Result<*mut u8, MemoryError> {
        self.cores[device].map(bytes)
    }
    unsafe fn release(&self, device: usize, ptr: *mut u8, bytes: usize) {
        // SAFETY: the caller passes on the promise of `Driver::release`.
        unsafe { self.cores[device].unmap(ptr, bytes) }
    }
    fn queue(&self, _device: usize) -> Box<dyn Queue> {
        Box::new(InlineQueue { origin: origin() })
    }
    fn threads(&self) -> usize {
        pool::global().threads()
    }
}

/// The start of the monotonic clock that all events share.
fn origin() -> Instant {
    static ORIGIN: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    *ORIGIN.get_or_init(Instant::now)
}

/// Runs everything at once on the caller; order and completion are then the caller's own.
struct InlineQueue {
    origin: Instant,
}

/// Copies at least this long are shared among the threads; below, starting them costs more.
const PARALLEL_COPY: usize = 4 << 20;

struct CopyRange(*mut u8, *const u8);
// SAFETY: disjoint parts of the two ranges are touched by different threads, each part by one.
unsafe impl Sync for CopyRange {}

impl Queue for InlineQueue {
    unsafe fn execute(
        &mut self,
        exe: &Arc<dyn Executable>,
        args: &[Arg],
        workspace: *mut u8,
    ) -> Result<(), Fault> {
        // SAFETY: the caller's promise is that of `Executable::run`.
        unsafe { exe.run(args, workspace) }
    }

    unsafe fn copy(&mut self, dst: *mut u8, src: *const u8, bytes: usize) -> Result<(), Fault> {
        if bytes < PARALLEL_COPY {
            // SAFETY: the caller promises valid, disjoint ranges.
            unsafe { std::ptr::copy_nonoverlapping(src, dst, bytes) };
            return Ok(());
        }
        let range = CopyRange(dst, src);
        let chunks = bytes.div_ceil(PARALLEL_COPY / 4);
        pool::global().run(chunks, &|chunk, _| {
            let range = &range;
            let lo = chunk * (PARALLEL_COPY / 4);
            let n = (PARALLEL_COPY / 4).min(bytes - lo);
            // SAFETY: [lo, lo + n) lies in both ranges, and chunks are disjoint.
            unsafe { std::ptr::copy_nonoverlapping(range.1.add(lo), range.0.add(lo), n) };
        });
        Ok(())
    }

    fn record(&mut self) -> Arc<dyn Event> {
        Arc::new(Done(self.origin.elapsed().as_nanos() as u64))
    }

    fn synchronize(&mut self) -> Result<(), Fault> {
        Ok(())
    }
}

/// A point that had passed when it was recorded, and when that was.
struct Done(u64);

impl Event for Done {
    fn is_complete(&self) -> bool {
        true
    }
    fn wait(&self) {}
    fn completed_ns(&self) -> Option<u64> {
        Some(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn core_lists() {
        assert_eq!(visible("0"), Ok(1));
        assert_eq!(visible("0-3"), Ok(4));
        assert_eq!(visible("4,5-6"), Ok(3));
        for bad in ["", "a", "0,2", "3-1", "1,0", "-1"] {
            let e = visible(bad).unwrap_err();
            assert_eq!(e.name, "NEURON_RT_VISIBLE_CORES", "{bad}");
        }
    }

    #[test]
    fn settings() {
        let d = SoftcoreDriver::with_settings(Some("2-3"), Some("7"), Some("64M")).unwrap();
        assert_eq!(d.device_count(), 2);
        assert_eq!(d.properties(1).total_memory, 64 << 20);
        assert_eq!(SoftcoreDriver::with_settings(None, None, None).unwrap().device_count(), 2);
        for (n, hbm) in [("0", None), ("x", None), ("2", Some("12Q")), ("2", Some("0"))] {
            assert!(SoftcoreDriver::with_settings(None, Some(n), hbm).is_err());
        }
    }
}
