//! Pooling of images.

use tnrs_hlo::{Composite, Instr};
use tnrs_kernels::max_pool::{max_pool, MaxPool};

use super::{loc, Planner, Res};
use crate::step::call::Call;
use crate::step::{chunks, share};

impl Planner<'_> {
    pub(super) fn max_pool(&mut self, instr: &Instr, c: &Composite) -> Res<()> {
        let Composite::MaxPool { kernel, stride, padding, dilation } = c else {
            return Err(self.unsupported(instr));
        };
        let dtype = self.func.ty(instr.operands[0]).dtype;
        let Some(f) = max_pool(dtype) else {
            return Err(self.unsupported(instr));
        };
        let x = self.dense_of(instr.operands[0])?;
        let places = [self.out(instr.results[0]), self.out(instr.results[1])];
        let outs = [0, 1].map(|i| self.dense_result(instr.results[i], &places[i]));
        // One row stands in for a missing dim.
        let pair = |list: &[i64], missing: usize| -> [usize; 2] {
            match *list {
                [.., a, b] => [a as usize, b as usize],
                [a] => [missing, a as usize],
                [] => [missing; 2],
            }
        };
        let lead = x.dims.len() - kernel.len();
        let p = MaxPool {
            input: pair(&x.dims[lead..], 1),
            output: pair(&outs[0].dims[lead..], 1),
            kernel: pair(kernel, 1),
            stride: pair(stride, 1),
            padding: pair(padding, 0),
            dilation: pair(dilation, 1),
        };
        let planes: i64 = x.dims[..lead].iter().product();
        if outs[0].numel() > 0 {
            let cost = outs[0].numel() as u64 * (p.kernel[0] * p.kernel[1]) as u64 / 8 + 50;
            let pieces = chunks(cost, planes as u64) as i64;
            let (from, [y, at]) = (loc(&x), outs.each_ref().map(loc));
            let (size, read, write) =
                (dtype.size(), p.input.iter().product::<usize>(), p.output.iter().product::<usize>());
            let step = Call::boxed(cost, move |cx| {
                share(planes, pieces, &|lo, hi| {
                    let (first, count) = (lo as usize, (hi - lo) as usize);
                    let x = cx.at(from).wrapping_add(first * read * size);
                    let y = cx.at(y).wrapping_add(first * write * size);
                    let at = cx.at(at).cast::<i64>().wrapping_add(first * write);
                    // SAFETY: `Step::run` promises memory for the dense planes; parts are disjoint ranges of them.
                    unsafe { f(&p, count, x, y, at) };
                });
                Ok(())
            });
            self.kernel(step, &[&x], &[&outs[0], &outs[1]]);
        }
        for ((&r, dense), place) in instr.results.iter().zip(outs).zip(places) {
            self.finish_dense(r, dense, place);
        }
        Ok(())
    }
}
