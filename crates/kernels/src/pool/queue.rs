//! Job slots: how chunks are claimed, finished and waited for.

use std::any::Any;
use std::cell::UnsafeCell;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};

/// A job's body: called with a chunk number and a worker id.
pub(super) type Body = dyn Fn(usize, usize) + Sync;

/// Most chunks of one job; caller, `next` and `total` share one word.
pub(super) const MAX_CHUNKS: usize = MASK as usize;

const BITS: u32 = 24;
const MASK: u64 = (1 << BITS) - 1;

/// Splits a state word into (caller, total, next).
fn split(state: u64) -> (usize, u64, u64) {
    ((state >> (2 * BITS)) as usize, (state >> BITS) & MASK, state & MASK)
}

/// Busy-wait steps of a caller whose last chunks run elsewhere, before it sleeps.
const WAIT_SPINS: u32 = 4000;

/// One job that threads may work on. Slots are never freed while the pool lives, so that a thread which comes late
/// touches valid memory; it then fails to claim a chunk or claims one of the job that is there now, which is as good.
#[repr(align(128))]
pub(super) struct Slot {
    /// Worker id of the caller, chunks, and the next chunk: a claim is one compare-and-swap of this word, so a claim
    /// that succeeds is a claim of the job whose caller and size were read.
    state: AtomicU64,
    /// Chunks not finished yet.
    left: AtomicUsize,
    /// A caller owns the slot.
    owned: AtomicBool,
    /// The caller sleeps on `done`.
    waiting: AtomicBool,
    /// Written by the owner before `state`, read only by threads that hold a claimed chunk.
    body: UnsafeCell<Option<*const Body>>,
    /// The first panic.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    lock: Mutex<()>,
    done: Condvar,
}

// SAFETY: `body` is written only by the owner while no chunk is claimable and read only between a claim and its finish,
// which the owner waits for; the pointee is Sync.
unsafe impl Sync for Slot {}
// SAFETY: as above; the raw pointer is never used by the thread that drops the slot.
unsafe impl Send for Slot {}

impl Slot {
    pub(super) fn new() -> Slot {
        Slot {
            state: AtomicU64::new(0),
            left: AtomicUsize::new(0),
            owned: AtomicBool::new(false),
            waiting: AtomicBool::new(false),
            body: UnsafeCell::new(None),
            panic: Mutex::new(None),
            lock: Mutex::new(()),
            done: Condvar::new(),
        }
    }

    /// Takes the slot for a new job, unless another caller has it.
    pub(super) fn acquire(&self) -> bool {
        !self.owned.load(Ordering::Relaxed) && !self.owned.swap(true, Ordering::Acquire)
    }

    /// Makes the job visible. The caller must own the slot and call [`Slot::finish`] before `body` dies.
    pub(super) fn publish(&self, chunks: usize, caller: usize, body: &(dyn Fn(usize, usize) + Sync)) {
        // SAFETY: only the lifetime changes; `finish` keeps the caller here until every claimed chunk is done, and
        // afterwards no chunk can be claimed.
        let body =
            unsafe { std::mem::transmute::<*const (dyn Fn(usize, usize) + Sync + '_), *const Body>(body) };
        // SAFETY: the previous job is finished, so no thread holds a chunk and reads `body`.
        unsafe { *self.body.get() = Some(body) };
        self.left.store(chunks, Ordering::Relaxed);
        let state = (caller as u64) << (2 * BITS) | (chunks as u64) << BITS;
        self.state.store(state, Ordering::SeqCst);
    }

    /// Chunks that nobody has begun, as worker `id` sees it: the caller's own id is never offered a chunk.
    pub(super) fn offers(&self, id: usize) -> u64 {
        let (caller, total, next) = split(self.state.load(Ordering::SeqCst));
        if caller == id {
            0
        } else {
            total - next
        }
    }

    /// Claims a chunk and runs it. False when there is none. A worker takes none whose caller has its id, because the
    /// ids of one job are distinct.
    pub(super) fn work(&self, id: usize, is_caller: bool) -> bool {
        let mut state = self.state.load(Ordering::Acquire);
        let chunk = loop {
            let (caller, total, next) = split(state);
            if next >= total || (caller == id && !is_caller) {
                return false;
            }
            let claim =
                self.state.compare_exchange_weak(state, state + 1, Ordering::AcqRel, Ordering::Acquire);
            match claim {
                Ok(_) => break next as usize,
                Err(now) => state = now,
            }
        };
        // SAFETY: a claimed chunk keeps the job alive, and `publish` wrote the body before the state.
        let body = unsafe { (*self.body.get()).map(|b| &*b) };
        if let Some(body) = body {
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| body(chunk, id))) {
                let mut first = self.panic.lock().unwrap_or_else(|e| e.into_inner());
                first.get_or_insert(payload);
            }
        }
        if self.left.fetch_sub(1, Ordering::SeqCst) == 1 && self.waiting.load(Ordering::SeqCst) {
            let _guard = self.lock.lock().unwrap_or_else(|e| e.into_inner());
            self.done.notify_all();
        }
        true
    }

    /// Waits for chunks that other threads have begun, gives the slot back and returns the job's panic.
    pub(super) fn finish(&self) -> Option<Box<dyn Any + Send>> {
        let mut spins = 0;
        while self.left.load(Ordering::Acquire) != 0 {
            spins += 1;
            if spins < WAIT_SPINS {
                std::hint::spin_loop();
                continue;
            }
            self.waiting.store(true, Ordering::SeqCst);
            let mut guard = self.lock.lock().unwrap_or_else(|e| e.into_inner());
            while self.left.load(Ordering::SeqCst) != 0 {
                guard = self.done.wait(guard).unwrap_or_else(|e| e.into_inner());
            }
            drop(guard);
            self.waiting.store(false, Ordering::Relaxed);
        }
        let payload = self.panic.lock().unwrap_or_else(|e| e.into_inner()).take();
        self.owned.store(false, Ordering::Release);
        payload
    }
}
