//! A matrix multiplication.

use tnrs_hal::Fault;
use tnrs_kernels::gemm::{gemm, GemmDesc, GemmPtrs};
use tnrs_kernels::pool;
use tnrs_types::DType;

use super::{Cx, Loc, Step};

/// A multiplication with its operands' places.
pub(crate) struct Gemm {
    desc: GemmDesc,
    a: Loc,
    b: Loc,
    c: Loc,
    bias_cols: Option<Loc>,
    bias_rows: Option<Loc>,
    residual: Option<Loc>,
}

impl Gemm {
    pub fn new(
        desc: GemmDesc,
        a: Loc,
        b: Loc,
        c: Loc,
        bias_cols: Option<Loc>,
        bias_rows: Option<Loc>,
        residual: Option<Loc>,
    ) -> Self {
        Gemm { desc, a, b, c, bias_cols, bias_rows, residual }
    }
}

impl Step for Gemm {
    unsafe fn run(&self, cx: &Cx) -> Result<(), Fault> {
        let maybe = |l: Option<Loc>| l.map_or(std::ptr::null(), |l| cx.at(l).cast_const());
        let ptrs = GemmPtrs {
            a: cx.at(self.a),
            b: cx.at(self.b),
            c: cx.at(self.c),
            bias_cols: maybe(self.bias_cols),
            bias_rows: maybe(self.bias_rows),
            residual: maybe(self.residual),
        };
        // SAFETY: the caller's promise; the planner gives C memory of its own, or that of the residual.
        unsafe { gemm(pool::global(), &self.desc, &ptrs) };
        Ok(())
    }

    fn cost_ns(&self) -> u64 {
        let d = &self.desc;
        let batch: i64 = d.batch.iter().product();
        let [m, n, k] = [d.m, d.n, d.k].map(|x| x as f64);
        // Two operations per element of the product, at 200 GF in f32; memory at 30 GB/s.
        let rate = match d.dtype {
            DType::F32 => 200.0,
            DType::BF16 | DType::F16 => 400.0,
            DType::F64 => 100.0,
            _ => 2.0,
        };
        let bytes = (m * k + k * n) * d.dtype.size() as f64 + m * n * d.out.size() as f64;
        (batch as f64 * (2.0 * m * n * k / rate + bytes / 30.0)) as u64 + 100
    }
}
