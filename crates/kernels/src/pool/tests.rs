use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::Pool;

/// Every chunk once, ids below the thread count, and never one id in two chunks at a time.
fn check(pool: &Pool, chunks: usize) {
    let calls: Vec<AtomicUsize> = (0..chunks).map(|_| AtomicUsize::new(0)).collect();
    let busy: Vec<AtomicBool> = (0..pool.threads()).map(|_| AtomicBool::new(false)).collect();
    pool.run(chunks, &|chunk, id| {
        assert!(!busy[id].swap(true, Ordering::SeqCst), "id {id} used twice");
        calls[chunk].fetch_add(1, Ordering::SeqCst);
        busy[id].store(false, Ordering::SeqCst);
    });
    assert!(calls.iter().all(|c| c.load(Ordering::SeqCst) == 1));
}

#[test]
fn runs_every_chunk_once() {
    for threads in [1, 2, 3, 8] {
        let pool = Pool::new(threads);
        for chunks in [0, 1, 2, 3, 17, 1000] {
            for _ in 0..50 {
                check(&pool, chunks);
            }
        }
    }
}

#[test]
fn many_callers_share_one_pool() {
    let pool = Pool::new(3);
    std::thread::scope(|s| {
        for _ in 0..24 {
            s.spawn(|| (0..300).for_each(|i| check(&pool, i % 40)));
        }
    });
}

#[test]
fn nested_runs_are_inline() {
    let pool = Pool::new(4);
    let sum = AtomicUsize::new(0);
    pool.run(16, &|i, _| {
        let me = std::thread::current().id();
        pool.run(10, &|j, id| {
            assert_eq!((std::thread::current().id(), id), (me, 0));
            sum.fetch_add(i * 10 + j, Ordering::SeqCst);
        });
    });
    assert_eq!(sum.into_inner(), (0..160).sum());
}

#[test]
fn a_panic_reaches_the_caller_and_the_pool_lives_on() {
    let pool = Pool::new(4);
    for bad in 0..20 {
        let done = AtomicUsize::new(0);
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            pool.run(20, &|i, _| {
                done.fetch_add(1, Ordering::SeqCst);
                if i == bad {
                    std::panic::resume_unwind(Box::new(i));
                }
            });
        }));
        assert_eq!(result.unwrap_err().downcast_ref::<usize>(), Some(&bad));
        assert_eq!(done.into_inner(), 20);
        check(&pool, 20);
    }
}

#[test]
fn idle_workers_join_a_long_job() {
    let pool = Pool::new(2);
    std::thread::sleep(Duration::from_millis(5));
    let ids = [const { AtomicUsize::new(0) }; 2];
    pool.run(64, &|_, id| {
        ids[id].fetch_add(1, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(1));
    });
    assert!(ids.iter().all(|n| n.load(Ordering::SeqCst) > 0), "{ids:?}");
}

/// Threads that spin on every CPU keep workers from running. The caller must get through small jobs alone: with a
/// barrier each job would wait for a time slice of the scheduler (milliseconds).
#[test]
fn a_competitor_does_not_stall_small_jobs() {
    let pool = Pool::new(2);
    let stop = AtomicBool::new(false);
    std::thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let mut times: Vec<Duration> = (0..400)
            .map(|_| {
                let start = Instant::now();
                check(&pool, 8);
                start.elapsed()
            })
            .collect();
        stop.store(true, Ordering::Relaxed);
        times.sort();
        assert!(times[200] < Duration::from_millis(1), "{:?}", times[200]);
    });
}

#[test]
fn more_chunks_than_a_job_holds() {
    let pool = Pool::new(2);
    let chunks = super::queue::MAX_CHUNKS + 5;
    let sum = AtomicUsize::new(0);
    pool.run(chunks, &|i, _| {
        sum.fetch_add(i, Ordering::Relaxed);
    });
    assert_eq!(sum.into_inner(), chunks * (chunks - 1) / 2);
}
