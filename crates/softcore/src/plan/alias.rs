//! Results that share memory with parameters: written directly when nothing is read too late, else through a
//! temporary that is copied at the end.

use super::{BufKind, Planner};
use crate::view::{Buf, View};
use crate::ParamSpec;

impl Planner<'_> {
    pub(super) fn resolve_aliases(&mut self) {
        let mut late: Vec<(usize, View, View)> = Vec::new();
        for i in 0..self.func.results.len() {
            let spec = &self.spec.results[i];
            if spec.alias.is_none() && !spec.overlap {
                continue;
            }
            let result = self.result_view(i);
            let buf = result.buf;
            if self.is_safe(i, buf) {
                // A copy between two names of the same memory is nothing.
                if let (Some(p), false) = (spec.alias, spec.overlap) {
                    self.steps.retain(|s| {
                        !(s.copy && s.writes[0].buf == buf && s.reads[0].buf == p as Buf && s.pointwise != 0)
                    });
                }
                continue;
            }
            let size = self.func.ty(self.func.results[i]).dtype.size();
            self.bufs[buf as usize] = BufKind::Temp(result.extent(size) as usize);
            self.bufs.push(BufKind::Result(i as u32));
            let mut real = result.clone();
            real.buf = (self.bufs.len() - 1) as Buf;
            late.push((i, result, real));
        }
        for (i, temp, real) in late {
            self.copy(self.func.ty(self.func.results[i]).dtype, &temp, &real);
        }
    }

    /// Whether result `i` can be written in place: nothing that its memory may hold is read afterwards.
    fn is_safe(&self, i: usize, buf: Buf) -> bool {
        let spec = &self.spec.results[i];
        let Some(first) = self.steps.iter().position(|s| s.writes.iter().any(|w| w.buf == buf)) else {
            return true;
        };
        for (at, step) in self.steps.iter().enumerate().skip(first) {
            for (k, read) in step.reads.iter().enumerate() {
                let BufKind::Param(p) = self.bufs[read.buf as usize] else {
                    continue;
                };
                if spec.overlap {
                    if matches!(self.spec.params[p as usize], ParamSpec::Tensor { .. }) {
                        return false;
                    }
                } else if spec.alias == Some(p as usize) {
                    let pointwise = step.pointwise.checked_shr(k as u32).unwrap_or(0) & 1 == 1;
                    let same = step
                        .writes
                        .iter()
                        .all(|w| w.buf != buf || (w.same_layout(read) && w.off == read.off));
                    if at != first || !pointwise || !same {
                        return false;
                    }
                }
            }
        }
        true
    }
}
