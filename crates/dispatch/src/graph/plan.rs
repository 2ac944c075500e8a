//! From a recording to a program, and its runs.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use smallvec::SmallVec;
use tnrs_hal::{Arg, Executable};
use tnrs_hlo::{passes, Func, Value};
use tnrs_softcore::{CompileSpec, ResultSpec};
use tnrs_types::{DType, Dims, Scalar};

use super::layout::Layout;
use super::record::Recorder;
use super::store::{Kept, Owner, Source};
use crate::call::{host_number, launch_on, word};
use crate::entry::OutSpec;
use crate::host::Host;
use crate::raw::{RawTensor, FLAG_CONJ, FLAG_NEG};
use crate::CallError;

/// What a plan cost and holds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stats {
    /// Operator calls recorded.
    pub calls: usize,
    /// Instructions after the passes.
    pub instructions: usize,
    /// Bytes of workspace.
    pub workspace: usize,
    /// Nanoseconds that passes and planning took.
    pub plan_ns: u64,
}

/// A result as a view of new memory or of an input's.
#[derive(Clone, Debug)]
pub struct Output {
    /// The number of the new tensor, or of the input.
    pub base: Base,
    /// Element type.
    pub dtype: DType,
    /// Sizes.
    pub dims: Dims,
    /// Strides in elements.
    pub strides: Dims,
    /// Bytes from the base's element 0 to this one's.
    pub delta: isize,
    /// The base itself, not a view.
    pub whole: bool,
    /// `FLAG_CONJ` and `FLAG_NEG` of [`crate::raw`].
    pub flags: u8,
}

/// What an [`Output`] is a view of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// A tensor that the run makes.
    New(u16),
    /// An input.
    Input(u16),
}

/// Where the memory of a result of the program is.
#[derive(Clone, Copy, Debug)]
enum Target {
    New(u16),
    Memory(Source),
}

/// A compiled recording.
pub struct Plan {
    exe: Arc<dyn Executable>,
    sources: Vec<Source>,
    targets: Vec<Target>,
    outs: Vec<OutSpec>,
    outputs: Vec<Output>,
    philox_blocks: u64,
    device: i8,
    constants: Vec<Kept>,
    stats: Stats,
    text: Option<[String; 2]>,
    /// The caller's own.
    pub tag: Box<dyn Any + Send + Sync>,
}

/// Collects the results of a program.
#[derive(Default)]
struct Results {
    values: Vec<Value>,
    specs: Vec<ResultSpec>,
    targets: Vec<Target>,
    outs: Vec<OutSpec>,
    /// New tensor of each store, by its start.
    of: HashMap<usize, u16>,
}

impl Results {
    fn fresh(&mut self, dtype: DType, dims: &[i64], strides: &[i64], value: Value) -> u16 {
        let k = self.outs.len() as u16;
        let contiguous = tnrs_types::is_contiguous(dims, strides);
        let (dims, strides) = (Dims::from_slice(dims), Dims::from_slice(strides));
        self.outs.push(OutSpec { dtype, dims, strides: (!contiguous).then(|| strides.clone()) });
        self.values.push(value);
        self.specs.push(ResultSpec { strides, alias: None, overlap: false });
        self.targets.push(Target::New(k));
        k
    }
}

/// Makes the program of a recording whose results are `outputs`.
pub(super) fn finish(
    mut r: Recorder,
    outputs: &[RawTensor],
    host: &mut dyn Host,
    tag: Box<dyn Any + Send + Sync>,
) -> Result<Plan, CallError> {
    let started = Instant::now();
    let mut results = Results::default();
    let mut views = Vec::with_capacity(outputs.len());
    for t in outputs {
        views.push(output(&mut r, &mut results, t, host)?);
    }
    writes(&mut r, &mut results)?;
    let Recorder { b, memory, philox_blocks, device, calls, .. } = r;
    let mut func = b.finish(&results.values);
    let dump = tnrs_types::flags::DUMP.get().is_some();
    let before = dump.then(|| tnrs_hlo::text::print(&func));
    optimise(&mut func);
    let text = before.map(|b| [b, tnrs_hlo::text::print(&func)]);
    let spec = CompileSpec { params: memory.params, results: results.specs };
    let exe = tnrs_softcore::compile(&func, &spec).map_err(|e| CallError::Unsupported(e.to_string()))?;
    let stats = Stats {
        calls,
        instructions: func.instrs.len(),
        workspace: exe.workspace_bytes(),
        plan_ns: started.elapsed().as_nanos() as u64,
    };
    Ok(Plan {
        exe,
        sources: memory.sources,
        targets: results.targets,
        outs: results.outs,
        outputs: views,
        philox_blocks,
        device,
        constants: memory.constants,
        stats,
        text,
        tag,
    })
}

fn optimise(func: &mut Func) {
    passes::simplify(func);
    passes::cse(func);
    passes::dce(func);
}

fn output(
    r: &mut Recorder,
    results: &mut Results,
    t: &RawTensor,
    host: &mut dyn Host,
) -> Result<Output, CallError> {
    let view = Layout::of(t)
        .filter(|_| t.on_device())
        .ok_or_else(|| CallError::Unsupported("a result that is not on the device".to_owned()))?;
    let made = |base, delta, whole| Output {
        base,
        dtype: view.dtype,
        dims: view.dims.clone(),
        strides: view.strides.clone(),
        delta,
        whole,
        flags: t.flags & (FLAG_CONJ | FLAG_NEG),
    };
    if view.dims.contains(&0) || t.data.is_null() {
        let value = r.b.splat(view.dtype, &view.dims, Scalar::Int(0)).map_err(internal)?;
        let dense = tnrs_types::contiguous_strides(&view.dims);
        let k = results.fresh(view.dtype, &view.dims, &dense, value);
        return Ok(Output { strides: dense, ..made(Base::New(k), 0, true) });
    }
    let start = r.memory.find(view.addr);
    if let Some(Owner::Input(i)) = start.map(|s| r.memory.stores[&s].owner) {
        let store = &r.memory.stores[&start.unwrap_or_default()];
        let first = store.home.as_ref().map_or(view.addr, |h| h.addr);
        return Ok(made(Base::Input(i), view.addr as isize - first as isize, false));
    }
    let home = start.and_then(|s| r.memory.stores[&s].home.clone().map(|h| (s, h)));
    let Some((start, home)) = home.filter(|(s, _)| r.memory.stores[s].owner == Owner::Recording) else {
        // A constant, or memory that nothing was written to.
        // SAFETY: the tensor is on the device, whose memory is not read here.
        let value = unsafe { r.memory.read(&mut r.b, t, host)? };
        let own = if view.is_dense() { Some(view.strides.clone()) } else { None };
        let dense = own.unwrap_or_else(|| tnrs_types::contiguous_strides(&view.dims));
        let k = results.fresh(view.dtype, &view.dims, &dense, value);
        return Ok(Output { strides: dense, ..made(Base::New(k), 0, true) });
    };
    let known = results.of.get(&start).copied();
    let k = match known {
        Some(k) => k,
        None => {
            let value = r.memory.stores[&start].value.expect("memory with a layout holds a value");
            let k = results.fresh(home.dtype, &home.dims, &home.strides, value);
            results.of.insert(start, k);
            k
        }
    };
    let whole = known.is_none() && home.same(&view) && home.strides == view.strides;
    Ok(made(Base::New(k), view.addr as isize - home.addr as isize, whole))
}

/// Inputs that were written to.
fn writes(r: &mut Recorder, results: &mut Results) -> Result<(), CallError> {
    let written: Vec<usize> = r
        .memory
        .stores
        .iter()
        .filter(|(_, s)| s.owner != Owner::Recording && s.value.is_some())
        .map(|(at, _)| *at)
        .collect();
    for start in written {
        let store = &r.memory.stores[&start];
        let (Some(value), Some(home)) = (store.value, store.home.clone()) else {
            continue;
        };
        let Owner::Input(i) = store.owner else {
            return Err(CallError::Unsupported("a write to a tensor that is no input".to_owned()));
        };
        if store.shared && !home.is_dense() {
            return Err(CallError::Unsupported("a write to inputs that share memory".to_owned()));
        }
        // A parameter of the same layout is read element by element before it is written; others all before.
        let alias = match store.params.as_slice() {
            [(layout, p)] if layout.same(&home) => Some(*p),
            _ => None,
        };
        let overlap = alias.is_none() && !store.params.is_empty();
        results.values.push(value);
        results.specs.push(ResultSpec { strides: home.strides.clone(), alias, overlap });
        results.targets.push(Target::Memory(Source::Input(i, 0)));
    }
    Ok(())
}

fn internal(e: tnrs_hlo::HloError) -> CallError {
    CallError::Runtime(format!("internal error: {e}"))
}

impl Plan {
    /// What the plan cost and holds.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// The program before and after the passes, when `TORCH_NEURONX_DUMP` is set.
    pub fn text(&self) -> Option<&[String; 2]> {
        self.text.as_ref()
    }

    /// The results, in order.
    pub fn outputs(&self) -> &[Output] {
        &self.outputs
    }

    /// Launches on the current stream. The tensors that [`Base::New`] names.
    ///
    /// # Safety
    /// As [`crate::call()`], with inputs of the key that the plan was made for.
    pub unsafe fn run(
        &self,
        inputs: &[RawTensor],
        host: &mut dyn Host,
    ) -> Result<SmallVec<[RawTensor; 8]>, CallError> {
        let mut outs: SmallVec<[RawTensor; 8]> = SmallVec::with_capacity(self.outs.len());
        // SAFETY: the caller's promise.
        match unsafe { self.launch(inputs, host, &mut outs) } {
            Ok(()) => Ok(outs),
            Err(e) => {
                outs.into_iter().for_each(|t| host.discard(t));
                Err(e)
            }
        }
    }

    /// # Safety
    /// As [`Plan::run`].
    unsafe fn launch(
        &self,
        inputs: &[RawTensor],
        host: &mut dyn Host,
        outs: &mut SmallVec<[RawTensor; 8]>,
    ) -> Result<(), CallError> {
        for spec in &self.outs {
            outs.push(spec.alloc(self.device, host)?);
        }
        let (seed, offset) = match self.philox_blocks {
            0 => (0, 0),
            blocks => host.philox(std::ptr::null_mut(), self.device, blocks)?,
        };
        let at = |s: &Source| match *s {
            Source::Input(i, delta) => Arg::Memory(inputs[usize::from(i)].data.wrapping_offset(delta)),
            Source::Number(i) => Arg::Scalar(host_number(&inputs[usize::from(i)])),
            Source::Constant(k, delta) => {
                let addr = self.constants[usize::from(k)].addr.wrapping_add_signed(delta);
                Arg::Memory(std::ptr::with_exposed_provenance_mut(addr))
            }
            Source::Seed => Arg::Scalar(word(seed)),
            Source::Offset(blocks) => Arg::Scalar(word(offset + blocks)),
        };
        let target = |t: &Target| match t {
            Target::New(k) => Arg::Memory(outs[usize::from(*k)].data),
            Target::Memory(s) => at(s),
        };
        let args: SmallVec<[Arg; 32]> =
            self.sources.iter().map(at).chain(self.targets.iter().map(target)).collect();
        // SAFETY: the caller's promise; the arguments are those of the program.
        unsafe { launch_on(self.device, &self.exe, self.stats.workspace, &args, host) }
    }
}
