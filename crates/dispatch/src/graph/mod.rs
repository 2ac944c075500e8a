//! Compiled graphs: many calls as one program.
//!
//! A graph is recorded by running it. While a thread records, its calls go through the same kernels, meta inference and
//! rules as ever, but instead of launching, each rule adds its operations to one function ([`record`]). Tensors made
//! meanwhile have addresses without memory, so views and storages are PyTorch's own; what memory holds is followed by
//! address ([`store`]), and a view is a slice, a transpose or a broadcast of it ([`layout`]). The function then passes
//! through the hlo passes and softcore's planner ([`plan`]), and runs with any inputs of the same key: element types,
//! sizes, strides, and the integers that the graph was given.
//!
//! What needs the data while recording (a copy to the host, a size that the data decides, an operator without a rule)
//! refuses the recording with its reason; the caller runs that part by itself.
mod layout;
mod plan;
mod record;
mod store;

use std::any::Any;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

pub use plan::{Base, Output, Plan, Stats};
pub(crate) use record::record;
pub use record::{allocate, is_recording, knows, refuse};

use crate::host::Host;
use crate::key::{self, Key};
use crate::raw::RawTensor;
use crate::CallError;

/// Words of the inputs that a plan depends on.
fn inputs_key(inputs: &[RawTensor], ints: &[i64]) -> Key {
    let mut key = Key::new();
    key::tensors(inputs, &mut key);
    key.extend(ints.iter().map(|&i| i as u64));
    key
}

struct Slot {
    key: Key,
    used: AtomicU64,
    plan: Arc<Plan>,
}

/// A graph's plans, one per key of its inputs.
pub struct Graph {
    slots: Mutex<HashMap<u64, Vec<Slot>>>,
    clock: AtomicU64,
    limit: usize,
}

impl Graph {
    /// A graph without plans, which keeps at most `limit` of them.
    pub fn new(limit: usize) -> Graph {
        Graph { slots: Mutex::new(HashMap::new()), clock: AtomicU64::new(0), limit: limit.max(1) }
    }

    /// The plan for these inputs, if there is one.
    pub fn find(&self, inputs: &[RawTensor], ints: &[i64]) -> Option<Arc<Plan>> {
        let key = inputs_key(inputs, ints);
        let slots = self.slots.lock().expect("graph poisoned");
        let slot = slots.get(&key::hash(&key))?.iter().find(|s| s.key == key)?;
        slot.used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        Some(slot.plan.clone())
    }

    /// Starts to record on the calling thread.
    pub fn begin(&self, inputs: &[RawTensor]) -> Result<(), CallError> {
        let device = inputs.iter().find(|t| t.on_device()).map_or(-1, |t| t.device_index);
        record::start(inputs, device)
    }

    /// Ends the recording of a run with these inputs, whose results are `outputs`, and remembers the plan. `tag` is what
    /// the caller wants to find there.
    pub fn finish(
        &self,
        inputs: &[RawTensor],
        ints: &[i64],
        outputs: &[RawTensor],
        tag: Box<dyn Any + Send + Sync>,
        host: &mut dyn Host,
    ) -> Result<Arc<Plan>, CallError> {
        let recorder = record::stop()
            .ok_or_else(|| CallError::Runtime("no graph is being recorded on this thread".to_owned()))?;
        if let Some(why) = recorder.refused {
            return Err(CallError::Unsupported(why));
        }
        let plan = Arc::new(plan::finish(*recorder, outputs, host, tag)?);
        let key = inputs_key(inputs, ints);
        let used = AtomicU64::new(self.clock.fetch_add(1, Ordering::Relaxed));
        let mut slots = self.slots.lock().expect("graph poisoned");
        if slots.values().map(Vec::len).sum::<usize>() >= self.limit {
            evict(&mut slots);
        }
        let bucket = slots.entry(key::hash(&key)).or_default();
        bucket.retain(|s| s.key != key);
        bucket.push(Slot { key, used, plan: plan.clone() });
        Ok(plan)
    }

    /// Number of plans.
    pub fn len(&self) -> usize {
        self.slots.lock().expect("graph poisoned").values().map(Vec::len).sum()
    }

    /// Whether there is no plan.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Drops the plan that was used the longest ago.
fn evict(slots: &mut HashMap<u64, Vec<Slot>>) {
    let oldest = slots.values().flatten().map(|s| s.used.load(Ordering::Relaxed)).min();
    slots.retain(|_, bucket| {
        bucket.retain(|s| Some(s.used.load(Ordering::Relaxed)) != oldest);
        !bucket.is_empty()
    });
}

/// Ends the calling thread's recording without a plan. The reason for which it was refused, if it was.
pub fn cancel() -> Option<String> {
    record::stop().and_then(|r| r.refused)
}
