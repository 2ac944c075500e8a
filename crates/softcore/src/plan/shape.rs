//! Shape instructions: another view of the operand's memory, or the same change made to the operand's own operands.

use smallvec::SmallVec;
use tnrs_hlo::{Instr, Op};

use super::node::{Kind, Node, NodeId};
use super::{Planner, Res};
use crate::view::View;

/// Pending computation of one element that is repeated rather than stored.
const MAX_REPEATED: u32 = 6;

impl Planner<'_> {
    pub(super) fn shape(&mut self, instr: &Instr) -> Res<()> {
        let result = instr.results[0];
        let src = self.node_of(instr.operands[0]);
        let sizes = &self.func.ty(result).dims;
        let change = |view: &View, size: usize| -> Option<View> {
            match &instr.op {
                Op::BroadcastInDim { dims } => Some(view.broadcast(dims, sizes)),
                Op::Reshape => view.reshape(sizes),
                Op::Transpose { perm } => Some(view.transpose(perm)),
                Op::Slice { start, limit, stride } => Some(view.slice(start, limit, stride, size)),
                Op::Reverse { dims } => Some(view.reverse(dims, size)),
                _ => None,
            }
        };
        let node = &self.nodes[src as usize];
        if node.kind.is_pointwise() {
            let one = node.dims.iter().product::<i64>() == 1 && node.weight <= MAX_REPEATED;
            let grows = tnrs_types::numel(sizes) > tnrs_types::numel(&node.dims);
            let alone = node.uses == 1 && !grows && self.info.fusable[result.index()];
            let generator = matches!(node.kind, Kind::Iota(_));
            if (one || alone || generator) && self.changes(src, &change) {
                self.nodes[src as usize].uses -= 1;
                let n = self.changed(src, &change);
                let uses = self.info.uses[result.index()] as i32;
                let node = &mut self.nodes[n as usize];
                node.uses = uses;
                node.target = self.info.target[result.index()].clone();
                self.of[result.index()] = n;
                return Ok(());
            }
        }
        if matches!(instr.op, Op::Reshape) && self.reshape_dot(src, result) {
            return Ok(());
        }
        let dtype = self.nodes[src as usize].dtype;
        let view = self.memory(src)?;
        let view = match change(&view, dtype.size()) {
            Some(v) => v,
            None => {
                // Only a reshape can fail, and never of dense memory.
                let want = self.info.target[result.index()].as_ref().and_then(|t| t.reshape(&view.dims));
                let dense = match want {
                    Some(w) => {
                        self.copy(dtype, &view, &w);
                        w
                    }
                    None => {
                        let dense = self.temp(dtype, &view.dims);
                        self.copy(dtype, &view, &dense);
                        dense
                    }
                };
                match dense.reshape(sizes) {
                    Some(v) => v,
                    None => return Err(self.unsupported(instr)),
                }
            }
        };
        self.define_leaf(result, view);
        Ok(())
    }

    /// Whether every leaf below a node can take the change.
    fn changes(&self, n: NodeId, change: &dyn Fn(&View, usize) -> Option<View>) -> bool {
        let node = &self.nodes[n as usize];
        match &node.kind {
            Kind::Leaf(v) => change(v, node.dtype.size()).is_some(),
            Kind::Iota(v) => change(v, 1).is_some_and(|v| counts(&v)),
            Kind::Philox(_) | Kind::Dot(_) => false,
            _ => node.args.iter().all(|&a| self.changes(a, change)),
        }
    }

    /// A copy of the nodes below `n` with the change made to each leaf. `changes(n)` holds.
    fn changed(&mut self, n: NodeId, change: &dyn Fn(&View, usize) -> Option<View>) -> NodeId {
        let node = self.nodes[n as usize].clone();
        let kind = match &node.kind {
            Kind::Leaf(v) => change(v, node.dtype.size()).map(Kind::Leaf),
            Kind::Iota(v) => change(v, 1).map(Kind::Iota),
            _ => None,
        }
        .unwrap_or_else(|| node.kind.clone());
        let args: SmallVec<[NodeId; 3]> = node.args.iter().map(|&a| self.changed(a, change)).collect();
        let dims = match &kind {
            Kind::Leaf(v) | Kind::Iota(v) => v.dims.clone(),
            _ => self.nodes[args[0] as usize].dims.clone(),
        };
        self.add(Node { kind, dtype: node.dtype, dims, args, uses: 1, weight: node.weight, target: None })
    }
}

/// Whether the inner loop can count a generator's indices, whichever dim it runs along; dense ones it can in order.
pub(super) fn counts(index: &View) -> bool {
    index.is_dense() || index.strides.iter().all(|&s| s == 0 || s == 1)
}
