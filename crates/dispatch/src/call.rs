//! The hit path: outputs, arguments, launch.

use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;
use tnrs_hal::{Arg, Executable};
use tnrs_runtime::{Launch, Runtime};
use tnrs_types::{flags, Scalar};

use crate::cache;
use crate::compile::compile;
use crate::encode::encode;
use crate::entry::{Bind, Entry, Resize, Slot};
use crate::graph;
use crate::host::Host;
use crate::key::{self, Key};
use crate::ops::{self, OpState};
use crate::raw::{RawArg, RawRet, RawTensor, Tag};
use crate::CallError;

/// Returns of a call, in schema order, without aliases of arguments.
pub type Rets = SmallVec<[RawRet; 4]>;

/// Calls an operator: launches it on the current stream of its device and gives the returns that are not aliases of
/// arguments.
///
/// # Safety
/// Addresses and lengths in `args` are valid for the duration of the call, and device memory of the tensors stays
/// allocated, or is freed in stream order, until the launch completes.
#[inline]
pub unsafe fn call(id: u32, args: &[RawArg], host: &mut dyn Host) -> Result<Rets, CallError> {
    if graph::is_recording() {
        return graph::record(ops::op(id), args, host);
    }
    // SAFETY: the caller's promise.
    unsafe { run(ops::op(id), args, host) }
}

/// # Safety
/// As [`call`].
pub(crate) unsafe fn run(
    op: &'static OpState,
    args: &[RawArg],
    host: &mut dyn Host,
) -> Result<Rets, CallError> {
    let (place, last) = cache::last(op.id);
    let slot = match last {
        Some(slot) if key::matches(op, args, &slot.key) => slot,
        _ => find(op, args, host)?,
    };
    let result = match &slot.outcome {
        // SAFETY: the caller's promise; the entry was compiled for a call with this key.
        Ok(entry) => unsafe { launch(op, entry, args, host) },
        Err(reason) => Err(CallError::Unsupported(reason.clone())),
    };
    place.put(slot);
    result
}

/// The slot of a call whose key is not that of the operator's last call.
fn find(op: &'static OpState, args: &[RawArg], host: &mut dyn Host) -> Result<Arc<Slot>, CallError> {
    let mut key = Key::new();
    key::build(op, args, &mut key);
    let hash = key::hash(&key);
    match cache::get(hash, &key) {
        Some(slot) => Ok(slot),
        None => Ok(cache::insert(compile(op, args, &key, hash, host)?)),
    }
}

pub(crate) type Outs = SmallVec<[RawTensor; 2]>;

/// # Safety
/// As [`call`]; `entry` was compiled for these arguments' key.
unsafe fn launch(
    op: &OpState,
    entry: &Entry,
    args: &[RawArg],
    host: &mut dyn Host,
) -> Result<Rets, CallError> {
    // Not one atomic step: two threads at once may count one call, which the statistics can bear and the hot path not.
    op.executed.store(op.executed.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    let mut outs = Outs::new();
    // SAFETY: the caller's promise.
    if let Err(e) = unsafe { submit(entry, args, host, &mut outs) } {
        outs.into_iter().for_each(|t| host.discard(t));
        return Err(e);
    }
    if !entry.bounded.is_empty() {
        crate::bounded::settle(entry, host, &mut outs)?;
    }
    Ok(entry.rets.iter().map(|r| r.of(&outs)).collect())
}

/// `out=` arguments that had to be resized, by argument and element of a list.
pub(crate) struct Resized(SmallVec<[((u16, u16), RawTensor); 1]>);

impl Resized {
    #[inline]
    pub fn new(resizes: &[Resize], host: &mut dyn Host) -> Result<Resized, CallError> {
        let mut resized = SmallVec::new();
        for (arg, elem, dims) in resizes {
            let t = host.resize(usize::from(*arg), elem.map(usize::from), dims)?;
            resized.push(((*arg, elem.unwrap_or(0)), t));
        }
        Ok(Resized(resized))
    }

    /// A tensor of the call, as it is now.
    #[inline]
    pub fn tensor<'a>(&'a self, args: &'a [RawArg], arg: u16, elem: u16) -> &'a RawTensor {
        match self.0.iter().find(|(at, _)| *at == (arg, elem)) {
            Some((_, t)) => t,
            None => &args[usize::from(arg)].tensors()[usize::from(elem)],
        }
    }
}

/// Allocates the outputs into `outs` and launches.
///
/// # Safety
/// As [`launch`].
#[inline]
unsafe fn submit(
    entry: &Entry,
    args: &[RawArg],
    host: &mut dyn Host,
    outs: &mut Outs,
) -> Result<(), CallError> {
    let resized = Resized::new(&entry.resizes, host)?;
    for spec in &entry.outs {
        outs.push(spec.alloc(entry.device, host)?);
    }
    let (seed, offset) = match entry.philox_blocks {
        0 => (0, 0),
        blocks => {
            let generator = entry.generator.map_or(0, |g| args[usize::from(g)].bits);
            host.philox(generator as *mut _, entry.device, blocks)?
        }
    };
    let mut launch_args: SmallVec<[Arg; 8]> = SmallVec::new();
    for bind in &entry.binds {
        launch_args.push(match *bind {
            Bind::Tensor(a, e) => Arg::Memory(resized.tensor(args, a, e).data),
            Bind::Output(k) => Arg::Memory(outs[usize::from(k)].data),
            Bind::HostNumber(a, e) => {
                Arg::Scalar(host_number(&args[usize::from(a)].tensors()[usize::from(e)]))
            }
            Bind::Scalar(a, e, dtype, range) => {
                let arg = &args[usize::from(a)];
                let list = arg.tag == Tag::ScalarList as u32;
                let s = if list { arg.scalars()[usize::from(e)].get() } else { arg.scalar() };
                if let Some(range) = range.filter(|r| !s.fits(*r)) {
                    return Err(CallError::Runtime(Scalar::misfit(range)));
                }
                Arg::Scalar(encode(s, dtype))
            }
            Bind::Seed => Arg::Scalar(word(seed)),
            Bind::Offset => Arg::Scalar(word(offset)),
        });
    }
    // SAFETY: the arguments match the executable by construction, and the caller promises that memory lives.
    unsafe { launch_on(entry.device, &entry.exe, entry.workspace, &launch_args, host) }
}

/// The number of a call's device; -1 is the current one.
#[inline]
pub(crate) fn device_number(device: i8) -> usize {
    usize::try_from(device).unwrap_or_else(|_| tnrs_runtime::current_device())
}

/// Launches a program on a device's current stream.
///
/// # Safety
/// `args` are the program's, `workspace` is what it asks for, and all memory stays allocated, or is freed in stream order,
/// until the launch completes.
#[inline]
pub(crate) unsafe fn launch_on(
    device: i8,
    exe: &Arc<dyn Executable>,
    workspace: usize,
    args: &[Arg],
    host: &mut dyn Host,
) -> Result<(), CallError> {
    let (runtime, device) = (Runtime::get(), device_number(device));
    let stream = tnrs_runtime::current_stream(device);
    // Freed right after the launch: reuse is in stream order, so the program is done with it before anyone else.
    let workspace = match workspace {
        0 => None,
        bytes => {
            Some(runtime.alloc(device, stream, bytes).map_err(|e| CallError::OutOfMemory(e.to_string()))?)
        }
    };
    let launch = Launch {
        exe,
        args,
        workspace: workspace.as_ref().map_or(std::ptr::null_mut(), |b| b.ptr),
        stack: if stack_traces() { host.python_stack().map(Into::into) } else { None },
    };
    // SAFETY: the caller's promise; the workspace has the size that the program asks for.
    let result = unsafe { runtime.launch(device, stream, launch) };
    if let Some(block) = workspace {
        // SAFETY: the block came from `alloc` above and is freed once.
        unsafe { runtime.free(block.ctx) };
    }
    result.map_err(CallError::from_fault)
}

/// The element of a 0-dim host tensor.
pub(crate) fn host_number(t: &RawTensor) -> [u8; 16] {
    let mut bytes = [0u8; 16];
    let size = t.dtype().map_or(0, tnrs_types::DType::size);
    // SAFETY: a 0-dim host tensor holds one element of its dtype.
    unsafe { std::ptr::copy_nonoverlapping(t.data, bytes.as_mut_ptr(), size) };
    bytes
}

fn stack_traces() -> bool {
    static ON: OnceLock<bool> = OnceLock::new();
    *ON.get_or_init(|| flags::STACK_TRACE.is_on())
}

pub(crate) fn word(v: u64) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&v.to_ne_bytes());
    bytes
}
