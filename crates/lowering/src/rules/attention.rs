//! Scaled dot-product attention, forward and backward as one composite each.

use smallvec::smallvec;
use tnrs_hlo::{Composite, ReduceKind, TensorType, Value};
use tnrs_types::{DType, Dims, Scalar};

use super::norm_layer::mask;
use crate::helpers::Lowered;
use crate::{Ctx, LowerError, Outcome, Ret, Row, Tensor};

/// Rows of this family.
pub(crate) const ROWS: &[Row] = &[
    Row::new("aten::_scaled_dot_product_fused_attention_overrideable", forward),
    Row::new("aten::_scaled_dot_product_fused_attention_overrideable_backward", backward),
];

/// Sizes with a leading batch dim of 1 for (heads, rows, width) operands.
fn batched(dims: &[i64]) -> Dims {
    match dims.len() {
        3 => {
            let mut d: Dims = smallvec![1];
            d.extend_from_slice(dims);
            d
        }
        _ => Dims::from_slice(dims),
    }
}

fn with_batch(cx: &mut Ctx, t: &Tensor) -> Result<Value, LowerError> {
    let dims = batched(&t.ty.dims);
    Ok(cx.b.reshape(t.value, &dims)?)
}

/// Sizes of the scores: batch, heads, query rows, key rows.
pub(super) fn score_dims(q: &Tensor, k: &Tensor) -> Dims {
    let (q, k) = (batched(&q.ty.dims), batched(&k.ty.dims));
    smallvec![q[0], q[1], q[2], k[2]]
}

/// The additive bias with the sizes of the scores, in the query's type; truth values mask.
pub(super) fn full_bias(
    cx: &mut Ctx,
    bias: &Tensor,
    dtype: DType,
    full: &[i64],
) -> Result<Value, LowerError> {
    let is_bool = bias.ty.dtype == DType::Bool;
    cx.math(|m| {
        let b = m.expr(bias.value);
        let b = if is_bool {
            let zero = m.splat(dtype, &[], Scalar::Int(0));
            b.select(zero, f64::NEG_INFINITY)
        } else {
            b.cast(dtype)
        };
        b.broadcast(full).value()
    })
}

pub(super) fn scale(cx: &Ctx, arg: usize, q: &Tensor) -> f64 {
    let width = q.ty.dims.last().copied().unwrap_or(1);
    cx.float(arg).unwrap_or_else(|_| 1.0 / (width as f64).sqrt())
}

fn forward(cx: &mut Ctx) -> Lowered {
    let [q, k, v] = [cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?];
    let (bias, dropout) = (cx.opt_tensor(3), cx.float(4)?);
    let (out, lse) = (cx.out(0)?, cx.out(1)?);
    let full = score_dims(&q, &k);
    let op = Composite::Sdpa { scale: scale(cx, 7, &q), causal: cx.bool(5), bias: bias.is_some(), dropout };
    let mut operands = vec![with_batch(cx, &q)?, with_batch(cx, &k)?, with_batch(cx, &v)?];
    if let Some(bias) = &bias {
        operands.push(full_bias(cx, bias, q.ty.dtype, &full)?);
    }
    let mut state = [None; 2];
    if dropout > 0.0 {
        let (seed, offset) = cx.philox(tnrs_types::numel(&full));
        operands.extend([seed, offset]);
        state = [Some(seed), Some(offset)];
    }
    let results = [TensorType::new(out.dtype, &batched(&out.dims)), TensorType::new(DType::F32, &full[..3])];
    let r = cx.b.composite(op, &operands, &results)?;
    let y = cx.b.reshape(r[0], &out.dims)?;
    let lse = cx.b.reshape(r[1], &lse.dims)?;
    // The generator's state leaves as i64 bits, so that the backward draws the same numbers.
    let mut kept = [Value(0); 2];
    for (slot, s) in kept.iter_mut().zip(state) {
        *slot = match s {
            Some(s) => cx.b.bitcast(s, DType::I64)?,
            None => cx.number(Scalar::Int(0), DType::I64)?,
        };
    }
    Ok(Outcome {
        rets: vec![
            Ret::Tensor(y),
            Ret::Tensor(lse),
            Ret::Undefined,
            Ret::Undefined,
            Ret::Int(full[2]),
            Ret::Int(full[3]),
            Ret::Tensor(kept[0]),
            Ret::Tensor(kept[1]),
            Ret::Undefined,
        ],
        writes: Vec::new(),
    })
}

fn backward(cx: &mut Ctx) -> Lowered {
    let [dy, q, k, v] = [cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?, cx.tensor(3)?];
    let (bias, out, lse) = (cx.opt_tensor(4), cx.tensor(6)?, cx.tensor(7)?);
    let (dropout, mask) = (cx.float(12)?, mask(cx, 5)?);
    let full = score_dims(&q, &k);
    let bias_grad = bias.is_some() && mask[3];
    let op = Composite::SdpaGrad {
        scale: scale(cx, 16, &q),
        causal: cx.bool(13),
        bias: bias.is_some(),
        dropout,
        bias_grad,
    };
    let mut operands = Vec::with_capacity(9);
    for t in [&dy, &q, &k, &v, &out] {
        operands.push(with_batch(cx, t)?);
    }
    operands.push(cx.b.reshape(lse.value, &full[..3])?);
    if let Some(bias) = &bias {
        operands.push(full_bias(cx, bias, q.ty.dtype, &full)?);
    }
    if dropout > 0.0 {
        for i in [14, 15] {
            let state = cx.tensor(i)?.value;
            let state = cx.b.reshape(state, &[])?;
            operands.push(cx.b.bitcast(state, DType::U64)?);
        }
    }
    let mut results: Vec<TensorType> =
        [&q, &k, &v].iter().map(|t| TensorType::new(t.ty.dtype, &batched(&t.ty.dims))).collect();
    if bias_grad {
        results.push(TensorType::new(q.ty.dtype.opmath(), &full));
    }
    let r = cx.b.composite(op, &operands, &results)?;
    let mut rets = Vec::with_capacity(4);
    for (&g, t) in r.iter().zip([&q, &k, &v]) {
        rets.push(Ret::Tensor(cx.b.reshape(g, &t.ty.dims)?));
    }
    rets.push(match (&bias, r.get(3)) {
        (Some(bias), Some(&g)) => Ret::Tensor(sum_to(cx, g, &bias.ty)?),
        _ => Ret::Undefined,
    });
    Ok(Outcome { rets, writes: Vec::new() })
}

/// Sums the dims along which a value of type `ty` was broadcast.
fn sum_to(cx: &mut Ctx, v: Value, ty: &TensorType) -> Result<Value, LowerError> {
    let dims = cx.b.ty(v).dims.clone();
    let lead = dims.len() - ty.rank();
    let summed: Vec<i64> = (0..dims.len())
        .filter(|&d| dims[d] != 1 && (d < lead || ty.dims[d - lead] == 1))
        .map(|d| d as i64)
        .collect();
    cx.math(|m| m.expr(v).reduce(ReduceKind::Add, &summed).reshape(&ty.dims).cast(ty.dtype).value())
}
