//! A mark: a point in a stream that somebody may wait for.
//!
//! 1. A mark is reached once, by whoever runs the stream's work (see `stream`), after all earlier work of that
//!    stream was handed to the driver. From then on it holds the driver's event of that point.
//! 2. `place` changes from `None` to `Some` only, under its lock. `reached` is set after it, with Release; a reader
//!    that sees it with Acquire sees the event.
//! 3. A mark is placed in a stream before anything can wait for it. So the waits between streams form no cycle.
use crate::sync::{AtomicBool, Condvar, Mutex, Ordering};
use std::sync::Arc;
use tnrs_hal::Event;

/// See the module's rules.
pub(crate) struct Mark {
    reached: AtomicBool,
    place: Mutex<Place>,
    changed: Condvar,
}

#[derive(Default)]
struct Place {
    event: Option<Arc<dyn Event>>,
    waiters: u32,
}

impl Mark {
    pub(crate) fn new() -> Arc<Mark> {
        Arc::new(Mark {
            reached: AtomicBool::new(false),
            place: Mutex::new(Place::default()),
            changed: Condvar::new(),
        })
    }

    /// The stream has come to this point.
    pub(crate) fn reach(&self, event: Arc<dyn Event>) {
        let mut place = self.place.lock();
        place.event = Some(event);
        self.reached.store(true, Ordering::Release);
        if place.waiters > 0 {
            self.changed.notify_all();
        }
    }

    /// Whether the stream has come to this point.
    pub(crate) fn is_reached(&self) -> bool {
        self.reached.load(Ordering::Acquire)
    }

    /// Whether all work before the mark is done.
    pub(crate) fn is_complete(&self) -> bool {
        self.is_reached() && self.event().is_some_and(|event| event.is_complete())
    }

    /// Blocks the calling thread until all work before the mark is done.
    pub(crate) fn wait(&self) {
        let mut place = self.place.lock();
        place.waiters += 1;
        let event = loop {
            match &place.event {
                Some(event) => break event.clone(),
                None => place = self.changed.wait(place),
            }
        };
        place.waiters -= 1;
        drop(place);
        event.wait();
    }

    /// When the work before the mark was done; `None` before.
    pub(crate) fn completed_ns(&self) -> Option<u64> {
        self.event()?.completed_ns()
    }

    fn event(&self) -> Option<Arc<dyn Event>> {
        self.place.lock().event.clone()
    }
}
