//! Convolutions by the names of PyTorch's own CPU algorithms (`thnn_conv2d`, `slow_conv3d`, …).

use smallvec::smallvec;
use tnrs_hlo::TensorType;
use tnrs_types::Dims;

use super::convolution::{convolved, gradients, Geometry};
use super::norm_layer::mask;
use crate::helpers::Lowered;
use crate::{Ctx, LowerError, Outcome, Ret, Row, Tensor};

/// Rows of this family.
pub(crate) const ROWS: &[Row] = &[
    Row::new("aten::_slow_conv2d_forward", |cx| forward(cx, 2, &PLAIN)).infer_by_rule(),
    Row::new("aten::slow_conv3d_forward", |cx| forward(cx, 3, &PLAIN)).infer_by_rule(),
    Row::new("aten::slow_conv_dilated2d", |cx| forward(cx, 2, &DILATED)).infer_by_rule(),
    Row::new("aten::slow_conv_dilated3d", |cx| forward(cx, 3, &DILATED)).infer_by_rule(),
    Row::new("aten::slow_conv_transpose2d", |cx| forward(cx, 2, &TRANSPOSED)).infer_by_rule(),
    Row::new("aten::slow_conv_transpose3d", |cx| forward(cx, 3, &TRANSPOSED)).infer_by_rule(),
    Row::new("aten::_slow_conv2d_backward.output_mask", |cx| {
        let mask = mask(cx, 6)?;
        backward(cx, 2, &mask)
    })
    .infer_by_rule(),
    Row::new("aten::_slow_conv2d_backward.grad_input", |cx| backward(cx, 2, &[true; 3])).infer_by_rule(),
];

/// Positions of the arguments after padding, which is argument 5.
struct Form {
    dilation: Option<usize>,
    output_padding: Option<usize>,
}

const PLAIN: Form = Form { dilation: None, output_padding: None };
const DILATED: Form = Form { dilation: Some(6), output_padding: None };
const TRANSPOSED: Form = Form { dilation: Some(7), output_padding: Some(6) };

fn list(cx: &Ctx, i: Option<usize>, spatial: usize, default: i64) -> Dims {
    let v = i.and_then(|i| cx.ints(i)).unwrap_or_default();
    match v.len() {
        0 => smallvec![default; spatial],
        1 => smallvec![v[0]; spatial],
        _ => v,
    }
}

/// The tensor with a leading batch dim of 1 where it has none.
fn batched(cx: &mut Ctx, t: Tensor, rank: usize) -> Result<Tensor, LowerError> {
    if t.ty.rank() + 1 != rank {
        return Ok(t);
    }
    let mut dims: Dims = smallvec![1];
    dims.extend_from_slice(&t.ty.dims);
    let value = cx.b.reshape(t.value, &dims)?;
    Ok(Tensor { value, ty: TensorType::new(t.ty.dtype, &dims), wrapped: false })
}

fn require_ranks(cx: &Ctx, x: &Tensor, w: &Tensor, spatial: usize) -> Result<(), LowerError> {
    let (rank, full) = (x.ty.rank(), spatial + 2);
    if rank != full && rank + 1 != full || w.ty.rank() != full {
        return Err(LowerError::runtime(format!(
            "{}: expected a {full}-D input (or {}-D without a batch) and a {full}-D weight, got {:?} and {:?}",
            cx.op,
            full - 1,
            x.ty.dims.as_slice(),
            w.ty.dims.as_slice()
        )));
    }
    let stated = cx.ints(if cx.op.contains("backward") { 3 } else { 2 }).unwrap_or_default();
    if stated.len() == spatial && stated[..] != w.ty.dims[2..] {
        return Err(LowerError::runtime(format!(
            "{}: kernel_size {:?} is not that of the weight {:?}",
            cx.op,
            stated.as_slice(),
            w.ty.dims.as_slice()
        )));
    }
    Ok(())
}

fn forward(cx: &mut Ctx, spatial: usize, form: &Form) -> Lowered {
    let (x, w, bias) = (cx.tensor(0)?, cx.tensor(1)?, cx.opt_tensor(3));
    require_ranks(cx, &x, &w, spatial)?;
    let g = Geometry {
        stride: list(cx, Some(4), spatial, 1),
        padding: list(cx, Some(5), spatial, 0),
        dilation: list(cx, form.dilation, spatial, 1),
        transposed: form.output_padding.is_some(),
        output_padding: list(cx, form.output_padding, spatial, 0),
        groups: 1,
    };
    let lone = x.ty.rank() == spatial + 1;
    let x = batched(cx, x, spatial + 2)?;
    let inputs = w.ty.dims[usize::from(!g.transposed)];
    if x.ty.dims[1] != inputs {
        return Err(LowerError::runtime(format!(
            "{}: the input {:?} needs {inputs} channels for the weight {:?}",
            cx.op,
            x.ty.dims.as_slice(),
            w.ty.dims.as_slice()
        )));
    }
    let y = convolved(cx, &x, &w, bias.as_ref(), &g)?;
    // PyTorch leaves the batch there for this one.
    if !lone || g.transposed && spatial == 2 {
        return Ok(y.into());
    }
    let dims = Dims::from_slice(&cx.b.ty(y).dims[1..]);
    Ok(cx.b.reshape(y, &dims)?.into())
}

fn backward(cx: &mut Ctx, spatial: usize, mask: &[bool]) -> Lowered {
    let [dy, x, w] = [cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?];
    require_ranks(cx, &x, &w, spatial)?;
    let g = Geometry {
        stride: list(cx, Some(4), spatial, 1),
        padding: list(cx, Some(5), spatial, 0),
        dilation: smallvec![1; spatial],
        transposed: false,
        output_padding: smallvec![0; spatial],
        groups: 1,
    };
    let sizes = x.ty.dims.clone();
    let (dy, x) = (batched(cx, dy, spatial + 2)?, batched(cx, x, spatial + 2)?);
    let mut outcome: Outcome = gradients(cx, [&dy, &x, &w], &g, mask)?;
    if let Some(Ret::Tensor(dx)) = outcome.rets.first_mut() {
        *dx = cx.b.reshape(*dx, &sizes)?;
    }
    Ok(outcome)
}
