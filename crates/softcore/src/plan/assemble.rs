//! Concatenation and padding: parts of a result, each written in its place.

use tnrs_hlo::Instr;
use tnrs_types::Dims;

use super::targets::part;
use super::{Planner, Res};
use crate::view::View;

impl Planner<'_> {
    pub(super) fn concatenate(&mut self, instr: &Instr, dim: i64) -> Res<()> {
        let result = instr.results[0];
        let dtype = self.func.ty(result).dtype;
        let out = self.out(result);
        let mut at = 0;
        for &v in &instr.operands {
            let size = self.func.ty(v).dims[dim as usize];
            let want = part(&out, dim as usize, at, size, dtype.size());
            let have = self.memory_of(v)?;
            if !have.same_elements(&want) {
                self.copy(dtype, &have, &want);
            }
            at += size;
        }
        self.define_leaf(result, out);
        Ok(())
    }

    pub(super) fn pad(&mut self, instr: &Instr, low: &Dims, interior: &Dims) -> Res<()> {
        let result = instr.results[0];
        let dtype = self.func.ty(result).dtype;
        let operand = self.memory_of(instr.operands[0])?;
        let value = self.memory_of(instr.operands[1])?;
        let out = self.out(result);
        let fill = View::splat(value.buf, value.off, &out.dims);
        let mut src = operand.clone();
        let mut dst = out.clone();
        for d in 0..src.dims.len() {
            let step = interior[d] + 1;
            // Operand index i lands on result index low + i * step.
            let first = (-low[d] + step - 1).div_euclid(step).max(0);
            let end =
                (out.dims[d] - low[d] + step - 1).div_euclid(step).clamp(first, operand.dims[d].max(first));
            let count = if first < operand.dims[d] { end - first } else { 0 };
            src.off += first * src.strides[d] * dtype.size() as i64;
            src.dims[d] = count;
            dst.off += (low[d] + first * step) * out.strides[d] * dtype.size() as i64;
            dst.dims[d] = count;
            dst.strides[d] = out.strides[d] * step;
        }
        if dst.dims != out.dims {
            self.copy(dtype, &fill, &out);
        }
        self.copy(dtype, &src, &dst);
        self.define_leaf(result, out);
        Ok(())
    }
}
