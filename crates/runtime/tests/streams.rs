//! Order within and across streams, events, faults.
mod common;

use common::{faulty, launch, plain, runtime, Door, Log, SLOW};
use std::time::Duration;
use tnrs_hal::null::HostExecutable;
use tnrs_hal::Fault;
use tnrs_runtime::{ElapsedError, Event, STREAMS_PER_PRIORITY};

const MEMORY: usize = 64 << 20;

fn index_of(fault: &Fault) -> i64 {
    match fault {
        Fault::IndexOutOfRange { index, .. } => *index,
        other => panic!("not an index fault: {other}"),
    }
}

#[test]
fn small_work_on_an_idle_stream_runs_on_the_caller() {
    let (rt, _) = runtime(MEMORY);
    let caller = std::thread::current().id();
    let (send, ran_on) = std::sync::mpsc::channel();
    for cost in [10, SLOW] {
        let send = send.clone();
        let exe = HostExecutable::shared("test::where", cost, move |_| {
            send.send(std::thread::current().id()).unwrap();
            Ok(())
        });
        launch(&rt, 0, &exe);
    }
    assert_eq!(ran_on.recv().unwrap(), caller);
    assert_ne!(ran_on.recv().unwrap(), caller, "nobody waits, so the worker runs it");
    rt.sync_stream(0, 0).unwrap();
}

#[test]
fn small_work_does_not_overtake_queued_work() {
    let (rt, _) = runtime(MEMORY);
    let (door, log) = (Door::default(), Log::default());
    launch(&rt, 0, &door.program());
    for i in 0..100 {
        launch(&rt, 0, &log.program(if i % 3 == 0 { SLOW } else { 10 }, i));
    }
    assert!(!rt.query_stream(0, 0).unwrap());
    assert!(log.read().is_empty());
    door.open();
    rt.sync_stream(0, 0).unwrap();
    assert!(rt.query_stream(0, 0).unwrap());
    assert_eq!(log.read(), (0..100).collect::<Vec<_>>());
}

#[test]
fn an_event_orders_two_streams() {
    let (rt, _) = runtime(MEMORY);
    let (door, log) = (Door::default(), Log::default());
    let (a, b) = (rt.new_stream(0, 0), rt.new_stream(0, -1));
    let event = Event::new(false);
    launch(&rt, a, &door.program());
    launch(&rt, a, &log.program(10, 1));
    rt.record_event(&event, 0, a).unwrap();
    rt.block_on_event(&event, 0, b).unwrap();
    launch(&rt, b, &log.program(10, 2));
    launch(&rt, 0, &log.program(10, 0));
    assert!(!event.is_complete());
    assert_eq!(log.read(), [0], "only the stream that waits for nothing ran");
    door.open();
    rt.sync_stream(0, b).unwrap();
    assert_eq!(log.read(), [0, 1, 2]);
    assert!(event.is_complete());
    assert_eq!(event.device(), Some(0));
}

#[test]
fn an_event_orders_two_devices() {
    let (rt, _) = runtime(MEMORY);
    let (door, log) = (Door::default(), Log::default());
    let event = Event::new(false);
    launch(&rt, 0, &door.program());
    rt.record_event(&event, 0, 0).unwrap();
    rt.block_on_event(&event, 1, 0).unwrap();
    // SAFETY: the program touches no device memory.
    unsafe { rt.launch(1, 0, plain(&log.program(10, 1))) }.unwrap();
    assert!(log.read().is_empty());
    door.open();
    rt.sync_device(1).unwrap();
    assert_eq!(log.read(), [1]);
}

#[test]
fn an_event_that_was_never_recorded_blocks_nothing() {
    let (rt, _) = runtime(MEMORY);
    let event = Event::new(true);
    assert!(event.is_complete());
    assert_eq!(event.device(), None);
    rt.block_on_event(&event, 0, 0).unwrap();
    rt.sync_event(&event).unwrap();
    let log = Log::default();
    launch(&rt, 0, &log.program(10, 7));
    assert_eq!(log.read(), [7]);
}

#[test]
fn a_recorded_event_means_its_last_record() {
    let (rt, _) = runtime(MEMORY);
    let door = Door::default();
    let event = Event::new(false);
    rt.record_event(&event, 0, 0).unwrap();
    assert!(event.is_complete());
    launch(&rt, 0, &door.program());
    rt.record_event(&event, 0, 0).unwrap();
    assert!(!event.is_complete());
    door.open();
    rt.sync_event(&event).unwrap();
    assert!(event.is_complete());
}

#[test]
fn elapsed_time_covers_the_work_between() {
    let (rt, _) = runtime(MEMORY);
    let (start, end) = (Event::new(true), Event::new(true));
    let untimed = Event::new(false);
    assert_eq!(start.elapsed_ms(&end), Err(ElapsedError::NotRecorded));
    let door = Door::default();
    let sleep = HostExecutable::shared("test::sleep", SLOW, |_| {
        std::thread::sleep(Duration::from_millis(30));
        Ok(())
    });
    launch(&rt, 0, &door.program());
    rt.record_event(&start, 0, 0).unwrap();
    launch(&rt, 0, &sleep);
    rt.record_event(&end, 0, 0).unwrap();
    rt.record_event(&untimed, 0, 0).unwrap();
    assert_eq!(start.elapsed_ms(&end), Err(ElapsedError::NotComplete));
    door.open();
    rt.sync_event(&end).unwrap();
    let ms = start.elapsed_ms(&end).unwrap();
    assert!((30.0..5_000.0).contains(&ms), "{ms} ms for a sleep of 30");
    assert_eq!(start.elapsed_ms(&untimed), Err(ElapsedError::NoTiming));
}

#[test]
fn a_fault_is_sticky_then_cleared_and_later_work_runs() {
    let (rt, _) = runtime(MEMORY);
    let log = Log::default();
    for cost in [10, SLOW] {
        launch(&rt, 0, &faulty(cost, 5));
        launch(&rt, 0, &faulty(cost, 6));
        launch(&rt, 0, &log.program(cost, 1));
        rt.sync_stream(0, rt.new_stream(0, 0)).unwrap();
        let fault = rt.sync_stream(0, 0).unwrap_err();
        assert_eq!(index_of(&fault.fault), 5, "the first fault is the one kept");
        assert_eq!((fault.site.as_str(), fault.further), ("test::index", 1));
        rt.sync_stream(0, 0).unwrap();
        rt.sync_device(0).unwrap();
    }
    assert_eq!(log.read(), [1, 1]);
}

#[test]
fn synchronising_a_device_or_an_event_raises_too() {
    let (rt, _) = runtime(MEMORY);
    let stream = rt.new_stream(0, 0);
    launch(&rt, 0, &faulty(SLOW, 1));
    launch(&rt, stream, &faulty(SLOW, 2));
    let fault = rt.sync_device(0).unwrap_err();
    assert_eq!((index_of(&fault.fault), fault.further), (1, 1));
    rt.sync_device(0).unwrap();
    let event = Event::new(false);
    launch(&rt, stream, &faulty(SLOW, 3));
    rt.record_event(&event, 0, stream).unwrap();
    assert_eq!(index_of(&rt.sync_event(&event).unwrap_err().fault), 3);
    rt.sync_stream(0, stream).unwrap();
}

#[test]
fn a_panic_becomes_a_fault_with_its_stack() {
    let (rt, _) = runtime(MEMORY);
    for cost in [10, SLOW] {
        let exe = HostExecutable::shared("test::panics", cost, |_| panic!("lost {}", 7));
        let mut bad = plain(&exe);
        bad.stack = Some("  File \"model.py\", line 3".into());
        // SAFETY: the program touches no memory.
        unsafe { rt.launch(0, 0, bad) }.unwrap();
        let text = rt.sync_stream(0, 0).unwrap_err().to_string();
        assert!(text.starts_with("test::panics: internal error: lost 7"), "{text}");
        assert!(text.ends_with("line 3"), "{text}");
    }
    let log = Log::default();
    launch(&rt, 0, &log.program(SLOW, 1));
    rt.sync_stream(0, 0).unwrap();
    assert_eq!(log.read(), [1]);
}

#[test]
fn blocking_launches_raise_at_the_call() {
    let (rt, _) = runtime(MEMORY);
    rt.set_launch_blocking(true);
    // SAFETY: the program touches no memory.
    let fault = unsafe { rt.launch(0, 0, plain(&faulty(SLOW, 4))) }.unwrap_err();
    assert_eq!(index_of(&fault.fault), 4);
    rt.sync_stream(0, 0).unwrap();
}

#[test]
fn a_full_stream_holds_its_submitter_back() {
    let (rt, _) = runtime(MEMORY);
    let (door, log) = (Door::default(), Log::default());
    launch(&rt, 0, &door.program());
    std::thread::scope(|scope| {
        let submitter = scope.spawn(|| {
            for i in 0..6000 {
                launch(&rt, 0, &log.program(10, i));
            }
        });
        std::thread::sleep(Duration::from_millis(50));
        assert!(!submitter.is_finished(), "6000 entries do not fit a stream");
        door.open();
        submitter.join().unwrap();
    });
    rt.sync_stream(0, 0).unwrap();
    assert_eq!(log.read(), (0..6000).collect::<Vec<_>>());
}

#[test]
fn host_functions_run_in_order_and_may_fault() {
    let (rt, _) = runtime(MEMORY);
    let log = Log::default();
    launch(&rt, 0, &log.program(SLOW, 1));
    let exe = log.program(10, 2);
    let body = Box::new(move || {
        // SAFETY: the program touches no memory.
        unsafe { exe.run(&[], std::ptr::null_mut()) }?;
        Err(Fault::Device("peer lost".into()))
    });
    rt.host_fn(0, 0, "c10d::allreduce", body).unwrap();
    launch(&rt, 0, &log.program(10, 3));
    let fault = rt.sync_stream(0, 0).unwrap_err();
    assert_eq!(fault.to_string(), "c10d::allreduce: peer lost");
    assert_eq!(log.read(), [1, 2, 3]);
}

#[test]
fn streams_come_from_two_pools_in_turn() {
    let (rt, _) = runtime(MEMORY);
    let low: Vec<i64> = (0..STREAMS_PER_PRIORITY).map(|_| rt.new_stream(0, 0)).collect();
    let high = rt.new_stream(0, -1);
    assert!(!low.contains(&0) && !low.contains(&high));
    assert_eq!(rt.new_stream(0, 0), low[0]);
    assert_eq!(rt.new_stream(1, 0), low[0], "each device has its own turn");
    assert_eq!((rt.stream_priority(low[31]), rt.stream_priority(high)), (0, -1));
    let unknown = rt.sync_stream(0, 1000).unwrap_err();
    assert_eq!(unknown.to_string(), "NeuronCore 0 has no stream 1000");
}

#[test]
fn many_threads_share_a_stream() {
    let (rt, _) = runtime(MEMORY);
    let log = Log::default();
    std::thread::scope(|scope| {
        for thread in 0..100u32 {
            let (rt, log) = (&rt, &log);
            scope.spawn(move || {
                for i in 0..50 {
                    let cost = if i % 7 == 0 { SLOW } else { 10 };
                    launch(rt, 0, &log.program(cost, thread * 50 + i));
                }
                rt.sync_stream(0, 0).unwrap();
            });
        }
    });
    let seen = log.read();
    for thread in 0..100 {
        let own: Vec<u32> = seen.iter().copied().filter(|v| v / 50 == thread).collect();
        assert_eq!(own, (thread * 50..thread * 50 + 50).collect::<Vec<_>>());
    }
}
