//! Fourier transforms, with a number that multiplies the result.

use tnrs_hlo::{Instr, Literal, Op, Value};
use tnrs_kernels::fft::{Fft, FftDesc};
use tnrs_kernels::pool;
use tnrs_types::{BinaryKind, DType, Dims, FftKind, Scalar};

use super::{loc, Planner, Res};
use crate::step::call::Call;
use crate::step::Cx;

impl Planner<'_> {
    pub(super) fn fft(&mut self, instr: &Instr, kind: FftKind, length: &Dims) -> Res<()> {
        let (x, plain) = (instr.operands[0], instr.results[0]);
        let (result, factor) = self.multiplied(plain).unwrap_or((plain, 1.0));
        let inverse = matches!(kind, FftKind::Ifft | FftKind::Irfft);
        let count = length.iter().product::<i64>() as f64;
        let input = self.memory_of(x)?;
        let out = self.out(result);
        if out.numel() > 0 {
            let batch = out.dims.len() - length.len();
            let desc = FftDesc {
                kind,
                double: matches!(self.func.ty(x).dtype, DType::F64 | DType::C128),
                batch: Dims::from_slice(&out.dims[..batch]),
                length: length.clone(),
                input_strides: input.strides.clone(),
                output_strides: out.strides.clone(),
                scale: if inverse { factor / count } else { factor },
            };
            let (fft, from, to) = (Fft::new(&desc), loc(&input), loc(&out));
            let cost = fft.cost_ns();
            let run = move |cx: &Cx| {
                // SAFETY: `Step::run` promises memory for both views; the output is memory of its own.
                unsafe { fft.run(pool::global(), cx.at(from), cx.at(to)) };
                Ok(())
            };
            self.kernel(Call::boxed(cost, run), &[&input], &[&out]);
        }
        self.define_leaf(result, out);
        Ok(())
    }

    /// The product that is the only use of a value, when its other operand is one real number, and that number.
    fn multiplied(&self, v: Value) -> Option<(Value, f64)> {
        if self.info.uses[v.index()] != 1 {
            return None;
        }
        let user = self.func.instrs.iter().find(|i| i.operands.contains(&v))?;
        let Op::Binary(BinaryKind::Multiply) = user.op else { return None };
        let other = *user.operands.iter().find(|&&o| o != v)?;
        let source = self.func.instrs.iter().find(|i| i.results.contains(&other))?;
        let Op::Constant(Literal::Splat(_, number)) = &source.op else { return None };
        match *number {
            Scalar::Float(f) => Some((user.results[0], f)),
            Scalar::Int(i) => Some((user.results[0], i as f64)),
            _ => None,
        }
    }
}
