//! Counts of native executions and of CPU fallbacks.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, OnceLock};

use tnrs_types::flags;

use crate::ops;
use crate::CallError;

/// What an operator without a native rule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FallbackPolicy {
    /// Runs on the CPU; one warning per operator.
    Warn,
    /// Runs on the CPU.
    Silent,
    /// Raises.
    Error,
}

impl FallbackPolicy {
    /// From `TORCH_NEURONX_FALLBACK`, read once; an unknown word means the default.
    pub fn current() -> FallbackPolicy {
        static POLICY: OnceLock<FallbackPolicy> = OnceLock::new();
        *POLICY.get_or_init(|| match flags::FALLBACK.get().as_deref() {
            Some("silent") => FallbackPolicy::Silent,
            Some("error") => FallbackPolicy::Error,
            _ => FallbackPolicy::Warn,
        })
    }
}

#[derive(Default)]
struct Fallbacks {
    counts: BTreeMap<String, u64>,
    warned: HashSet<String>,
}

static FALLBACKS: Mutex<Option<Fallbacks>> = Mutex::new(None);

/// Records that an operator is about to run on the CPU. `Ok(true)` asks for the one warning; `operands` and `reason`
/// are for the error message.
pub fn fallback(name: &str, operands: &str, reason: &str) -> Result<bool, CallError> {
    let policy = FallbackPolicy::current();
    if policy == FallbackPolicy::Error {
        let why = if reason.is_empty() { "it has no native rule" } else { reason };
        return Err(CallError::Unsupported(format!(
            "{name} is not implemented natively on device 'neuron' ({why}; operands: {operands}) and \
             TORCH_NEURONX_FALLBACK=error forbids running it on the CPU. Set TORCH_NEURONX_FALLBACK=warn to allow it."
        )));
    }
    let mut guard = FALLBACKS.lock().expect("fallback ledger poisoned");
    let ledger = guard.get_or_insert_with(Fallbacks::default);
    *ledger.counts.entry(name.to_owned()).or_insert(0) += 1;
    Ok(policy == FallbackPolicy::Warn && ledger.warned.insert(name.to_owned()))
}

/// Operators that ran on the CPU, with how often.
pub fn fallback_ops() -> BTreeMap<String, u64> {
    FALLBACKS.lock().expect("fallback ledger poisoned").as_ref().map(|l| l.counts.clone()).unwrap_or_default()
}

/// Sets the fallback counts to zero; warnings already given are not repeated.
pub fn reset_fallback_ops() {
    if let Some(l) = FALLBACKS.lock().expect("fallback ledger poisoned").as_mut() {
        l.counts.clear();
    }
}

/// Operators that ran natively, with how often; calls that several threads make at the same instant may count once.
pub fn executed_ops() -> BTreeMap<String, u64> {
    ops::all()
        .iter()
        .map(|op| (op.schema.name.clone(), op.executed.load(Ordering::Relaxed)))
        .filter(|(_, n)| *n > 0)
        .collect()
}

/// Sets the native counts to zero.
pub fn reset_executed_ops() {
    for op in ops::all() {
        op.executed.store(0, Ordering::Relaxed);
    }
}
