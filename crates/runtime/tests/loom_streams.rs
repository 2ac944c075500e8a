//! Every interleaving (up to the stated number of preemptions) of the rules in `stream` and `mark`.
//! Run with `RUSTFLAGS="--cfg loom" cargo test --release -p tnrs-runtime --test loom_streams`.
#![cfg(loom)]
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use smallvec::smallvec;
use tnrs_hal::null::{HostExecutable, NullDriver};
use tnrs_hal::{Executable, Fault};
use tnrs_runtime::{Event, Launch, Runtime};

/// An estimate that keeps a launch off the caller.
const SLOW: u64 = 1_000_000;

fn model(preemptions: usize, body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(body);
}

fn runtime() -> Arc<Runtime> {
    let rt = Runtime::new(Box::new(NullDriver::new(1, 64 << 20, 2)));
    // `std::sync::OnceLock` is not loom's, so streams exist before threads do.
    for stream in [0, 1] {
        rt.query_stream(0, stream).unwrap();
    }
    Arc::new(rt)
}

fn launch(rt: &Runtime, stream: i64, exe: &std::sync::Arc<dyn Executable>) {
    let launch = Launch { exe, args: &[], workspace: std::ptr::null_mut(), stack: None };
    // SAFETY: loom reports programs that touch a cell at the same time.
    unsafe { rt.launch(0, stream, launch) }.unwrap();
}

/// A number that programs append digits to; loom fails the model when two do so at once.
#[derive(Clone)]
struct Digits(Arc<UnsafeCell<u32>>);

// SAFETY: whether accesses are ordered is what the model checks.
unsafe impl Send for Digits {}
// SAFETY: as above.
unsafe impl Sync for Digits {}

impl Digits {
    fn new() -> Digits {
        Digits(Arc::new(UnsafeCell::new(0)))
    }

    fn program(&self, cost_ns: u64, digit: u32) -> std::sync::Arc<dyn Executable> {
        let digits = self.clone();
        HostExecutable::shared("loom::digit", cost_ns, move |_| {
            digits.append(digit);
            Ok(())
        })
    }

    fn append(&self, digit: u32) {
        // SAFETY: loom's cell reports a concurrent access.
        self.0.with_mut(|d| unsafe { *d = *d * 10 + digit });
    }

    fn read(&self) -> u32 {
        // SAFETY: loom's cell reports a concurrent access.
        self.0.with(|d| unsafe { *d })
    }
}

/// Inline work, queued work and work of another thread exclude each other, and each thread's order is kept.
#[test]
fn inline_and_queued_work_exclude_each_other() {
    model(4, || {
        let (rt, digits) = (runtime(), Digits::new());
        let other = {
            let (rt, digits) = (rt.clone(), digits.clone());
            loom::thread::spawn(move || launch(&rt, 0, &digits.program(1, 3)))
        };
        launch(&rt, 0, &digits.program(SLOW, 1));
        launch(&rt, 0, &digits.program(1, 2));
        other.join().unwrap();
        rt.sync_stream(0, 0).unwrap();
        assert!([123, 132, 312].contains(&digits.read()), "{}", digits.read());
    });
}

/// A stream that waits for an event sees what the other stream did before it, and nobody hangs.
#[test]
fn an_event_orders_two_streams() {
    model(3, || {
        let (rt, digits) = (runtime(), Digits::new());
        let event = Event::new(false);
        launch(&rt, 0, &digits.program(SLOW, 1));
        rt.record_event(&event, 0, 0).unwrap();
        rt.block_on_event(&event, 0, 1).unwrap();
        launch(&rt, 1, &digits.program(1, 2));
        rt.sync_stream(0, 1).unwrap();
        assert_eq!(digits.read(), 12);
    });
}

/// An event that one thread records while another waits for it is either unrecorded or ordering.
#[test]
fn recording_and_blocking_race_without_harm() {
    model(3, || {
        let (rt, event) = (runtime(), Arc::new(Event::new(false)));
        let recorder = {
            let (rt, event) = (rt.clone(), event.clone());
            loom::thread::spawn(move || rt.record_event(&event, 0, 0).unwrap())
        };
        rt.block_on_event(&event, 0, 1).unwrap();
        rt.sync_event(&event).unwrap();
        rt.sync_stream(0, 1).unwrap();
        recorder.join().unwrap();
        assert!(event.is_complete());
    });
}

/// A thread that synchronises may run entries itself; what it leaves behind, the worker runs.
#[test]
fn a_helping_thread_hands_over() {
    model(2, || {
        let (rt, digits) = (runtime(), Digits::new());
        launch(&rt, 0, &digits.program(SLOW, 1));
        let other = {
            let (rt, digits) = (rt.clone(), digits.clone());
            loom::thread::spawn(move || {
                let event = Event::new(false);
                launch(&rt, 0, &digits.program(SLOW, 2));
                rt.record_event(&event, 0, 0).unwrap();
                rt.block_on_event(&event, 0, 1).unwrap();
            })
        };
        rt.sync_stream(0, 0).unwrap();
        other.join().unwrap();
        // Waits for stream 0 through stream 1, which nobody helps.
        rt.sync_stream(0, 1).unwrap();
        assert_eq!(digits.read(), 12);
    });
}

/// A full stream (2 entries under loom) wakes the submitter that waits for space.
#[test]
fn a_full_stream_lets_its_submitter_go_on() {
    model(3, || {
        let (rt, digits) = (runtime(), Digits::new());
        for digit in 1..=4 {
            launch(&rt, 0, &digits.program(SLOW, digit));
        }
        rt.sync_stream(0, 0).unwrap();
        assert_eq!(digits.read(), 1234);
    });
}

/// Of two threads that synchronise, exactly one gets the fault.
#[test]
fn a_fault_is_returned_once() {
    model(3, || {
        let rt = runtime();
        let bad = HostExecutable::shared("loom::fault", SLOW, |_| Err(Fault::Device("lost".into())));
        launch(&rt, 0, &bad);
        let other = {
            let rt = rt.clone();
            loom::thread::spawn(move || rt.sync_stream(0, 0).is_err())
        };
        let here = rt.sync_stream(0, 0).is_err();
        let there = other.join().unwrap();
        assert!(here ^ there, "here: {here}, there: {there}");
    });
}
