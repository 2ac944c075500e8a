//! The blocks of one device and where the free ones are. Knows nothing of drivers, locks or the order of work.
//!
//! A freed small block goes to the bin of its exact size, unmerged: the next request of that size takes it back with
//! two pointer moves, and its memory is still in cache. Everything else is best fit over blocks merged with their free
//! neighbours. Bins are merged before a segment is asked for, so they never make the heap grow.
use super::block::{Arena, Block, BlockState};
use super::size::{class, splits, CLASSES, SMALL_MAX};
use super::stats::MemoryStats;
use crate::current::STREAMS;
use crate::mark::Mark;
use smallvec::SmallVec;
use std::collections::{BTreeMap, VecDeque};
use std::ptr::null_mut;
use std::sync::Arc;

/// Memory obtained from the driver.
pub(super) struct Segment {
    pub(super) bytes: usize,
    /// The block at the segment's start; merging keeps the lower block, so it never changes.
    pub(super) first: *mut Block,
}

/// A block freed by its owner while other streams may use it.
pub(super) struct Deferred {
    pub(super) block: *mut Block,
    pub(super) marks: SmallVec<[Arc<Mark>; 2]>,
}

impl Deferred {
    fn is_done(&self) -> bool {
        self.marks.iter().all(|mark| mark.is_complete())
    }
}

/// Free blocks of one stream.
struct Pool {
    bins: [*mut Block; CLASSES],
    binned: usize,
    /// Merged blocks by size, then address; small segments, then large ones.
    free: [BTreeMap<(usize, usize), *mut Block>; 2],
}

/// See the module.
pub(super) struct Heap {
    pools: Vec<Option<Box<Pool>>>,
    arena: Arena,
    pub(super) stats: MemoryStats,
    pub(super) deferred: VecDeque<Deferred>,
    pub(super) segments: BTreeMap<usize, Segment>,
}

// SAFETY: the raw pointers lead to blocks of the heap's own arena and to memory that the heap never touches.
unsafe impl Send for Heap {}

// In this file a `*mut Block` is a block of `arena` that is in use (from `make`, not recycled); the heap is borrowed
// mutably, so nobody else accesses it.
impl Heap {
    pub(super) fn new(device: usize) -> Heap {
        Heap {
            pools: (0..STREAMS).map(|_| None).collect(),
            arena: Arena::new(device),
            stats: MemoryStats::default(),
            deferred: VecDeque::new(),
            segments: BTreeMap::new(),
        }
    }

    /// A block of exactly this size class that the stream freed, if one is at hand.
    #[inline]
    pub(super) fn take_binned(&mut self, stream: usize, size: usize, bytes: usize) -> Option<*mut Block> {
        if size > SMALL_MAX {
            return None;
        }
        let pool = self.pools[stream].as_deref_mut()?;
        let head = &mut pool.bins[class(size)];
        let block = *head;
        if block.is_null() {
            return None;
        }
        // SAFETY: bins hold blocks in use.
        unsafe { *head = (*block).link };
        pool.binned -= 1;
        // SAFETY: as above.
        let b = unsafe { &*block };
        if b.is_split() {
            self.note_inactive(b, false);
        }
        self.activate(block, bytes);
        Some(block)
    }

    /// A block of `size` for the stream, by any means short of a new segment.
    pub(super) fn take(&mut self, stream: usize, size: usize, bytes: usize) -> Option<*mut Block> {
        self.collect_front();
        self.take_binned(stream, size, bytes).or_else(|| self.take_fitting(stream, size, bytes)).or_else(
            || {
                self.merge_bins(stream);
                self.take_fitting(stream, size, bytes)
            },
        )
    }

    /// The smallest merged block that fits, split if much remains.
    fn take_fitting(&mut self, stream: usize, size: usize, bytes: usize) -> Option<*mut Block> {
        let large = size > SMALL_MAX;
        let pool = self.pools[stream].as_deref()?;
        let (_, &block) = pool.free[usize::from(large)].range((size, 0)..).next()?;
        self.remove_free(block);
        // SAFETY: trees hold blocks in use.
        let whole = unsafe { (*block).size };
        let split = splits(large, whole - size);
        if split {
            let rest = self.arena.make();
            // SAFETY: `block` is in use and larger than `size`; `rest` is new; a non-null `next` is in use.
            unsafe {
                (*rest).ptr = (*block).ptr.add(size);
                (*rest).size = whole - size;
                (*rest).stream = (*block).stream;
                (*rest).large = large;
                (*rest).prev = block;
                (*rest).next = (*block).next;
                if !(*rest).next.is_null() {
                    (*(*rest).next).prev = rest;
                }
                (*block).next = rest;
                (*block).size = size;
            }
            self.insert_free(rest);
        }
        self.activate(block, bytes);
        Some(block)
    }

    /// Adds a segment as one free block of the stream.
    pub(super) fn add_segment(&mut self, stream: usize, ptr: *mut u8, bytes: usize, large: bool) {
        let block = self.arena.make();
        // SAFETY: the block is new.
        unsafe {
            (*block).ptr = ptr;
            (*block).size = bytes;
            (*block).stream = stream as u8;
            (*block).large = large;
        }
        let first = block;
        self.segments.insert(ptr as usize, Segment { bytes, first });
        self.pools[stream].get_or_insert_with(|| {
            Box::new(Pool {
                bins: [null_mut(); CLASSES],
                binned: 0,
                free: [BTreeMap::new(), BTreeMap::new()],
            })
        });
        self.insert_free(block);
        self.stats.segment.rise(1);
        self.stats.reserved_bytes.rise(bytes);
        self.stats.num_device_alloc += 1;
    }

    /// The tensor is gone and other streams do not use the block.
    ///
    /// # Safety
    /// `block` is live.
    #[inline]
    pub(super) unsafe fn give(&mut self, block: *mut Block) {
        // SAFETY: as this function.
        unsafe { self.end_allocation(block) };
        self.make_free(block);
    }

    /// The tensor is gone, but other streams may use the block: takes it out of the allocated statistics only.
    ///
    /// # Safety
    /// `block` is live.
    #[inline]
    pub(super) unsafe fn end_allocation(&mut self, block: *mut Block) {
        // SAFETY: as this function.
        let b = unsafe { &mut *block };
        debug_assert_eq!(b.state, BlockState::Live, "a block is freed once");
        self.stats.allocation.fall(1);
        self.stats.allocated_bytes.fall(b.size);
        self.stats.requested_bytes.fall(b.requested);
        b.state = BlockState::Deferred;
        b.requested = 0;
        b.uses = 0;
    }

    /// Frees deferred blocks from the oldest on, up to the first that is still in use.
    #[inline]
    pub(super) fn collect_front(&mut self) {
        if !self.deferred.is_empty() {
            self.collect_done();
        }
    }

    #[cold]
    fn collect_done(&mut self) {
        while self.deferred.front().is_some_and(Deferred::is_done) {
            if let Some(done) = self.deferred.pop_front() {
                self.make_free(done.block);
            }
        }
    }

    /// Frees every deferred block whose uses are done.
    pub(super) fn collect(&mut self) {
        for entry in std::mem::take(&mut self.deferred) {
            if entry.is_done() {
                self.make_free(entry.block);
            } else {
                self.deferred.push_back(entry);
            }
        }
    }

    /// Takes every segment that is wholly free out of the heap. They still count as reserved.
    pub(super) fn detach_free_segments(&mut self) -> Vec<(usize, usize)> {
        for stream in 0..STREAMS {
            self.merge_bins(stream);
        }
        let whole = |segment: &Segment| {
            // SAFETY: a segment's first block is in use.
            let first = unsafe { &*segment.first };
            first.state == BlockState::Free && first.size == segment.bytes
        };
        let free: Vec<(usize, usize)> = self
            .segments
            .iter()
            .filter(|(_, segment)| whole(segment))
            .map(|(&ptr, segment)| (ptr, segment.bytes))
            .collect();
        for (ptr, _) in &free {
            if let Some(segment) = self.segments.remove(ptr) {
                self.remove_free(segment.first);
                // SAFETY: the block left its tree and its segment; as a whole segment it has no neighbours.
                unsafe { self.arena.recycle(segment.first) };
            }
        }
        free
    }

    /// A detached segment went back to the driver.
    pub(super) fn forget_segment(&mut self, bytes: usize) {
        self.stats.segment.fall(1);
        self.stats.reserved_bytes.fall(bytes);
        self.stats.num_device_free += 1;
    }

    /// A block that left its list becomes live.
    #[inline]
    fn activate(&mut self, block: *mut Block, bytes: usize) {
        // SAFETY: callers pass a block in use.
        let b = unsafe { &mut *block };
        b.state = BlockState::Live;
        b.requested = bytes;
        self.stats.allocation.rise(1);
        self.stats.active.rise(1);
        self.stats.allocated_bytes.rise(b.size);
        self.stats.active_bytes.rise(b.size);
        self.stats.requested_bytes.rise(bytes);
    }

    /// Ended allocation → free: into its bin, or merged when large.
    #[inline]
    fn make_free(&mut self, block: *mut Block) {
        // SAFETY: callers pass a block in use, in no list.
        let b = unsafe { &mut *block };
        self.stats.active.fall(1);
        self.stats.active_bytes.fall(b.size);
        if b.size > SMALL_MAX || b.large {
            self.merge(block);
            return;
        }
        if b.is_split() {
            self.note_inactive(b, true);
        }
        if let Some(pool) = self.pools[usize::from(b.stream)].as_deref_mut() {
            b.state = BlockState::Binned;
            b.link = pool.bins[class(b.size)];
            pool.bins[class(b.size)] = block;
            pool.binned += 1;
        }
    }

    /// Empties a stream's bins into its trees.
    fn merge_bins(&mut self, stream: usize) {
        let Some(pool) = self.pools[stream].as_deref_mut() else {
            return;
        };
        if pool.binned == 0 {
            return;
        }
        let mut loose: Vec<*mut Block> = Vec::with_capacity(pool.binned);
        for head in &mut pool.bins {
            let mut block = std::mem::replace(head, null_mut());
            while !block.is_null() {
                loose.push(block);
                // SAFETY: bins hold blocks in use.
                block = unsafe { (*block).link };
            }
        }
        pool.binned = 0;
        for block in loose {
            // SAFETY: as above.
            let b = unsafe { &*block };
            if b.is_split() {
                self.note_inactive(b, false);
            }
            self.merge(block);
        }
    }

    /// Puts a block that is in no list into its tree, as one with its free neighbours.
    fn merge(&mut self, mut block: *mut Block) {
        // SAFETY: `block` and its non-null neighbours are in use; a neighbour that is merged leaves its tree first,
        // and nothing refers to the higher of the two afterwards.
        unsafe {
            let (prev, next) = ((*block).prev, (*block).next);
            if !next.is_null() && (*next).state == BlockState::Free {
                self.remove_free(next);
                self.absorb_next(block);
            }
            if !prev.is_null() && (*prev).state == BlockState::Free {
                self.remove_free(prev);
                self.absorb_next(prev);
                block = prev;
            }
        }
        self.insert_free(block);
    }

    /// # Safety
    /// `block` has a next block, and both are in no list.
    unsafe fn absorb_next(&mut self, block: *mut Block) {
        // SAFETY: as this function.
        unsafe {
            let next = (*block).next;
            (*block).size += (*next).size;
            (*block).next = (*next).next;
            if !(*block).next.is_null() {
                (*(*block).next).prev = block;
            }
            self.arena.recycle(next);
        }
    }

    fn insert_free(&mut self, block: *mut Block) {
        // SAFETY: callers pass a block in use.
        let b = unsafe { &mut *block };
        b.state = BlockState::Free;
        if b.is_split() {
            self.note_inactive(b, true);
        }
        if let Some(pool) = self.pools[usize::from(b.stream)].as_deref_mut() {
            pool.free[usize::from(b.large)].insert((b.size, b.ptr as usize), block);
        }
    }

    fn remove_free(&mut self, block: *mut Block) {
        // SAFETY: callers pass a block in use.
        let b = unsafe { &*block };
        if b.is_split() {
            self.note_inactive(b, false);
        }
        if let Some(pool) = self.pools[usize::from(b.stream)].as_deref_mut() {
            pool.free[usize::from(b.large)].remove(&(b.size, b.ptr as usize));
        }
    }

    /// A part of a segment became free, or stopped being free.
    #[inline]
    fn note_inactive(&mut self, block: &Block, free: bool) {
        let stats = &mut self.stats;
        if free {
            stats.inactive_split.rise(1);
            stats.inactive_split_bytes.rise(block.size);
        } else {
            stats.inactive_split.fall(1);
            stats.inactive_split_bytes.fall(block.size);
        }
    }
}
