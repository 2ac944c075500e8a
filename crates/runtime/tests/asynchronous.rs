//! The runtime over a driver whose queues run work later, on threads of their own, as hardware does.
mod common;

use common::{faulty, launch, Door, Log};
use std::sync::mpsc::{channel, Sender};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use tnrs_hal::null::{clock_ns, NullDriver};
use tnrs_hal::{Arg, DeviceProps, Driver, Event, Executable, Fault, MemoryError, Queue};
use tnrs_runtime::{Event as RuntimeEvent, Runtime};

const MIB: usize = 1 << 20;

/// The null driver with queues that complete later.
struct Later(Arc<NullDriver>);

type Job = Box<dyn FnOnce(&mut Option<Fault>) + Send>;

struct LaterQueue {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

/// An event that completes on the queue's thread.
#[derive(Default)]
struct Reached(Mutex<Option<u64>>, Condvar);

impl Event for Reached {
    fn is_complete(&self) -> bool {
        self.completed_ns().is_some()
    }
    fn wait(&self) {
        let mut at = self.0.lock().unwrap();
        while at.is_none() {
            at = self.1.wait(at).unwrap();
        }
    }
    fn completed_ns(&self) -> Option<u64> {
        *self.0.lock().unwrap()
    }
}

impl LaterQueue {
    fn new() -> LaterQueue {
        let (jobs, inbox) = channel::<Job>();
        let thread = std::thread::spawn(move || {
            let mut fault = None;
            inbox.into_iter().for_each(|job| job(&mut fault));
        });
        LaterQueue { jobs: Some(jobs), thread: Some(thread) }
    }

    fn send(&self, job: Job) {
        self.jobs.as_ref().expect("open until dropped").send(job).expect("the thread lives");
    }
}

impl Drop for LaterQueue {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            thread.join().expect("jobs do not panic");
        }
    }
}

impl Queue for LaterQueue {
    unsafe fn execute(
        &mut self,
        exe: &Arc<dyn Executable>,
        args: &[Arg],
        workspace: *mut u8,
    ) -> Result<(), Fault> {
        let (exe, args, workspace) = (exe.clone(), args.to_vec(), Arg::Memory(workspace));
        self.send(Box::new(move |fault| {
            let Arg::Memory(workspace) = workspace else { unreachable!() };
            // SAFETY: the caller's promise holds until the work completes.
            if let Err(error) = unsafe { exe.run(&args, workspace) } {
                fault.get_or_insert(error);
            }
        }));
        Ok(())
    }

    unsafe fn copy(&mut self, dst: *mut u8, src: *const u8, bytes: usize) -> Result<(), Fault> {
        let (dst, src) = (dst as usize, src as usize);
        self.send(Box::new(move |_| {
            // SAFETY: the caller's promise holds until the work completes.
            unsafe { std::ptr::copy_nonoverlapping(src as *const u8, dst as *mut u8, bytes) }
        }));
        Ok(())
    }

    fn record(&mut self) -> Arc<dyn Event> {
        let event = Arc::new(Reached::default());
        let reached = event.clone();
        self.send(Box::new(move |_| {
            *reached.0.lock().unwrap() = Some(clock_ns());
            reached.1.notify_all();
        }));
        event
    }

    fn synchronize(&mut self) -> Result<(), Fault> {
        let (send, receive) = channel();
        self.send(Box::new(move |fault| send.send(fault.take()).expect("the caller waits")));
        receive.recv().expect("the thread answers").map_or(Ok(()), Err)
    }
}

impl Driver for Later {
    fn name(&self) -> &str {
        "later"
    }
    fn device_count(&self) -> usize {
        self.0.device_count()
    }
    fn properties(&self, device: usize) -> DeviceProps {
        self.0.properties(device)
    }
    fn host_visible(&self) -> bool {
        true
    }
    fn allocate(&self, device: usize, bytes: usize) -> Result<*mut u8, MemoryError> {
        self.0.allocate(device, bytes)
    }
    unsafe fn release(&self, device: usize, ptr: *mut u8, bytes: usize) {
        // SAFETY: the caller's promise is the same one.
        unsafe { self.0.release(device, ptr, bytes) }
    }
    fn queue(&self, _device: usize) -> Box<dyn Queue> {
        Box::new(LaterQueue::new())
    }
    fn threads(&self) -> usize {
        1
    }
}

fn driver(memory: usize) -> Later {
    Later(Arc::new(NullDriver::new(1, memory, 1)))
}

#[test]
fn a_later_driver_conforms() {
    tnrs_hal::conformance::check(&driver(64 * MIB));
}

#[test]
fn submission_is_not_completion() {
    let rt = Runtime::new(Box::new(driver(64 * MIB)));
    let (door, log, event) = (Door::default(), Log::default(), RuntimeEvent::new(true));
    launch(&rt, 0, &door.program());
    launch(&rt, 0, &log.program(10, 1));
    rt.record_event(&event, 0, 0).unwrap();
    rt.block_on_event(&event, 0, 1).unwrap();
    launch(&rt, 1, &log.program(10, 2));
    assert!(!event.is_complete());
    assert!(!rt.query_stream(0, 0).unwrap());
    assert!(log.read().is_empty());
    door.open();
    rt.sync_stream(0, 1).unwrap();
    assert_eq!(log.read(), [1, 2]);
    assert!(event.is_complete());
    rt.sync_device(0).unwrap();
    assert!(rt.query_stream(0, 0).unwrap());
}

#[test]
fn a_fault_that_comes_later_is_raised_at_the_synchronisation() {
    let rt = Runtime::new(Box::new(driver(64 * MIB)));
    let log = Log::default();
    launch(&rt, 0, &faulty(10, 9));
    launch(&rt, 0, &log.program(10, 1));
    let text = rt.sync_device(0).unwrap_err().to_string();
    assert!(text.starts_with("test::index: index 9 is out of bounds"), "{text}");
    rt.sync_stream(0, 0).unwrap();
    assert_eq!(log.read(), [1]);
}

#[test]
fn memory_waits_for_work_that_is_only_submitted() {
    let rt = Runtime::new(Box::new(driver(64 * MIB)));
    let door = Door::default();
    let small = rt.alloc(0, 0, 1000).unwrap();
    launch(&rt, 1, &door.program());
    // SAFETY: the block is live, and freed once after its uses are submitted.
    unsafe {
        rt.record_stream(small.ctx, 1);
        rt.free(small.ctx);
    }
    assert_ne!(rt.alloc(0, 0, 1000).unwrap().ptr, small.ptr);
    door.open();
    rt.sync_device(0).unwrap();
    assert_eq!(rt.alloc(0, 0, 1000).unwrap().ptr, small.ptr);
}
