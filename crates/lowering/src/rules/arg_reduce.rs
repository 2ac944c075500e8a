//! Extremes with their positions.

use tnrs_hlo::{Composite, TensorType, Value};
use tnrs_types::{numel, DType, Dims};

use crate::helpers::{dim, Lowered};
use crate::{Ctx, LowerError, Row};

/// Rows of this family.
pub const ROWS: &[Row] = &[
    Row::new("aten::max.dim", |cx| with_values(cx, true)),
    Row::new("aten::min.dim", |cx| with_values(cx, false)),
    Row::new("aten::argmax", |cx| index_only(cx, true)),
    Row::new("aten::argmin", |cx| index_only(cx, false)),
];

/// The extreme of `self` along a dim (of all elements without one) and its index, the dim removed.
fn arg_reduce(cx: &mut Ctx, along: Option<i64>, max: bool) -> Result<(Value, Value), LowerError> {
    let x = cx.tensor(0)?;
    // Truth values order like 0 and 1.
    let dtype = match x.ty.dtype {
        DType::Bool => DType::U8,
        d => d,
    };
    let mut v = cx.cast(x.value, dtype)?;
    let mut sizes = x.ty.dims.clone();
    let d = match along {
        Some(d) if !sizes.is_empty() => dim(d, sizes.len())?,
        _ => {
            sizes = Dims::from_slice(&[numel(&sizes)]);
            v = cx.b.reshape(v, &sizes)?;
            0
        }
    };
    let mut kept = sizes.clone();
    if kept.remove(d as usize) == 0 {
        return Err(LowerError::Index(format!(
            "{}: Expected reduction dim {d} to have non-zero size.",
            cx.op
        )));
    }
    let types = [TensorType::new(dtype, &kept), TensorType::new(DType::I64, &kept)];
    let r = cx.b.composite(Composite::ArgReduce { dim: d, max }, &[v], &types)?;
    Ok((r[0], r[1]))
}

fn with_values(cx: &mut Ctx, max: bool) -> Lowered {
    let d = cx.int(1)?;
    let (value, index) = arg_reduce(cx, Some(d), max)?;
    cx.finish_reshaped(&[value, index])
}

fn index_only(cx: &mut Ctx, max: bool) -> Lowered {
    let d = cx.opt_int(1);
    let (_, index) = arg_reduce(cx, d, max)?;
    cx.finish_reshaped(&[index])
}
