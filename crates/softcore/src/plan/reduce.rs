//! Reductions: which way the inner loop runs, and into which pieces the work is cut.

use smallvec::SmallVec;
use tnrs_hlo::{Instr, ReduceKind};
use tnrs_kernels::{reduce, tile};
use tnrs_types::{DType, Dims};

use super::node::{Kind, NodeId};
use super::shape::counts;
use super::tile::{compile, Compiled, Request};
use super::{Planned, Planner, Res};
use crate::step::reduce::{Combine, Form, Reduce, ACC_BYTES};
use crate::step::{chunks, Loc};
use crate::view::View;

/// So few reduced elements, next to many outputs, are added across rows instead of along them.
const SHORT: i64 = 16;
/// Elements of one piece of a long reduction.
const PIECE: i64 = 1 << 16;
/// With this many outputs there is enough to share without cutting any of them.
const MANY: i64 = 64;

/// Loop order of a reduction.
struct Order {
    form: Form,
    perm: Dims,
    barrier: Vec<bool>,
    /// Dims of `perm` before the reduced ones, and before those after them.
    reduced: std::ops::Range<usize>,
}

impl Planner<'_> {
    pub(super) fn reduce(&mut self, instr: &Instr, kind: ReduceKind, dims: &Dims) -> Res<()> {
        let result = instr.results[0];
        let x = self.node_of(instr.operands[0]);
        let sizes = self.nodes[x as usize].dims.clone();
        let reduced = |d: usize| dims.contains(&(d as i64));
        let count: i64 = (0..sizes.len()).filter(|&d| reduced(d)).map(|d| sizes[d]).product();
        let out_dims = self.func.ty(result).dims.clone();
        if count == 1 {
            let view = self.memory(x)?;
            if let Some(view) = view.reshape(&out_dims) {
                self.define_leaf(result, view);
                return Ok(());
            }
        }
        let dtype = self.nodes[x as usize].dtype;
        let out = self.out(result);
        if out.numel() == 0 {
            self.define_leaf(result, out);
            return Ok(());
        }
        if count == 0 {
            let init = self.neutral(instr, kind, dtype, dtype)?;
            let fill = self.element(&init, &out_dims);
            self.copy(dtype, &fill, &out);
            self.define_leaf(result, out);
            return Ok(());
        }
        if self.needs_memory(x) {
            self.memory(x)?;
        }
        let group = self.group(&[x], false);
        let mut places = out.strides.iter();
        let full = View {
            buf: out.buf,
            off: out.off,
            dims: sizes.clone(),
            strides: (0..sizes.len())
                .map(|d| if reduced(d) { 0 } else { *places.next().unwrap_or(&0) })
                .collect(),
        };
        let main = self.main_leaf(x, &group.order);
        let extra = [(full, dtype.size())];
        let mut order = order(&sizes, dims, main.as_ref(), None);
        let acc = dtype.opmath();
        let request = |order: &Order| -> Res<Compiled> {
            compile(
                self,
                &Request {
                    order: &group.order,
                    outputs: &group.outputs,
                    dims: &sizes,
                    perm: Some(&order.perm),
                    barrier: &order.barrier,
                    sink: Some(x),
                    extra: &extra,
                    max_tile: ACC_BYTES / acc.size().max(dtype.size()),
                },
            )
        };
        let mut done = request(&order)?;
        if order.form == Form::Across {
            let inner = done.first.iter().filter(|&&f| f as usize >= order.reduced.end).count();
            if inner > 1 {
                let from = done.first[done.first.len() - 1] as usize;
                let keep = order.perm.len() - from;
                order = self::order(&sizes, dims, main.as_ref(), Some(keep));
                done = request(&order)?;
            }
        }
        let step = self.reduce_step(instr, kind, dtype, &order, done)?;
        let mut reads = self.reads(&group);
        if let Kind::Leaf(v) = &self.nodes[x as usize].kind {
            reads.push(v.clone());
        }
        let mut writes: SmallVec<[View; 2]> = group.outputs.iter().map(|o| o.1.clone()).collect();
        writes.push(out.clone());
        if step.pieces > 1 {
            writes.push(View::dense(step.partials.buf, &[]));
        }
        self.emit(Planned {
            step: Box::new(step),
            reads,
            writes,
            pointwise: 0,
            copy: false,
            in_place: false,
        });
        self.settle(&group);
        self.nodes[x as usize].uses -= 1;
        self.define_leaf(result, out);
        Ok(())
    }

    fn reduce_step(
        &mut self,
        instr: &Instr,
        kind: ReduceKind,
        dtype: DType,
        order: &Order,
        done: Compiled,
    ) -> Res<Reduce> {
        let acc = dtype.opmath();
        let (Some(inner), Some(outer), Some(finish)) =
            (reduce::inner(kind, acc), reduce::outer(kind, acc), tile::convert(acc, dtype))
        else {
            return Err(self.unsupported(instr));
        };
        let p = done.program;
        let tiles = p.tiles_per_row();
        let per_output: i64 = p
            .outer
            .iter()
            .zip(&done.first)
            .filter(|(_, &f)| order.reduced.contains(&(f as usize)))
            .map(|(&d, _)| d)
            .product();
        let rows = p.rows() / per_output;
        let (outputs, units, piece) = match order.form {
            Form::Along => {
                let tile = p.inner.min(p.tile as i64);
                (rows, per_output * tiles, (PIECE / tile).max(1))
            }
            Form::Across => {
                let tile = p.inner.min(p.tile as i64);
                (rows * tiles, per_output, (PIECE / tile).max(1))
            }
        };
        let pieces = if outputs >= MANY { 1 } else { (units + piece - 1) / piece };
        let partials = if pieces > 1 {
            let each = match order.form {
                Form::Along => 1,
                Form::Across => p.tile,
            };
            self.scratch((outputs * pieces) as usize * each * acc.size())
        } else {
            0
        };
        let elements = (p.rows() * p.inner) as f64;
        let cost = done.cost + (elements * acc.size() as f64 * 0.02) as u64 + (p.rows() * tiles) as u64 * 4;
        let out_stride = p.operands[done.extra as usize].inner as isize;
        let init = self.neutral(instr, kind, dtype, acc)?;
        Ok(Reduce {
            form: order.form,
            sink: done.sink,
            out: done.extra,
            per_output,
            pieces,
            piece: if pieces == 1 { units } else { piece },
            partials: Loc { buf: partials, off: 0 },
            combine: Combine {
                inner,
                outer,
                init,
                splat: tile::splat(acc.size()),
                size: acc.size(),
                finish,
                out_size: dtype.size(),
                out_stride,
                store: tile::store_strided(dtype.size()),
            },
            cost,
            chunks: chunks(cost, (outputs * pieces) as u64),
            program: p,
        })
    }

    /// The neutral element of a reduction of `dtype`, as an element of `to`.
    fn neutral(&self, instr: &Instr, kind: ReduceKind, dtype: DType, to: DType) -> Res<[u8; 16]> {
        let wide = reduce::init(kind, dtype.opmath());
        if to == dtype.opmath() {
            return Ok(wide);
        }
        let Some(f) = tile::convert(dtype.opmath(), to) else {
            return Err(self.unsupported(instr));
        };
        let mut out = [0; 16];
        let none = std::ptr::null();
        // SAFETY: one element is read of the sixteen bytes and one written.
        unsafe { f(out.as_mut_ptr(), &[wide.as_ptr(), none, none], 1) };
        Ok(out)
    }

    /// Whether a node cannot be computed in any loop order but its own.
    fn needs_memory(&self, n: NodeId) -> bool {
        let node = &self.nodes[n as usize];
        match &node.kind {
            Kind::Philox(_) | Kind::Dot(_) => true,
            Kind::Iota(v) => !counts(v) || v.strides.iter().any(|&s| s > 1),
            Kind::Leaf(_) => false,
            _ => node.args.iter().any(|&a| match self.nodes[a as usize].kind {
                Kind::Dot(_) => false,
                _ => self.needs_memory(a),
            }),
        }
    }

    /// The operand whose memory matters most: it has the most elements.
    fn main_leaf(&self, x: NodeId, group: &[NodeId]) -> Option<View> {
        let mut best: Option<(i64, &View)> = None;
        let args = group.iter().flat_map(|&n| self.nodes[n as usize].args.iter().copied());
        for n in args.chain([x]) {
            if let Kind::Leaf(v) = &self.nodes[n as usize].kind {
                let distinct: i64 =
                    v.dims.iter().zip(&v.strides).filter(|(_, &s)| s != 0).map(|(&d, _)| d).product();
                if best.is_none_or(|b| distinct > b.0) {
                    best = Some((distinct, v));
                }
            }
        }
        best.map(|b| b.1.clone())
    }
}

/// Chooses the loop order. `keep` fixes how many of the dims that stay run innermost.
fn order(sizes: &Dims, dims: &Dims, main: Option<&View>, keep: Option<usize>) -> Order {
    let reduced = |d: i64| dims.contains(&d);
    let mut walk: Dims = (0..sizes.len() as i64).filter(|&d| sizes[d as usize] != 1).collect();
    if let Some(v) = main {
        walk.sort_by_key(|&d| {
            std::cmp::Reverse(match v.strides[d as usize].abs() {
                0 => i64::MAX,
                s => s,
            })
        });
    }
    let kept: Dims = walk.iter().copied().filter(|&d| !reduced(d)).collect();
    let gone: Dims = walk.iter().copied().filter(|&d| reduced(d)).collect();
    let product = |ds: &[i64]| ds.iter().map(|&d| sizes[d as usize]).product::<i64>();
    let last_is_kept = walk.last().is_some_and(|&d| !reduced(d));
    let short = product(&gone) <= SHORT && product(&kept) >= 4 * SHORT;
    let across = !kept.is_empty() && (last_is_kept || short);
    let inner = match keep {
        Some(n) => n,
        None if !across => 0,
        None if last_is_kept => walk.iter().rev().take_while(|&&d| !reduced(d)).count(),
        None => 1,
    };
    let (front, back) = kept.split_at(kept.len() - inner);
    let perm: Dims = front.iter().chain(&gone).chain(back).copied().collect();
    let range = front.len()..front.len() + gone.len();
    let mut barrier = vec![false; perm.len()];
    for at in [range.start, range.end] {
        if let Some(b) = barrier.get_mut(at) {
            *b = true;
        }
    }
    Order { form: if across { Form::Across } else { Form::Along }, perm, barrier, reduced: range }
}
