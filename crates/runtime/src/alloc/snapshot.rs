//! A picture of a device's memory, for `torch.neuron.memory._snapshot` and for debugging fragmentation.
use super::block::BlockState;
use super::heap::Heap;

/// One piece of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockInfo {
    /// Address.
    pub address: usize,
    /// Bytes.
    pub size: usize,
    /// Bytes asked for; 0 unless live.
    pub requested: usize,
    /// What it is doing.
    pub state: BlockState,
}

/// Memory obtained from the driver in one piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentInfo {
    /// Address.
    pub address: usize,
    /// Bytes.
    pub bytes: usize,
    /// Stream whose blocks it holds.
    pub stream: i64,
    /// Whether it serves blocks above 1 MiB.
    pub large: bool,
    /// Its blocks by address; together they cover it.
    pub blocks: Vec<BlockInfo>,
}

/// Segments by address.
pub(super) fn take(heap: &Heap) -> Vec<SegmentInfo> {
    let mut segments = Vec::with_capacity(heap.segments.len());
    for (&address, segment) in &heap.segments {
        // SAFETY: the heap is borrowed, so its blocks do not change; a segment's blocks are in use.
        let first = unsafe { &*segment.first };
        let mut blocks = Vec::new();
        let mut next = Some(first);
        while let Some(block) = next {
            blocks.push(BlockInfo {
                address: block.ptr as usize,
                size: block.size,
                requested: block.requested,
                state: block.state,
            });
            // SAFETY: as above; null ends the list.
            next = unsafe { block.next.as_ref() };
        }
        segments.push(SegmentInfo {
            address,
            bytes: segment.bytes,
            stream: i64::from(first.stream),
            large: first.large,
            blocks,
        });
    }
    segments
}
