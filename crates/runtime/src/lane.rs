//! A driver's queue, and whether it is known to be empty.
use crate::error::StreamFault;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Arc;
use tnrs_hal::{Event, Fault, Queue};

/// Belongs to whoever runs the stream's entries (`stream`, rule 5).
pub(crate) struct Lane {
    queue: Box<dyn Queue>,
    /// Work was given to the queue after `tail` was recorded.
    dirty: bool,
    /// A point after which nothing is outstanding unless `dirty`; `None` when the queue was synchronised there.
    tail: Option<Arc<dyn Event>>,
}

impl Lane {
    pub(crate) fn new(queue: Box<dyn Queue>) -> Lane {
        Lane { queue, dirty: false, tail: None }
    }

    /// Gives the queue work. A panic becomes a fault, and a fault gets its site and stack.
    #[inline]
    pub(crate) fn work<'a>(
        &mut self,
        site: impl FnOnce() -> &'a str,
        stack: Option<&Arc<str>>,
        f: impl FnOnce(&mut dyn Queue) -> Result<(), Fault>,
    ) -> Result<(), StreamFault> {
        self.dirty = true;
        let queue = &mut *self.queue;
        let fault = match catch_unwind(AssertUnwindSafe(|| f(queue))) {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(fault)) => fault,
            Err(panic) => {
                let text = panic
                    .downcast_ref::<String>()
                    .map(String::as_str)
                    .or_else(|| panic.downcast_ref::<&str>().copied())
                    .unwrap_or("no message");
                Fault::Device(format!("internal error: {text}"))
            }
        };
        Err(StreamFault { fault, site: site().to_owned(), stack: stack.cloned(), further: 0 })
    }

    /// Marks this point.
    pub(crate) fn record(&mut self) -> Arc<dyn Event> {
        self.queue.record()
    }

    /// Waits until nothing is outstanding.
    pub(crate) fn synchronize(&mut self) -> Result<(), StreamFault> {
        let result = self.work(|| "", None, |queue| queue.synchronize());
        self.dirty = false;
        self.tail = None;
        result
    }

    /// Whether nothing is outstanding.
    pub(crate) fn is_idle(&mut self) -> bool {
        if self.dirty {
            self.tail = Some(self.queue.record());
            self.dirty = false;
        }
        self.tail.as_ref().is_none_or(|event| event.is_complete())
    }
}
