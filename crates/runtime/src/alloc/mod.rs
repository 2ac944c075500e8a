//! The caching allocator of one device.
//!
//! # Rules
//! 1. Everything in [`Heap`], and every field of a [`Block`] but `ptr` and `device`, is read and written under the
//!    lock of `heap` only. There is one lock per device, held for tens of nanoseconds, except while a segment is
//!    obtained from the driver.
//! 2. Nothing waits for a stream, and nothing is submitted to one, under that lock.
//! 3. A free block is reused by the stream it was allocated for at once: work is in stream order, so what used it
//!    before is done before what uses it next. Another stream never gets it.
//! 4. A block that `record_stream` named for other streams is kept, when freed, until marks placed in those streams
//!    *after* the free are complete.
//! 5. A segment goes back to the driver only if all of it is free, and only after every stream of the device has
//!    drained after the segment left the heap.
//! 6. `reserved` counts a segment from before the driver is asked for it until after the driver has it back, so it
//!    never exceeds the limit.
pub(crate) mod block;
mod heap;
mod size;
mod snapshot;
pub(crate) mod stats;

pub use block::BlockState;
pub use snapshot::{BlockInfo, SegmentInfo};

use crate::error::OutOfMemory;
use crate::mark::Mark;
use crate::sync::{Mutex, MutexGuard};
use block::Block;
use heap::{Deferred, Heap};
use size::{block_size, segment_size, tight_segment_size, SMALL_MAX};
use smallvec::SmallVec;
use stats::MemoryStats;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use tnrs_hal::Driver;

/// What the allocator asks of the streams of its device.
pub(crate) trait Streams {
    /// Places a mark after all work submitted to a stream so far.
    fn mark(&self, stream: usize) -> Arc<Mark>;
    /// Blocks until all work submitted so far, to any stream of the device, is done.
    fn drain_all(&self);
}

/// See the module's rules.
pub(crate) struct DeviceMemory {
    driver: Arc<dyn Driver>,
    device: usize,
    total: usize,
    limit: AtomicUsize,
    heap: Mutex<Heap>,
}

impl DeviceMemory {
    pub(crate) fn new(driver: Arc<dyn Driver>, device: usize) -> DeviceMemory {
        let total = driver.properties(device).total_memory;
        DeviceMemory {
            driver,
            device,
            total,
            limit: AtomicUsize::new(total),
            heap: Mutex::new(Heap::new(device)),
        }
    }

    /// A block of at least `bytes` (> 0), to be used in the order of `stream`.
    #[inline]
    pub(crate) fn alloc(
        &self,
        stream: usize,
        bytes: usize,
        streams: &impl Streams,
    ) -> Result<*mut Block, OutOfMemory> {
        let Some(size) = block_size(bytes) else {
            return Err(self.exhausted(bytes, Some("the size is not addressable".into())));
        };
        let mut heap = self.heap.lock();
        heap.collect_front();
        match heap.take_binned(stream, size, bytes) {
            Some(block) => Ok(block),
            None => self.search(heap, stream, size, bytes, streams),
        }
    }

    #[cold]
    fn search(
        &self,
        mut heap: MutexGuard<'_, Heap>,
        stream: usize,
        size: usize,
        bytes: usize,
        streams: &impl Streams,
    ) -> Result<*mut Block, OutOfMemory> {
        if let Some(block) = heap.take(stream, size, bytes) {
            return Ok(block);
        }
        let preferred = segment_size(size);
        if self.grow(&mut heap, stream, preferred, size).is_ok() {
            if let Some(block) = heap.take(stream, size, bytes) {
                return Ok(block);
            }
        }
        drop(heap);
        self.release_cached(streams);
        let mut heap = self.heap.lock();
        let mut reason = None;
        for segment in [preferred, tight_segment_size(size)] {
            if let Some(block) = heap.take(stream, size, bytes) {
                heap.stats.num_alloc_retries += 1;
                return Ok(block);
            }
            reason = self.grow(&mut heap, stream, segment, size).err().flatten();
        }
        if let Some(block) = heap.take(stream, size, bytes) {
            heap.stats.num_alloc_retries += 1;
            return Ok(block);
        }
        heap.stats.num_ooms += 1;
        drop(heap);
        Err(self.exhausted(bytes, reason))
    }

    /// Obtains a segment for blocks of `size`. Fails with the driver's reason, or `None` when the limit forbids it.
    fn grow(
        &self,
        heap: &mut Heap,
        stream: usize,
        segment: usize,
        size: usize,
    ) -> Result<(), Option<String>> {
        let reserved = heap.stats.reserved_bytes.current as usize;
        if segment > self.limit.load(Ordering::Relaxed).saturating_sub(reserved) {
            return Err(None);
        }
        let ptr = self.driver.allocate(self.device, segment).map_err(|e| Some(e.reason))?;
        heap.add_segment(stream, ptr, segment, size > SMALL_MAX);
        Ok(())
    }

    /// Frees a block.
    ///
    /// # Safety
    /// `block` came from [`DeviceMemory::alloc`] of this device and is freed once; what uses it was submitted to its
    /// own stream, or to streams that [`DeviceMemory::record_stream`] named.
    #[inline]
    pub(crate) unsafe fn free(&self, block: *mut Block, streams: &impl Streams) {
        let mut heap = self.heap.lock();
        // SAFETY: the block is live and the lock is held.
        unsafe {
            if (*block).uses == 0 {
                heap.give(block);
                return;
            }
            let uses = (*block).uses;
            heap.end_allocation(block);
            drop(heap);
            self.defer(block, uses, streams);
        }
    }

    #[cold]
    fn defer(&self, block: *mut Block, uses: u128, streams: &impl Streams) {
        let used = (0..u128::BITS as usize).filter(|stream| uses >> stream & 1 == 1);
        let marks: SmallVec<[Arc<Mark>; 2]> = used.map(|stream| streams.mark(stream)).collect();
        self.heap.lock().deferred.push_back(Deferred { block, marks });
    }

    /// Another stream uses the block: its reuse waits for that stream.
    ///
    /// # Safety
    /// `block` came from [`DeviceMemory::alloc`] of this device and is not freed.
    pub(crate) unsafe fn record_stream(&self, block: *mut Block, stream: usize) {
        let _heap = self.heap.lock();
        // SAFETY: the block is live and the lock is held.
        unsafe {
            if usize::from((*block).stream) != stream {
                (*block).uses |= 1 << stream;
            }
        }
    }

    /// Gives cached memory back to the driver, as far as whole segments are free.
    pub(crate) fn release_cached(&self, streams: &impl Streams) {
        streams.drain_all();
        let mut heap = self.heap.lock();
        heap.stats.num_sync_all_streams += 1;
        heap.collect();
        let segments = heap.detach_free_segments();
        drop(heap);
        if segments.is_empty() {
            return;
        }
        // Blocks freed since the first wait may have work pending.
        streams.drain_all();
        for &(ptr, bytes) in &segments {
            // SAFETY: the segment came from `allocate`, left the heap, and no work on it is outstanding.
            unsafe { self.driver.release(self.device, ptr as *mut u8, bytes) };
        }
        let mut heap = self.heap.lock();
        for (_, bytes) in segments {
            heap.forget_segment(bytes);
        }
    }

    pub(crate) fn stats(&self) -> MemoryStats {
        self.heap.lock().stats
    }

    pub(crate) fn reset_peaks(&self) {
        self.heap.lock().stats.reset_peaks();
    }

    pub(crate) fn reset_totals(&self) {
        self.heap.lock().stats.reset_totals();
    }

    /// Bytes of the device; at most `limit` of them are ever reserved.
    pub(crate) fn total(&self) -> usize {
        self.total
    }

    /// Bytes that may still be obtained from the driver.
    pub(crate) fn free_bytes(&self) -> usize {
        let reserved = self.heap.lock().stats.reserved_bytes.current as usize;
        self.limit.load(Ordering::Relaxed).saturating_sub(reserved)
    }

    /// Limits reserved memory; what is reserved already stays.
    pub(crate) fn set_limit(&self, bytes: usize) {
        self.limit.store(bytes.min(self.total), Ordering::Relaxed);
    }

    /// Whether an address lies in memory of this device.
    pub(crate) fn contains(&self, ptr: usize) -> bool {
        let heap = self.heap.lock();
        let below = heap.segments.range(..=ptr).next_back();
        below.is_some_and(|(&start, segment)| ptr - start < segment.bytes)
    }

    pub(crate) fn snapshot(&self) -> Vec<SegmentInfo> {
        snapshot::take(&self.heap.lock())
    }

    /// What allocations say in a forked child, whose locks may be held by nobody.
    #[cold]
    pub(crate) fn forked(&self, requested: usize) -> OutOfMemory {
        OutOfMemory {
            device: Some(self.device),
            requested,
            allocated: 0,
            reserved: 0,
            free: 0,
            total: self.total,
            limit: self.total,
            reason: Some(crate::fork::MESSAGE.into()),
        }
    }

    #[cold]
    fn exhausted(&self, requested: usize, reason: Option<String>) -> OutOfMemory {
        let stats = self.stats();
        let limit = self.limit.load(Ordering::Relaxed);
        let reserved = stats.reserved_bytes.current as usize;
        OutOfMemory {
            device: Some(self.device),
            requested,
            allocated: stats.allocated_bytes.current as usize,
            reserved,
            free: limit.saturating_sub(reserved),
            total: self.total,
            limit,
            reason,
        }
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        let heap = self.heap.lock();
        for (&ptr, segment) in &heap.segments {
            // SAFETY: the runtime drops its streams, and with them all work, before its memory.
            unsafe { self.driver.release(self.device, ptr as *mut u8, segment.bytes) };
        }
    }
}
