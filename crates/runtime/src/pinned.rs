//! Pinned host memory: page-aligned blocks of power-of-two sizes, cached, and kept while copies use them.
//!
//! # Rules
//! 1. Everything is under one lock. Nothing waits for a stream under it; marks are placed before it is taken.
//! 2. A block's handle is its address. `blocks` holds every block, live or not, by address.
//! 3. A freed block with incomplete marks is in `pending`, and becomes free when they are complete.
use crate::alloc::stats::Stat;
use crate::error::OutOfMemory;
use crate::mark::Mark;
use crate::sync::Mutex;
use std::alloc::Layout;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

/// Smallest block, and the alignment of all.
const PAGE: usize = 4096;

struct Block {
    size: usize,
    live: bool,
    /// Copies that may still use the block.
    marks: Vec<Arc<Mark>>,
}

#[derive(Default)]
struct Inner {
    blocks: BTreeMap<usize, Block>,
    /// Free blocks by the logarithm of their size.
    free: BTreeMap<u32, Vec<usize>>,
    pending: Vec<usize>,
    allocation: Stat,
    bytes: Stat,
}

/// See the module's rules.
pub(crate) struct PinnedMemory {
    inner: Mutex<Inner>,
    /// Number of live blocks; 0 answers `is_pinned` without the lock.
    live: AtomicUsize,
}

impl PinnedMemory {
    pub(crate) fn new() -> PinnedMemory {
        PinnedMemory { inner: Mutex::new(Inner::default()), live: AtomicUsize::new(0) }
    }

    /// A block of at least `bytes` (> 0).
    pub(crate) fn alloc(&self, bytes: usize) -> Result<*mut u8, OutOfMemory> {
        let mut inner = self.inner.lock();
        let refuse = |inner: &Inner, reason: &str| OutOfMemory {
            device: None,
            requested: bytes,
            allocated: inner.bytes.current as usize,
            reserved: inner.blocks.values().map(|b| b.size).sum(),
            free: 0,
            total: 0,
            limit: 0,
            reason: Some(reason.into()),
        };
        let size = bytes.max(PAGE).checked_next_power_of_two();
        let Some(layout) = size.and_then(|size| Layout::from_size_align(size, PAGE).ok()) else {
            return Err(refuse(&inner, "the size is not addressable"));
        };
        let size = layout.size();
        inner.collect();
        let cached = inner.free.get_mut(&size.ilog2()).and_then(Vec::pop);
        let address = match cached {
            Some(address) => address,
            None => {
                // SAFETY: the layout has a non-zero size.
                let ptr = unsafe { std::alloc::alloc(layout) } as usize;
                if ptr == 0 {
                    return Err(refuse(&inner, "the host is out of memory"));
                }
                ptr
            }
        };
        let block = Block { size, live: true, marks: Vec::new() };
        inner.blocks.insert(address, block);
        inner.allocation.rise(1);
        inner.bytes.rise(size);
        self.live.fetch_add(1, Ordering::Relaxed);
        Ok(address as *mut u8)
    }

    /// Frees a live block by its address; other addresses are ignored.
    pub(crate) fn free(&self, address: usize) {
        let mut inner = self.inner.lock();
        let Some(block) = inner.blocks.get_mut(&address).filter(|b| b.live) else {
            return;
        };
        block.live = false;
        let size = block.size;
        inner.allocation.fall(1);
        inner.bytes.fall(size);
        inner.pending.push(address);
        inner.collect();
        self.live.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether an address lies in a live block.
    pub(crate) fn contains(&self, address: usize) -> bool {
        self.live.load(Ordering::Relaxed) > 0 && self.inner.lock().block_of(address).is_some()
    }

    /// The block around an address is in use until the mark is complete.
    pub(crate) fn use_until(&self, address: usize, mark: Arc<Mark>) {
        let mut inner = self.inner.lock();
        if let Some(block) = inner.block_of(address) {
            block.marks.retain(|m| !m.is_complete());
            block.marks.push(mark);
        }
    }

    /// Gives free blocks back to the system.
    pub(crate) fn empty_cache(&self) {
        let mut inner = self.inner.lock();
        inner.collect();
        for address in std::mem::take(&mut inner.free).into_values().flatten() {
            if let Some(block) = inner.blocks.remove(&address) {
                release(address, block.size);
            }
        }
    }

    /// Peaks of the statistics become the current values.
    pub(crate) fn reset_peaks(&self) {
        let inner = &mut *self.inner.lock();
        for stat in [&mut inner.allocation, &mut inner.bytes] {
            stat.peak = stat.current;
        }
    }

    /// Totals of the statistics become 0.
    pub(crate) fn reset_totals(&self) {
        let inner = &mut *self.inner.lock();
        for stat in [&mut inner.allocation, &mut inner.bytes] {
            stat.allocated = 0;
            stat.freed = 0;
        }
    }

    /// Live blocks and their bytes.
    pub(crate) fn stats(&self) -> (Stat, Stat) {
        let inner = self.inner.lock();
        (inner.allocation, inner.bytes)
    }
}

impl Inner {
    /// The live block around an address.
    fn block_of(&mut self, address: usize) -> Option<&mut Block> {
        let (&start, block) = self.blocks.range_mut(..=address).next_back()?;
        (block.live && address - start < block.size).then_some(block)
    }

    /// Frees what no copy uses any more.
    fn collect(&mut self) {
        for address in std::mem::take(&mut self.pending) {
            let Some(block) = self.blocks.get_mut(&address) else {
                continue;
            };
            block.marks.retain(|m| !m.is_complete());
            if block.marks.is_empty() {
                let class = block.size.ilog2();
                self.free.entry(class).or_default().push(address);
            } else {
                self.pending.push(address);
            }
        }
    }
}

impl Drop for PinnedMemory {
    fn drop(&mut self) {
        for (&address, block) in &self.inner.lock().blocks {
            release(address, block.size);
        }
    }
}

fn release(address: usize, size: usize) {
    // SAFETY: every address in `blocks` came from `alloc` with this layout; the caller has removed it, or drops all.
    unsafe {
        let layout = Layout::from_size_align_unchecked(size, PAGE);
        std::alloc::dealloc(address as *mut u8, layout);
    }
}
