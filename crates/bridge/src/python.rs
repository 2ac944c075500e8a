//! The Python module `torch_neuronx._C`: what Python asks the core directly. Tensors never pass here.

use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, CStr};

use pyo3::exceptions::{PyImportError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;
use tnrs_runtime::{BlockState, Runtime, Stat};
use tnrs_softcore::SoftcoreDriver;

extern "C" {
    fn nshim_register() -> *const c_char;
}

/// (current, peak, allocated, freed).
type StatTuple = (i64, i64, i64, i64);
/// (address, bytes, requested bytes, state).
type BlockTuple = (usize, usize, usize, &'static str);
/// (address, bytes, stream, blocks).
type SegmentTuple = (usize, usize, i64, Vec<BlockTuple>);

/// Starts the runtime and registers the device with PyTorch. Once per process, after renaming PrivateUse1.
#[pyfunction]
fn init() -> PyResult<()> {
    let driver = SoftcoreDriver::new().map_err(|e| PyValueError::new_err(e.to_string()))?;
    Runtime::init(Box::new(driver));
    // SAFETY: the runtime is up, and torch has been imported: this library links to it. The text is never freed.
    let failure = unsafe {
        let text = nshim_register();
        (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy())
    };
    failure.map_or(Ok(()), |why| {
        Err(PyImportError::new_err(format!("PyTorch refused the registration of the neuron device: {why}")))
    })
}

fn runtime() -> PyResult<&'static Runtime> {
    Runtime::try_get().ok_or_else(|| PyRuntimeError::new_err("the neuron runtime is not initialised"))
}

fn checked(device: i64) -> PyResult<(&'static Runtime, usize)> {
    let runtime = runtime()?;
    let count = runtime.device_count();
    match usize::try_from(device) {
        Ok(d) if d < count => Ok((runtime, d)),
        _ => Err(PyRuntimeError::new_err(format!(
            "Invalid device ordinal {device}: there are {count} neuron devices"
        ))),
    }
}

/// Number of devices.
#[pyfunction]
fn device_count() -> c_int {
    crate::streams::nrn_device_count()
}

/// The calling thread's current device.
#[pyfunction]
fn current_device() -> usize {
    tnrs_runtime::current_device()
}

/// Makes a device current and returns the previous one; negative changes nothing.
#[pyfunction]
fn exchange_device(device: i64) -> PyResult<usize> {
    if device < 0 {
        return Ok(tnrs_runtime::current_device());
    }
    let (_, device) = checked(device)?;
    Ok(tnrs_runtime::exchange_device(device))
}

/// Whether this process was forked from one that uses the device.
#[pyfunction]
fn is_in_bad_fork() -> bool {
    tnrs_runtime::is_bad_fork()
}

/// Name, bytes of memory, cores, and NeuronCore generation (major, minor) of a device.
#[pyfunction]
fn device_properties(device: i64) -> PyResult<(String, usize, usize, u32, u32)> {
    let (runtime, device) = checked(device)?;
    let p = runtime.properties(device);
    Ok((p.name, p.total_memory, p.cores, p.capability.0, p.capability.1))
}

/// Limits the memory of this process on a device to a fraction of the whole.
#[pyfunction]
fn set_memory_fraction(device: i64, fraction: f64) -> PyResult<()> {
    let (runtime, device) = checked(device)?;
    runtime.set_memory_fraction(device, fraction);
    Ok(())
}

fn stat(s: Stat) -> StatTuple {
    (s.current, s.peak, s.allocated, s.freed)
}

/// Statistics of pinned host memory: blocks and bytes.
#[pyfunction]
fn host_memory_stats() -> PyResult<(StatTuple, StatTuple)> {
    let (allocation, bytes) = runtime()?.pinned_stats();
    Ok((stat(allocation), stat(bytes)))
}

/// Segments of a device's allocator with their blocks.
#[pyfunction]
fn memory_snapshot(device: i64) -> PyResult<Vec<SegmentTuple>> {
    let (runtime, device) = checked(device)?;
    let state = |s| match s {
        BlockState::Live => "active_allocated",
        BlockState::Deferred => "active_pending_free",
        BlockState::Binned | BlockState::Free => "inactive",
    };
    let segments = runtime.snapshot(device).into_iter().map(|s| {
        let blocks = s.blocks.iter().map(|b| (b.address, b.size, b.requested, state(b.state))).collect();
        (s.address, s.bytes, s.stream, blocks)
    });
    Ok(segments.collect())
}

/// Operators that ran on the CPU, with counts.
#[pyfunction]
fn fallback_ops() -> BTreeMap<String, u64> {
    tnrs_dispatch::fallback_ops()
}

/// Forgets the counts of `fallback_ops`.
#[pyfunction]
fn reset_fallback_ops() {
    tnrs_dispatch::reset_fallback_ops();
}

/// Operators that ran natively, with counts.
#[pyfunction]
fn executed_ops() -> BTreeMap<String, u64> {
    tnrs_dispatch::executed_ops()
}

/// Forgets the counts of `executed_ops`.
#[pyfunction]
fn reset_executed_ops() {
    tnrs_dispatch::reset_executed_ops();
}

/// Names of the operators that have a native rule.
#[pyfunction]
fn row_names() -> Vec<&'static str> {
    (0..tnrs_dispatch::row_count()).map(tnrs_dispatch::row_name).collect()
}

/// From now on writes what is compiled to a folder, with `data` also operands and results; with `None` does again what the
/// environment says.
#[pyfunction]
fn set_dump(folder: Option<std::path::PathBuf>, data: bool) {
    tnrs_dispatch::set_dump(folder, data);
}

/// The environment variables that are read: name, value in effect, what it does.
#[pyfunction]
fn flags() -> Vec<(&'static str, String, &'static str)> {
    let row = |f: &&'static tnrs_types::flags::Flag| {
        (f.name, f.get().unwrap_or_else(|| f.default.to_owned()), f.help)
    };
    tnrs_types::flags::ALL.iter().map(row).collect()
}

/// The Python stack of the calling thread, innermost call last; `None` when it runs no Python.
pub fn stack() -> Option<String> {
    Python::try_attach(|py| {
        let frames = py.import("traceback")?.call_method0("format_stack")?;
        let text: String = PyString::new(py, "").call_method1("join", (frames,))?.extract()?;
        Ok::<_, PyErr>(text)
    })
    .and_then(Result::ok)
    .filter(|text| !text.is_empty())
}

/// The module.
#[pymodule]
mod _C {
    #[pymodule_export]
    use super::{
        current_device, device_count, device_properties, exchange_device, executed_ops, fallback_ops, flags,
        host_memory_stats, init, is_in_bad_fork, memory_snapshot, reset_executed_ops, reset_fallback_ops,
        row_names, set_dump, set_memory_fraction,
    };
    #[pymodule_export]
    use crate::graph::Graph;
    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "the names are Python's")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "the names are Python's")]
    const __torch_version__: &str = env!("TNRS_TORCH_VERSION");
}
