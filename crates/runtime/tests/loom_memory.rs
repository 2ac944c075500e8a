//! Every interleaving (up to three preemptions) of memory that moves between streams and threads.
//! Run with `RUSTFLAGS="--cfg loom" cargo test --release -p tnrs-runtime --test loom_memory`.
#![cfg(loom)]
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use smallvec::smallvec;
use tnrs_hal::null::{HostExecutable, NullDriver};
use tnrs_runtime::{Launch, Runtime};

const MIB: usize = 1 << 20;

/// An estimate that keeps a launch off the caller.
const SLOW: u64 = 1_000_000;

fn model(body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(body);
}

fn runtime(memory: usize) -> Arc<Runtime> {
    let rt = Runtime::new(Box::new(NullDriver::new(1, memory, 2)));
    // `std::sync::OnceLock` is not loom's, so streams exist before threads do.
    for stream in [0, 1] {
        rt.query_stream(0, stream).unwrap();
    }
    Arc::new(rt)
}

/// What stands for the content of one piece of memory; loom fails the model on accesses that nothing orders.
#[derive(Clone)]
struct Content(Arc<UnsafeCell<u32>>);

// SAFETY: whether accesses are ordered is what the models check.
unsafe impl Send for Content {}
// SAFETY: as above.
unsafe impl Sync for Content {}

impl Content {
    fn new() -> Content {
        Content(Arc::new(UnsafeCell::new(0)))
    }

    fn touch(&self) {
        // SAFETY: loom's cell reports a concurrent access.
        self.0.with_mut(|c| unsafe { *c += 1 });
    }

    /// Launches a write of the content.
    fn write(&self, rt: &Runtime, stream: i64) {
        let content = self.clone();
        let exe = HostExecutable::shared("loom::write", SLOW, move |_| {
            content.touch();
            Ok(())
        });
        let launch = Launch { exe: &exe, args: &[], workspace: std::ptr::null_mut(), stack: None };
        // SAFETY: the program touches no memory but the cell.
        unsafe { rt.launch(0, stream, launch) }.unwrap();
    }
}

/// Memory that another stream uses is not reused before that stream is done.
#[test]
fn record_stream_orders_reuse() {
    model(|| {
        let (rt, content) = (runtime(64 * MIB), Content::new());
        let block = rt.alloc(0, 0, 512).unwrap();
        // SAFETY: the block is live, and freed after its uses are submitted.
        unsafe {
            rt.record_stream(block.ctx, 1);
            content.write(&rt, 1);
            rt.free(block.ctx);
        }
        let next = rt.alloc(0, 0, 512).unwrap();
        if next.ptr == block.ptr {
            content.write(&rt, 0);
        }
        rt.sync_device(0).unwrap();
    });
}

/// Memory given back under exhaustion is not given to another stream before the work on it is done.
#[test]
fn exhaustion_waits_for_the_work_on_what_it_releases() {
    model(|| {
        let (rt, content) = (runtime(16 * MIB), Content::new());
        let block = rt.alloc(0, 0, 12 * MIB).unwrap();
        content.write(&rt, 0);
        // SAFETY: the block is live, and freed after its uses are submitted.
        unsafe { rt.free(block.ctx) };
        rt.alloc(0, 1, 12 * MIB).unwrap();
        content.write(&rt, 1);
        rt.sync_device(0).unwrap();
    });
}

/// The same when the memory is freed by another thread while the exhausted one looks for some.
#[test]
fn exhaustion_waits_for_work_submitted_meanwhile() {
    model(|| {
        let (rt, content) = (runtime(16 * MIB), Content::new());
        let block = rt.alloc(0, 0, 12 * MIB).unwrap();
        let handle = block.ctx as usize;
        let other = {
            let (rt, content) = (rt.clone(), content.clone());
            loom::thread::spawn(move || {
                content.write(&rt, 0);
                // SAFETY: the block is live, and freed after its uses are submitted.
                unsafe { rt.free(handle as *mut _) };
            })
        };
        if rt.alloc(0, 1, 12 * MIB).is_ok() {
            content.write(&rt, 1);
        }
        other.join().unwrap();
        rt.sync_device(0).unwrap();
    });
}

/// Two threads that allocate and free on one stream never hold the same block.
#[test]
fn threads_do_not_share_a_block() {
    model(|| {
        let rt = runtime(64 * MIB);
        let work = |rt: &Runtime| {
            let a = rt.alloc(0, 0, 512).unwrap();
            // SAFETY: the block is this thread's until it is freed; the null driver's memory is host memory.
            unsafe {
                a.ptr.write(1);
                rt.free(a.ctx);
            }
            rt.alloc(0, 0, 512).unwrap().ptr as usize
        };
        let other = {
            let rt = rt.clone();
            loom::thread::spawn(move || work(&rt))
        };
        let here = work(&rt);
        assert_ne!(here, other.join().unwrap());
        assert_eq!(rt.stats(0).allocation.current, 2);
    });
}
