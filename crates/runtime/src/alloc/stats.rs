//! Statistics under PyTorch's names.

/// A quantity that rises and falls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Stat {
    /// Now.
    pub current: i64,
    /// The highest `current` since the last reset of peaks.
    pub peak: i64,
    /// Sum of all rises since the last reset of totals.
    pub allocated: i64,
    /// Sum of all falls since the last reset of totals.
    pub freed: i64,
}

impl Stat {
    /// The quantity rises by `n`.
    #[inline]
    pub(crate) fn rise(&mut self, n: usize) {
        self.current += n as i64;
        self.allocated += n as i64;
        self.peak = self.peak.max(self.current);
    }

    /// The quantity falls by `n`.
    #[inline]
    pub(crate) fn fall(&mut self, n: usize) {
        self.current -= n as i64;
        self.freed += n as i64;
    }
}

/// Memory statistics of a device. Counts are of blocks or segments, `_bytes` are bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct MemoryStats {
    /// Blocks in live tensors.
    pub allocation: Stat,
    /// Segments obtained from the driver.
    pub segment: Stat,
    /// Blocks that are live, or freed but still used by another stream.
    pub active: Stat,
    /// Free blocks that are part of a larger segment.
    pub inactive_split: Stat,
    /// Bytes of `allocation`.
    pub allocated_bytes: Stat,
    /// Bytes of `segment`.
    pub reserved_bytes: Stat,
    /// Bytes of `active`.
    pub active_bytes: Stat,
    /// Bytes of `inactive_split`.
    pub inactive_split_bytes: Stat,
    /// Bytes as asked for, before rounding, of live tensors.
    pub requested_bytes: Stat,
    /// Allocations that succeeded only after cached memory was released.
    pub num_alloc_retries: i64,
    /// Allocations that failed.
    pub num_ooms: i64,
    /// Segments ever obtained.
    pub num_device_alloc: i64,
    /// Segments ever released.
    pub num_device_free: i64,
    /// How often all streams were waited for, to release memory.
    pub num_sync_all_streams: i64,
}

impl MemoryStats {
    fn stats(&mut self) -> [&mut Stat; 9] {
        [
            &mut self.allocation,
            &mut self.segment,
            &mut self.active,
            &mut self.inactive_split,
            &mut self.allocated_bytes,
            &mut self.reserved_bytes,
            &mut self.active_bytes,
            &mut self.inactive_split_bytes,
            &mut self.requested_bytes,
        ]
    }

    /// Peaks become the current values.
    pub(crate) fn reset_peaks(&mut self) {
        for stat in self.stats() {
            stat.peak = stat.current;
        }
    }

    /// Totals become 0.
    pub(crate) fn reset_totals(&mut self) {
        for stat in self.stats() {
            stat.allocated = 0;
            stat.freed = 0;
        }
        self.num_alloc_retries = 0;
        self.num_ooms = 0;
        self.num_device_alloc = 0;
        self.num_device_free = 0;
        self.num_sync_all_streams = 0;
    }
}
