//! From a rule's outcome to an executable with its bindings.

use std::collections::VecDeque;

use smallvec::SmallVec;
use tnrs_hlo::{TensorType, Value};
use tnrs_lowering::{Ctx, OutTypes, Outcome, Ret, Source};
use tnrs_softcore::{CompileSpec, ParamSpec, ResultSpec};
use tnrs_types::{contiguous_strides, is_contiguous, DType, Dims};

use crate::compile::describe;
use crate::dump::{self, Program};
use crate::entry::{Bind, BoundedSpec, Entry, OutSpec, Resize, RetSpec};
use crate::host::OutMeta;
use crate::key::overlap_bit;
use crate::ops::{ArgKind, OpState, Variant};
use crate::raw::{RawArg, RawTensor, Tag};
use crate::CallError;

/// Results, layouts and bindings of a call. `values[i]` goes where `result_binds[i]` says.
pub(crate) struct Collected {
    pub cx: Ctx,
    pub values: Vec<Value>,
    pub specs: Vec<ResultSpec>,
    pub result_binds: Vec<Bind>,
    pub outs: SmallVec<[OutSpec; 1]>,
    pub rets: SmallVec<[RetSpec; 2]>,
    pub bounded: Vec<BoundedSpec>,
    pub resizes: Vec<Resize>,
}

/// Collects results, layouts and bindings.
pub(crate) struct Assembler<'a> {
    op: &'a OpState,
    args: &'a [RawArg],
    metas: Option<Vec<Option<OutMeta>>>,
    cx: Ctx,
    overlap: u64,
    values: Vec<Value>,
    specs: Vec<ResultSpec>,
    result_binds: Vec<Bind>,
    outs: SmallVec<[OutSpec; 1]>,
    rets: SmallVec<[RetSpec; 2]>,
    bounded: Vec<BoundedSpec>,
    counts: Vec<(Value, u16)>,
    resizes: Vec<Resize>,
}

impl<'a> Assembler<'a> {
    pub fn new(
        op: &'a OpState,
        args: &'a [RawArg],
        metas: Option<Vec<Option<OutMeta>>>,
        cx: Ctx,
        overlap: u64,
    ) -> Self {
        Assembler {
            op,
            args,
            metas,
            cx,
            overlap,
            values: Vec::new(),
            specs: Vec::new(),
            result_binds: Vec::new(),
            outs: SmallVec::new(),
            rets: SmallVec::new(),
            bounded: Vec::new(),
            counts: Vec::new(),
            resizes: Vec::new(),
        }
    }

    /// Decides for every result where it goes.
    pub fn collect(mut self, outcome: Outcome) -> Result<Collected, CallError> {
        if self.op.variant == Variant::Own {
            self.returns(&outcome.rets)?;
        } else {
            self.write_returns(&outcome.rets)?;
        }
        for &(arg, elem, value) in &outcome.writes {
            self.write(arg, elem, value)?;
        }
        let Assembler { cx, values, specs, result_binds, outs, rets, bounded, resizes, .. } = self;
        Ok(Collected { cx, values, specs, result_binds, outs, rets, bounded, resizes })
    }

    pub fn finish(self, outcome: Outcome, device: i8) -> Result<Entry, CallError> {
        let (op, args) = (self.op, self.args);
        let Collected { cx, values, specs, result_binds, outs, rets, bounded, resizes } =
            self.collect(outcome)?;
        let params: Vec<ParamSpec> = cx.sources.iter().map(|s| param_spec(*s, args)).collect();
        let binds: SmallVec<_> = cx
            .sources
            .iter()
            .enumerate()
            .map(|(p, s)| param_bind(op, *s, args, cx.b.ty(cx.b.params()[p]).dtype, cx.outs.first()))
            .chain(result_binds)
            .collect();
        let func = cx.b.finish(&values);
        let spec = CompileSpec { params, results: specs };
        let exe = tnrs_softcore::compile(&func, &spec).map_err(|e| {
            CallError::Unsupported(format!("{}: {e}; operands: {}", op.schema.name, describe(args)))
        })?;
        let program = Program {
            op,
            args,
            func: &func,
            sources: &cx.sources,
            spec: &spec,
            binds: &binds,
            bounded: &bounded,
        };
        let exe = dump::written(&program, exe)?;
        Ok(Entry {
            workspace: exe.workspace_bytes(),
            exe,
            binds,
            outs,
            rets,
            bounded,
            resizes,
            philox_blocks: cx.philox_blocks,
            generator: args.iter().position(|a| a.tag() == Tag::Generator).map(|i| i as u16),
            device,
        })
    }

    /// New tensors for the returns of the row's own overload.
    fn returns(&mut self, rets: &[Ret]) -> Result<(), CallError> {
        // Metas list every tensor returned, aliases of arguments included; those have no entry in `rets`.
        let aliases = &self.op.schema.ret_aliases;
        let mut fresh: VecDeque<Option<OutMeta>> = match &self.metas {
            Some(m) if aliases.iter().any(|&a| a) => m
                .iter()
                .enumerate()
                .filter(|(i, _)| !aliases.get(*i).copied().unwrap_or(false))
                .map(|(_, m)| m.clone())
                .collect(),
            Some(m) => m.iter().cloned().collect(),
            None => Default::default(),
        };
        for ret in rets {
            match ret {
                Ret::Tensor(v) => {
                    let meta = fresh.pop_front().flatten();
                    let index = self.output(*v, meta)?;
                    self.rets.push(RetSpec::Output(index));
                }
                Ret::Bounded { value, dim, count } => {
                    let index = self.bounded(*value, *dim, *count, None)?;
                    self.rets.push(RetSpec::Output(index));
                }
                Ret::Undefined => {
                    if matches!(fresh.front(), Some(None)) {
                        fresh.pop_front();
                    }
                    self.rets.push(RetSpec::Undefined);
                }
                Ret::Int(i) => self.rets.push(RetSpec::Int(*i)),
                Ret::List(values) => {
                    self.rets.push(RetSpec::List(values.len() as u32));
                    for v in values {
                        let meta = fresh.pop_front().flatten();
                        let index = self.output(*v, meta)?;
                        self.rets.push(RetSpec::Output(index));
                    }
                }
            }
        }
        Ok(())
    }

    fn output(&mut self, value: Value, meta: Option<OutMeta>) -> Result<u16, CallError> {
        let have = self.cx.b.ty(value).clone();
        let (dtype, strides) = match &meta {
            Some(m) => {
                self.same_dims(&have.dims, &m.ty.dims)?;
                (m.ty.dtype, m.strides.clone())
            }
            None => (have.dtype, contiguous_strides(&have.dims)),
        };
        let value = self.converted(value, dtype)?;
        let strides = self.channels_last(&have).unwrap_or(strides);
        let contiguous = is_contiguous(&have.dims, &strides);
        let index = self.outs.len() as u16;
        self.outs.push(OutSpec { dtype, dims: have.dims, strides: (!contiguous).then(|| strides.clone()) });
        self.values.push(value);
        self.specs.push(ResultSpec { strides, alias: None, overlap: false });
        self.result_binds.push(Bind::Output(index));
        Ok(index)
    }

    /// Room for a bounded result, `dim` outermost so that what is used of it is the front of its memory.
    fn bounded(
        &mut self,
        value: Value,
        dim: usize,
        count: Value,
        target: Option<(u16, Option<u16>)>,
    ) -> Result<u16, CallError> {
        let ty = self.cx.b.ty(value).clone();
        let mut order: Dims = ty.dims.clone();
        let size = order.remove(dim);
        order.insert(0, size);
        let mut strides = contiguous_strides(&order);
        let outer = strides.remove(0);
        strides.insert(dim, outer);
        let out = self.output(value, Some(OutMeta { ty, strides }))?;
        let known = self.counts.iter().find(|(v, _)| *v == count).map(|c| c.1);
        let count = match known {
            Some(at) => at,
            None => {
                let at = self.output(count, None)?;
                self.counts.push((count, at));
                at
            }
        };
        self.bounded.push(BoundedSpec { out, dim: dim as u16, count, target });
        Ok(out)
    }

    /// Strides of the order that a new result takes over by [`tnrs_lowering::Row::format`].
    fn channels_last(&self, ty: &TensorType) -> Option<Dims> {
        let format = self.op.row.format?;
        let given = |i: &usize| {
            self.args[*i]
                .tensors()
                .first()
                .is_some_and(|t| t.sizes().len() == ty.rank() && is_channels_last(t.sizes(), t.strides()))
        };
        if !(format.holds)(ty.dtype, ty.rank()) || !format.args.iter().any(given) {
            return None;
        }
        let mut strides = Dims::from_slice(&ty.dims);
        let mut step = 1;
        for d in innermost_first(ty.rank()) {
            strides[d] = step;
            step *= ty.dims[d].max(1);
        }
        Some(strides)
    }

    /// The returns go to `self` or to the `out=` arguments, in order.
    fn write_returns(&mut self, rets: &[Ret]) -> Result<(), CallError> {
        let mut values = Vec::new();
        for ret in rets {
            match ret {
                Ret::Tensor(v) => values.push((*v, None)),
                Ret::Bounded { value, dim, count } => values.push((*value, Some((*dim, *count)))),
                Ret::List(vs) => values.extend(vs.iter().map(|v| (*v, None))),
                Ret::Undefined | Ret::Int(_) => {}
            }
        }
        let mut targets = Vec::new();
        for (i, arg) in self.args.iter().enumerate().filter(|(i, _)| self.op.schema.writes[*i]) {
            targets.extend((0..arg.tensors().len()).map(|e| (i, e)));
        }
        if values.len() != targets.len() {
            return Err(self.bug(format!(
                "{} results for {} written arguments",
                values.len(),
                targets.len()
            )));
        }
        for (nth, (&(value, bound), (arg, elem))) in values.iter().zip(targets).enumerate() {
            if self.op.variant != Variant::Own {
                self.castable(value, nth, &self.args[arg].tensors()[elem])?;
            }
            if self.op.variant == Variant::Out {
                self.no_internal_overlap(&self.args[arg].tensors()[elem])?;
            }
            if let Some((dim, count)) = bound {
                let list = self.args[arg].tag() == Tag::TensorList;
                self.bounded(value, dim, count, Some((arg as u16, list.then_some(elem as u16))))?;
                continue;
            }
            if self.op.variant == Variant::Out {
                self.resize_if_needed(value, nth, arg, elem)?;
            }
            self.write(arg, elem, value)?;
        }
        Ok(())
    }

    fn resize_if_needed(
        &mut self,
        value: Value,
        nth: usize,
        arg: usize,
        elem: usize,
    ) -> Result<(), CallError> {
        let dims = match self.metas.as_ref().and_then(|m| m.get(nth)) {
            Some(Some(m)) => m.ty.dims.clone(),
            _ => self.cx.b.ty(value).dims.clone(),
        };
        if self.args[arg].tensors()[elem].sizes() != dims.as_slice() {
            let list = self.args[arg].tag() == Tag::TensorList;
            self.resizes.push((arg as u16, list.then_some(elem as u16), dims));
        }
        Ok(())
    }

    fn write(&mut self, arg: usize, elem: usize, value: Value) -> Result<(), CallError> {
        let target = self.args[arg].tensors()[elem];
        let nth = self.args[..arg]
            .iter()
            .enumerate()
            .filter(|(i, _)| self.op.schema.writes[*i])
            .map(|(_, a)| a.tensors().len())
            .sum::<usize>()
            + elem;
        let resized =
            self.resizes.iter().any(|(a, e, _)| *a as usize == arg && e.map_or(0, usize::from) == elem);
        let have = self.cx.b.ty(value).dims.clone();
        let strides = if resized {
            contiguous_strides(&have)
        } else {
            self.same_dims(&have, target.sizes())?;
            self.no_internal_overlap(&target)?;
            Dims::from_slice(target.strides())
        };
        let dtype = target.dtype().ok_or_else(|| self.bug("written dtype".to_owned()))?;
        let value = self.converted(value, dtype)?;
        // A 0-dim host target is a number on the parameter side, so it has no memory to share.
        let source = Source::Tensor(arg, elem);
        let alias =
            if target.is_host_number() { None } else { self.cx.sources.iter().position(|s| *s == source) };
        self.values.push(value);
        self.specs.push(ResultSpec { strides, alias, overlap: overlap_bit(self.overlap, nth) });
        self.result_binds.push(Bind::Tensor(arg as u16, elem as u16));
        Ok(())
    }

    /// Whether a result may go to a written argument, `self` or `out=`, of another element type. Meta kernels have looked at it where they
    /// are given the argument.
    fn castable(&self, value: Value, nth: usize, target: &RawTensor) -> Result<(), CallError> {
        let have = match self.metas.as_ref().and_then(|m| m.get(nth)) {
            Some(Some(m)) => m.ty.dtype,
            _ => self.cx.b.ty(value).dtype,
        };
        match (self.op.row.out_types, target.dtype()) {
            (OutTypes::Any, _) => Ok(()),
            (OutTypes::Exact(message), Some(got)) if got != have => Err(CallError::Runtime(
                message
                    .replace("{want}", have.torch_name())
                    .replace("{got}", got.torch_name())
                    .replace("{want_cpp}", have.cpp_name())
                    .replace("{got_cpp}", got.cpp_name()),
            )),
            (_, Some(want)) if !have.casts_to(want) => Err(CallError::Runtime(have.miscast(want))),
            _ => Ok(()),
        }
    }

    fn no_internal_overlap(&self, t: &RawTensor) -> Result<(), CallError> {
        if !t.sizes().contains(&0) && t.sizes().iter().zip(t.strides()).any(|(&d, &s)| d > 1 && s == 0) {
            return Err(CallError::Runtime(
                "unsupported operation: more than one element of the written-to tensor refers to a single memory \
                 location. Please clone() the tensor before performing the operation."
                    .to_owned(),
            ));
        }
        Ok(())
    }

    fn converted(&mut self, value: Value, dtype: DType) -> Result<Value, CallError> {
        self.cx
            .b
            .convert(value, dtype)
            .map_err(|e| CallError::from_rule(e.into(), &self.op.schema.name, &describe(self.args)))
    }

    fn same_dims(&self, have: &[i64], want: &[i64]) -> Result<(), CallError> {
        if have == want {
            return Ok(());
        }
        Err(self.bug(format!("a result has sizes {have:?} where {want:?} are expected")))
    }

    fn bug(&self, what: String) -> CallError {
        CallError::Unsupported(format!(
            "internal error in the lowering of {}: {what}; operands: {}",
            self.op.schema.name,
            describe(self.args)
        ))
    }
}

/// Dims of a channels-last tensor from the innermost on: channels, space, batch.
fn innermost_first(rank: usize) -> impl Iterator<Item = usize> {
    std::iter::once(1).chain((2..rank).rev()).chain(std::iter::once(0))
}

/// PyTorch's test (`is_channels_last_strides_2d` and `_3d`), which decides for tensors that are contiguous in both
/// orders.
fn is_channels_last(sizes: &[i64], strides: &[i64]) -> bool {
    if !matches!(sizes.len(), 4 | 5) || strides[1] == 0 {
        return false;
    }
    let mut least = 0;
    for d in innermost_first(sizes.len()) {
        if sizes[d] == 0 || strides[d] < least || (d == 0 && least == strides[1]) {
            return false;
        }
        least = strides[d] * sizes[d].max(1);
    }
    true
}

fn param_spec(source: Source, args: &[RawArg]) -> ParamSpec {
    match source {
        Source::Tensor(a, e) if !args[a].tensors()[e].is_host_number() => {
            ParamSpec::Tensor { strides: Dims::from_slice(args[a].tensors()[e].strides()) }
        }
        _ => ParamSpec::Scalar,
    }
}

fn param_bind(op: &OpState, source: Source, args: &[RawArg], dtype: DType, out: Option<&TensorType>) -> Bind {
    match source {
        Source::Tensor(a, e) if args[a].tensors()[e].is_host_number() => Bind::HostNumber(a as u16, e as u16),
        Source::Tensor(a, e) => Bind::Tensor(a as u16, e as u16),
        Source::Scalar(a, e) => Bind::Scalar(a as u16, e as u16, dtype, range(op, a, dtype, out)),
        Source::Seed => Bind::Seed,
        Source::Offset => Bind::Offset,
    }
}

/// The element type whose range a number has to be in.
fn range(op: &OpState, arg: usize, carried: DType, out: Option<&TensorType>) -> Option<DType> {
    let named = |list: &[&str]| list.contains(&op.schema.arg_names[arg].as_str());
    let number = matches!(op.schema.kinds[arg], ArgKind::Scalar | ArgKind::ScalarList);
    let narrowed = out.filter(|_| named(op.row.narrow)).map(|t| t.dtype);
    (number && !named(op.row.free)).then(|| narrowed.unwrap_or(carried))
}
