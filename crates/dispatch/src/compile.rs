//! The miss path: meta inference, lowering, compilation.

use std::sync::atomic::AtomicU64;

use tnrs_hlo::{Builder, TensorType, UnaryKind, Value};
use tnrs_lowering::{Arg, Ctx, Infer, OutTypes, Outcome, ScalarArg};
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
    let metas = metas(op, args, host)?;
    let mut cx = context(op, args, metas.as_deref(), Builder::new(op.row.op), &mut Params)?;
    let outcome = lower(op, args, &mut cx)?;
    let overlap = if op.has_writes { key.last().copied().unwrap_or(0) } else { 0 };
    Assembler::new(op, args, metas, cx, overlap).finish(outcome, device)
}

/// Checks what the row says comes first; then the results as PyTorch's meta kernel describes them, where the row asks it.
pub(crate) fn metas(
    op: &OpState,
    args: &[RawArg],
    host: &mut dyn Host,
) -> Result<Option<Vec<Option<OutMeta>>>, CallError> {
    if let Some(check) = op.row.check {
        let cx = context(op, args, None, Builder::new(op.row.op), &mut Params)?;
        check(&cx).map_err(|e| CallError::from_rule(e, &op.schema.name, &describe(args)))?;
    }
    if op.row.infer != Infer::Meta || op.host_tensors {
        return Ok(None);
    }
    let metas = host.meta(op.row.out_types != OutTypes::Meta)?;
    if let Some(metas) = &metas {
        possible(op, metas)?;
    }
    Ok(metas)
}

/// Applies the row's rule.
pub(crate) fn lower(op: &OpState, args: &[RawArg], cx: &mut Ctx) -> Result<Outcome, CallError> {
    (op.row.rule)(cx).map_err(|e| CallError::from_rule(e, &op.schema.name, &describe(args)))
}

/// How the operands of a call become values.
pub(crate) trait Operands {
    /// Whether numbers that are no part of a key are constants all the same.
    const NUMBERS_KNOWN: bool;
    /// The value of a tensor argument (position, element of a list).
    fn tensor(&mut self, cx: &mut Ctx, place: (usize, usize), t: &RawTensor) -> Result<Value, CallError>;
}

/// Every tensor is a parameter of its own.
struct Params;

impl Operands for Params {
    const NUMBERS_KNOWN: bool = false;

    fn tensor(&mut self, cx: &mut Ctx, place: (usize, usize), t: &RawTensor) -> Result<Value, CallError> {
        let dtype = t.dtype().ok_or_else(|| CallError::Unsupported("no such element type".to_owned()))?;
        Ok(cx.tensor_param(place.0, place.1, TensorType::new(dtype, t.sizes()), false).value)
    }
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
pub(crate) fn check_devices(op: &OpState, args: &[RawArg]) -> Result<i8, CallError> {
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
pub(crate) fn context<O: Operands>(
    op: &OpState,
    args: &[RawArg],
    metas: Option<&[Option<OutMeta>]>,
    b: Builder,
    operands: &mut O,
) -> Result<Ctx, CallError> {
    let mut cx = Ctx::new(op.row.op, b);
    if let Some(metas) = metas {
        cx.outs = metas.iter().flatten().map(|m| m.ty.clone()).collect();
    }
    for (i, arg) in args.iter().enumerate() {
        if op.schema.out_args[i] && op.variant == Variant::Out {
            continue;
        }
        let value = argument(&mut cx, op, i, arg, args, operands)?;
        cx.args.push(value);
    }
    Ok(cx)
}

fn argument<O: Operands>(
    cx: &mut Ctx,
    op: &OpState,
    i: usize,
    arg: &RawArg,
    args: &[RawArg],
    operands: &mut O,
) -> Result<Arg, CallError> {
    let kind = op.schema.kinds[i];
    let numeric = matches!(kind, ArgKind::Scalar)
        || (kind == ArgKind::Float && op.policies[i] == Policy::Operand)
        || kind == ArgKind::ScalarList;
    let number = |s: tnrs_types::Scalar, index| {
        let known = match op.policies[i] {
            Policy::Static => Some(s),
            Policy::Unit if is_unit(s) => Some(s),
            _ if O::NUMBERS_KNOWN => Some(s),
            _ => None,
        };
        ScalarArg { index, known, natural: s.natural_dtype() }
    };
    Ok(match arg.tag() {
        Tag::None => Arg::None,
        Tag::Tensor if arg.tensors()[0].handle.is_null() => Arg::None,
        Tag::Tensor => Arg::Tensor(operand(cx, (i, 0), &arg.tensors()[0], op, args, operands)?),
        Tag::TensorList => {
            let mut list = Vec::with_capacity(arg.tensors().len());
            for (e, t) in arg.tensors().iter().enumerate() {
                list.push(match t.handle.is_null() {
                    true => None,
                    false => Some(operand(cx, (i, e), t, op, args, operands)?),
                });
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

fn operand<O: Operands>(
    cx: &mut Ctx,
    place: (usize, usize),
    t: &RawTensor,
    op: &OpState,
    args: &[RawArg],
    operands: &mut O,
) -> Result<tnrs_lowering::Tensor, CallError> {
    let dtype = t.dtype().ok_or_else(|| {
        CallError::Unsupported(format!(
            "{}: the dtype of argument {} has no counterpart on the device; operands: {}",
            op.schema.name,
            op.schema.arg_names[place.0],
            describe(args)
        ))
    })?;
    let value = operands.tensor(cx, place, t)?;
    let ty = TensorType::new(dtype, t.sizes());
    let mut tensor = tnrs_lowering::Tensor { value, ty, wrapped: t.flags & FLAG_WRAPPED != 0 };
    if place.1 == 0 && tnrs_types::is_contiguous(t.sizes(), t.strides()) {
        cx.contiguous.push(place.0);
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
