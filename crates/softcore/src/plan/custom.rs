//! Custom calls: a routine over dense operands and results.

use smallvec::SmallVec;
use tnrs_hlo::{CustomCall, Instr, Value};

use super::{loc, Planner, Res};
use crate::routine::{self, Args, Slab};
use crate::step::call::Call;
use crate::step::{Cx, Loc};
use crate::view::View;

/// An operand or result whose address is known when the step runs.
type Place = (Loc, Slab);

impl Planner<'_> {
    pub(super) fn custom_call(&mut self, instr: &Instr, c: &CustomCall) -> Res<()> {
        let Some(routine) = routine::find(c.name()) else {
            return Err(self.unsupported(instr));
        };
        let mut reads: SmallVec<[View; 4]> = SmallVec::new();
        let mut ins: SmallVec<[Place; 4]> = SmallVec::new();
        for &v in &instr.operands {
            let view = self.dense_of(v)?;
            ins.push(self.slab_of(v, &view));
            reads.push(view);
        }
        let wanted: SmallVec<[View; 4]> = instr.results.iter().map(|&v| self.out(v)).collect();
        let mut writes: SmallVec<[View; 4]> = SmallVec::new();
        let mut outs: SmallVec<[Place; 4]> = SmallVec::new();
        for (&v, want) in instr.results.iter().zip(&wanted) {
            let view = self.dense_place(self.func.ty(v).dtype, want);
            outs.push(self.slab_of(v, &view));
            writes.push(view);
        }
        let slabs = |places: &[Place]| places.iter().map(|(_, s)| s.clone()).collect::<SmallVec<[Slab; 4]>>();
        let cost = (routine.cost)(&Args { call: c, ins: &slabs(&ins), outs: &slabs(&outs) });
        let call = c.clone();
        let run = move |cx: &Cx| {
            let at = |places: &[Place]| -> SmallVec<[Slab; 4]> {
                // SAFETY: `Step::run` promises memory of these dense sizes that nobody else writes; no result
                // shares bytes with an operand or another result, for the step is not pointwise.
                places.iter().map(|(l, s)| unsafe { s.at(cx.at(*l)) }).collect()
            };
            (routine.run)(&Args { call: &call, ins: &at(&ins), outs: &at(&outs) })
        };
        let operands: SmallVec<[&View; 4]> = reads.iter().collect();
        let results: SmallVec<[&View; 4]> = writes.iter().collect();
        self.kernel(Call::boxed(cost, run), &operands, &results);
        for ((&v, view), want) in instr.results.iter().zip(&writes).zip(wanted) {
            self.bring(self.func.ty(v).dtype, view, &want);
            self.define_leaf(v, want);
        }
        Ok(())
    }

    fn slab_of(&self, v: Value, view: &View) -> Place {
        let ty = self.func.ty(v);
        (loc(view), Slab::new(ty.dtype, &ty.dims))
    }
}
