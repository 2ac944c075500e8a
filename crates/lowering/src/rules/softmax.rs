//! Softmax and log-softmax, one composite each.

use tnrs_hlo::{Composite, TensorType};

use crate::helpers;
use crate::{Ctx, LowerError, Outcome, Row};

/// Rows of this family.
pub(crate) const ROWS: &[Row] = &[
    Row::new("aten::_softmax", |cx| forward(cx, false)).exact(),
    Row::new("aten::_log_softmax", |cx| forward(cx, true)),
    Row::new("aten::_softmax_backward_data", |cx| backward(cx, false)),
    Row::new("aten::_log_softmax_backward_data", |cx| backward(cx, true)),
];

/// A type of at least one dim: a scalar is a row of one element.
fn row_type(ty: &TensorType) -> TensorType {
    match ty.rank() {
        0 => TensorType::new(ty.dtype, &[1]),
        _ => ty.clone(),
    }
}

fn forward(cx: &mut Ctx, log: bool) -> Result<Outcome, LowerError> {
    let x = cx.tensor(0)?;
    let out = cx.out(0)?;
    if out.numel() == 0 {
        return Ok(cx.b.splat(out.dtype, &out.dims, tnrs_types::Scalar::Int(0))?.into());
    }
    if !out.dtype.is_float() {
        return Err(LowerError::runtime(format!("{}: not implemented for integers", cx.op)));
    }
    let row = row_type(&out);
    let dim = helpers::dim(cx.int(1)?, x.ty.rank())?;
    let v = cx.b.reshape(x.value, &row.dims)?;
    let y = cx.b.composite(Composite::Softmax { dim, log }, &[v], &[row])?[0];
    Ok(cx.b.reshape(y, &out.dims)?.into())
}

fn backward(cx: &mut Ctx, log: bool) -> Result<Outcome, LowerError> {
    let (dy, y) = (cx.tensor(0)?, cx.tensor(1)?);
    let out = cx.out(0)?;
    let row = row_type(&out);
    let dim = helpers::dim(cx.int(2)?, y.ty.rank())?;
    let dy = cx.b.reshape(dy.value, &row.dims)?;
    let y = cx.b.reshape(y.value, &row.dims)?;
    let dx = cx.b.composite(Composite::SoftmaxGrad { dim, log }, &[dy, y], &[row])?[0];
    Ok(cx.b.reshape(dx, &out.dims)?.into())
}
