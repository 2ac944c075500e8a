//! A stream: an in-order queue of one device, with a worker thread that starts when it is first needed.
//!
//! # Rules
//! 1. `state` is 0 when the stream is idle. [`RUN`] is held by whoever runs entries: a caller (inline), the
//!    worker, or a caller that helps it. [`QUEUED`] says that entries are in `inner.entries` or being run from there.
//! 2. A caller may take [`RUN`] only by changing `state` from 0, and gives it back by changing it from `RUN` to 0.
//!    So inline work runs only when every earlier entry has been handed to the driver.
//! 3. Every other change of `state` happens under the lock of `inner`.
//! 4. [`QUEUED`] is set with the push that makes `entries` non-empty, and cleared together with `RUN`
//!    by who ran the last entry and finds `entries` empty. While it is set nobody enters inline, so entries cannot overtake.
//! 5. `lane` is touched only while holding [`RUN`]. `RUN` is taken with Acquire and given back with Release.
//! 6. Under the lock, [`RUN`] may be taken when `QUEUED` is set and `RUN` is not: by the worker, and by a caller
//!    that waits for an entry and need not wait for the worker to wake. Who gives `RUN` back and leaves entries
//!    wakes the worker, under the lock; a push that finds `RUN` set leaves the waking to it.
//! 7. `last` is set by a push and cleared with `QUEUED`, so it stands for everything submitted while it is set.
//! 8. No entry runs, and nothing blocks on another stream, under the lock of `inner`.
//! 9. `fault` holds the first fault since the last call that took it; `has_fault` is a hint that follows it.
//! 10. When the system refuses a thread, the submitter, or the caller that gives `RUN` back, does the worker's work.
//! 11. The worker ends when `closed` is set and `entries` is empty; only the last owner of the stream sets it.
use crate::error::StreamFault;
use crate::lane::Lane;
use crate::mark::Mark;
use crate::record::{Copy, HostFn, Launch, Record};
use crate::sync::{thread, AtomicBool, AtomicU32, Condvar, Mutex, MutexGuard, Ordering, UnsafeCell};
use std::collections::VecDeque;
use std::sync::Arc;
use tnrs_hal::Queue;

/// Somebody runs entries.
const RUN: u32 = 1;
/// Entries wait for the worker, or are run by it.
const QUEUED: u32 = 2;

/// Entries a stream holds before a submitter has to wait. Bounds memory when Python runs ahead of the device.
const CAPACITY: usize = if cfg!(loom) { 2 } else { 4096 };

/// A stream. Dropping it runs what was submitted and ends the worker.
pub(crate) struct Stream {
    core: Arc<Core>,
    worker: Mutex<Option<thread::JoinHandle<()>>>,
}

struct Core {
    state: AtomicU32,
    lane: UnsafeCell<Lane>,
    inner: Mutex<Inner>,
    /// The worker waits here.
    work: Condvar,
    /// Submitters wait here while the stream is full.
    space: Condvar,
    has_fault: AtomicBool,
    fault: Mutex<Option<StreamFault>>,
}

// SAFETY: `lane` is the only field that is not `Sync`; rule 5 gives it one user at a time, and it is `Send`.
unsafe impl Sync for Core {}
// SAFETY: as above.
unsafe impl Send for Core {}

#[derive(Default)]
struct Inner {
    entries: VecDeque<Record>,
    started: bool,
    parked: bool,
    closed: bool,
    /// Submitters that wait for space.
    blocked: u32,
    /// The mark of the newest entry, while `QUEUED` is set; `None` when that entry is none.
    last: Option<Arc<Mark>>,
}

impl Stream {
    pub(crate) fn new(queue: Box<dyn Queue>) -> Stream {
        Stream {
            core: Arc::new(Core {
                state: AtomicU32::new(0),
                lane: UnsafeCell::new(Lane::new(queue)),
                inner: Mutex::new(Inner::default()),
                work: Condvar::new(),
                space: Condvar::new(),
                has_fault: AtomicBool::new(false),
                fault: Mutex::new(None),
            }),
            worker: Mutex::new(None),
        }
    }

    /// Runs a launch now if the stream is idle and `inline` allows it; otherwise it joins the queue.
    ///
    /// # Safety
    /// As `Runtime::launch`.
    #[inline]
    pub(crate) unsafe fn launch(&self, launch: Launch<'_>, inline: bool) {
        // SAFETY: the caller's promise covers the run.
        if inline && self.core.inline(|lane| unsafe { launch.run(lane) }) {
            return;
        }
        self.push(Record::Launch(launch.queued()));
    }

    /// Copies now if the stream is idle and `inline` allows it; otherwise the copy joins the queue.
    ///
    /// # Safety
    /// As `Runtime::copy`.
    pub(crate) unsafe fn copy(&self, copy: Copy, inline: bool) {
        // SAFETY: the caller's promise covers the run.
        if inline && self.core.inline(|lane| unsafe { copy.run(lane) }) {
            return;
        }
        self.push(Record::Copy(copy));
    }

    /// Runs a host function after all work submitted so far.
    pub(crate) fn host_fn(&self, site: &'static str, f: HostFn) {
        self.push(Record::Host(site, f));
    }

    /// Places a mark after all work submitted so far.
    pub(crate) fn mark(&self) -> Arc<Mark> {
        let mark = Mark::new();
        let reach = |lane: &mut Lane| {
            mark.reach(lane.record());
            Ok(())
        };
        if !self.core.inline(reach) {
            self.push(Record::Mark(mark.clone()));
        }
        mark
    }

    /// Work submitted from now on waits for the mark, which belongs to another stream.
    pub(crate) fn wait_for(&self, mark: &Arc<Mark>) {
        if !mark.is_complete() {
            self.push(Record::Wait(mark.clone()));
        }
    }

    /// Whether all work submitted so far is done.
    pub(crate) fn is_idle(&self) -> bool {
        let mut idle = false;
        let entered = self.core.inline(|lane| {
            idle = lane.is_idle();
            Ok(())
        });
        if entered {
            return idle;
        }
        // A thread that has waited for the newest mark may come here before the worker has put down its work.
        let last = self.core.inner.lock().last.clone();
        last.is_some_and(|mark| mark.is_complete())
    }

    /// Starts waiting for all work submitted so far; `None` when it is done already. Takes no fault.
    pub(crate) fn begin_drain(&self) -> Option<Arc<Mark>> {
        if self.core.inline(Lane::synchronize) {
            return None;
        }
        let mark = Mark::new();
        self.push(Record::Drain(mark.clone()));
        Some(mark)
    }

    /// Blocks until all work submitted so far is done. Takes no fault.
    pub(crate) fn drain(&self) {
        if let Some(mark) = self.begin_drain() {
            self.wait(&mark);
        }
    }

    /// Blocks until all work before a mark of this stream is done.
    pub(crate) fn wait(&self, mark: &Mark) {
        if !mark.is_reached() {
            self.core.help(mark);
        }
        mark.wait();
    }

    /// Blocks until all work submitted so far is done, and takes the fault it left.
    pub(crate) fn synchronize(&self) -> Result<(), StreamFault> {
        self.drain();
        self.take_fault().map_or(Ok(()), Err)
    }

    /// Takes the first fault since the last call.
    pub(crate) fn take_fault(&self) -> Option<StreamFault> {
        if !self.core.has_fault.load(Ordering::Acquire) {
            return None;
        }
        let mut fault = self.core.fault.lock();
        self.core.has_fault.store(false, Ordering::Release);
        fault.take()
    }

    #[cold]
    fn push(&self, record: Record) {
        let core = &self.core;
        let mut inner = core.inner.lock();
        while inner.entries.len() >= CAPACITY {
            inner.blocked += 1;
            inner = core.space.wait(inner);
            inner.blocked -= 1;
        }
        inner.last = record.mark().cloned();
        inner.entries.push_back(record);
        let before = core.state.fetch_or(QUEUED, Ordering::Relaxed);
        if !inner.started {
            let worker = self.core.clone();
            match spawn(move || worker.work()) {
                Ok(handle) => {
                    inner.started = true;
                    *self.worker.lock() = Some(handle);
                }
                Err(_) => core.work_here(inner),
            }
        } else if inner.parked && before & RUN == 0 {
            core.work.notify_one();
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let mut inner = self.core.inner.lock();
        inner.closed = true;
        self.core.work.notify_one();
        drop(inner);
        if let Some(worker) = self.worker.lock().take() {
            // The worker catches the panics of what it runs; its own end has nothing to tell.
            let _ = worker.join();
        }
    }
}

#[cfg(not(loom))]
fn spawn(f: impl FnOnce() + Send + 'static) -> std::io::Result<thread::JoinHandle<()>> {
    thread::Builder::new().name("neuron-stream".into()).spawn(f)
}

#[cfg(loom)]
fn spawn(f: impl FnOnce() + Send + 'static) -> std::io::Result<thread::JoinHandle<()>> {
    Ok(thread::spawn(f))
}

impl Core {
    /// Runs `f` on the calling thread if the stream is idle; says whether it did.
    #[inline]
    fn inline(&self, f: impl FnOnce(&mut Lane) -> Result<(), StreamFault>) -> bool {
        let entered = self.state.compare_exchange(0, RUN, Ordering::Acquire, Ordering::Relaxed).is_ok();
        if entered {
            // SAFETY: this thread holds `RUN` (rule 5).
            let result = self.lane.with_mut(|lane| f(unsafe { &mut *lane }));
            if let Err(fault) = result {
                self.file(fault);
            }
            self.leave();
        }
        entered
    }

    #[inline]
    fn leave(&self) {
        let left = self.state.compare_exchange(RUN, 0, Ordering::Release, Ordering::Relaxed);
        if left.is_err() {
            self.leave_to_worker();
        }
    }

    /// Gives `RUN` back while entries are left.
    #[cold]
    fn leave_to_worker(&self) {
        let inner = self.inner.lock();
        self.state.fetch_and(!RUN, Ordering::Release);
        if inner.parked {
            self.work.notify_one();
        } else if !inner.started {
            self.work_here(inner);
        }
    }

    /// Does the worker's work on the calling thread, when the system refused a thread.
    fn work_here(&self, inner: MutexGuard<'_, Inner>) {
        if self.take_over(&inner) {
            drop(self.run_entries(inner, || false));
        }
    }

    /// Runs entries on the calling thread, up to the one that reaches `mark`, unless somebody runs them already.
    fn help(&self, mark: &Mark) {
        let inner = self.inner.lock();
        if self.take_over(&inner) {
            drop(self.run_entries(inner, || mark.is_reached()));
        }
    }

    /// Takes `RUN` if entries wait and nobody runs them.
    fn take_over(&self, _inner: &MutexGuard<'_, Inner>) -> bool {
        // Nobody but a holder of the lock changes `state` while `QUEUED` is set and `RUN` is not.
        let free = self.state.load(Ordering::Relaxed) & (RUN | QUEUED) == QUEUED;
        if free {
            self.state.fetch_or(RUN, Ordering::Acquire);
        }
        free
    }

    #[cold]
    fn file(&self, fault: StreamFault) {
        let mut slot = self.fault.lock();
        match &mut *slot {
            Some(first) => first.further += 1,
            None => *slot = Some(fault),
        }
        self.has_fault.store(true, Ordering::Release);
    }

    /// The worker's life.
    fn work(&self) {
        let mut inner = self.inner.lock();
        loop {
            if self.take_over(&inner) {
                inner = self.run_entries(inner, || false);
            } else if inner.closed && inner.entries.is_empty() {
                return;
            } else {
                inner.parked = true;
                inner = self.work.wait(inner);
                inner.parked = false;
            }
        }
    }

    /// Runs entries, holding `RUN`, until none is left or `stop` says so; gives `RUN` back.
    fn run_entries<'a>(
        &'a self,
        mut inner: MutexGuard<'a, Inner>,
        stop: impl Fn() -> bool,
    ) -> MutexGuard<'a, Inner> {
        while let Some(record) = inner.entries.pop_front() {
            if inner.blocked > 0 {
                self.space.notify_one();
            }
            drop(inner);
            // SAFETY: this thread holds `RUN` (rule 5), and the submitter's promise covers the run.
            let result = self.lane.with_mut(|lane| unsafe { record.run(&mut *lane) });
            if let Err(fault) = result {
                self.file(fault);
            }
            inner = self.inner.lock();
            if stop() && !inner.entries.is_empty() {
                self.state.fetch_and(!RUN, Ordering::Release);
                if inner.parked {
                    self.work.notify_one();
                }
                return inner;
            }
        }
        inner.last = None;
        self.state.store(0, Ordering::Release);
        inner
    }
}
