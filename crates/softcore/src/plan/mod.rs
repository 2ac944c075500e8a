//! From a function to a list of steps.
//!
//! The planner walks the instructions once. An elementwise instruction only adds a node; a shape instruction gives its
//! operand's memory another view, or is pushed into the operand's own operands; an instruction that needs memory makes
//! its operands' pending nodes into one fused region, and adds its step. Results are written where the caller wants
//! them: targets are spread from results to operands before the walk.

mod alias;
mod assemble;
mod attention;
mod composite;
mod consts;
mod conv;
mod custom;
mod dot;
mod elementwise;
mod fft;
mod fuse;
mod generate;
mod index;
mod node;
mod norm;
mod optim;
mod pack;
mod pool;
mod reduce;
mod rows;
mod shape;
mod targets;
mod tile;
mod workspace;

use smallvec::SmallVec;
use tnrs_hlo::{Func, Instr, Op, Value};
use tnrs_types::DType;

use crate::step::copy::Copy;
use crate::step::{Loc, Step};
use crate::view::{Buf, View};
use crate::{CompileError, CompileSpec, ParamSpec};
pub(crate) use composite::has_kernel;
use consts::Consts;
use node::{Kind, Node, NodeId};

/// What a buffer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BufKind {
    /// Memory (or the number) of parameter `i`.
    Param(u32),
    /// Memory of result `i`.
    Result(u32),
    /// The plan's constants.
    Const,
    /// A piece of the workspace, of this many bytes.
    Temp(usize),
}

/// A planned step and what it touches.
pub(crate) struct Planned {
    pub step: Box<dyn Step>,
    pub reads: SmallVec<[View; 3]>,
    pub writes: SmallVec<[View; 2]>,
    /// Bit `k`: of the memory that read `k` shares with a write of the same layout, element `i` is read before element
    /// `i` is written, and never after.
    pub pointwise: u64,
    /// A copy that is not needed when both memories turn out to be the same.
    pub copy: bool,
    /// All reads and the one write have elements of one size, so the write may take over a read's memory.
    pub in_place: bool,
}

/// A finished plan: steps, buffers, constants.
pub(crate) struct Outline {
    pub steps: Vec<Box<dyn Step>>,
    pub bufs: Vec<BufKind>,
    /// Byte offset in the workspace of every buffer that is a temporary.
    pub offsets: Vec<usize>,
    pub workspace: usize,
    pub consts: Consts,
}

pub(crate) struct Planner<'f> {
    func: &'f Func,
    spec: &'f CompileSpec,
    nodes: Vec<Node>,
    /// Node of each value.
    of: Vec<NodeId>,
    info: targets::Info,
    bufs: Vec<BufKind>,
    steps: Vec<Planned>,
    consts: Consts,
}

const NONE: NodeId = NodeId::MAX;

type Res<T> = Result<T, CompileError>;

/// Plans a function.
pub(crate) fn plan(func: &Func, spec: &CompileSpec) -> Res<Outline> {
    let mut bufs: Vec<BufKind> = Vec::with_capacity(func.params.len() + func.results.len() + 2);
    bufs.extend((0..func.params.len()).map(|i| BufKind::Param(i as u32)));
    bufs.extend((0..func.results.len()).map(|i| BufKind::Result(i as u32)));
    bufs.push(BufKind::Const);
    let info = targets::analyse(func, spec, &mut bufs);
    let mut p = Planner {
        func,
        spec,
        nodes: Vec::with_capacity(func.types.len()),
        of: vec![NONE; func.types.len()],
        info,
        bufs,
        steps: Vec::new(),
        consts: Consts::default(),
    };
    p.params()?;
    for (i, instr) in func.instrs.iter().enumerate() {
        if p.info.live[i] {
            p.instr(instr)?;
        }
    }
    p.results()?;
    p.resolve_aliases();
    Ok(p.finish())
}

impl<'f> Planner<'f> {
    fn params(&mut self) -> Res<()> {
        for (i, &v) in self.func.params.iter().enumerate() {
            let ty = self.func.ty(v);
            let view = match &self.spec.params[i] {
                ParamSpec::Tensor { strides } => {
                    View { buf: i as Buf, off: 0, dims: ty.dims.clone(), strides: strides.clone() }
                }
                ParamSpec::Scalar => View::splat(i as Buf, 0, &ty.dims),
            };
            self.define_leaf(v, view);
        }
        Ok(())
    }

    fn instr(&mut self, instr: &'f Instr) -> Res<()> {
        match &instr.op {
            Op::Constant(literal) => {
                let view = self.constant(literal)?;
                self.define_leaf(instr.results[0], view);
                Ok(())
            }
            Op::Iota { dim } => self.iota(instr, *dim),
            Op::Unary(_)
            | Op::Binary(_)
            | Op::Compare(_)
            | Op::Select
            | Op::Clamp
            | Op::Convert
            | Op::BitcastConvert => self.elementwise(instr),
            Op::BroadcastInDim { .. }
            | Op::Reshape
            | Op::Transpose { .. }
            | Op::Slice { .. }
            | Op::Reverse { .. } => self.shape(instr),
            Op::DotGeneral(dims) => self.dot(instr, dims),
            Op::Reduce { kind, dims } => self.reduce(instr, *kind, dims),
            Op::Concatenate { dim } => self.concatenate(instr, *dim),
            Op::Pad { low, interior, .. } => self.pad(instr, low, interior),
            Op::DynamicSlice => self.dynamic_slice(instr),
            Op::DynamicUpdateSlice => self.dynamic_update_slice(instr),
            Op::Gather(dims) => self.gather(instr, dims),
            Op::Scatter { kind, dims } => self.scatter(instr, *kind, dims),
            Op::Convolution(attrs) => self.convolution(instr, attrs),
            Op::Sort { dim, descending } => self.sort(instr, *dim, *descending),
            Op::Fft { kind, length } => self.fft(instr, *kind, length),
            Op::Composite(c) => self.composite(instr, c),
            Op::CustomCall(c) => self.custom_call(instr, c),
        }
    }

    /// Gives every result its memory.
    fn results(&mut self) -> Res<()> {
        // Pending results of equal sizes share a region.
        let results: &'f [Value] = &self.func.results;
        let mut group: Vec<NodeId> = Vec::new();
        for (i, &v) in results.iter().enumerate() {
            let n = self.node_of(v);
            if !self.nodes[n as usize].kind.is_pointwise() {
                continue;
            }
            group.clear();
            group.push(n);
            for &w in &results[i + 1..] {
                let m = self.node_of(w);
                let other = &self.nodes[m as usize];
                if other.kind.is_pointwise()
                    && other.dims == self.nodes[n as usize].dims
                    && !group.contains(&m)
                    && group.len() < 6
                {
                    group.push(m);
                }
            }
            let roots = std::mem::take(&mut group);
            self.region(&roots)?;
            group = roots;
        }
        for (i, &v) in results.iter().enumerate() {
            let have = self.memory(self.node_of(v))?;
            let want = self.result_view(i);
            self.bring(self.func.ty(v).dtype, &have, &want);
        }
        Ok(())
    }

    fn result_view(&self, i: usize) -> View {
        View {
            buf: (self.func.params.len() + i) as Buf,
            off: 0,
            dims: self.func.ty(self.func.results[i]).dims.clone(),
            strides: self.spec.results[i].strides.clone(),
        }
    }

    fn finish(mut self) -> Outline {
        let (offsets, workspace) = workspace::assign(&self.bufs, &self.steps);
        Outline {
            steps: self.steps.drain(..).map(|s| s.step).collect(),
            bufs: self.bufs,
            offsets,
            workspace,
            consts: self.consts,
        }
    }

    fn node_of(&self, v: Value) -> NodeId {
        self.of[v.index()]
    }

    fn add(&mut self, node: Node) -> NodeId {
        self.nodes.push(node);
        (self.nodes.len() - 1) as NodeId
    }

    /// Records how a value is computed.
    fn define(&mut self, v: Value, kind: Kind, args: SmallVec<[NodeId; 3]>) -> NodeId {
        let ty = self.func.ty(v);
        let weight = 1 + args.iter().map(|&a| self.nodes[a as usize].weight).sum::<u32>();
        let n = self.add(Node {
            weight: if kind.is_pointwise() { weight } else { 0 },
            kind,
            dtype: ty.dtype,
            dims: ty.dims.clone(),
            args,
            uses: self.info.uses[v.index()] as i32,
            target: self.info.target[v.index()].clone(),
        });
        self.of[v.index()] = n;
        n
    }

    fn define_leaf(&mut self, v: Value, view: View) -> NodeId {
        self.define(v, Kind::Leaf(view), SmallVec::new())
    }

    /// A node that is no value of the function.
    fn leaf(&mut self, dtype: DType, view: View) -> NodeId {
        self.add(Node {
            dims: view.dims.clone(),
            kind: Kind::Leaf(view),
            dtype,
            args: SmallVec::new(),
            uses: 1,
            weight: 0,
            target: None,
        })
    }

    /// A fresh temporary of dense elements.
    fn temp(&mut self, dtype: DType, dims: &[i64]) -> View {
        let bytes = tnrs_types::numel(dims) as usize * dtype.size();
        View::dense(self.scratch(bytes), dims)
    }

    /// A fresh temporary of bytes.
    fn scratch(&mut self, bytes: usize) -> Buf {
        self.bufs.push(BufKind::Temp(bytes));
        (self.bufs.len() - 1) as Buf
    }

    /// Where a value is to be written: its target, or a fresh temporary.
    fn out(&mut self, v: Value) -> View {
        match &self.info.target[v.index()] {
            Some(view) => view.clone(),
            None => {
                let ty = self.func.ty(v);
                self.temp(ty.dtype, &ty.dims)
            }
        }
    }

    /// The memory of a value; pending computation is planned now.
    fn memory_of(&mut self, v: Value) -> Res<View> {
        self.memory(self.node_of(v))
    }

    fn memory(&mut self, n: NodeId) -> Res<View> {
        if let Kind::Dot(_) = self.nodes[n as usize].kind {
            self.emit_dot(n)?;
        } else if self.nodes[n as usize].kind.is_pointwise() {
            self.region(&[n])?;
        }
        match &self.nodes[n as usize].kind {
            Kind::Leaf(view) => Ok(view.clone()),
            other => unreachable!("a planned node is in memory, not {other:?}"),
        }
    }

    /// The memory of a value in row-major order without gaps.
    fn dense_of(&mut self, v: Value) -> Res<View> {
        let view = self.memory_of(v)?;
        Ok(self.densify(self.func.ty(v).dtype, view))
    }

    fn densify(&mut self, dtype: DType, view: View) -> View {
        if view.is_dense() {
            return view;
        }
        let dense = self.temp(dtype, &view.dims);
        self.copy(dtype, &view, &dense);
        dense
    }

    /// Where to write densely what `want` is to hold: `want` itself, or a temporary that [`Planner::bring`] takes there.
    fn dense_place(&mut self, dtype: DType, want: &View) -> View {
        if want.is_dense() {
            want.clone()
        } else {
            self.temp(dtype, &want.dims)
        }
    }

    /// Copies what was written to `have` to where it is wanted, unless it is there.
    fn bring(&mut self, dtype: DType, have: &View, want: &View) {
        if !have.same_elements(want) {
            self.copy(dtype, have, want);
        }
    }

    fn copy(&mut self, dtype: DType, src: &View, dst: &View) {
        if src.numel() == 0 {
            return;
        }
        self.emit(Planned {
            step: Box::new(Copy::new(dtype.size(), src, dst)),
            reads: SmallVec::from_iter([src.clone()]),
            writes: SmallVec::from_iter([dst.clone()]),
            pointwise: u64::from(src.same_layout(dst) && src.off == dst.off),
            copy: true,
            in_place: false,
        });
    }

    fn emit(&mut self, step: Planned) {
        self.steps.push(step);
    }

    fn too_large(&self) -> CompileError {
        CompileError::Unsupported {
            func: self.func.name.clone(),
            op: "a fused region".to_owned(),
            detail: "more operands than a tile program addresses".to_owned(),
        }
    }

    fn unsupported(&self, instr: &Instr) -> CompileError {
        let op = format!("{:?}", instr.op);
        let op = match &instr.op {
            Op::Composite(c) => format!("{c:?}"),
            Op::CustomCall(c) => format!("custom_call.{}", c.name()),
            _ => op.split([' ', '(', '{']).next().unwrap_or_default().to_owned(),
        };
        let types: Vec<String> = instr
            .operands
            .iter()
            .map(|&v| {
                let t = self.func.ty(v);
                format!("{}{:?}", t.dtype.hlo_name(), t.dims.as_slice())
            })
            .collect();
        CompileError::Unsupported { func: self.func.name.clone(), op, detail: types.join(", ") }
    }
}

/// The first byte of a view.
fn loc(view: &View) -> Loc {
    Loc { buf: view.buf, off: view.off }
}
