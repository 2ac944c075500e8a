//! Composites that have a kernel of their own.

use smallvec::SmallVec;
use tnrs_hlo::{Composite, Func, Instr};
use tnrs_kernels::max_pool::max_pool;
use tnrs_kernels::{optim, reduce, rows};
use tnrs_types::DType;

use super::node::{Kind, Random};
use super::{elementwise, norm, Planner, Res};
use crate::view::View;

/// Whether a composite has a kernel for its operands; any other is decomposed before planning.
pub(crate) fn has_kernel(f: &Func, instr: &Instr, c: &Composite) -> bool {
    let operand = |i: usize| f.ty(instr.operands[i]).dtype;
    let result = |i: usize| f.ty(instr.results[i]).dtype;
    let attends = |d: DType| matches!(d, DType::F32 | DType::F64 | DType::BF16 | DType::F16);
    // What the mean of nothing is, the definition says.
    let empty = |i: usize, axis: i64| f.ty(instr.operands[i]).dims[axis as usize..].contains(&0);
    match c {
        Composite::LayerNorm { axis, .. } | Composite::RmsNorm { axis, .. } if empty(0, *axis) => false,
        Composite::Gelu { .. } | Composite::Silu => operand(0) == result(0),
        Composite::GeluGrad { .. } | Composite::SiluGrad => {
            operand(0) == result(0) && operand(1) == result(0)
        }
        Composite::Softmax { log, .. } => rows::softmax(*log, operand(0), result(0)).is_some(),
        Composite::SoftmaxGrad { log, .. } => {
            operand(0) == operand(1) && rows::softmax_grad(*log, operand(0), result(0)).is_some()
        }
        Composite::LayerNorm { weight, bias, .. } => {
            let x = operand(0);
            let w = if *weight || *bias { operand(1) } else { x };
            norm::takes(x, w, true)
                && (!(*weight && *bias) || operand(2) == w)
                && result(0) == x
                && result(1) == x.opmath()
                && result(2) == x.opmath()
        }
        Composite::RmsNorm { weight, .. } => {
            let x = operand(0);
            let w = if *weight { operand(1) } else { x };
            norm::takes(x, w, false) && result(0) == x && result(1) == x.opmath()
        }
        Composite::LayerNormGrad { weight, .. } => {
            let x = operand(1);
            let w = if *weight { operand(4) } else { x };
            let stats = operand(2) == x.opmath() && operand(3) == x.opmath();
            norm::takes(x, w, true) && stats && operand(0) == x && result(0) == x
        }
        Composite::RmsNormGrad { weight, .. } => {
            let x = operand(1);
            let w = if *weight { operand(3) } else { x };
            let stats = operand(2) == x.opmath();
            norm::takes(x, w, false) && stats && operand(0) == x && result(0) == x
        }
        Composite::Sdpa { .. } => {
            let q = operand(0);
            attends(q) && operand(1) == q && operand(2) == q && result(0) == q && result(1) == q.opmath()
        }
        Composite::SdpaGrad { bias_grad, .. } => {
            let q = operand(1);
            attends(q)
                && (0..5).all(|i| operand(i) == q)
                && operand(5) == q.opmath()
                && (0..3).all(|i| result(i) == q)
                && (!bias_grad || result(3) == operand(6) || result(3) == DType::F32)
        }
        Composite::Philox | Composite::CheckIndex { .. } => true,
        Composite::Compact | Composite::Nonzero | Composite::Assert { .. } => true,
        Composite::AdamStep { amsgrad, .. } => {
            let states = 4 + usize::from(*amsgrad);
            let p = operand(0);
            optim::adam_step(p).is_some()
                && (1..states).all(|i| operand(i) == p)
                && (0..instr.results.len()).all(|i| result(i) == p)
        }
        Composite::SgdStep { momentum, .. } => {
            let states = 2 + usize::from(*momentum != 0.0);
            let p = operand(0);
            optim::sgd_step(p).is_some()
                && (1..states).all(|i| operand(i) == p)
                && (0..instr.results.len()).all(|i| result(i) == p)
        }
        Composite::ArgReduce { max, .. } => reduce::arg_inner(*max, operand(0)).is_some(),
        Composite::MaxPool { kernel, .. } => {
            kernel.len() <= 2 && max_pool(operand(0)).is_some() && result(0) == operand(0)
        }
        Composite::Cumulative { kind, .. } => reduce::scan(*kind, operand(0)).is_some(),
    }
}

impl Planner<'_> {
    pub(super) fn composite(&mut self, instr: &Instr, c: &Composite) -> Res<()> {
        match c {
            Composite::Philox => self.philox(instr),
            Composite::Sdpa { .. } => self.sdpa(instr, c),
            Composite::SdpaGrad { .. } => self.sdpa_grad(instr, c),
            Composite::Compact => self.compact(instr),
            Composite::Nonzero => self.nonzero(instr),
            Composite::Assert { message } => self.assert(instr, message),
            Composite::CheckIndex { .. } => self.check_index(instr, c),
            Composite::Softmax { .. } | Composite::SoftmaxGrad { .. } => self.softmax(instr, c),
            Composite::LayerNorm { .. } | Composite::RmsNorm { .. } => self.norm(instr, c),
            Composite::LayerNormGrad { .. } | Composite::RmsNormGrad { .. } => self.norm_grad(instr, c),
            Composite::AdamStep { .. } => self.adam(instr, c),
            Composite::SgdStep { .. } => self.sgd(instr, c),
            Composite::ArgReduce { dim, max } => self.arg_reduce(instr, *dim, *max),
            Composite::MaxPool { .. } => self.max_pool(instr, c),
            Composite::Cumulative { dim, kind } => self.cumulative(instr, *dim, *kind),
            c if elementwise::fused(c).is_some() => self.elementwise(instr),
            _ => Err(self.unsupported(instr)),
        }
    }

    fn philox(&mut self, instr: &Instr) -> Res<()> {
        let result = instr.results[0];
        let seed = self.memory_of(instr.operands[0])?;
        let offset = self.memory_of(instr.operands[1])?;
        let index = View::dense(0, &self.func.ty(result).dims);
        let kind = Kind::Philox(Box::new(Random { seed, offset, index }));
        self.define(result, kind, SmallVec::new());
        Ok(())
    }
}
