//! What every driver must do, as one function that each driver's tests call.
use crate::null::HostExecutable;
use crate::{Arg, Driver, Event, Fault, Queue};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Sizes that memory is asked for: one byte, odd sizes, a page, and more than a huge page.
const SIZES: [usize; 5] = [1, 511, 4096, 12_345, (2 << 20) + 7];

/// Runs the whole suite on every device of a driver.
///
/// # Panics
/// On the first rule that the driver breaks; the message names the rule.
pub fn check(driver: &dyn Driver) {
    assert!(!driver.name().is_empty(), "a driver has a name");
    assert!(driver.threads() >= 1, "somebody executes programs");
    for device in 0..driver.device_count() {
        properties(driver, device);
        memory(driver, device);
        copies(driver, device);
        order_and_arguments(driver, device);
        faults_leave_the_queue_usable(driver, device);
        events(driver, device);
        queues_are_independent(driver, device);
    }
}

fn properties(driver: &dyn Driver, device: usize) {
    let props = driver.properties(device);
    assert!(!props.name.is_empty(), "a device has a name");
    assert!(props.total_memory >= 16 << 20, "a device has memory");
    assert!(props.cores >= 1, "a device has a core");
}

/// Memory is page-aligned, disjoint, reusable after release, and refused, not faked, when too large.
fn memory(driver: &dyn Driver, device: usize) {
    let mut live: Vec<(usize, usize)> = Vec::new();
    for bytes in SIZES {
        let ptr = driver.allocate(device, bytes).expect("memory is available") as usize;
        assert_eq!(ptr % 4096, 0, "memory is 4096-byte aligned");
        for &(other, size) in &live {
            assert!(ptr + bytes <= other || other + size <= ptr, "live allocations do not overlap");
        }
        live.push((ptr, bytes));
    }
    for (ptr, bytes) in live {
        // SAFETY: each allocation of the loop above is released once, with no work on it.
        unsafe { driver.release(device, ptr as *mut u8, bytes) };
    }
    let absurd = usize::MAX / 4;
    let error = driver.allocate(device, absurd).expect_err("more than the address space is refused");
    assert_eq!(error.bytes, absurd, "the error names the size");
    assert!(!error.reason.is_empty(), "the error names the reason");
    let ptr = driver.allocate(device, 4096).expect("a refusal leaves the device usable");
    // SAFETY: the allocation of the line above.
    unsafe { driver.release(device, ptr, 4096) };
}

/// Bytes survive a trip host → device → device → host, in order on one queue.
fn copies(driver: &dyn Driver, device: usize) {
    let mut queue = driver.queue(device);
    for bytes in SIZES {
        let source: Vec<u8> = (0..bytes).map(|i| (i * 31 + 7) as u8).collect();
        let mut back = vec![0u8; bytes];
        let a = driver.allocate(device, bytes).expect("memory is available");
        let b = driver.allocate(device, bytes).expect("memory is available");
        // SAFETY: all four ranges are `bytes` long, disjoint, and outlive the synchronisation.
        unsafe {
            queue.copy(a, source.as_ptr(), bytes).expect("copy in");
            queue.copy(b, a, bytes).expect("copy on the device");
            queue.copy(back.as_mut_ptr(), b, bytes).expect("copy out");
        }
        queue.synchronize().expect("copies do not fault");
        assert!(source == back, "a copy of {bytes} bytes keeps every byte");
        // SAFETY: the queue is idle and both allocations are released once.
        unsafe {
            driver.release(device, a, bytes);
            driver.release(device, b, bytes);
        }
    }
}

/// Work of one queue runs in submission order, once each, with the arguments it was given.
fn order_and_arguments(driver: &dyn Driver, device: usize) {
    let mut queue = driver.queue(device);
    let log = Arc::new(Mutex::new(Vec::new()));
    for i in 0..100u8 {
        let sink = log.clone();
        let exe = HostExecutable::shared("conformance::log", 100, move |args| {
            let Some(Arg::Scalar(bytes)) = args.first() else {
                return Err(Fault::Device("the scalar did not arrive".into()));
            };
            sink.lock().expect("no panic holds it").push(bytes[0]);
            Ok(())
        });
        let mut bytes = [0; 16];
        bytes[0] = i;
        // SAFETY: the executable reads a scalar only.
        unsafe { queue.execute(&exe, &[Arg::Scalar(bytes)], std::ptr::null_mut()) }
            .expect("the executable does not fault");
    }
    queue.synchronize().expect("nothing faulted");
    let log = log.lock().expect("no panic holds it");
    assert_eq!(*log, (0..100).collect::<Vec<u8>>(), "a queue is in order");
}

/// A fault is reported at the call or at the synchronisation, once, and later work runs.
fn faults_leave_the_queue_usable(driver: &dyn Driver, device: usize) {
    let mut queue = driver.queue(device);
    let fault = Fault::IndexOutOfRange {
        site: "conformance::fault",
        dim: 1,
        index: 9,
        size: 4,
        raises: tnrs_types::Raises::Index,
    };
    let thrown = fault.clone();
    let bad = HostExecutable::shared("conformance::fault", 100, move |_| Err(thrown.clone()));
    let ran = Arc::new(AtomicUsize::new(0));
    let counter = ran.clone();
    let good = HostExecutable::shared("conformance::count", 100, move |_| {
        counter.fetch_add(1, Ordering::SeqCst);
        Ok(())
    });
    // SAFETY: neither executable touches memory.
    let now = unsafe { queue.execute(&bad, &[], std::ptr::null_mut()) };
    let later = queue.synchronize();
    assert!(
        (now.is_err() && later.is_ok()) || (now.is_ok() && later.is_err()),
        "a fault is reported exactly once"
    );
    assert_eq!(now.and(later), Err(fault), "a fault keeps its content");
    // SAFETY: the executable touches no memory.
    unsafe { queue.execute(&good, &[], std::ptr::null_mut()) }.expect("later work is accepted");
    queue.synchronize().expect("a fault is not reported twice");
    assert_eq!(ran.load(Ordering::SeqCst), 1, "later work runs once");
}

/// Events complete after the work before them, and their times do not run backwards.
fn events(driver: &dyn Driver, device: usize) {
    let mut queue = driver.queue(device);
    let pause = std::time::Duration::from_millis(5);
    let slow = HostExecutable::shared("conformance::slow", 5_000_000, move |_| {
        std::thread::sleep(pause);
        Ok(())
    });
    let start = queue.record();
    // SAFETY: the executable touches no memory.
    unsafe { queue.execute(&slow, &[], std::ptr::null_mut()) }.expect("no fault");
    let end = queue.record();
    end.wait();
    assert!(end.is_complete(), "an event is complete after its wait");
    assert!(start.is_complete(), "earlier events of a queue complete first");
    let (Some(t0), Some(t1)) = (start.completed_ns(), end.completed_ns()) else {
        panic!("a complete event has a time");
    };
    assert!(t1 >= t0 + pause.as_nanos() as u64, "the time between two events covers the work between them");
}

/// Two queues of one device may be driven from two threads at once.
fn queues_are_independent(driver: &dyn Driver, device: usize) {
    let drive = |mut queue: Box<dyn Queue>| {
        let count = Arc::new(AtomicUsize::new(0));
        let sink = count.clone();
        let exe = HostExecutable::shared("conformance::count", 100, move |_| {
            sink.fetch_add(1, Ordering::SeqCst);
            Ok(())
        });
        for _ in 0..1000 {
            // SAFETY: the executable touches no memory.
            unsafe { queue.execute(&exe, &[], std::ptr::null_mut()) }.expect("no fault");
        }
        let last: Arc<dyn Event> = queue.record();
        queue.synchronize().expect("no fault");
        assert!(last.is_complete(), "synchronising completes every event");
        count.load(Ordering::SeqCst)
    };
    let (a, b) = (driver.queue(device), driver.queue(device));
    let (a, b) = std::thread::scope(|scope| {
        let first = scope.spawn(move || drive(a));
        (drive(b), first.join().expect("the thread does not panic"))
    });
    assert_eq!((a, b), (1000, 1000), "each queue runs all of its work");
}
