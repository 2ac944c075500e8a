//! Size classes: those of PyTorch's CUDA caching allocator, so that its users' intuition about fragmentation holds.

/// Blocks are multiples of this.
pub(super) const GRANULE: usize = 512;
/// Blocks up to this size come from small segments.
pub(super) const SMALL_MAX: usize = 1 << 20;
/// Size of a small segment.
const SMALL_SEGMENT: usize = 2 << 20;
/// Size of a large segment for blocks below [`LARGE_OWN`].
const LARGE_SEGMENT: usize = 20 << 20;
/// Blocks from this size on get a segment of their own.
const LARGE_OWN: usize = 10 << 20;
/// Own segments are multiples of this, which is also the size of a huge page.
const LARGE_ROUND: usize = 2 << 20;
/// Segments are at least multiples of this: the driver's alignment.
const PAGE: usize = 4096;

/// Number of small size classes, one per granule.
pub(super) const CLASSES: usize = SMALL_MAX / GRANULE;

/// Size of the block that serves a request, or `None` when no address space holds it.
#[inline]
pub(super) fn block_size(bytes: usize) -> Option<usize> {
    let rounded = bytes.checked_add(GRANULE - 1)? & !(GRANULE - 1);
    (rounded <= isize::MAX as usize - LARGE_ROUND).then_some(rounded)
}

/// Class of a small block size.
#[inline]
pub(super) fn class(size: usize) -> usize {
    size / GRANULE - 1
}

/// Size of the segment to obtain for a block.
pub(super) fn segment_size(size: usize) -> usize {
    if size <= SMALL_MAX {
        SMALL_SEGMENT
    } else if size < LARGE_OWN {
        LARGE_SEGMENT
    } else {
        size.next_multiple_of(LARGE_ROUND)
    }
}

/// The smallest segment that holds a block, for when the preferred one does not fit the device any more.
pub(super) fn tight_segment_size(size: usize) -> usize {
    size.next_multiple_of(PAGE)
}

/// Whether what remains of a free block is worth a block of its own.
#[inline]
pub(super) fn splits(large: bool, remaining: usize) -> bool {
    if large {
        remaining > SMALL_MAX
    } else {
        remaining >= GRANULE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_round_like_the_model() {
        const MIB: usize = 1 << 20;
        assert_eq!(block_size(1), Some(512));
        assert_eq!(block_size(513), Some(1024));
        assert_eq!(block_size(usize::MAX), None);
        assert_eq!(block_size(isize::MAX as usize), None);
        assert_eq!(class(SMALL_MAX), CLASSES - 1);
        assert_eq!(segment_size(MIB), 2 * MIB);
        assert_eq!(segment_size(MIB + 512), 20 * MIB);
        assert_eq!(segment_size(10 * MIB), 10 * MIB);
        assert_eq!(segment_size(11 * MIB - 512), 12 * MIB);
        assert_eq!(tight_segment_size(MIB + 512), MIB + 4096);
    }
}
