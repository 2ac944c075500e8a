//! Weight normalisation: w = v·g/‖v‖, the norm over all dims but the first or the last.

use tnrs_types::Dims;

use crate::expr::Expr;
use crate::helpers::Lowered;
use crate::{Ctx, LowerError, Outcome, Row, Tensor};

/// Rows of this family.
pub(crate) const ROWS: &[Row] = &[
    // PyTorch's meta kernel has another type for the norms of half precision.
    Row::new("aten::_weight_norm_interface", forward).infer_by_rule(),
    Row::new("aten::_weight_norm_interface_backward", backward),
];

/// The dims that the norm runs over.
fn reduced(v: &Tensor, dim: i64) -> Result<Dims, LowerError> {
    let rank = v.ty.rank() as i64;
    if dim != 0 && dim != rank - 1 {
        return Err(LowerError::runtime("fused kernels can only be applied for first or last dim"));
    }
    Ok((0..rank).filter(|&d| d != dim).collect())
}

fn forward(cx: &mut Ctx) -> Lowered {
    let (v, g) = (cx.tensor(0)?, cx.tensor(1)?);
    let dims = reduced(&v, cx.int(2)?)?;
    let dtype = v.ty.dtype;
    let acc = dtype.opmath();
    let r = cx.math(|m| {
        let v = m.expr(v.value).cast(acc);
        let norm = (v * v).reduce_keep(tnrs_hlo::ReduceKind::Add, &dims).sqrt();
        let scale = m.expr(g.value).cast(acc).reshape(&norm.dims()) / norm;
        [(v * scale).cast(dtype).value(), norm.reshape(&g.ty.dims).value()]
    })?;
    Ok(Outcome::tensors(&r))
}

fn backward(cx: &mut Ctx) -> Lowered {
    let [dw, v, g, norms] = [cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?, cx.tensor(3)?];
    let dims = reduced(&v, cx.int(4)?)?;
    let acc = v.ty.dtype.opmath();
    let r = cx.math(|m| {
        let [dw, x, gain, norm] = m.exprs([dw.value, v.value, g.value, norms.value]).map(|e| e.cast(acc));
        let along: Expr<'_> = (dw * x).reduce_keep(tnrs_hlo::ReduceKind::Add, &dims);
        let kept = along.dims();
        let (gain, norm) = (gain.reshape(&kept), norm.reshape(&kept));
        let dv = gain / norm * (dw - x * along / (norm * norm));
        [dv.cast(v.ty.dtype).value(), (along / norm).reshape(&g.ty.dims).cast(g.ty.dtype).value()]
    })?;
    Ok(Outcome::tensors(&r))
}
