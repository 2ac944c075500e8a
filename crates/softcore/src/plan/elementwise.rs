//! Elementwise instructions: they only add nodes.

use smallvec::SmallVec;
use tnrs_hlo::{Composite, Instr, Op};
use tnrs_kernels::tile::{Act, Fused};
use tnrs_types::{Dims, Scalar, UnaryKind};

use super::node::{Kind, Node, NodeId};
use super::{Planner, Res, NONE};
use crate::view::View;

/// Primitives in one region; beyond, an operand is put in memory first. Keeps registers within the first-level cache.
const MAX_WEIGHT: u32 = 40;

impl Planner<'_> {
    pub(super) fn elementwise(&mut self, instr: &Instr) -> Res<()> {
        if self.of[instr.results[0].index()] != NONE {
            // The operand's step computes it as well.
            return Ok(());
        }
        let real = !self.func.ty(instr.operands[0]).dtype.is_complex();
        let kind = match &instr.op {
            // Of a real number these are the number itself.
            Op::Unary(UnaryKind::Conj | UnaryKind::Real) if real => Kind::Bitcast,
            Op::Unary(UnaryKind::Imag) if real => {
                let ty = self.func.ty(instr.results[0]);
                let zero = self.number(Scalar::Int(0), ty.dtype, &ty.dims);
                self.define_leaf(instr.results[0], zero);
                return Ok(());
            }
            Op::Unary(k) => Kind::Unary(*k),
            Op::Binary(k) => Kind::Binary(*k),
            Op::Compare(d) => Kind::Compare(*d),
            Op::Select => Kind::Select,
            Op::Clamp => Kind::Clamp,
            Op::Convert => Kind::Convert,
            Op::BitcastConvert => Kind::Bitcast,
            Op::Composite(c) => match fused(c) {
                Some(f) => Kind::Fused(f),
                None => return Err(self.unsupported(instr)),
            },
            _ => return Err(self.unsupported(instr)),
        };
        let result = instr.results[0];
        let ty = self.func.ty(result);
        let mut args: SmallVec<[NodeId; 3]> = instr.operands.iter().map(|&v| self.node_of(v)).collect();
        if let Kind::Bitcast = kind {
            if self.func.ty(instr.operands[0]).dtype.size() != ty.dtype.size() {
                return Err(self.unsupported(instr));
            }
        }
        if self.absorb(instr, &kind, &args)? {
            return Ok(());
        }
        for a in args.iter_mut() {
            *a = self.operand(*a, &ty.dims)?;
        }
        let mut weight: u32 = args.iter().map(|&a| self.nodes[a as usize].weight).sum();
        while weight > MAX_WEIGHT {
            let heaviest = *args
                .iter()
                .max_by_key(|&&a| self.nodes[a as usize].weight)
                .expect("a weight comes from an operand");
            self.memory(heaviest)?;
            weight = args.iter().map(|&a| self.nodes[a as usize].weight).sum();
        }
        self.define(result, kind, args);
        Ok(())
    }

    /// An operand as a node of the region's sizes; rank 0 repeats.
    fn operand(&mut self, n: NodeId, dims: &Dims) -> Res<NodeId> {
        if let Kind::Dot(_) = self.nodes[n as usize].kind {
            self.memory(n)?;
        }
        if self.nodes[n as usize].dims == *dims {
            return Ok(n);
        }
        let dtype = self.nodes[n as usize].dtype;
        let view = self.memory(n)?;
        Ok(self.leaf(dtype, View::splat(view.buf, view.off, dims)))
    }

    pub(super) fn iota(&mut self, instr: &Instr, dim: i64) -> Res<()> {
        let ty = self.func.ty(instr.results[0]);
        let mut index = View::splat(0, 0, &ty.dims);
        index.strides[dim as usize] = 1;
        if ty.dtype.is_complex() {
            let count = self.add(Node {
                kind: Kind::Iota(index),
                dtype: ty.dtype.real(),
                dims: ty.dims.clone(),
                args: SmallVec::new(),
                uses: 1,
                weight: 1,
                target: None,
            });
            self.define(instr.results[0], Kind::Convert, SmallVec::from_slice(&[count]));
        } else {
            self.define(instr.results[0], Kind::Iota(index), SmallVec::new());
        }
        Ok(())
    }
}

/// The primitive of a composite that is elementwise.
pub(super) fn fused(c: &Composite) -> Option<Fused> {
    let gelu = |tanh| if tanh { Act::GeluTanh } else { Act::Gelu };
    Some(match c {
        Composite::Gelu { tanh } => Fused::Act(gelu(*tanh)),
        Composite::GeluGrad { tanh } => Fused::ActGrad(gelu(*tanh)),
        Composite::Silu => Fused::Act(Act::Silu),
        Composite::SiluGrad => Fused::ActGrad(Act::Silu),
        _ => return None,
    })
}
