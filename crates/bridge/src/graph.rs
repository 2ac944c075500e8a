//! Compiled graphs, as Python sees them.

use std::ffi::{c_int, c_void};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyList};
use smallvec::SmallVec;
use tnrs_dispatch::graph::{self, Base, Plan};
use tnrs_dispatch::raw::RawTensor;
use tnrs_dispatch::CallError;

use crate::call::Shim;
use crate::error::python;

extern "C" {
    fn nshim_from_python(object: *mut c_void, out: *mut RawTensor, handle: *mut *mut c_void) -> c_int;
    fn nshim_release(handle: *mut c_void);
    fn nshim_drop(handle: *mut c_void);
    fn nshim_to_python(
        handle: *mut c_void,
        whole: c_int,
        dtype: u8,
        sizes: *const i64,
        strides: *const i64,
        ndim: i32,
        delta: i64,
        flags: u8,
    ) -> *mut c_void;
}

/// Arguments of a graph: tensors, described and held, and integers.
#[derive(Default)]
struct Arguments {
    tensors: SmallVec<[RawTensor; 16]>,
    handles: SmallVec<[*mut c_void; 16]>,
    ints: SmallVec<[i64; 8]>,
}
// SAFETY: the tensors stay alive with their handles, and their descriptions are only read.
unsafe impl Sync for Arguments {}

impl Drop for Arguments {
    fn drop(&mut self) {
        for h in &self.handles {
            // SAFETY: the handle came from `nshim_from_python` and is released once.
            unsafe { nshim_release(*h) }
        }
    }
}

impl Arguments {
    fn read(list: &Bound<'_, PyList>) -> PyResult<Arguments> {
        let mut a = Arguments::default();
        for object in list.iter() {
            if object.is_instance_of::<PyInt>() {
                a.ints.push(object.extract()?);
                continue;
            }
            if let Ok(number) = object.cast::<pyo3::types::PyFloat>() {
                a.ints.push(number.value().to_bits() as i64);
                continue;
            }
            if object.is_none() {
                a.ints.push(i64::MIN);
                continue;
            }
            let (mut out, mut handle) = (std::mem::MaybeUninit::uninit(), std::ptr::null_mut());
            // SAFETY: the object is alive; on success the shim fills `out` and the handle.
            unsafe {
                if nshim_from_python(object.as_ptr().cast(), out.as_mut_ptr(), &mut handle) != 0 {
                    return Err(PyTypeError::new_err(format!(
                        "a compiled graph takes tensors and numbers, not {}",
                        object.get_type().name()?
                    )));
                }
                a.tensors.push(out.assume_init());
            }
            a.handles.push(handle);
        }
        Ok(a)
    }
}

/// Results of a graph as Python wants them: objects that are the same in every run of a plan, and places of tensors.
struct Template(Vec<Option<Py<PyAny>>>);

/// A graph and its plans, one per key of its arguments.
#[pyclass(frozen, module = "torch_neuronx._C")]
pub struct Graph {
    inner: graph::Graph,
}

fn results<'py>(
    py: Python<'py>,
    plan: &Plan,
    a: &Arguments,
    outs: &[RawTensor],
) -> PyResult<Bound<'py, PyList>> {
    let mut tensors = Vec::with_capacity(plan.outputs().len());
    let mut taken: SmallVec<[bool; 16]> = SmallVec::from_elem(false, outs.len());
    for o in plan.outputs() {
        let (base, whole) = match o.base {
            Base::New(k) => {
                // The owner of new memory comes before views of it.
                taken[usize::from(k)] |= o.whole;
                (outs[usize::from(k)].handle, o.whole)
            }
            Base::Input(i) => (a.tensors[usize::from(i)].handle, false),
        };
        // SAFETY: the base is alive; a whole output is handed over once.
        let object = unsafe {
            nshim_to_python(
                base,
                c_int::from(whole),
                o.dtype as u8,
                o.dims.as_ptr(),
                o.strides.as_ptr(),
                o.dims.len() as i32,
                o.delta as i64,
                o.flags,
            )
        };
        if object.is_null() {
            return Err(python(CallError::Host));
        }
        // SAFETY: the shim returns a new reference.
        tensors.push(unsafe { Bound::from_owned_ptr(py, object.cast()) });
    }
    for (out, _) in outs.iter().zip(&taken).filter(|(_, &taken)| !taken) {
        // SAFETY: nobody took this one over; views hold its storage.
        unsafe { nshim_drop(out.handle) };
    }
    let Some(Template(places)) = plan.tag.downcast_ref::<Template>() else {
        return PyList::new(py, tensors);
    };
    let mut tensors = tensors.into_iter();
    let objects = places.iter().map(|p| match p {
        Some(object) => object.bind(py).clone(),
        None => tensors.next().expect("a template has a place per tensor"),
    });
    PyList::new(py, objects.collect::<Vec<_>>())
}

#[pymethods]
impl Graph {
    #[new]
    fn new(limit: usize) -> Self {
        Graph { inner: graph::Graph::new(limit) }
    }

    /// Runs the plan for these arguments; `None` when there is none yet.
    fn run<'py>(&self, py: Python<'py>, args: &Bound<'py, PyList>) -> PyResult<Option<Bound<'py, PyList>>> {
        let a = Arguments::read(args)?;
        let Some(plan) = self.inner.find(&a.tensors, &a.ints) else {
            return Ok(None);
        };
        // SAFETY: the handles keep the arguments alive, and the framework frees memory in stream order.
        let outs = unsafe { plan.run(&a.tensors, &mut Shim::frameless()) }.map_err(python)?;
        results(py, &plan, &a, &outs).map(Some)
    }

    /// Records what the calling thread runs on these arguments from now on.
    fn begin(&self, args: &Bound<'_, PyList>) -> PyResult<()> {
        self.inner.begin(&Arguments::read(args)?.tensors).map_err(python)
    }

    /// Ends a recording; `outputs` are its results. Returns what the plan cost and holds.
    fn finish<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyList>,
        outputs: &Bound<'py, PyList>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let a = Arguments::read(args)?;
        let mut places = Vec::with_capacity(outputs.len());
        let tensors = PyList::empty(py);
        let class = py.import("torch")?.getattr("Tensor")?;
        for o in outputs.iter() {
            let tensor = o.is_instance(&class)?;
            if tensor {
                tensors.append(&o)?;
            }
            places.push((!tensor).then(|| o.unbind()));
        }
        let o = Arguments::read(&tensors)?;
        let plan = self
            .inner
            .finish(&a.tensors, &a.ints, &o.tensors, Box::new(Template(places)), &mut Shim::frameless())
            .map_err(python)?;
        let stats = plan.stats();
        let dict = PyDict::new(py);
        dict.set_item("calls", stats.calls)?;
        dict.set_item("instructions", stats.instructions)?;
        dict.set_item("workspace", stats.workspace)?;
        dict.set_item("plan_ns", stats.plan_ns)?;
        dict.set_item("text", plan.text().map(|t| t.to_vec()))?;
        Ok(dict)
    }

    /// Number of plans.
    fn __len__(&self) -> usize {
        self.inner.len()
    }

    /// Ends the calling thread's recording without a plan; why it was refused, if it was.
    #[staticmethod]
    fn cancel() -> Option<String> {
        graph::cancel()
    }
}
