//! Blocks: the pieces of segments, kept in an arena so that a handle stays readable after its block is freed.
use std::ptr::null_mut;

/// What a block is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockState {
    /// In a live tensor.
    Live,
    /// Freed, but another stream may still use it.
    Deferred,
    /// Free, kept whole for the next request of its size.
    Binned,
    /// Free, merged with its free neighbours.
    Free,
}

/// A piece of a segment. `device` is constant; all else belongs to the heap's lock.
pub(crate) struct Block {
    pub(crate) ptr: *mut u8,
    pub(super) size: usize,
    /// Bytes asked for, while live.
    pub(super) requested: usize,
    /// Neighbours in the segment, by address.
    pub(super) prev: *mut Block,
    pub(super) next: *mut Block,
    /// Next block of a bin, or of the arena's unused blocks.
    pub(super) link: *mut Block,
    /// Bit per stream, other than the own one, that `record_stream` named.
    pub(super) uses: u128,
    pub(crate) device: u32,
    /// Stream whose order governs reuse.
    pub(super) stream: u8,
    pub(super) large: bool,
    pub(super) state: BlockState,
}

impl Block {
    /// Whether the block is only a part of its segment.
    #[inline]
    pub(super) fn is_split(&self) -> bool {
        !self.prev.is_null() || !self.next.is_null()
    }
}

/// Storage of blocks. It only grows, by chunks.
pub(super) struct Arena {
    device: u32,
    chunks: Vec<Box<[Block]>>,
    unused: *mut Block,
}

const CHUNK: usize = 64;

impl Arena {
    pub(super) fn new(device: usize) -> Arena {
        Arena { device: device as u32, chunks: Vec::new(), unused: null_mut() }
    }

    /// A block without memory, neighbours or uses.
    pub(super) fn make(&mut self) -> *mut Block {
        if self.unused.is_null() {
            self.grow();
        }
        let block = self.unused;
        // SAFETY: unused blocks are valid and owned by the arena.
        unsafe {
            self.unused = (*block).link;
            block.write(self.blank(null_mut()));
        }
        block
    }

    /// # Safety
    /// `block` came from `make` and nothing refers to it any more.
    pub(super) unsafe fn recycle(&mut self, block: *mut Block) {
        // SAFETY: as this function.
        unsafe { (*block).link = self.unused };
        self.unused = block;
    }

    fn blank(&self, link: *mut Block) -> Block {
        Block {
            ptr: null_mut(),
            size: 0,
            requested: 0,
            prev: null_mut(),
            next: null_mut(),
            link,
            uses: 0,
            device: self.device,
            stream: 0,
            large: false,
            state: BlockState::Free,
        }
    }

    fn grow(&mut self) {
        let mut chunk: Box<[Block]> = (0..CHUNK).map(|_| self.blank(null_mut())).collect();
        let base = chunk.as_mut_ptr();
        for i in 0..CHUNK {
            // SAFETY: `i` is inside the chunk, whose storage does not move when its box does.
            unsafe {
                let block = base.add(i);
                (*block).link = self.unused;
                self.unused = block;
            }
        }
        self.chunks.push(chunk);
    }
}
