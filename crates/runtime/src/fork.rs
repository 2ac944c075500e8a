//! What a forked child may do: nothing. Its streams have no workers and its locks may be held by nobody.
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Once;

static FORKED: AtomicBool = AtomicBool::new(false);

/// What operations in such a child say.
pub(crate) const MESSAGE: &str =
    "the Neuron runtime cannot be used in a forked subprocess of a process that has \
    initialised it; start processes with the 'spawn' method";

/// Whether this process was forked from one whose runtime was up. Its runtime refuses work.
#[inline]
pub fn is_bad_fork() -> bool {
    FORKED.load(Ordering::Relaxed)
}

/// From now on children of this process are bad forks.
pub(crate) fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the handler only stores to an atomic, which a child may do after a fork.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
}

unsafe extern "C" fn in_child() {
    FORKED.store(true, Ordering::Relaxed);
}
