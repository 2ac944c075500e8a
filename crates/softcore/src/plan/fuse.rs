//! Regions: which pending nodes are computed together, and which of them are stored.

use smallvec::SmallVec;

use super::node::{function_cost, Kind, NodeId};
use super::tile::{compile, Request};
use super::{Planned, Planner, Res};
use crate::step::chunks;
use crate::step::region::Region;
use crate::view::View;

/// The pending nodes below some roots, operands first, and those that go to memory.
pub(super) struct Group {
    pub order: Vec<NodeId>,
    pub outputs: SmallVec<[(NodeId, View); 2]>,
    edges: Vec<(NodeId, i32)>,
}

impl Planner<'_> {
    /// Collects what has to be computed for `roots`. Roots with `store` become outputs, as does every node below
    /// that others wait for and that is not cheap to compute again.
    pub(super) fn group(&mut self, roots: &[NodeId], store: bool) -> Group {
        let mut order: Vec<NodeId> = Vec::new();
        for &r in roots {
            self.visit(r, &mut order);
        }
        let mut edges: Vec<(NodeId, i32)> = order.iter().map(|&n| (n, 0)).collect();
        for &n in &order {
            for &a in &self.nodes[n as usize].args {
                if let Some(e) = edges.iter_mut().find(|e| e.0 == a) {
                    e.1 += 1;
                }
            }
        }
        let mut outputs: SmallVec<[(NodeId, View); 2]> = SmallVec::new();
        for &(n, used) in &edges {
            let is_root = roots.contains(&n);
            let node = &self.nodes[n as usize];
            let wanted =
                if is_root { store || node.uses > used + 1 } else { node.uses > used && outputs.len() < 6 };
            if wanted && (is_root && store || self.worth_storing(n)) {
                let view = self.place(n);
                outputs.push((n, view));
            }
        }
        Group { order, outputs, edges }
    }

    fn visit(&self, n: NodeId, order: &mut Vec<NodeId>) {
        if !self.nodes[n as usize].kind.is_pointwise() || order.contains(&n) {
            return;
        }
        for &a in &self.nodes[n as usize].args {
            self.visit(a, order);
        }
        order.push(n);
    }

    fn worth_storing(&self, n: NodeId) -> bool {
        let node = &self.nodes[n as usize];
        node.target.is_some() || node.weight > 2 || function_cost(&node.kind, node.dtype) > 0.2
    }

    fn place(&mut self, n: NodeId) -> View {
        let node = &self.nodes[n as usize];
        match &node.target {
            Some(t) => t.clone(),
            None => {
                let (dtype, dims) = (node.dtype, node.dims.clone());
                self.temp(dtype, &dims)
            }
        }
    }

    /// After a group is planned: outputs are in memory, and the uses inside the group are over.
    pub(super) fn settle(&mut self, group: &Group) {
        for &(n, used) in &group.edges {
            self.nodes[n as usize].uses -= used;
        }
        for (n, view) in &group.outputs {
            let node = &mut self.nodes[*n as usize];
            node.kind = Kind::Leaf(view.clone());
            node.args.clear();
            node.weight = 0;
        }
    }

    /// Memory that a group reads.
    pub(super) fn reads(&self, group: &Group) -> SmallVec<[View; 3]> {
        let mut reads: SmallVec<[View; 3]> = SmallVec::new();
        for &n in &group.order {
            let node = &self.nodes[n as usize];
            if let Kind::Philox(random) = &node.kind {
                reads.push(random.seed.clone());
                reads.push(random.offset.clone());
            }
            for &a in &node.args {
                if let Kind::Leaf(v) = &self.nodes[a as usize].kind {
                    if !reads.contains(v) {
                        reads.push(v.clone());
                    }
                }
            }
        }
        reads
    }

    /// Whether everything a group reads and its one output have elements of one size.
    fn one_size(&self, group: &Group) -> bool {
        let [(out, _)] = group.outputs.as_slice() else {
            return false;
        };
        let size = self.nodes[*out as usize].dtype.size();
        group.order.iter().all(|&n| {
            self.nodes[n as usize].args.iter().all(|&a| {
                let a = &self.nodes[a as usize];
                !matches!(a.kind, Kind::Leaf(_)) || a.dtype.size() == size
            })
        })
    }

    /// Plans a region that computes `roots` (of equal sizes) into memory.
    pub(super) fn region(&mut self, roots: &[NodeId]) -> Res<()> {
        let group = self.group(roots, true);
        let dims = self.nodes[roots[0] as usize].dims.clone();
        if tnrs_types::numel(&dims) > 0 {
            let reads = self.reads(&group);
            let request = Request {
                order: &group.order,
                outputs: &group.outputs,
                dims: &dims,
                perm: None,
                barrier: &[],
                sink: None,
                extra: &[],
                max_tile: usize::MAX,
            };
            let done = compile(self, &request)?;
            let in_place = self.one_size(&group);
            let units = done.program.rows() * done.program.tiles_per_row();
            self.emit(Planned {
                step: Box::new(Region {
                    chunks: chunks(done.cost, units as u64),
                    cost: done.cost,
                    program: done.program,
                }),
                reads,
                writes: group.outputs.iter().map(|o| o.1.clone()).collect(),
                pointwise: u64::MAX,
                copy: false,
                in_place,
            });
        }
        self.settle(&group);
        Ok(())
    }
}
