//! Events: what the framework's `Event` objects hold.
use crate::mark::Mark;
use crate::sync::Mutex;
use std::sync::Arc;

/// A point in a stream that can be recorded again and again. Without a record it counts as complete.
pub struct Event {
    timing: bool,
    last: Mutex<Option<Recorded>>,
}

/// Where an event was recorded last.
#[derive(Clone)]
pub(crate) struct Recorded {
    pub(crate) mark: Arc<Mark>,
    pub(crate) device: usize,
    pub(crate) stream: i64,
}

/// Why no time lies between two events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ElapsedError {
    /// An event was made without timing.
    #[error("both events must be created with enable_timing=True to measure the time between them")]
    NoTiming,
    /// An event was never recorded.
    #[error("both events must be recorded before the time between them can be measured")]
    NotRecorded,
    /// The work before an event is not done.
    #[error("both events must be complete before the time between them can be measured; synchronize first")]
    NotComplete,
}

impl Event {
    /// An event that is not recorded yet. `timing`: whether [`Event::elapsed_ms`] may use it.
    pub fn new(timing: bool) -> Event {
        Event { timing, last: Mutex::new(None) }
    }

    /// The device of the last record; `None` before the first.
    pub fn device(&self) -> Option<usize> {
        self.recorded().map(|r| r.device)
    }

    /// Whether all work before the last record is done.
    pub fn is_complete(&self) -> bool {
        self.recorded().is_none_or(|r| r.mark.is_complete())
    }

    /// Milliseconds from the completion of this event to the completion of `end`, with the driver's resolution.
    ///
    /// # Errors
    /// When either event has no timing, was not recorded, or is not complete.
    pub fn elapsed_ms(&self, end: &Event) -> Result<f64, ElapsedError> {
        if !self.timing || !end.timing {
            return Err(ElapsedError::NoTiming);
        }
        let (Some(from), Some(to)) = (self.recorded(), end.recorded()) else {
            return Err(ElapsedError::NotRecorded);
        };
        match (from.mark.completed_ns(), to.mark.completed_ns()) {
            (Some(t0), Some(t1)) => Ok((t1 as f64 - t0 as f64) / 1e6),
            _ => Err(ElapsedError::NotComplete),
        }
    }

    pub(crate) fn recorded(&self) -> Option<Recorded> {
        self.last.lock().clone()
    }

    pub(crate) fn set(&self, recorded: Recorded) {
        *self.last.lock() = Some(recorded);
    }
}
