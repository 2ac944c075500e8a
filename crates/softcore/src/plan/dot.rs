//! `dot_general`: strides go to the multiplication as they are, and what follows it is absorbed as its epilogue.

use smallvec::SmallVec;
use tnrs_hlo::{DotDims, Instr};
use tnrs_kernels::gemm::{Activation, Bias, GemmDesc, MatStrides, Residual};
use tnrs_kernels::tile::{Act, Fused};
use tnrs_types::{BinaryKind, DType, Dims};

use super::node::{Kind, Node, NodeId};
use super::{loc, Planned, Planner, Res};
use crate::step::gemm::Gemm;
use crate::view::{collapse, View};

/// A product that has not been planned yet, and its epilogue so far.
#[derive(Clone, Debug)]
pub(crate) struct PendingDot {
    /// Operands with dims in the order batch, free, contracted.
    a: View,
    b: View,
    dtype: DType,
    out: DType,
    /// Result sizes: batch, then free dims of `a`, then free dims of `b`.
    dims: Dims,
    batch: usize,
    free_a: usize,
    alpha: f64,
    bias_cols: Option<(DType, View)>,
    bias_rows: Option<(DType, View)>,
    activation: Activation,
    residual: Option<(DType, View)>,
}

/// Element types that the multiplication computes.
fn multiplies(dtype: DType) -> bool {
    dtype != DType::Bool && !(dtype.is_reduced_float() && dtype.size() == 1)
}

impl Planner<'_> {
    pub(super) fn dot(&mut self, instr: &Instr, d: &DotDims) -> Res<()> {
        let result = instr.results[0];
        let (x, y) = (instr.operands[0], instr.operands[1]);
        let out = self.func.ty(result).dtype;
        let dtype = self.func.ty(x).dtype;
        let wide_out = out == DType::F32 && dtype.is_reduced_float() && dtype.size() == 2;
        let narrow = dtype.is_reduced_float() && dtype.size() == 1;
        // 8-bit floats multiply as f32, and what widens otherwise multiplies in the wider type.
        let math = if narrow {
            DType::F32
        } else if wide_out {
            dtype
        } else {
            out
        };
        if !multiplies(math) {
            return Err(self.unsupported(instr));
        }
        let same = self.func.ty(y).dtype == dtype;
        let (a, b) = if math != dtype || !same {
            let (x, y) = (self.node_of(x), self.node_of(y));
            (self.converted(x, math)?, self.converted(y, math)?)
        } else {
            (self.memory_of(x)?, self.memory_of(y)?)
        };
        let order = |view: &View, batch: &[i64], contract: &[i64]| -> (View, usize) {
            let free: Dims =
                (0..view.dims.len() as i64).filter(|i| !batch.contains(i) && !contract.contains(i)).collect();
            let perm: Dims = batch.iter().chain(&free).chain(contract).copied().collect();
            (view.transpose(&perm), free.len())
        };
        let (a, free_a) = order(&a, &d.lhs_batch, &d.lhs_contract);
        let (b, _) = order(&b, &d.rhs_batch, &d.rhs_contract);
        let pending = PendingDot {
            a,
            b,
            dtype: math,
            out: if narrow { DType::F32 } else { out },
            dims: self.func.ty(result).dims.clone(),
            batch: d.lhs_batch.len(),
            free_a,
            alpha: 1.0,
            bias_cols: None,
            bias_rows: None,
            activation: Activation::None,
            residual: None,
        };
        if narrow && out != DType::F32 {
            let dims = pending.dims.clone();
            let n = self.add(Node {
                kind: Kind::Dot(Box::new(pending)),
                dtype: DType::F32,
                dims,
                args: SmallVec::new(),
                uses: 1,
                weight: 0,
                target: None,
            });
            self.memory(n)?;
            self.define(result, Kind::Convert, SmallVec::from_slice(&[n]));
            return Ok(());
        }
        self.define(result, Kind::Dot(Box::new(pending)), SmallVec::new());
        Ok(())
    }

    /// Plans the conversion of memory into other memory.
    pub(super) fn convert_into(&mut self, from: DType, src: View, to: DType, dst: View) -> Res<()> {
        let dims = dst.dims.clone();
        let arg = self.leaf(from, src);
        let n = self.add(Node {
            kind: Kind::Convert,
            dtype: to,
            dims,
            args: SmallVec::from_slice(&[arg]),
            uses: 1,
            weight: 1,
            target: Some(dst),
        });
        self.memory(n)?;
        Ok(())
    }

    /// A value converted to another type, in memory.
    pub(super) fn converted(&mut self, n: NodeId, dtype: DType) -> Res<View> {
        if self.nodes[n as usize].dtype == dtype {
            return self.memory(n);
        }
        if let Kind::Dot(_) = self.nodes[n as usize].kind {
            self.memory(n)?;
        }
        let dims = self.nodes[n as usize].dims.clone();
        let c = self.add(Node {
            kind: Kind::Convert,
            dtype,
            dims,
            args: SmallVec::from_slice(&[n]),
            uses: 1,
            weight: 1 + self.nodes[n as usize].weight,
            target: None,
        });
        self.memory(c)
    }

    /// Keeps a product pending under other sizes; false when `n` is no product that only this use wants.
    pub(super) fn reshape_dot(&mut self, n: NodeId, result: tnrs_hlo::Value) -> bool {
        let node = &self.nodes[n as usize];
        if !matches!(node.kind, Kind::Dot(_)) || node.uses != 1 || !self.info.fusable[result.index()] {
            return false;
        }
        let kind = node.kind.clone();
        self.define(result, kind, SmallVec::new());
        true
    }

    /// Tries to make an elementwise instruction part of the epilogue of a product that only it uses.
    pub(super) fn absorb(&mut self, instr: &Instr, kind: &Kind, args: &[NodeId]) -> Res<bool> {
        let Some(at) = args.iter().position(|&a| {
            let node = &self.nodes[a as usize];
            matches!(node.kind, Kind::Dot(_)) && node.uses == 1
        }) else {
            return Ok(false);
        };
        let result_ty = self.func.ty(instr.results[0]);
        if self.nodes[args[at] as usize].dims != result_ty.dims {
            return Ok(false);
        }
        let Kind::Dot(dot) = &self.nodes[args[at] as usize].kind else {
            return Ok(false);
        };
        let mut dot = dot.clone();
        let float = dot.out.is_float();
        let last = dot.activation == Activation::None && dot.residual.is_none();
        let plain = last && dot.bias_cols.is_none() && dot.bias_rows.is_none();
        let done = match kind {
            Kind::Convert => {
                let narrows = dot.out == DType::F32 && dot.dtype == result_ty.dtype;
                // The bias and the residual may be of the narrower type or f32, as they are.
                let fits = |t: &Option<(DType, View)>| t.as_ref().is_none_or(|(d, _)| *d == DType::F32);
                let ok = narrows && fits(&dot.bias_cols) && fits(&dot.bias_rows) && fits(&dot.residual);
                if ok {
                    dot.out = result_ty.dtype;
                }
                ok
            }
            Kind::Fused(Fused::Act(act)) if float && last => {
                let activation = match act {
                    Act::Gelu => Some(Activation::Gelu),
                    Act::GeluTanh => Some(Activation::GeluTanh),
                    Act::Silu => Some(Activation::Silu),
                    Act::Relu => Some(Activation::Relu),
                    _ => None,
                };
                if let Some(a) = activation {
                    dot.activation = a;
                }
                activation.is_some()
            }
            Kind::Binary(BinaryKind::Maximum) if float && last => {
                let zero = self.constant_of(args[1 - at]) == Some(0.0);
                if zero {
                    dot.activation = Activation::Relu;
                }
                zero
            }
            Kind::Binary(BinaryKind::Multiply) if float && plain => match self.constant_of(args[1 - at]) {
                Some(c) => {
                    dot.alpha *= c;
                    true
                }
                None => false,
            },
            Kind::Binary(BinaryKind::Add) if args[0] != args[1] && dot.residual.is_none() => {
                self.absorb_add(&mut dot, args[1 - at], last)?
            }
            _ => false,
        };
        if done {
            self.define(instr.results[0], Kind::Dot(dot), SmallVec::new());
        }
        Ok(done)
    }

    fn absorb_add(&mut self, dot: &mut PendingDot, other: NodeId, last: bool) -> Res<bool> {
        let dtype = self.nodes[other as usize].dtype;
        if dtype != dot.out && dtype != DType::F32 {
            return Ok(false);
        }
        let view = self.memory(other)?;
        let Some(view) = view.reshape(&dot.dims) else {
            return Ok(false);
        };
        let m_from = dot.batch;
        let n_from = dot.batch + dot.free_a;
        let still =
            |range: std::ops::Range<usize>| range.clone().all(|i| view.strides[i] == 0 || view.dims[i] == 1);
        let rank = view.dims.len();
        if last && dot.bias_cols.is_none() && still(0..n_from) && single(&view, n_from..rank) {
            dot.bias_cols = Some((dtype, view));
        } else if last
            && dot.bias_rows.is_none()
            && still(0..m_from)
            && still(n_from..rank)
            && single(&view, m_from..n_from)
        {
            dot.bias_rows = Some((dtype, view));
        } else {
            dot.residual = Some((dtype, view));
        }
        Ok(true)
    }

    /// The number that a node repeats, when planning knows it.
    fn constant_of(&self, n: NodeId) -> Option<f64> {
        let node = &self.nodes[n as usize];
        match &node.kind {
            Kind::Leaf(v)
                if self.bufs[v.buf as usize] == super::BufKind::Const
                    && v.dims.iter().zip(&v.strides).all(|(&d, &s)| d == 1 || s == 0) =>
            {
                self.consts.read_float(v.off, node.dtype)
            }
            _ => None,
        }
    }

    /// Plans a pending product.
    pub(super) fn emit_dot(&mut self, n: NodeId) -> Res<()> {
        let node = &self.nodes[n as usize];
        let Kind::Dot(dot) = &node.kind else {
            return Ok(());
        };
        let dot = dot.clone();
        let dtype = node.dtype;
        let place = match &node.target {
            Some(t) => t.clone(),
            None => {
                let dims = node.dims.clone();
                self.temp(dtype, &dims)
            }
        };
        // A bias is one vector, so the rows (or columns) it runs along have to be one dim.
        let bias = dot.bias_cols.is_some() || dot.bias_rows.is_some();
        let direct = place.reshape(&dot.dims).filter(|c| !bias || c.is_dense());
        let (c, copied) = match direct {
            Some(c) => (c, None),
            None => {
                let c = self.temp(dot.out, &dot.dims);
                let back = c.reshape(&place.dims);
                (c, back)
            }
        };
        self.product(&dot, &c);
        if let Some(back) = copied {
            self.copy(dtype, &back, &place);
        }
        self.nodes[n as usize].kind = Kind::Leaf(place);
        Ok(())
    }

    fn product(&mut self, dot: &PendingDot, c: &View) {
        if c.numel() == 0 {
            return;
        }
        let (nb, na) = (dot.batch, dot.free_a);
        let split = |v: &View, from: usize, to: usize| -> (Dims, Dims) {
            (Dims::from_slice(&v.dims[from..to]), Dims::from_slice(&v.strides[from..to]))
        };
        let rank_a = dot.a.dims.len();
        let rank_b = dot.b.dims.len();
        // The contracted dims must merge into one in both operands; otherwise a dense copy is made.
        let (mut a, mut b) = (dot.a.clone(), dot.b.clone());
        let contract_b = rank_b - (rank_a - nb - na);
        let merged = |a: &View, b: &View| {
            let (mut dims, sa) = split(a, nb + na, rank_a);
            let (_, sb) = split(b, contract_b, rank_b);
            let mut strides = [sa, sb];
            collapse(&mut dims, &mut strides, &[]);
            (dims, strides)
        };
        let (mut k_dims, mut k_strides) = merged(&a, &b);
        if k_dims.contains(&0) {
            // Nothing is summed, and zero strides reach no memory.
            k_dims = Dims::from_slice(&[0]);
        } else if k_dims.len() > 1 {
            a = self.densify(dot.dtype, a);
            b = self.densify(dot.dtype, b);
            (k_dims, k_strides) = merged(&a, &b);
        }
        let one = |d: &Dims| d.first().copied();
        let k = one(&k_dims).unwrap_or(1);
        let mut residual = dot.residual.as_ref().map(|r| r.1.clone());
        let free = |v: &View, from, to| {
            let (mut dims, own) = split(v, from, to);
            let mut strides = [own];
            collapse(&mut dims, &mut strides, &[]);
            dims.len()
        };
        if dot.bias_rows.is_some() && free(&a, nb, nb + na) > 1
            || dot.bias_cols.is_some() && free(&b, nb, contract_b) > 1
        {
            a = self.densify(dot.dtype, a);
            b = self.densify(dot.dtype, b);
            (_, k_strides) = merged(&a, &b);
        }
        if let (true, Some((dtype, r))) = (dot.bias_rows.is_some() || dot.bias_cols.is_some(), &dot.residual)
        {
            residual = Some(self.densify(*dtype, r.clone()));
        }

        // Free dims merge as far as they can; what is left over becomes part of the batch.
        let zero = |n: usize| Dims::from_elem(0, n);
        let group = |from: usize, to: usize, own: Dims, bias: Option<&View>| {
            let (mut dims, cs) = split(c, from, to);
            let rs = residual.as_ref().map_or_else(|| zero(to - from), |r| split(r, from, to).1);
            let bs = bias.map_or_else(|| zero(to - from), |v| split(v, from, to).1);
            let mut strides = [own, cs, rs, bs];
            collapse(&mut dims, &mut strides, &[]);
            (dims, strides)
        };
        let n_from = nb + na;
        let n_to = c.dims.len();
        let (m_dims, m_strides) =
            group(nb, n_from, split(&a, nb, n_from).1, dot.bias_rows.as_ref().map(|b| &b.1));
        let (n_dims, n_strides) =
            group(n_from, n_to, split(&b, nb, contract_b).1, dot.bias_cols.as_ref().map(|b| &b.1));
        let mut batch = Dims::new();
        let [mut ba, mut bb, mut bc, mut br] = [Dims::new(), Dims::new(), Dims::new(), Dims::new()];
        let mut push = |d: i64, a: i64, b: i64, c: i64, r: i64| {
            if d != 1 {
                batch.push(d);
                ba.push(a);
                bb.push(b);
                bc.push(c);
                br.push(r);
            }
        };
        for i in 0..nb {
            let r = residual.as_ref().map_or(0, |r| r.strides[i]);
            push(c.dims[i], a.strides[i], b.strides[i], c.strides[i], r);
        }
        // A bias is one vector for all batches, so a group that has one merged into one dim.
        for i in 0..m_dims.len().saturating_sub(1) {
            push(m_dims[i], m_strides[0][i], 0, m_strides[1][i], m_strides[2][i]);
        }
        for i in 0..n_dims.len().saturating_sub(1) {
            push(n_dims[i], 0, n_strides[0][i], n_strides[1][i], n_strides[2][i]);
        }
        let last = |d: &Dims| d.last().copied();
        let (m, n) = (last(&m_dims).unwrap_or(1), last(&n_dims).unwrap_or(1));
        let s = |strides: &Dims| strides.last().copied().unwrap_or(1) as isize;
        let mat = |row: isize, col: isize, batch: &Dims| MatStrides { row, col, batch: batch.clone() };
        let desc = GemmDesc {
            dtype: dot.dtype,
            out: dot.out,
            m: m as usize,
            n: n as usize,
            k: k as usize,
            a: mat(s(&m_strides[0]), s(&k_strides[0]), &ba),
            b: mat(s(&k_strides[1]), s(&n_strides[0]), &bb),
            c: mat(s(&m_strides[1]), s(&n_strides[1]), &bc),
            alpha: dot.alpha,
            bias_cols: dot
                .bias_cols
                .as_ref()
                .map(|(dtype, _)| Bias { dtype: *dtype, stride: s(&n_strides[3]) }),
            bias_rows: dot
                .bias_rows
                .as_ref()
                .map(|(dtype, _)| Bias { dtype: *dtype, stride: s(&m_strides[3]) }),
            activation: dot.activation,
            residual: dot.residual.as_ref().map(|(dtype, _)| Residual {
                dtype: *dtype,
                strides: mat(s(&m_strides[2]), s(&n_strides[2]), &br),
                beta: 1.0,
            }),
            batch,
        };
        let mut reads: SmallVec<[View; 3]> = SmallVec::from_iter([a.clone(), b.clone()]);
        let mut pointwise = 0;
        for (_, v) in dot.bias_cols.iter().chain(&dot.bias_rows) {
            reads.push(v.clone());
        }
        if let (Some((dtype, _)), Some(v)) = (&dot.residual, &residual) {
            if *dtype == dot.out {
                pointwise = 1 << reads.len();
            }
            reads.push(v.clone());
        }
        self.emit(Planned {
            step: Box::new(Gemm::new(
                desc,
                loc(&a),
                loc(&b),
                loc(c),
                dot.bias_cols.as_ref().map(|v| loc(&v.1)),
                dot.bias_rows.as_ref().map(|v| loc(&v.1)),
                residual.as_ref().map(loc),
            )),
            reads,
            writes: SmallVec::from_iter([c.clone()]),
            pointwise,
            copy: false,
            in_place: false,
        });
    }
}

/// Whether the dims of a range step evenly, so that they are one vector.
fn single(view: &View, range: std::ops::Range<usize>) -> bool {
    let mut dims = Dims::from_slice(&view.dims[range.clone()]);
    let mut strides = [Dims::from_slice(&view.strides[range])];
    collapse(&mut dims, &mut strides, &[]);
    dims.len() <= 1
}
