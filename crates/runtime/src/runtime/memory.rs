//! Memory: device blocks, pinned host blocks, statistics.
use super::Runtime;
use crate::alloc::block::Block as HeapBlock;
use crate::alloc::stats::{MemoryStats, Stat};
use crate::alloc::SegmentInfo;
use crate::current::stream_index;
use crate::error::OutOfMemory;
use crate::fork;
use std::ffi::c_void;
use std::ptr::null_mut;

/// Memory and the handle that frees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Block {
    /// Address, 512-byte aligned (4096 for pinned memory); null for 0 bytes.
    pub ptr: *mut u8,
    /// Handle for `free` and `record_stream`; null for 0 bytes.
    pub ctx: *mut c_void,
}

impl Block {
    const EMPTY: Block = Block { ptr: null_mut(), ctx: null_mut() };
}

impl Runtime {
    /// Allocates device memory that is used in the order of `stream` (an unknown id counts as the default stream).
    ///
    /// # Errors
    /// When the device is exhausted even after cached memory was released; everything stays usable.
    #[inline]
    pub fn alloc(&self, device: usize, stream: i64, bytes: usize) -> Result<Block, OutOfMemory> {
        if bytes == 0 {
            return Ok(Block::EMPTY);
        }
        let device = &self.devices[device];
        if fork::is_bad_fork() {
            return Err(device.memory.forked(bytes));
        }
        let stream = stream_index(stream).unwrap_or(0);
        let block = device.memory.alloc(stream, bytes, &device.streams)?;
        Ok(Block {
            // SAFETY: the block is live, so its address is constant.
            ptr: unsafe { (*block).ptr },
            ctx: block.cast(),
        })
    }

    /// Frees device memory. It is reused at once by later work of its stream, and after the marks of other streams.
    ///
    /// # Safety
    /// `ctx` came from [`Runtime::alloc`] of this runtime and is freed once. Work that uses the memory has been
    /// submitted already, to the stream of the allocation or to streams named by [`Runtime::record_stream`].
    #[inline]
    pub unsafe fn free(&self, ctx: *mut c_void) {
        let block: *mut HeapBlock = ctx.cast();
        if block.is_null() || fork::is_bad_fork() {
            return;
        }
        // SAFETY: the block is live; its device never changes.
        unsafe {
            let device = &self.devices[(*block).device as usize];
            device.memory.free(block, &device.streams);
        }
    }

    /// Tells that `stream` uses the memory too, so that its reuse waits for what that stream has been given by the
    /// time of the free. Unknown ids are ignored.
    ///
    /// # Safety
    /// `ctx` came from [`Runtime::alloc`] of this runtime and is not freed.
    pub unsafe fn record_stream(&self, ctx: *mut c_void, stream: i64) {
        let block: *mut HeapBlock = ctx.cast();
        let Some(stream) = stream_index(stream).filter(|_| !block.is_null()) else {
            return;
        };
        if fork::is_bad_fork() {
            return;
        }
        // SAFETY: the block is live; its device never changes.
        unsafe {
            let device = &self.devices[(*block).device as usize];
            device.memory.record_stream(block, stream);
        }
    }

    /// Gives cached memory of every device back to its driver, after waiting for all streams.
    pub fn empty_cache(&self) {
        if fork::is_bad_fork() {
            return;
        }
        for device in &self.devices {
            device.memory.release_cached(&device.streams);
        }
    }

    /// Statistics of a device.
    pub fn stats(&self, device: usize) -> MemoryStats {
        self.devices[device].memory.stats()
    }

    /// Peaks of a device's statistics become the current values.
    pub fn reset_peak_stats(&self, device: usize) {
        self.devices[device].memory.reset_peaks();
    }

    /// Totals (`allocated`, `freed` and the event counts) of a device's statistics become 0.
    pub fn reset_accumulated_stats(&self, device: usize) {
        self.devices[device].memory.reset_totals();
    }

    /// Bytes of a device that can still be reserved, and all its bytes.
    pub fn memory_info(&self, device: usize) -> (usize, usize) {
        let memory = &self.devices[device].memory;
        (memory.free_bytes(), memory.total())
    }

    /// Limits what this process reserves to a fraction (0 to 1) of the device's memory.
    pub fn set_memory_fraction(&self, device: usize, fraction: f64) {
        let memory = &self.devices[device].memory;
        memory.set_limit((memory.total() as f64 * fraction.clamp(0.0, 1.0)) as usize);
    }

    /// Segments and blocks of a device, by address.
    pub fn snapshot(&self, device: usize) -> Vec<SegmentInfo> {
        self.devices[device].memory.snapshot()
    }

    /// The device whose memory holds an address.
    pub fn pointer_device(&self, ptr: *const u8) -> Option<usize> {
        (0..self.devices.len()).find(|&d| self.devices[d].memory.contains(ptr as usize))
    }

    /// Allocates pinned host memory.
    ///
    /// # Errors
    /// When the host is out of memory.
    pub fn pinned_alloc(&self, bytes: usize) -> Result<Block, OutOfMemory> {
        if bytes == 0 {
            return Ok(Block::EMPTY);
        }
        let ptr = self.pinned.alloc(bytes)?;
        Ok(Block { ptr, ctx: ptr.cast() })
    }

    /// Frees pinned host memory; it is reused once the copies that use it are done. Addresses that are no block of
    /// [`Runtime::pinned_alloc`] are ignored.
    pub fn pinned_free(&self, ctx: *mut c_void) {
        if !fork::is_bad_fork() {
            self.pinned.free(ctx as usize);
        }
    }

    /// Work submitted so far to a stream uses the pinned block around an address. Other addresses are ignored.
    pub fn pinned_record(&self, ptr: *const u8, device: usize, stream: i64) {
        if let Some(stream) = stream_index(stream).filter(|_| self.is_pinned(ptr)) {
            let mark = self.devices[device].streams.get(stream).mark();
            self.pinned.use_until(ptr as usize, mark);
        }
    }

    /// Whether an address lies in a live pinned block.
    pub fn is_pinned(&self, ptr: *const u8) -> bool {
        self.pinned.contains(ptr as usize)
    }

    /// Gives cached pinned memory back to the system.
    pub fn pinned_empty_cache(&self) {
        self.pinned.empty_cache();
    }

    /// Peaks of the statistics of pinned memory become the current values.
    pub fn reset_peak_pinned_stats(&self) {
        self.pinned.reset_peaks();
    }

    /// Totals of the statistics of pinned memory become 0.
    pub fn reset_accumulated_pinned_stats(&self) {
        self.pinned.reset_totals();
    }

    /// Number and bytes of live pinned blocks.
    pub fn pinned_stats(&self) -> (Stat, Stat) {
        self.pinned.stats()
    }
}
