//! Matrix products of scaled 8-bit floats and of quantised integers. Sums are f32 (i32 where all is integer), and are
//! rounded once.
//!
//! The memory of packed 4-bit weights is this file's own business: two numbers a byte, the even one in the low half.

use tnrs_hlo::TensorType;
use tnrs_types::{DType, ReduceKind, UnaryKind};

use super::matmul::contract;
use crate::expr::{Expr, Math};
use crate::helpers::Lowered;
use crate::{Ctx, LowerError, Row, Tensor};

/// Rows of this family.
pub(crate) const ROWS: &[Row] = &[
    // PyTorch's meta kernel asks for multiples of 16, which its CPU kernel does not need.
    Row::new("aten::_scaled_mm", scaled_mm).infer_by_rule(),
    Row::new("aten::_scaled_mm_v2", scaled_mm_v2),
    Row::new("aten::_int_mm", int_mm),
    Row::new("aten::_weight_int8pack_mm", int8_mm),
    Row::new("aten::_convert_weight_to_int4pack_for_cpu", int4_pack),
    Row::new("aten::_weight_int4pack_mm_for_cpu", int4_mm),
    Row::new("aten::_dyn_quant_pack_4bit_weight", dynamic_pack),
    Row::new("aten::_dyn_quant_matmul_4bit", dynamic_mm),
];

/// Product of scaled 8-bit floats; scales are single numbers or one per row of `self` and column of `mat2`.
fn scaled_mm(cx: &mut Ctx) -> Lowered {
    let (scales, bias) = ([cx.tensor(2)?, cx.tensor(3)?], cx.opt_tensor(4));
    let result = cx.opt_tensor(5);
    let [x, y] = [cx.tensor(0)?.ty, cx.tensor(1)?.ty];
    let fits = |s: &Tensor, n: Option<&i64>| {
        s.ty.dtype == DType::F32 && (s.ty.numel() == 1 || Some(&s.ty.numel()) == n)
    };
    if !fits(&scales[0], x.dims.first()) || !fits(&scales[1], y.dims.last()) {
        return Err(LowerError::Value(
            "Invalid scaling configuration. Scales are float, and single or one for each row and column."
                .to_owned(),
        ));
    }
    if x.rank() != 2 || y.rank() != 2 {
        return Err(LowerError::runtime("mat1 and mat2 must be matrices"));
    }
    if x.dims[1] != y.dims[0] {
        return Err(LowerError::runtime(format!(
            "mat1 and mat2 shapes cannot be multiplied ({}x{} and {}x{})",
            x.dims[0], x.dims[1], y.dims[0], y.dims[1]
        )));
    }
    if bias.as_ref().is_some_and(|b| b.ty.numel() != y.dims[1]) {
        return Err(LowerError::runtime(format!("Bias must be size {}", y.dims[1])));
    }
    let out = TensorType::new(cx.dtype(6).unwrap_or(x.dtype), &[x.dims[0], y.dims[1]]);
    scaled(cx, out, scales, bias, result)
}

/// As [`scaled_mm`], with lists of scales and the recipe that each follows.
fn scaled_mm_v2(cx: &mut Ctx) -> Lowered {
    /// `torch.nn.functional.ScalingType`: one scale, or one a row.
    const PLAIN: [i64; 2] = [0, 1];
    let one = |arg: usize, recipe: usize| -> Result<Tensor, LowerError> {
        let (list, recipes) = (cx.tensors(arg)?, cx.ints(recipe).unwrap_or_default());
        match (list.as_slice(), recipes.as_slice()) {
            ([scale], [r]) if PLAIN.contains(r) => Ok(scale.clone()),
            _ => Err(LowerError::unsupported(format!("{}: scales by the recipe {recipes:?}", cx.op))),
        }
    };
    let scales = [one(2, 3)?, one(5, 6)?];
    let bias = cx.opt_tensor(8);
    let out = cx.out(0)?;
    scaled(cx, out, scales, bias, None)
}

fn scaled(
    cx: &mut Ctx,
    out: TensorType,
    scales: [Tensor; 2],
    bias: Option<Tensor>,
    result: Option<Tensor>,
) -> Lowered {
    let [x, y] = [cx.tensor(0)?, cx.tensor(1)?];
    let fits = |s: &Tensor, sizes: [i64; 2]| {
        s.ty.dtype == DType::F32 && (s.ty.numel() == 1 || s.ty.numel() == sizes[0] * sizes[1])
    };
    if !fits(&scales[0], [out.dims[0], 1]) || !fits(&scales[1], [1, out.dims[1]]) {
        return Err(LowerError::unsupported(format!(
            "{}: only one scale, or one per row and column, is supported",
            cx.op
        )));
    }
    let r = cx.math(|m| {
        let [x, y] = m.exprs([x.value, y.value]).map(|e| e.cast(DType::F32));
        let [sx, sy] = m.exprs([scales[0].value, scales[1].value]);
        let (rows, columns) = (sx.ty().numel(), sy.ty().numel());
        let mut r = x.dot(y, contract(&[1], &[0]), DType::F32);
        r = r * sx.reshape(&[rows, 1]) * sy.reshape(&[1, columns]);
        if let Some(bias) = bias {
            r = r + m.expr(bias.value).cast(DType::F32);
        }
        if let Some(scale) = result {
            r = r * m.expr(scale.value).reshape(&[1, 1]);
        }
        r.cast(out.dtype).value()
    })?;
    Ok(r.into())
}

fn int_mm(cx: &mut Ctx) -> Lowered {
    let [x, y] = [cx.tensor(0)?, cx.tensor(1)?];
    let r = cx.b.dot_general(x.value, y.value, contract(&[1], &[0]), DType::I32)?;
    cx.finish(r)
}

/// 8-bit weights of one scale a row: `x · mat2ᵀ · scales`.
fn int8_mm(cx: &mut Ctx) -> Lowered {
    let [x, w, scales] = [cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?].map(|t| t.value);
    let r = cx.math(|m| {
        let [x, w, scales] = m.exprs([x, w, scales]).map(|e| e.cast(DType::F32));
        (x.dot(w, contract(&[1], &[1]), DType::F32) * scales).value()
    })?;
    cx.finish(r)
}

/// Numbers of 4 bits, in the order of the last dim, as bytes.
fn pack(q: Expr<'_>) -> Expr<'_> {
    let mut pairs = q.dims();
    let last = pairs.len() - 1;
    pairs[last] /= 2;
    pairs.push(2);
    let q = q.cast(DType::U8).reshape(&pairs);
    let (low, high) = (q.at(last + 1, 0), q.at(last + 1, 1));
    low.or(high.shl(high.int(4)))
}

/// The inverse of [`pack`].
fn unpack<'m>(m: &'m Math, bytes: Expr<'m>) -> Expr<'m> {
    let mut dims = bytes.dims();
    let last = dims.len() - 1;
    let halves = [bytes.and(bytes.int(15)), bytes.shr_logical(bytes.int(4))].map(|h| h.unsqueeze(last + 1));
    dims[last] *= 2;
    m.concatenate(&halves, last as i64 + 1).reshape(&dims)
}

/// `[n, groups]` as `[n, groups · size]`.
fn each<'m>(scale: Expr<'m>, size: i64) -> Expr<'m> {
    let d = scale.dims();
    scale.unsqueeze(2).broadcast(&[d[0], d[1], size]).reshape(&[d[0], d[1] * size])
}

fn int4_pack(cx: &mut Ctx) -> Lowered {
    let w = cx.tensor(0)?.value;
    let r = cx.math(|m| pack(m.expr(w)).value())?;
    cx.finish(r)
}

/// 4-bit weights with a scale and a zero for each group of `qGroupSize`: `x · ((q − 8) · scale + zero)ᵀ`.
fn int4_mm(cx: &mut Ctx) -> Lowered {
    let [x, w, scales] = [cx.tensor(0)?, cx.tensor(1)?, cx.tensor(3)?].map(|t| t.value);
    let group = cx.int(2)?;
    let r = cx.math(|m| {
        let x = m.expr(x).cast(DType::F32);
        let q = unpack(m, m.expr(w)).cast(DType::F32) - 8.0;
        let scales = m.expr(scales).cast(DType::F32);
        let [scale, zero] = [0, 1].map(|i| each(scales.at(2, i).transpose(&[1, 0]), group));
        x.dot(q * scale + zero, contract(&[1], &[1]), DType::F32).value()
    })?;
    cx.finish(r)
}

/// Weights, scales and bias one after another in f32.
fn dynamic_pack(cx: &mut Ctx) -> Lowered {
    let parts: Vec<_> = (0..3).filter_map(|i| cx.opt_tensor(i)).map(|t| t.value).collect();
    let r = cx.math(|m| {
        let parts: Vec<Expr> = parts.iter().map(|&v| m.expr(v).cast(DType::F32).flatten()).collect();
        m.concatenate(&parts, 0).value()
    })?;
    cx.finish(r)
}

/// Rows are quantised to 8 bits by their own range (with zero in it), and multiplied with 4-bit weights.
fn dynamic_mm(cx: &mut Ctx) -> Lowered {
    let [x, packed] = [cx.tensor(0)?, cx.tensor(1)?];
    let (block, k, n) = (cx.int(2)?, cx.int(3)?, cx.int(4)?);
    if packed.ty.dtype != DType::F32 {
        return Err(LowerError::unsupported(format!("{}: weights that were packed elsewhere", cx.op)));
    }
    let (weights, groups) = (n * k / 2, k / block);
    let bias = packed.ty.numel() - weights - n * groups;
    let r = cx.math(|m| {
        let x = m.expr(x.value).cast(DType::F32);
        let all = m.expr(packed.value);
        let q = unpack(m, all.steps(0, 0, weights, 1).cast(DType::U8).reshape(&[n, k / 2])).cast(DType::F32)
            - 8.0;
        let scales = all.steps(0, weights, weights + n * groups, 1).reshape(&[n, groups]);
        let least = x.reduce_keep(ReduceKind::Minimum, &[1]).min(0.0);
        let most = x.reduce_keep(ReduceKind::Maximum, &[1]).max(0.0);
        let scale = least.eq(most).select(1.0, 255.0 / (most - least));
        let (low, high) = (least * scale, most * scale);
        let zero = (low - 128.0 + (high + 127.0)).gt(0.0).select(-128.0 - low, 127.0 - high);
        let zero = zero.max(-128.0).min(127.0).round();
        let rounded = (x * scale).unary(UnaryKind::RoundNearestAfz) + zero;
        let levels = rounded.max(-128.0).min(127.0) - zero;
        let mut r = levels.dot(q * each(scales, block), contract(&[1], &[1]), DType::F32) / scale;
        if bias > 0 {
            r = r + all.steps(0, weights + n * groups, packed.ty.numel(), 1);
        }
        r.value()
    })?;
    cx.finish(r)
}
