//! Attention by the names of PyTorch's CPU kernels, and the parts that its multi-head attention is made of.

use tnrs_hlo::{Composite, ReduceKind, TensorType};
use tnrs_types::{DType, Dims, Scalar};

use super::attention::{full_bias, scale, score_dims};
use crate::helpers::{dim, Lowered};
use crate::{Ctx, LowerError, Outcome, Row, Tensor};

/// Rows of this family.
pub(crate) const ROWS: &[Row] = &[
    Row::new("aten::_scaled_dot_product_flash_attention_for_cpu", flash),
    Row::new("aten::_scaled_dot_product_flash_attention_for_cpu_backward", flash_backward),
    Row::new("aten::_transform_bias_rescale_qkv", transform_bias_rescale).infer_by_rule(),
    Row::new("aten::_masked_softmax", masked_softmax).infer_by_rule(),
    Row::new("aten::_masked_softmax_backward", masked_softmax_backward).infer_by_rule(),
];

fn require_attention(cx: &Ctx, q: &Tensor, k: &Tensor, v: &Tensor, dropout: f64) -> Result<(), LowerError> {
    if !q.ty.dtype.is_float() {
        return Err(LowerError::runtime(format!(
            "{}: Expected data type in FP32, FP64, BF16, FP16, but got {}",
            cx.op,
            q.ty.dtype.hlo_name()
        )));
    }
    if q.ty.rank() != 4 || k.ty.rank() != 4 || v.ty.rank() != 4 {
        return Err(LowerError::runtime(format!(
            "{}: Accept only 4 dims inputs shape of {{B, H, T, K}}",
            cx.op
        )));
    }
    if dropout > 0.0 {
        return Err(LowerError::runtime(format!("{}: Currently do not support dropout > 0", cx.op)));
    }
    if v.ty.dims[3] != q.ty.dims[3] || k.ty.dims[3] != v.ty.dims[3] {
        return Err(LowerError::runtime(format!("{}: Q/K/V should have the same head size", cx.op)));
    }
    Ok(())
}

fn flash(cx: &mut Ctx) -> Lowered {
    let [q, k, v] = [cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?];
    let (dropout, causal, mask) = (cx.float(3)?, cx.bool(4), cx.opt_tensor(5));
    require_attention(cx, &q, &k, &v, dropout)?;
    let (out, lse) = (cx.out(0)?, cx.out(1)?);
    let full = score_dims(&q, &k);
    let op = Composite::Sdpa { scale: scale(cx, 6, &q), causal, bias: mask.is_some(), dropout: 0.0 };
    let mut operands = vec![q.value, k.value, v.value];
    if let Some(mask) = &mask {
        operands.push(full_bias(cx, mask, q.ty.dtype, &full)?);
    }
    let results = [out, TensorType::new(lse.dtype, &full[..3])];
    let r = cx.b.composite(op, &operands, &results)?;
    Ok(Outcome::tensors(&[r[0], r[1]]))
}

fn flash_backward(cx: &mut Ctx) -> Lowered {
    let [dy, q, k, v] = [cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?, cx.tensor(3)?];
    let (out, lse, dropout) = (cx.tensor(4)?, cx.tensor(5)?, cx.float(6)?);
    let (causal, mask) = (cx.bool(7), cx.opt_tensor(8));
    require_attention(cx, &q, &k, &v, dropout)?;
    let full = score_dims(&q, &k);
    let op = Composite::SdpaGrad {
        scale: scale(cx, 9, &q),
        causal,
        bias: mask.is_some(),
        dropout: 0.0,
        bias_grad: false,
    };
    let mut operands = vec![dy.value, q.value, k.value, v.value, out.value, lse.value];
    if let Some(mask) = &mask {
        operands.push(full_bias(cx, mask, q.ty.dtype, &full)?);
    }
    let r = cx.b.composite(op, &operands, &[q.ty, k.ty, v.ty])?;
    Ok(Outcome::tensors(&[r[0], r[1], r[2]]))
}

/// (batch, length, 3·features) plus a bias, as query, key and value of (batch, heads, length, width); the query is
/// divided by √width.
fn transform_bias_rescale(cx: &mut Ctx) -> Lowered {
    let (x, bias, heads) = (cx.tensor(0)?, cx.tensor(1)?, cx.int(2)?);
    let dtype = x.ty.dtype;
    if !dtype.is_float() {
        return Err(LowerError::unsupported(format!(
            "\"transform_bias_rescale_qkv\" not implemented for '{}'",
            dtype.hlo_name()
        )));
    }
    let [batch, length, features] = x.ty.dims[..] else {
        return Err(LowerError::runtime("_transform_bias_rescale_qkv: expected 3-D qkv"));
    };
    if heads <= 0 || features % (3 * heads) != 0 || bias.ty.dims[..] != [features] {
        return Err(LowerError::runtime(format!(
            "_transform_bias_rescale_qkv: {features} features and a bias {:?} for {heads} heads",
            bias.ty.dims.as_slice()
        )));
    }
    let width = features / 3 / heads;
    let acc = dtype.opmath();
    let r = cx.math(|m| {
        let [x, bias] = m.exprs([x.value, bias.value]).map(|e| e.cast(acc));
        let all = (x + bias).reshape(&[batch, length, 3, heads, width]).transpose(&[2, 0, 3, 1, 4]);
        let part = |i: i64| all.at(0, i);
        let query = part(0) * (1.0 / (width as f64).sqrt());
        [query, part(1), part(2)].map(|e| e.cast(dtype).value())
    })?;
    Ok(Outcome::tensors(&r))
}

/// The mask as truth values in the sizes of the data. Type 0 is (length, length), 1 (batch, length), 2 all dims.
fn mask_sizes(x: &Dims, mask: &Dims, kind: Option<i64>) -> Result<Dims, LowerError> {
    let fail = |text: &str| Err(LowerError::runtime(text));
    match kind {
        Some(0) if x.len() == 4 && mask.len() == 2 => {
            if mask[0] != x[2] || mask[1] != x[2] {
                return fail("For mask_type == 0 mask shape should be (L, L)");
            }
            Ok(Dims::from_slice(&[1, 1, mask[0], mask[1]]))
        }
        Some(1) if x.len() == 4 && mask.len() == 2 => {
            if mask[0] != x[0] || mask[1] != x[2] {
                return fail("For mask_type == 1 mask shape should be (B, L)");
            }
            Ok(Dims::from_slice(&[mask[0], 1, 1, mask[1]]))
        }
        _ if mask == x => Ok(mask.clone()),
        Some(2) | None => fail("Mask shape should match input. mask: input: "),
        Some(_) => fail("Mask Type should be 0 (src_mask), 1 (src_key_padding_mask), or 2 (default_mask)"),
    }
}

fn masked_softmax(cx: &mut Ctx) -> Lowered {
    let (x, mask) = (cx.tensor(0)?, cx.tensor(1)?);
    if mask.ty.dtype != DType::Bool {
        return Err(LowerError::runtime("Mask should be a boolean tensor"));
    }
    let sizes = mask_sizes(&x.ty.dims, &mask.ty.dims, cx.opt_int(3))?;
    let d = dim(cx.opt_int(2).unwrap_or(x.ty.rank() as i64 - 1), x.ty.rank())?;
    let acc = x.ty.dtype.opmath();
    let v = cx.math(|m| {
        let data = m.expr(x.value).cast(acc);
        if data.rank() == 0 || data.ty().numel() == 0 {
            return x.value;
        }
        let masked = m.expr(mask.value).reshape(&sizes).broadcast(&x.ty.dims);
        let kept = masked.select(f64::NEG_INFINITY, data);
        let top = kept.reduce_keep(ReduceKind::Maximum, &[d]);
        // A row of nothing but masked elements is NaN: −∞ − −∞.
        let e = masked.select(0.0, (kept - top).exp());
        let sum = e.reduce_keep(ReduceKind::Add, &[d]);
        let none = top.eq(f64::NEG_INFINITY);
        none.select(f64::NAN, e / sum).cast(x.ty.dtype).value()
    })?;
    Ok(v.into())
}

fn masked_softmax_backward(cx: &mut Ctx) -> Lowered {
    let [dy, y, mask] = [cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?];
    if mask.ty.dtype != DType::Bool {
        return Err(LowerError::runtime("Mask should be a boolean tensor"));
    }
    if mask.ty.dims != dy.ty.dims {
        return Err(LowerError::runtime("Mask shape should match grad shape"));
    }
    let d = dim(cx.opt_int(3).unwrap_or(dy.ty.rank() as i64 - 1), dy.ty.rank())?;
    let acc = dy.ty.dtype.opmath();
    let v = cx.math(|m| {
        let [g, y] = m.exprs([dy.value, y.value]).map(|e| e.cast(acc));
        if g.rank() == 0 || g.ty().numel() == 0 {
            return m.splat(dy.ty.dtype, &dy.ty.dims, Scalar::Int(0)).value();
        }
        let masked = m.expr(mask.value);
        let product = masked.select(0.0, g * y);
        let sum = product.reduce_keep(ReduceKind::Add, &[d]);
        masked.select(0.0, product - y * sum).cast(dy.ty.dtype).value()
    })?;
    Ok(v.into())
}
