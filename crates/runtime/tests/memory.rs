//! The device allocator: reuse, order, limits, statistics.
mod common;

use common::{launch, runtime, with, Door, SLOW};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use tnrs_hal::null::HostExecutable;
use tnrs_hal::Arg;
use tnrs_runtime::{Block, BlockState, MemoryStats, Runtime};

const MIB: usize = 1 << 20;
const GIB: usize = 1 << 30;

fn alloc(rt: &Runtime, stream: i64, bytes: usize) -> Block {
    rt.alloc(0, stream, bytes).expect("memory is available")
}

fn free(rt: &Runtime, block: Block) {
    // SAFETY: these tests free each block once, after submitting what uses it.
    unsafe { rt.free(block.ctx) }
}

/// The parts of statistics that must agree with a picture of the heap.
fn check_against_snapshot(rt: &Runtime, stats: &MemoryStats) {
    let segments = rt.snapshot(0);
    let mut sums = [0i64; 7];
    for segment in &segments {
        sums[0] += 1;
        sums[1] += segment.bytes as i64;
        let mut at = segment.address;
        for block in &segment.blocks {
            assert_eq!(block.address, at, "blocks cover their segment without gaps");
            at += block.size;
            match block.state {
                BlockState::Live => {
                    sums[2] += 1;
                    sums[3] += block.size as i64;
                    sums[4] += block.requested as i64;
                }
                BlockState::Deferred => {}
                BlockState::Binned | BlockState::Free if segment.blocks.len() > 1 => {
                    sums[5] += 1;
                    sums[6] += block.size as i64;
                }
                BlockState::Binned | BlockState::Free => {}
            }
        }
        assert_eq!(at, segment.address + segment.bytes);
    }
    let currents = [
        stats.segment,
        stats.reserved_bytes,
        stats.allocation,
        stats.allocated_bytes,
        stats.requested_bytes,
        stats.inactive_split,
        stats.inactive_split_bytes,
    ]
    .map(|stat| stat.current);
    assert_eq!(currents, sums);
}

#[test]
fn a_freed_block_is_reused_by_its_stream_only() {
    let (rt, _) = runtime(GIB);
    for bytes in [1000, 3 * MIB, 30 * MIB] {
        let a = alloc(&rt, 0, bytes);
        assert_eq!(a.ptr as usize % 512, 0);
        free(&rt, a);
        let other = alloc(&rt, 1, bytes);
        assert_ne!(other.ptr, a.ptr);
        assert_eq!(alloc(&rt, 0, bytes - 1).ptr, a.ptr);
        assert_eq!(rt.pointer_device(a.ptr), Some(0));
    }
    assert_eq!(rt.pointer_device(std::ptr::from_ref(&rt).cast()), None);
    let nothing = alloc(&rt, 0, 0);
    assert!(nothing.ptr.is_null());
    free(&rt, nothing);
}

#[test]
fn small_blocks_share_a_segment_and_merge_again() {
    let (rt, _) = runtime(GIB);
    let blocks: Vec<Block> = (0..4096).map(|_| alloc(&rt, 0, 512)).collect();
    assert_eq!(rt.stats(0).segment.current, 1, "4096 × 512 B fill one segment of 2 MiB");
    for block in blocks {
        free(&rt, block);
    }
    let whole = alloc(&rt, 0, MIB);
    let other = alloc(&rt, 0, MIB);
    assert_eq!(rt.stats(0).segment.current, 1, "freed blocks merge before the heap grows");
    assert_eq!(other.ptr as usize, whole.ptr as usize + MIB);
}

#[test]
fn statistics_tell_what_happened() {
    let (rt, driver) = runtime(GIB);
    let a = alloc(&rt, 0, 1000);
    let b = alloc(&rt, 0, 5 * MIB);
    free(&rt, a);
    let stats = rt.stats(0);
    assert_eq!((stats.allocation.current, stats.allocation.peak), (1, 2));
    assert_eq!((stats.allocation.allocated, stats.allocation.freed), (2, 1));
    assert_eq!(stats.requested_bytes.peak as usize, 5 * MIB + 1000);
    assert_eq!(stats.allocated_bytes.peak as usize, 5 * MIB + 1024);
    assert_eq!(stats.reserved_bytes.current as usize, 22 * MIB);
    assert_eq!(driver.in_use(0), 22 * MIB);
    check_against_snapshot(&rt, &stats);
    rt.reset_peak_stats(0);
    rt.reset_accumulated_stats(0);
    let stats = rt.stats(0);
    assert_eq!((stats.allocation.current, stats.allocation.peak), (1, 1));
    assert_eq!((stats.allocation.allocated, stats.num_device_alloc), (0, 0));
    assert_eq!(rt.memory_info(0), (GIB - 22 * MIB, GIB));
    assert_eq!(rt.stats(1), MemoryStats::default());
    free(&rt, b);
    rt.empty_cache();
    assert_eq!(driver.in_use(0), 0);
    assert_eq!(rt.stats(0).num_device_free, 2);
}

#[test]
fn a_request_above_the_capacity_fails_and_hurts_nothing() {
    let (rt, _) = runtime(GIB);
    let live = alloc(&rt, 0, 100 * MIB);
    for bytes in [3 * GIB, usize::MAX] {
        let error = rt.alloc(0, 0, bytes).unwrap_err();
        assert_eq!(error.requested, bytes);
        assert_eq!((error.total, error.allocated), (GIB, 100 * MIB));
    }
    let text = rt.alloc(0, 0, 3 * GIB).unwrap_err().to_string();
    assert!(text.contains("Tried to allocate 3.00 GiB"), "{text}");
    assert!(text.contains("total capacity of 1.00 GiB of which 924.00 MiB is free"), "{text}");
    assert_eq!(rt.stats(0).num_ooms, 2, "an unaddressable size never reaches the device");
    free(&rt, live);
    free(&rt, alloc(&rt, 0, 1000 * MIB));
}

#[test]
fn exhaustion_releases_the_cache_of_other_streams_first() {
    let (rt, _) = runtime(64 * MIB);
    let cached = alloc(&rt, 1, 40 * MIB);
    free(&rt, cached);
    let big = alloc(&rt, 0, 50 * MIB);
    let stats = rt.stats(0);
    assert_eq!((stats.num_alloc_retries, stats.num_ooms), (1, 0));
    assert_eq!(stats.num_sync_all_streams, 1);
    assert!(rt.alloc(0, 0, 20 * MIB).is_err());
    free(&rt, big);
    free(&rt, alloc(&rt, 0, 60 * MIB));
}

#[test]
fn the_last_megabytes_are_usable() {
    let (rt, driver) = runtime(21 * MIB);
    let large = alloc(&rt, 0, 10 * MIB);
    let rest = alloc(&rt, 0, 9 * MIB);
    let small = alloc(&rt, 0, 1000);
    assert!(driver.in_use(0) <= 21 * MIB);
    for block in [large, rest, small] {
        free(&rt, block);
    }
}

#[test]
fn memory_in_use_is_not_given_back_early() {
    let (rt, _) = runtime(64 * MIB);
    let block = alloc(&rt, 0, 40 * MIB);
    let done = Arc::new(AtomicUsize::new(0));
    let counter = done.clone();
    let fill = HostExecutable::shared("test::fill", SLOW, move |args| {
        let Arg::Memory(ptr) = args[0] else {
            panic!("memory expected");
        };
        std::thread::sleep(std::time::Duration::from_millis(50));
        // SAFETY: the block of 40 MiB is released only after this program.
        unsafe { ptr.write_bytes(0xab, 40 * MIB) };
        counter.fetch_add(1, Ordering::SeqCst);
        Ok(())
    });
    // SAFETY: the block is live at the launch and freed in stream order.
    unsafe { rt.launch(0, 0, with(&fill, &[Arg::Memory(block.ptr)])) }.unwrap();
    free(&rt, block);
    let other = alloc(&rt, 1, 40 * MIB);
    assert_eq!(done.load(Ordering::SeqCst), 1, "the cache waits for the work on it");
    free(&rt, other);
}

#[test]
fn record_stream_defers_reuse() {
    let (rt, _) = runtime(GIB);
    let door = Door::default();
    let block = alloc(&rt, 0, 1000);
    launch(&rt, 1, &door.program());
    // SAFETY: the block is live.
    unsafe { rt.record_stream(block.ctx, 1) };
    free(&rt, block);
    let stats = rt.stats(0);
    assert_eq!((stats.allocation.current, stats.active.current), (0, 1));
    assert_ne!(alloc(&rt, 0, 1000).ptr, block.ptr, "stream 1 still uses it");
    door.open();
    rt.sync_stream(0, 1).unwrap();
    assert_eq!(alloc(&rt, 0, 1000).ptr, block.ptr);
    check_against_snapshot(&rt, &rt.stats(0));
}

#[test]
fn a_long_deferral_does_not_disturb_the_bins() {
    let (rt, _) = runtime(GIB);
    let door = Door::default();
    let (used, small, other) = (alloc(&rt, 0, 700), alloc(&rt, 0, 100), alloc(&rt, 0, 3000));
    launch(&rt, 1, &door.program());
    // SAFETY: the block is live.
    unsafe { rt.record_stream(used.ctx, 1) };
    for block in [used, small, other] {
        free(&rt, block);
    }
    assert_eq!(alloc(&rt, 0, 100).ptr, small.ptr);
    let blocks = rt.snapshot(0).remove(0).blocks;
    let state = |block: Block| blocks.iter().find(|b| b.address == block.ptr as usize).map(|b| b.state);
    assert_eq!(state(used), Some(BlockState::Deferred));
    assert_eq!(state(other), Some(BlockState::Binned));
    door.open();
}

#[test]
fn exhaustion_waits_for_blocks_that_another_stream_uses() {
    let (rt, _) = runtime(64 * MIB);
    let block = alloc(&rt, 0, 40 * MIB);
    let sleep = HostExecutable::shared("test::sleep", SLOW, |_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        Ok(())
    });
    launch(&rt, 1, &sleep);
    // SAFETY: the block is live.
    unsafe { rt.record_stream(block.ctx, 1) };
    free(&rt, block);
    assert_eq!(rt.stats(0).active.current, 1);
    free(&rt, alloc(&rt, 0, 50 * MIB));
}

#[test]
fn a_memory_fraction_limits_and_says_so() {
    let (rt, _) = runtime(GIB);
    rt.set_memory_fraction(0, 0.25);
    let text = rt.alloc(0, 0, 300 * MIB).unwrap_err().to_string();
    assert!(text.contains("limited to 256.00 MiB"), "{text}");
    rt.set_memory_fraction(0, 1.0);
    free(&rt, alloc(&rt, 0, 300 * MIB));
}

/// A random history against a list of live ranges: no overlap, exact accounting, everything returned at the end.
#[test]
fn random_histories_keep_blocks_apart() {
    let (rt, driver) = runtime(512 * MIB);
    let mut seed = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % below as u64) as usize
    };
    let mut live: Vec<(Block, usize)> = Vec::new();
    for step in 0..20_000 {
        if live.len() > 60 || (random(2) == 0 && !live.is_empty()) {
            let (block, _) = live.swap_remove(random(live.len()));
            free(&rt, block);
        } else {
            let bytes = match random(10) {
                0..=5 => 1 + random(8 * 1024),
                6..=8 => 1 + random(2 * MIB),
                _ => 1 + random(16 * MIB),
            };
            let Ok(block) = rt.alloc(0, random(3) as i64, bytes) else {
                for (block, _) in live.drain(..) {
                    free(&rt, block);
                }
                continue;
            };
            let start = block.ptr as usize;
            for &(other, size) in &live {
                let other = other.ptr as usize;
                assert!(start + bytes <= other || other + size <= start, "blocks overlap");
            }
            live.push((block, bytes));
        }
        if step % 500 == 0 {
            let stats = rt.stats(0);
            assert_eq!(stats.allocation.current as usize, live.len());
            let requested: usize = live.iter().map(|(_, bytes)| bytes).sum();
            assert_eq!(stats.requested_bytes.current as usize, requested);
            check_against_snapshot(&rt, &stats);
        }
    }
    for (block, _) in live {
        free(&rt, block);
    }
    rt.empty_cache();
    assert_eq!(driver.in_use(0), 0);
}

#[test]
fn a_hundred_threads_leave_nothing_behind() {
    let (rt, driver) = runtime(GIB);
    std::thread::scope(|scope| {
        for thread in 0..100usize {
            let rt = &rt;
            scope.spawn(move || {
                let mut kept = Vec::new();
                for i in 0..200usize {
                    let bytes = 64 + (thread * 37 + i * 101) % 40_000;
                    let block = alloc(rt, (thread % 4) as i64, bytes);
                    // SAFETY: the block has `bytes` bytes and belongs to this thread.
                    unsafe {
                        block.ptr.write(thread as u8);
                        block.ptr.add(bytes - 1).write(thread as u8);
                    }
                    kept.push((block, bytes));
                    if i % 3 == 0 {
                        let (block, bytes) = kept.swap_remove(i % kept.len());
                        // SAFETY: as above.
                        let last = unsafe { block.ptr.add(bytes - 1).read() };
                        assert_eq!(last, thread as u8, "nobody else wrote the block");
                        free(rt, block);
                    }
                }
                for (block, _) in kept {
                    free(rt, block);
                }
            });
        }
    });
    let stats = rt.stats(0);
    assert_eq!((stats.allocation.current, stats.allocated_bytes.current), (0, 0));
    assert_eq!(stats.allocation.allocated, 100 * 200);
    check_against_snapshot(&rt, &stats);
    drop(rt);
    assert_eq!(driver.in_use(0), 0, "a dropped runtime releases all memory");
}
