//! Negative log-likelihood: one element taken per row, one element set per row of the gradient.

use tnrs_hlo::Value;
use tnrs_types::{DType, Dims};

use crate::expr::{Expr, Math};
use crate::helpers::Lowered;
use crate::layout::with_dim;
use crate::{Ctx, LowerError, Outcome, Row, Tensor};

/// Rows of this family.
pub(crate) const ROWS: &[Row] = &[
    Row::new("aten::nll_loss_forward", forward),
    Row::new("aten::nll_loss2d_forward", forward),
    Row::new("aten::nll_loss_backward", backward),
    Row::new("aten::nll_loss2d_backward", backward),
];

/// How a loss is reduced over its elements (`at::Reduction`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reduction {
    /// Not at all.
    None,
    /// To the mean.
    Mean,
    /// To the sum.
    Sum,
}

/// The reduction argument at a position.
pub(super) fn reduction(cx: &Ctx, i: usize) -> Result<Reduction, LowerError> {
    match cx.int(i)? {
        0 => Ok(Reduction::None),
        1 => Ok(Reduction::Mean),
        2 => Ok(Reduction::Sum),
        other => Err(LowerError::runtime(format!("{}: {other} is not a reduction", cx.op))),
    }
}

/// The class dim: 0 of a single row, else 1.
fn class_dim(x: &Tensor) -> usize {
    usize::from(x.ty.rank() > 1)
}

/// Targets with ignored ones replaced by class 0, and which ones count.
fn targets<'m>(
    m: &'m Math,
    target: Value,
    ignore: i64,
    classes: i64,
    dims: &[i64],
    site: &'static str,
) -> (Expr<'m>, Expr<'m>) {
    let t = m.expr(target).cast(DType::I64).reshape(dims);
    let valid = t.ne(t.int(ignore));
    let t = valid.select(t, 0.0).checked(0, classes, site, 1);
    (t, valid)
}

fn forward(cx: &mut Ctx) -> Lowered {
    let (x, target, weight) = (cx.tensor(0)?, cx.tensor(1)?, cx.opt_tensor(2));
    let (reduction, ignore) = (reduction(cx, 3)?, cx.int(4)?);
    if let Some(w) = weight.as_ref().filter(|w| w.ty.dtype != x.ty.dtype) {
        let [x, w] = [x.ty.dtype, w.ty.dtype].map(DType::torch_name);
        return Err(LowerError::runtime(format!("expected scalar type {x} but found {w}")));
    }
    let (dim, acc, site) = (class_dim(&x), x.ty.dtype.opmath(), cx.op);
    let (out, total_ty) = (cx.out(0)?, cx.out(1)?);
    let classes = x.ty.dims[dim];
    let index_dims = with_dim(&x.ty.dims, dim, 1);
    let (loss, total) = cx.math(|m| {
        let (t, valid) = targets(m, target.value, ignore, classes, &index_dims, site);
        let flat = t.flat_index(&x.ty.dims, dim);
        let picked = m.expr(x.value).flatten().take_rows(0, flat.flatten()).cast(acc);
        let valid = valid.flatten();
        let weights = match weight {
            Some(w) => {
                let w = m.expr(w.value).take_rows(0, t.flatten()).cast(acc);
                valid.select(w, 0.0)
            }
            None => valid.cast(acc),
        };
        let losses = valid.select(-(picked * weights), 0.0);
        let total = weights.sum(&[0]);
        let (loss, total) = match reduction {
            // PyTorch sums the weights of unreduced losses only for a single row.
            Reduction::None if dim == 1 => (losses, total.int(0)),
            Reduction::None => (losses, total),
            Reduction::Sum => (losses.sum(&[0]), total),
            Reduction::Mean => (losses.sum(&[0]) / total, total),
        };
        (loss.reshape(&out.dims).cast(out.dtype).value(), total.cast(total_ty.dtype).value())
    })?;
    Ok(Outcome::tensors(&[loss, total]))
}

fn backward(cx: &mut Ctx) -> Lowered {
    let [dy, x, target] = [cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?];
    let (weight, total) = (cx.opt_tensor(3), cx.tensor(6)?);
    let (reduction, ignore) = (reduction(cx, 4)?, cx.int(5)?);
    let (dim, acc) = (class_dim(&x), x.ty.dtype.opmath());
    let out = cx.out(0)?;
    let index_dims: Dims = with_dim(&x.ty.dims, dim, 1);
    let v = cx.math(|m| {
        let t = m.expr(target.value).cast(DType::I64).reshape(&index_dims);
        let dy = m.expr(dy.value).cast(acc);
        let scale = match reduction {
            Reduction::None => -dy.reshape(&index_dims),
            Reduction::Sum => -dy,
            Reduction::Mean => -(dy / m.expr(total.value).cast(acc)),
        };
        let scale = match weight {
            Some(w) => {
                let w = m.expr(w.value).take_rows(0, t.flatten()).cast(acc);
                scale * w.reshape(&index_dims)
            }
            None => scale,
        };
        // An ignored row is told apart by a class that does not exist. 32 bits suffice for any class, and the
        // comparison of every element with its row's class is all the work there is.
        let class = t.ne(t.int(ignore)).select(t, -1.0).cast(DType::I32);
        let hit = m.iota(DType::I32, &out.dims, dim as i64).eq(class);
        let value = scale.cast(out.dtype);
        hit.select(value, 0.0).value()
    })?;
    Ok(v.into())
}
