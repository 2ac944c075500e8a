//! Convolution: dim numbers become strides.

use tnrs_hlo::{ConvAttrs, Instr};
use tnrs_kernels::conv::{conv, ConvDesc, ConvPtrs};
use tnrs_kernels::gemm::Activation;
use tnrs_kernels::pool;
use tnrs_types::{DType, Dims};

use super::{loc, Planner, Res};
use crate::step::call::Call;

impl Planner<'_> {
    pub(super) fn convolution(&mut self, instr: &Instr, a: &ConvAttrs) -> Res<()> {
        let result = instr.results[0];
        let (x, w) = (instr.operands[0], instr.operands[1]);
        let dtype = self.func.ty(x).dtype;
        let out_dtype = self.func.ty(result).dtype;
        let wide = out_dtype == DType::F32 && dtype.is_reduced_float();
        if dtype != self.func.ty(w).dtype || (out_dtype != dtype && !wide) {
            return Err(self.unsupported(instr));
        }
        let input = self.memory_of(x)?;
        let kernel = self.memory_of(w)?;
        let out = self.out(result);
        let pick = |from: &Dims, first: i64, second: i64, rest: &Dims| -> Dims {
            [first, second].iter().chain(rest).map(|&d| from[d as usize]).collect()
        };
        let d = &a.dims;
        let i = |v: &Dims| pick(v, d.input_batch, d.input_feature, &d.input_spatial);
        let k = |v: &Dims| pick(v, d.kernel_output_feature, d.kernel_input_feature, &d.kernel_spatial);
        let o = |v: &Dims| pick(v, d.output_batch, d.output_feature, &d.output_spatial);
        let (id, kd, od) = (i(&input.dims), k(&kernel.dims), o(&out.dims));
        let desc = ConvDesc {
            dtype,
            out: out_dtype,
            batch: id[0] as usize,
            in_features: id[1] as usize,
            out_features: kd[0] as usize,
            input: Dims::from_slice(&id[2..]),
            kernel: Dims::from_slice(&kd[2..]),
            output: Dims::from_slice(&od[2..]),
            input_strides: i(&input.strides),
            kernel_strides: k(&kernel.strides),
            output_strides: o(&out.strides),
            window_strides: a.window_strides.clone(),
            padding_low: a.padding_low.clone(),
            lhs_dilation: a.lhs_dilation.clone(),
            rhs_dilation: a.rhs_dilation.clone(),
            window_reversal: a.window_reversal.clone(),
            feature_groups: a.feature_group_count as usize,
            batch_groups: a.batch_group_count as usize,
            bias: false,
            activation: Activation::None,
        };
        if out.numel() > 0 {
            let flops = 2 * out.numel() * kd[1..].iter().product::<i64>();
            let (xl, wl, yl) = (loc(&input), loc(&kernel), loc(&out));
            self.kernel(
                Call::boxed(flops as u64 / 150 + 500, move |cx| {
                    let ptrs = ConvPtrs {
                        input: cx.at(xl),
                        kernel: cx.at(wl),
                        bias: std::ptr::null(),
                        output: cx.at(yl),
                    };
                    // SAFETY: `Step::run` promises memory for every view; the output is memory of its own.
                    unsafe { conv(pool::global(), &desc, &ptrs) };
                    Ok(())
                }),
                &[&input, &kernel],
                &[&out],
            );
        }
        self.define_leaf(result, out);
        Ok(())
    }
}
