//! Working memory that threads keep between calls.

use std::alloc::{alloc, dealloc, handle_alloc_error, Layout};
use std::cell::RefCell;

/// Alignment of scratch memory: a cache line, and two for adjacent-line prefetch.
const ALIGN: usize = 128;
/// From this size on, memory is aligned to and advised as huge pages.
const HUGE: usize = 2 << 20;
/// Most bytes a thread keeps while idle.
const KEEP: usize = 96 << 20;

struct Block {
    ptr: *mut u8,
    layout: Layout,
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, and owned.
        unsafe { dealloc(self.ptr, self.layout) }
    }
}

thread_local! {
    static FREE: RefCell<Vec<Block>> = const { RefCell::new(Vec::new()) };
}

/// Uninitialised memory from the thread's own store; it returns there when dropped (on whichever thread).
pub(crate) struct Scratch(Option<Block>);

impl Scratch {
    /// At least `bytes` bytes, aligned to 128.
    pub(crate) fn new(bytes: usize) -> Scratch {
        let kept = FREE.with_borrow_mut(|free| {
            let fits = |b: &Block| b.layout.size() >= bytes;
            let best = (0..free.len()).filter(|&i| fits(&free[i])).min_by_key(|&i| free[i].layout.size());
            best.map(|i| free.swap_remove(i))
        });
        Scratch(Some(kept.unwrap_or_else(|| Block::new(bytes))))
    }

    /// Memory for `n` values of 4 bytes.
    pub(crate) fn words(n: usize) -> Scratch {
        Scratch::new(n * 4)
    }

    /// The memory.
    pub(crate) fn ptr<T>(&self) -> *mut T {
        self.0.as_ref().map_or(std::ptr::null_mut(), |b| b.ptr).cast()
    }
}

impl Block {
    fn new(bytes: usize) -> Block {
        let align = if bytes >= HUGE { HUGE } else { ALIGN };
        // Rounding up makes blocks of similar calls interchangeable.
        let size = bytes.max(4096).next_multiple_of(align.max(4096));
        let layout = Layout::from_size_align(size, align).expect("scratch size overflows");
        // SAFETY: the size is not zero.
        let ptr = unsafe { alloc(layout) };
        if ptr.is_null() {
            handle_alloc_error(layout);
        }
        #[cfg(target_os = "linux")]
        if size >= HUGE {
            // SAFETY: the range is owned; advice changes no contents, and its failure only costs speed.
            unsafe { libc::madvise(ptr.cast(), size, libc::MADV_HUGEPAGE) };
        }
        Block { ptr, layout }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let Some(block) = self.0.take() else { return };
        // During thread exit the store may be gone; the block is then freed here.
        let _ = FREE.try_with(|free| {
            let mut free = free.borrow_mut();
            free.push(block);
            let mut total: usize = free.iter().map(|b| b.layout.size()).sum();
            while total > KEEP && free.len() > 1 {
                total -= free.remove(0).layout.size();
            }
        });
    }
}
