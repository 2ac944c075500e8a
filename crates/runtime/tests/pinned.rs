//! Pinned host memory and copies through it.
mod common;

use common::{launch, runtime, Door};

const MIB: usize = 1 << 20;

#[test]
fn interior_addresses_of_live_blocks_are_pinned() {
    let (rt, _) = runtime(64 * MIB);
    assert!(!rt.is_pinned(std::ptr::null()));
    let block = rt.pinned_alloc(10_000).unwrap();
    assert_eq!(block.ptr as usize % 4096, 0);
    assert!(rt.is_pinned(block.ptr));
    assert!(rt.is_pinned(block.ptr.wrapping_add(9_999)));
    assert!(!rt.is_pinned(block.ptr.wrapping_add(16_384)));
    assert!(!rt.is_pinned(block.ptr.wrapping_sub(1)));
    let (count, bytes) = rt.pinned_stats();
    assert_eq!((count.current, bytes.current), (1, 16_384));
    rt.pinned_free(block.ctx);
    assert!(!rt.is_pinned(block.ptr));
    let (count, bytes) = rt.pinned_stats();
    assert_eq!((count.current, count.freed, bytes.current), (0, 1, 0));
}

#[test]
fn blocks_are_cached_by_power_of_two() {
    let (rt, _) = runtime(64 * MIB);
    let block = rt.pinned_alloc(5_000).unwrap();
    rt.pinned_free(block.ctx);
    assert_ne!(rt.pinned_alloc(4_096).unwrap().ptr, block.ptr);
    assert_eq!(rt.pinned_alloc(8_192).unwrap().ptr, block.ptr);
    rt.pinned_free(block.ctx);
    rt.pinned_free(block.ctx);
    rt.pinned_free(std::ptr::dangling_mut());
    assert_eq!(rt.pinned_stats().0.current, 1, "only live blocks are freed");
    rt.pinned_empty_cache();
    assert!(rt.pinned_alloc(usize::MAX).is_err());
}

#[test]
fn a_block_freed_while_a_copy_is_pending_is_kept() {
    let (rt, _) = runtime(64 * MIB);
    let door = Door::default();
    let device = rt.alloc(0, 0, 4096).unwrap();
    let host = rt.pinned_alloc(4096).unwrap();
    launch(&rt, 0, &door.program());
    // SAFETY: both ranges have 4096 bytes; the pinned one is kept until the copy is done.
    unsafe {
        host.ptr.write_bytes(7, 4096);
        rt.copy(0, 0, device.ptr, host.ptr.add(8), 4000).unwrap();
    }
    rt.pinned_free(host.ctx);
    let other = rt.pinned_alloc(4096).unwrap();
    assert_ne!(other.ptr, host.ptr, "the copy has not run yet");
    door.open();
    rt.sync_stream(0, 0).unwrap();
    // SAFETY: the null driver's memory is host memory, and the copy is done.
    assert_eq!(unsafe { device.ptr.add(3999).read() }, 7);
    assert_eq!(rt.pinned_alloc(4096).unwrap().ptr, host.ptr);
}
