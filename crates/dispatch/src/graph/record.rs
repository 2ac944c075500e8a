//! Recording: a call adds its rule's operations to the program instead of launching them.

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};

use tnrs_hlo::Builder;
use tnrs_lowering::Source as RuleSource;
use tnrs_softcore::ParamSpec;

use super::store::{Memory, Source};
use crate::assemble::{Assembler, Collected};
use crate::call::{Outs, Resized, Rets};
use crate::compile::{self, Operands};
use crate::entry::Bind;
use crate::host::Host;
use crate::ops::OpState;
use crate::raw::{RawArg, RawTensor, Tag};
use crate::CallError;

/// Threads that record.
static RECORDING: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static RECORDER: RefCell<Option<Box<Recorder>>> = const { RefCell::new(None) };
}

/// A recording in progress.
pub(super) struct Recorder {
    pub b: Builder,
    pub memory: Memory,
    pub philox_blocks: u64,
    pub device: i8,
    pub calls: usize,
    /// Why the program cannot be one.
    pub refused: Option<String>,
}

/// Whether the calling thread records.
#[inline]
pub fn is_recording() -> bool {
    RECORDING.load(Ordering::Relaxed) != 0 && RECORDER.with_borrow(Option::is_some)
}

/// Starts to record on the calling thread.
pub(super) fn start(inputs: &[RawTensor], device: i8) -> Result<(), CallError> {
    RECORDER.with_borrow_mut(|place| {
        if place.is_some() {
            return Err(CallError::Runtime("a graph is being recorded on this thread already".to_owned()));
        }
        *place = Some(Box::new(Recorder {
            b: Builder::new("graph"),
            memory: Memory::new(inputs),
            philox_blocks: 0,
            device,
            calls: 0,
            refused: None,
        }));
        RECORDING.fetch_add(1, Ordering::Relaxed);
        Ok(())
    })
}

/// Stops recording.
pub(super) fn stop() -> Option<Box<Recorder>> {
    let recorder = RECORDER.take();
    if recorder.is_some() {
        RECORDING.fetch_sub(1, Ordering::Relaxed);
    }
    recorder
}

fn with<R>(f: impl FnOnce(&mut Recorder) -> R) -> R {
    RECORDER.with_borrow_mut(|r| f(r.as_mut().expect("the thread records")))
}

/// The address of new memory when the calling thread records.
#[inline]
pub fn allocate(bytes: usize) -> Option<*mut u8> {
    is_recording().then(|| with(|r| std::ptr::without_provenance_mut(r.memory.allocate(bytes))))
}

/// Whether a tensor's memory is the recording's or an input's.
pub fn knows(t: &RawTensor) -> bool {
    is_recording() && with(|r| r.memory.find(t.data as usize).is_some())
}

/// Refuses what a recorded program cannot do, such as showing its data to the host: an error when the calling thread
/// records.
#[inline]
pub fn refuse(what: &str) -> Result<(), CallError> {
    if !is_recording() {
        return Ok(());
    }
    with(|r| {
        r.refused.get_or_insert_with(|| what.to_owned());
    });
    Err(CallError::Runtime(format!("{what} cannot be part of a compiled graph")))
}

/// Tensors of a call as values of the recording.
struct Recorded<'a> {
    memory: &'a mut Memory,
    host: &'a mut dyn Host,
}

impl Operands for Recorded<'_> {
    const NUMBERS_KNOWN: bool = true;

    fn tensor(
        &mut self,
        cx: &mut tnrs_lowering::Ctx,
        _place: (usize, usize),
        t: &RawTensor,
    ) -> Result<tnrs_hlo::Value, CallError> {
        // SAFETY: the arguments of a call are valid for the call.
        unsafe { self.memory.read(&mut cx.b, t, self.host) }
    }
}

/// Records a call. An operator without a rule is refused.
pub(crate) fn record(op: &OpState, args: &[RawArg], host: &mut dyn Host) -> Result<Rets, CallError> {
    let result = try_record(op, args, host);
    if let Err(CallError::Unsupported(why)) = &result {
        with(|r| {
            r.refused.get_or_insert_with(|| why.clone());
        });
        return Err(CallError::Runtime(format!("{why}; it cannot be part of a compiled graph")));
    }
    result
}

fn try_record(op: &OpState, args: &[RawArg], host: &mut dyn Host) -> Result<Rets, CallError> {
    if args.iter().any(|a| a.tag() == Tag::Generator) {
        return Err(CallError::Unsupported(format!("{} with a generator of its own", op.schema.name)));
    }
    let device = compile::check_devices(op, args)?;
    let metas = compile::metas(op, args, host)?;
    let mut done = with(|r| {
        if r.device < 0 {
            r.device = device;
        }
        r.calls += 1;
        let b = std::mem::take(&mut r.b);
        let mut operands = Recorded { memory: &mut r.memory, host };
        let mut cx = compile::context(op, args, metas.as_deref(), b, &mut operands)?;
        let outcome = compile::lower(op, args, &mut cx)?;
        let done = Assembler::new(op, args, metas, cx, 0).collect(outcome)?;
        for source in &done.cx.sources {
            r.memory.sources.push(match source {
                RuleSource::Seed => Source::Seed,
                RuleSource::Offset => Source::Offset(r.philox_blocks),
                other => return Err(CallError::Unsupported(format!("{}: {other:?}", op.schema.name))),
            });
            r.memory.params.push(ParamSpec::Scalar);
        }
        r.philox_blocks += done.cx.philox_blocks;
        Ok(done)
    })?;
    if !done.bounded.is_empty() {
        return Err(CallError::Unsupported(format!(
            "{}: the data decides the result's size",
            op.schema.name
        )));
    }
    let rets = std::mem::take(&mut done.rets);
    let mut outs = Outs::new();
    if let Err(e) = place(done, args, host, &mut outs) {
        outs.into_iter().for_each(|t| host.discard(t));
        return Err(e);
    }
    Ok(rets.iter().map(|r| r.of(&outs)).collect())
}

/// Makes the outputs of a recorded call and writes its results.
fn place(done: Collected, args: &[RawArg], host: &mut dyn Host, outs: &mut Outs) -> Result<(), CallError> {
    // The framework makes its tensors while nothing of the recorder is borrowed: they ask it for memory.
    let resized = Resized::new(&done.resizes, host)?;
    let device = with(|r| r.device);
    for spec in &done.outs {
        outs.push(spec.alloc(device, host)?);
    }
    with(|r| {
        r.b = done.cx.b;
        for (bind, value) in done.result_binds.iter().zip(&done.values) {
            let target = match *bind {
                Bind::Output(k) => &outs[usize::from(k)],
                Bind::Tensor(a, e) => resized.tensor(args, a, e),
                _ => unreachable!("results go to tensors"),
            };
            r.memory.write(&mut r.b, target, *value)?;
        }
        Ok(())
    })
}
