//! The executable cache: a small direct-mapped table per thread before one shared map.
//!
//! 1. A slot is immutable once inserted, apart from its time stamp.
//! 2. A thread keeps the slot of each operator's last call. It is lent to the call and given back, so that a hit takes no
//!    lock and changes no reference count. A nested call (an allocation may run Python) finds the place empty and goes on.
//! 3. Behind it, a thread's table holds clones of shared slots by hash; a hit there takes no lock.
//! 4. The shared map is bounded. Past the bound the least recently used half is dropped; threads may keep dropped
//!    slots alive in their tables until they are overwritten.
//! 5. `clear_cache` advances the epoch, which empties each thread's table at its next lookup.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::entry::Slot;
use crate::ops::CAPACITY;

const LOCAL_SLOTS: usize = 2048;
const SHARED_LIMIT: usize = 16_384;

static CLOCK: AtomicU64 = AtomicU64::new(1);
static EPOCH: AtomicU64 = AtomicU64::new(0);
static SHARED: Mutex<Option<HashMap<u64, Vec<Arc<Slot>>>>> = Mutex::new(None);

struct Local {
    epoch: u64,
    /// By operator.
    last: Box<[Option<Arc<Slot>>]>,
    /// By hash.
    slots: Box<[Option<Arc<Slot>>]>,
}

thread_local! {
    static LOCAL: RefCell<Local> = RefCell::new(Local {
        epoch: 0,
        last: vec![None; CAPACITY].into(),
        slots: vec![None; LOCAL_SLOTS].into(),
    });
}

/// A thread's place for an operator's last slot. The table never moves, so the place stays valid while the thread runs.
pub(crate) struct Place(*mut Option<Arc<Slot>>);

impl Place {
    /// Keeps a slot at hand for the operator's next call on this thread.
    #[inline]
    pub fn put(self, slot: Arc<Slot>) {
        // SAFETY: the place is in this thread's table (`Place` is not `Send`), of which no reference is held here.
        unsafe { *self.0 = Some(slot) };
    }
}

/// The slot of an operator's last call on this thread, and the place to give the call's slot to.
#[inline]
pub(crate) fn last(op: u32) -> (Place, Option<Arc<Slot>>) {
    LOCAL.with_borrow_mut(|local| {
        let epoch = EPOCH.load(Ordering::Relaxed);
        if local.epoch != epoch {
            local.last.fill(None);
            local.slots.fill(None);
            local.epoch = epoch;
        }
        let place = &mut local.last[op as usize];
        let slot = place.take();
        (Place(place), slot)
    })
}

/// The slot of a key, if remembered.
pub(crate) fn get(hash: u64, key: &[u64]) -> Option<Arc<Slot>> {
    LOCAL.with_borrow_mut(|local| {
        let place = &mut local.slots[hash as usize % LOCAL_SLOTS];
        match place {
            Some(slot) if slot.hash == hash && *slot.key == *key => {}
            _ => *place = Some(shared_get(hash, key)?),
        }
        place.clone()
    })
}

#[cold]
fn shared_get(hash: u64, key: &[u64]) -> Option<Arc<Slot>> {
    let guard = SHARED.lock().expect("executable cache poisoned");
    let slot = guard.as_ref()?.get(&hash)?.iter().find(|s| *s.key == *key)?.clone();
    slot.touch(CLOCK.fetch_add(1, Ordering::Relaxed));
    Some(slot)
}

/// Remembers a slot. Of two threads that compiled the same key, the later one wins.
pub(crate) fn insert(slot: Slot) -> Arc<Slot> {
    slot.touch(CLOCK.fetch_add(1, Ordering::Relaxed));
    let slot = Arc::new(slot);
    let mut guard = SHARED.lock().expect("executable cache poisoned");
    let map = guard.get_or_insert_with(HashMap::new);
    let bucket = map.entry(slot.hash).or_default();
    bucket.retain(|s| s.key != slot.key);
    bucket.push(slot.clone());
    if map.len() > SHARED_LIMIT {
        evict(map);
    }
    slot
}

fn evict(map: &mut HashMap<u64, Vec<Arc<Slot>>>) {
    let mut times: Vec<u64> = map.values().flatten().map(|s| s.used.load(Ordering::Relaxed)).collect();
    let middle = times.len() / 2;
    let (_, &mut cut, _) = times.select_nth_unstable(middle);
    map.retain(|_, bucket| {
        bucket.retain(|s| s.used.load(Ordering::Relaxed) >= cut);
        !bucket.is_empty()
    });
}

/// Number of remembered calls.
pub fn cache_len() -> usize {
    SHARED.lock().expect("executable cache poisoned").as_ref().map_or(0, |m| m.values().map(Vec::len).sum())
}

/// Forgets every call.
pub fn clear_cache() {
    *SHARED.lock().expect("executable cache poisoned") = None;
    EPOCH.fetch_add(1, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(k: u64) -> Slot {
        Slot { key: Box::new([k]), hash: k, outcome: Err(format!("reason {k}")), used: AtomicU64::new(0) }
    }

    #[test]
    fn bounded_and_least_recently_used_goes_first() {
        for k in 0..=SHARED_LIMIT as u64 {
            insert(slot(k));
        }
        assert!(cache_len() <= SHARED_LIMIT / 2 + 2);
        assert!(get(0, &[0]).is_none());
        assert!(get(SHARED_LIMIT as u64, &[SHARED_LIMIT as u64]).is_some());
        clear_cache();
        assert!(last(0).1.is_none());
        assert_eq!(cache_len(), 0);
        assert!(get(SHARED_LIMIT as u64, &[SHARED_LIMIT as u64]).is_none());
    }
}
