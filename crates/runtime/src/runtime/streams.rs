//! Streams and events: launches, copies, order, synchronisation.
use super::Runtime;
use crate::current::{current_stream, stream_index, STREAMS_PER_PRIORITY};
use crate::error::StreamFault;
use crate::event::{Event, Recorded};
use crate::fork;
use crate::record::{Copy, HostFn, Launch};
use crate::stream::Stream;
use std::sync::atomic::Ordering;

/// Programs up to this estimate run on the caller when the stream is idle: handing off costs about as much.
const INLINE_NS: u64 = 20_000;

/// Copies up to this size run on the caller when the stream is idle.
const INLINE_BYTES: usize = 64 << 10;

impl Runtime {
    /// Launches an executable on a stream. A fault is kept by the stream for its next synchronisation, unless
    /// launches block.
    ///
    /// # Errors
    /// A stream id that no device has, and, when launches block, the stream's fault.
    ///
    /// # Safety
    /// As [`tnrs_hal::Executable::run`] until the launch completes, where "nobody else" means: nothing that is not
    /// ordered before or after this launch by its stream, an event or a synchronisation.
    #[inline]
    pub unsafe fn launch(&self, device: usize, stream: i64, launch: Launch<'_>) -> Result<(), StreamFault> {
        let stream = self.stream(device, stream)?;
        let inline = !self.parallel || launch.exe.cost_ns() <= INLINE_NS;
        // SAFETY: as this function.
        unsafe { stream.launch(launch, inline) };
        self.after(stream)
    }

    /// Copies bytes in stream order: between device memories, or between device and host memory. A host range in
    /// pinned memory stays reserved until the copy is done, even if it is freed meanwhile.
    ///
    /// # Errors
    /// As [`Runtime::launch`].
    ///
    /// # Safety
    /// Both ranges are valid for `bytes` and do not overlap, until the copy completes; nobody writes them meanwhile.
    pub unsafe fn copy(
        &self,
        device: usize,
        stream: i64,
        dst: *mut u8,
        src: *const u8,
        bytes: usize,
    ) -> Result<(), StreamFault> {
        let target = self.stream(device, stream)?;
        let inline = !self.parallel || bytes <= INLINE_BYTES;
        // SAFETY: as this function.
        unsafe { target.copy(Copy { dst, src, bytes }, inline) };
        for host in [dst as *const u8, src] {
            self.pinned_record(host, device, stream);
        }
        self.after(target)
    }

    /// Runs a host function in stream order, on the stream's worker or on a thread that synchronises; `site` names
    /// it in faults. It must not call the runtime.
    ///
    /// # Errors
    /// As [`Runtime::launch`].
    pub fn host_fn(
        &self,
        device: usize,
        stream: i64,
        site: &'static str,
        f: HostFn,
    ) -> Result<(), StreamFault> {
        let stream = self.stream(device, stream)?;
        stream.host_fn(site, f);
        self.after(stream)
    }

    /// Whether every launch waits for completion and returns its fault (`NEURON_LAUNCH_BLOCKING`).
    pub fn set_launch_blocking(&self, on: bool) {
        self.blocking.store(on, Ordering::Relaxed);
    }

    /// A stream of a device, from a pool of [`STREAMS_PER_PRIORITY`] per priority that is handed out in turn. A
    /// negative priority takes the second pool; all streams run alike.
    pub fn new_stream(&self, device: usize, priority: i32) -> i64 {
        let high = usize::from(priority < 0);
        let turn = self.devices[device].handed_out[high].fetch_add(1, Ordering::Relaxed);
        (1 + high * STREAMS_PER_PRIORITY + turn % STREAMS_PER_PRIORITY) as i64
    }

    /// Priority of a stream: -1 for the second pool, otherwise 0.
    pub fn stream_priority(&self, stream: i64) -> i32 {
        -i32::from(stream > STREAMS_PER_PRIORITY as i64)
    }

    /// Whether all work submitted to a stream is done. Raises no fault.
    ///
    /// # Errors
    /// A stream id that no device has.
    pub fn query_stream(&self, device: usize, stream: i64) -> Result<bool, StreamFault> {
        Ok(self.stream(device, stream)?.is_idle())
    }

    /// Blocks until all work submitted to a stream is done.
    ///
    /// # Errors
    /// The first fault since the last synchronisation of the stream or its device.
    #[inline]
    pub fn sync_stream(&self, device: usize, stream: i64) -> Result<(), StreamFault> {
        self.stream(device, stream)?.synchronize()
    }

    /// Blocks until all work submitted to a device is done.
    ///
    /// # Errors
    /// The first fault of the lowest stream that has one; those of the others are counted in it.
    pub fn sync_device(&self, device: usize) -> Result<(), StreamFault> {
        refuse_fork()?;
        let streams = &self.devices[device].streams;
        crate::alloc::Streams::drain_all(streams);
        let faults = streams.used().filter_map(Stream::take_fault);
        let first = faults.reduce(|mut first, other| {
            first.further += 1 + other.further;
            first
        });
        first.map_or(Ok(()), Err)
    }

    /// Waits for the calling thread's current stream, after which the host may touch what its work wrote.
    ///
    /// # Errors
    /// As [`Runtime::sync_stream`].
    #[inline]
    pub fn host_access(&self, device: usize) -> Result<(), StreamFault> {
        self.sync_stream(device, current_stream(device))
    }

    /// Records an event after all work submitted to a stream so far.
    ///
    /// # Errors
    /// A stream id that no device has.
    pub fn record_event(&self, event: &Event, device: usize, stream: i64) -> Result<(), StreamFault> {
        let mark = self.stream(device, stream)?.mark();
        event.set(Recorded { mark, device, stream });
        Ok(())
    }

    /// Work submitted to a stream from now on waits for the event's last record, if there is one.
    ///
    /// # Errors
    /// A stream id that no device has.
    pub fn block_on_event(&self, event: &Event, device: usize, stream: i64) -> Result<(), StreamFault> {
        let target = self.stream(device, stream)?;
        if let Some(recorded) = event.recorded() {
            if (recorded.device, recorded.stream) != (device, stream) {
                target.wait_for(&recorded.mark);
            }
        }
        Ok(())
    }

    /// Blocks the calling thread until the work before the event's last record is done.
    ///
    /// # Errors
    /// The fault of the stream it was recorded on, as [`Runtime::sync_stream`].
    pub fn sync_event(&self, event: &Event) -> Result<(), StreamFault> {
        let Some(recorded) = event.recorded() else {
            return Ok(());
        };
        let stream = self.stream(recorded.device, recorded.stream)?;
        stream.wait(&recorded.mark);
        stream.take_fault().map_or(Ok(()), Err)
    }

    #[inline]
    fn stream(&self, device: usize, stream: i64) -> Result<&Stream, StreamFault> {
        refuse_fork()?;
        match stream_index(stream) {
            Some(index) => Ok(self.devices[device].streams.get(index)),
            None => Err(StreamFault::plain(format!("NeuronCore {device} has no stream {stream}"))),
        }
    }

    #[inline]
    fn after(&self, stream: &Stream) -> Result<(), StreamFault> {
        if self.blocking.load(Ordering::Relaxed) {
            stream.synchronize()
        } else {
            Ok(())
        }
    }
}

#[inline]
fn refuse_fork() -> Result<(), StreamFault> {
    if fork::is_bad_fork() {
        return Err(StreamFault::plain(fork::MESSAGE.into()));
    }
    Ok(())
}
