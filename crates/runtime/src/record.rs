//! One entry of a stream, and how it runs.
use crate::error::StreamFault;
use crate::lane::Lane;
use crate::mark::Mark;
use std::sync::Arc;
use tnrs_hal::{Arg, Executable, Fault, Queue};

/// One run of an executable. It borrows, because most launches run before the call returns; a launch that joins the
/// queue is copied.
pub struct Launch<'a> {
    /// What runs.
    pub exe: &'a Arc<dyn Executable>,
    /// Its parameters in order, then its results in order.
    pub args: &'a [Arg],
    /// [`Executable::workspace_bytes`] bytes of device memory, 64-byte aligned; null when that is 0.
    pub workspace: *mut u8,
    /// The Python stack of the call, to be shown with a fault.
    pub stack: Option<Arc<str>>,
}

/// A launch that waits in a queue.
pub(crate) struct Queued {
    exe: Arc<dyn Executable>,
    args: Box<[Arg]>,
    workspace: *mut u8,
    stack: Option<Arc<str>>,
}

// SAFETY: the addresses are only dereferenced by the executable, under the promise of `Runtime::launch`, which does
// not depend on the thread.
unsafe impl Send for Queued {}

/// A host function that runs in stream order.
pub type HostFn = Box<dyn FnOnce() -> Result<(), Fault> + Send>;

/// One entry of a stream.
pub(crate) enum Record {
    Launch(Queued),
    Copy(Copy),
    Host(&'static str, HostFn),
    /// Later entries wait for this mark of another stream.
    Wait(Arc<Mark>),
    /// Reaches the mark.
    Mark(Arc<Mark>),
    /// Reaches the mark after the driver's queue has drained, so that its faults are known.
    Drain(Arc<Mark>),
}

/// A copy of bytes.
pub(crate) struct Copy {
    pub(crate) dst: *mut u8,
    pub(crate) src: *const u8,
    pub(crate) bytes: usize,
}

// SAFETY: only the driver's queue dereferences the addresses, under the promise of `Runtime::copy`.
unsafe impl Send for Copy {}

impl Record {
    /// The mark that the entry reaches.
    pub(crate) fn mark(&self) -> Option<&Arc<Mark>> {
        match self {
            Record::Mark(mark) | Record::Drain(mark) => Some(mark),
            Record::Launch(_) | Record::Copy(_) | Record::Host(..) | Record::Wait(_) => None,
        }
    }

    /// Runs the entry. Work that the driver takes over may complete later.
    ///
    /// # Safety
    /// What the entry's submitter promised (see `Runtime::launch`, `Runtime::copy`) holds until it completes.
    pub(crate) unsafe fn run(self, lane: &mut Lane) -> Result<(), StreamFault> {
        match self {
            // SAFETY: as this function.
            Record::Launch(launch) => unsafe { launch.borrow().run(lane) },
            // SAFETY: as this function.
            Record::Copy(copy) => unsafe { copy.run(lane) },
            Record::Host(site, f) => lane.synchronize().and(lane.work(|| site, None, |_| f())),
            Record::Wait(mark) => {
                mark.wait();
                Ok(())
            }
            Record::Mark(mark) => {
                mark.reach(lane.record());
                Ok(())
            }
            Record::Drain(mark) => {
                let result = lane.synchronize();
                mark.reach(lane.record());
                result
            }
        }
    }
}

impl Queued {
    fn borrow(&self) -> Launch<'_> {
        Launch { exe: &self.exe, args: &self.args, workspace: self.workspace, stack: self.stack.clone() }
    }
}

impl Launch<'_> {
    pub(crate) fn queued(self) -> Queued {
        Queued { exe: self.exe.clone(), args: self.args.into(), workspace: self.workspace, stack: self.stack }
    }

    /// # Safety
    /// As [`Executable::run`], until the work completes.
    #[inline]
    pub(crate) unsafe fn run(&self, lane: &mut Lane) -> Result<(), StreamFault> {
        let stack = self.stack.as_ref();
        // SAFETY: as this function.
        let run = |queue: &mut dyn Queue| unsafe { queue.execute(self.exe, self.args, self.workspace) };
        lane.work(|| self.exe.name(), stack, run)
    }
}

impl Copy {
    /// # Safety
    /// Both ranges are valid for `bytes` and do not overlap, until the work completes.
    pub(crate) unsafe fn run(&self, lane: &mut Lane) -> Result<(), StreamFault> {
        // SAFETY: as this function.
        lane.work(|| "copy", None, |queue| unsafe { queue.copy(self.dst, self.src, self.bytes) })
    }
}
