//! The miss path: meta inference, lowering, compilation.

use std::sync::atomic::AtomicU64;

use tnrs_hlo::{TensorType, UnaryKind};
use tnrs_lowering::{Arg, Ctx, Infer, OutTypes, ScalarArg};
use tnrs_types::{DType, Dims};

use crate::assemble::Assembler;
use crate::entry::{Entry, Slot};
use crate::host::{Host, OutMeta};
use crate::key::is_unit;
use crate::ops::{ArgKind, OpState, Policy, Variant};
use crate::raw::{RawArg, RawTensor, Tag, FLAG_CONJ, FLAG_NEG, FLAG_WRAPPED};
use crate::CallError;

/// Compiles a call. Only `Unsupported` is remembered as a negative slot; other errors depend on more than the key.
pub(crate) fn compile(
    op: &OpState,
    args: &[RawArg],
    key: &[u64],
    hash: u64,
    host: &mut dyn Host,
) -> Result<Slot, CallError> {
    let outcome = match build(op, args, key, host) {
        Ok(entry) => Ok(entry),
        Err(CallError::Unsupported(reason)) => Err(reason),
        Err(e) => return Err(e),
    };
    Ok(Slot { key: key.into(), hash, outcome, used: AtomicU64::new(0) })
}

/// The operands in words, for messages: `bf16[2, 3], f32[3], 2`.
pub(crate) fn describe(args: &[RawArg]) -> String {
    let one = |t: &RawTensor| {
        if t.handle.is_null() {
            return "undefined".to_owned();
        }
        let place = if t.on_device() { "" } else { " on host" };
        format!("{}{:?}{place}", t.dtype().map_or("unsupported dtype", DType::hlo_name), t.sizes())
    };
    let parts: Vec<String> = args
        .iter()
        .filter_map(|a| match a.tag() {
            Tag::Tensor => Some(one(&a.tensors()[0])),
            Tag::TensorList => {
                Some(format!("({})", a.tensors().iter().map(one).collect::<Vec<_>>().join(", ")))
            }
            Tag::Bool | Tag::Int | Tag::Float | Tag::Complex => Some(format!("{:?}", a.scalar())),
            Tag::IntList => Some(format!("{:?}", a.ints())),
            _ => None,
        })
        .collect();
    parts.join(", ")
}

fn build(op: &OpState, args: &[RawArg], key: &[u64], host: &mut dyn Host) -> Result<Entry, CallError> {
    let device = check_devices(op, args)?;
    let refused = |e| CallError::from_rule(e, &op.schema.name, &describe(args));
    if let Some(check) = op.row.check {
        check(&context(op, args, None)?).map_err(refused)?;
    }
    let metas = if op.row.infer == Infer::Meta && !op.host_tensors {
        host.meta(op.row.out_types != OutTypes::Meta)?
    } else {
        None
    };
    if let Some(metas) = &metas {
        possible(op, metas)?;
    }
    let mut cx = context(op, args, metas.as_deref())?;
    let outcome = (op.row.rule)(&mut cx).map_err(refused)?;
    let overlap = if op.has_writes { key.last().copied().unwrap_or(0) } else { 0 };
    Assembler::new(op, args, metas, cx, overlap).finish(outcome, device)
}

/// Bytes that no device has; a rule whose tables are as long as its results must not try.
const IMPOSSIBLE: i128 = 1 << 42;

fn possible(op: &OpState, metas: &[Option<OutMeta>]) -> Result<(), CallError> {
    for m in metas.iter().flatten() {
        let bytes = m.ty.dims.iter().fold(m.ty.dtype.size() as i128, |n, &d| n.saturating_mul(i128::from(d)));
        if bytes > IMPOSSIBLE {
            return Err(CallError::OutOfMemory(format!(
                "NeuronCore out of memory. {}: a result of sizes {:?} takes {} GiB",
                op.schema.name,
                m.ty.dims.as_slice(),
                bytes >> 30
            )));
        }
    }
    Ok(())
}

/// All device tensors on one device, host tensors only as numbers.
fn check_devices(op: &OpState, args: &[RawArg]) -> Result<i8, CallError> {
    let mut device: Option<i8> = None;
    for (i, arg) in args.iter().enumerate() {
        for t in arg.tensors().iter().filter(|t| !t.handle.is_null()) {
            if t.on_device() {
                match device {
                    Some(d) if d != t.device_index && !op.host_tensors => {
                        return Err(mixed(
                            op,
                            i,
                            &format!("neuron:{d}"),
                            &format!("neuron:{}", t.device_index),
                        ));
                    }
                    _ => device = device.or(Some(t.device_index)),
                }
            }
        }
    }
    let d = device.unwrap_or(-1);
    for (i, arg) in args.iter().enumerate() {
        for t in arg.tensors().iter().filter(|t| !t.handle.is_null() && !t.on_device()) {
            if !op.host_tensors && (!t.is_host_number() || op.schema.writes[i]) {
                let place = ["cpu", "neuron", "meta", "another device"][usize::from(t.device_type).min(3)];
                return Err(mixed(op, i, &format!("neuron:{d}"), place));
            }
        }
    }
    Ok(d)
}

fn mixed(op: &OpState, arg: usize, a: &str, b: &str) -> CallError {
    CallError::Runtime(format!(
        "Expected all tensors to be on the same device, but found at least two devices, {a} and {b}! \
         (when checking argument for argument {} in method {})",
        op.schema.arg_names[arg], op.schema.name
    ))
}

/// The rule's view of the call. Operands of an `out=` overload are those of the functional one.
fn context(op: &OpState, args: &[RawArg], metas: Option<&[Option<OutMeta>]>) -> Result<Ctx, CallError> {
    let mut cx = Ctx::new(op.row.op);
    if let Some(metas) = metas {
        cx.outs = metas.iter().flatten().map(|m| m.ty.clone()).collect();
    }
    for (i, arg) in args.iter().enumerate() {
        if op.schema.out_args[i] && op.variant == Variant::Out {
            continue;
        }
        let value = argument(&mut cx, op, i, arg, args)?;
        cx.args.push(value);
    }
    Ok(cx)
}

fn argument(cx: &mut Ctx, op: &OpState, i: usize, arg: &RawArg, args: &[RawArg]) -> Result<Arg, CallError> {
    let kind = op.schema.kinds[i];
    let numeric = matches!(kind, ArgKind::Scalar)
        || (kind == ArgKind::Float && op.policies[i] == Policy::Operand)
        || kind == ArgKind::ScalarList;
    let number = |s: tnrs_types::Scalar, index| {
        let known = match op.policies[i] {
            Policy::Static => Some(s),
            Policy::Unit if is_unit(s) => Some(s),
            _ => None,
        };
        ScalarArg { index, known, natural: s.natural_dtype() }
    };
    Ok(match arg.tag() {
        Tag::None => Arg::None,
        Tag::Tensor if arg.tensors()[0].handle.is_null() => Arg::None,
        Tag::Tensor => Arg::Tensor(operand(cx, i, 0, &arg.tensors()[0], op, args)?),
        Tag::TensorList => {
            let mut list = Vec::with_capacity(arg.tensors().len());
            for (e, t) in arg.tensors().iter().enumerate() {
                list.push(if t.handle.is_null() { None } else { Some(operand(cx, i, e, t, op, args)?) });
            }
            Arg::Tensors(list)
        }
        Tag::Bool | Tag::Int | Tag::Float | Tag::Complex if numeric => Arg::Scalar(number(arg.scalar(), i)),
        Tag::ScalarList => Arg::Scalars(arg.scalars().iter().map(|s| number(s.get(), i)).collect()),
        Tag::Bool => Arg::Bool(arg.bits != 0),
        Tag::Int if kind == ArgKind::DType => match DType::ALL.get(arg.bits as usize) {
            Some(d) => Arg::DType(*d),
            None => Arg::Other,
        },
        Tag::Int if kind == ArgKind::Float => Arg::Float(arg.bits as i64 as f64),
        Tag::Int => Arg::Int(arg.bits as i64),
        Tag::Float => Arg::Float(f64::from_bits(arg.bits)),
        Tag::IntList => Arg::Ints(Dims::from_slice(arg.ints())),
        Tag::FloatList => Arg::Floats(arg.floats().to_vec()),
        Tag::BoolList => Arg::Bools(arg.bytes().iter().map(|&b| b != 0).collect()),
        Tag::Str => Arg::Str(String::from_utf8_lossy(arg.bytes()).into_owned()),
        Tag::Generator => Arg::Generator,
        Tag::Complex | Tag::Other => Arg::Other,
    })
}

fn operand(
    cx: &mut Ctx,
    arg: usize,
    elem: usize,
    t: &RawTensor,
    op: &OpState,
    args: &[RawArg],
) -> Result<tnrs_lowering::Tensor, CallError> {
    let dtype = t.dtype().ok_or_else(|| {
        CallError::Unsupported(format!(
            "{}: the dtype of argument {} has no counterpart on the device; operands: {}",
            op.schema.name,
            op.schema.arg_names[arg],
            describe(args)
        ))
    })?;
    let mut tensor =
        cx.tensor_param(arg, elem, TensorType::new(dtype, t.sizes()), t.flags & FLAG_WRAPPED != 0);
    if elem == 0 && tnrs_types::is_contiguous(t.sizes(), t.strides()) {
        cx.contiguous.push(arg);
    }
    for (flag, kind) in [(FLAG_CONJ, UnaryKind::Conj), (FLAG_NEG, UnaryKind::Negate)] {
        if t.flags & flag != 0 {
            tensor.value =
                cx.b.unary(kind, tensor.value)
                    .map_err(|e| CallError::from_rule(e.into(), &op.schema.name, &describe(args)))?;
        }
    }
    Ok(tensor)
}
