//! Elements, or their coordinates, brought together where a mask holds.

use tnrs_hlo::Instr;
use tnrs_kernels::pack;
use tnrs_types::DType;

use super::{loc, Planner, Res};
use crate::step::call::Call;
use crate::view::View;

impl Planner<'_> {
    pub(super) fn compact(&mut self, instr: &Instr) -> Res<()> {
        let dtype = self.func.ty(instr.operands[1]).dtype;
        let (mask, x) = (self.dense_of(instr.operands[0])?, self.dense_of(instr.operands[1])?);
        let (n, elem) = (mask.numel() as usize, dtype.size());
        let (m, s) = (loc(&mask), loc(&x));
        self.packed(instr, dtype, &[&mask, &x], move |at, dst| {
            // SAFETY: `Step::run` promises memory for the dense operands and result, which is memory of its own.
            unsafe { pack::compact(elem, n, at(m), at(s), dst) }
        })
    }

    pub(super) fn nonzero(&mut self, instr: &Instr) -> Res<()> {
        let mask = self.dense_of(instr.operands[0])?;
        let (m, dims) = (loc(&mask), mask.dims.clone());
        self.packed(instr, DType::I64, &[&mask], move |at, dst| {
            // SAFETY: as for `compact`; a dense i64 result is aligned.
            unsafe { pack::nonzero(&dims, at(m), dst.cast()) }
        })
    }

    /// Adds the step: `run` gets addresses and the place of the packed elements, and returns their number.
    fn packed(
        &mut self,
        instr: &Instr,
        dtype: DType,
        reads: &[&View],
        run: impl Fn(&dyn Fn(crate::step::Loc) -> *mut u8, *mut u8) -> i64 + Send + Sync + 'static,
    ) -> Res<()> {
        let [out, count] = [self.out(instr.results[0]), self.out(instr.results[1])];
        let dense = self.dense_place(dtype, &out);
        let (d, c) = (loc(&dense), loc(&count));
        let cost = reads[0].numel() as u64 + 50;
        self.kernel(
            Call::boxed(cost, move |cx| {
                let found = run(&|l| cx.at(l), cx.at(d));
                // SAFETY: `Step::run` promises memory for the count, one i64.
                unsafe { cx.at(c).cast::<i64>().write_unaligned(found) };
                Ok(())
            }),
            reads,
            &[&dense, &count],
        );
        self.bring(dtype, &dense, &out);
        self.define_leaf(instr.results[0], out);
        self.define_leaf(instr.results[1], count);
        Ok(())
    }
}
