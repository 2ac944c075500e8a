//! Shorthands for writing decompositions.

use tnrs_types::{DType, Dims, ReduceKind};

use crate::{Builder, HloError, Value};

type One = Result<Value, HloError>;

/// The type that arithmetic on these values is done in: f64 when one of them is f64, else f32 for floats.
pub fn opmath(b: &Builder, xs: &[Value]) -> DType {
    if xs.iter().any(|x| b.ty(*x).dtype == DType::F64) {
        DType::F64
    } else {
        b.ty(xs[0]).dtype.opmath()
    }
}

/// Sum with a constant.
pub fn add_c(b: &mut Builder, x: Value, c: f64) -> One {
    let c = b.splat_like(x, c)?;
    b.add(x, c)
}

/// Product with a constant; `x` itself for 1.
pub fn mul_c(b: &mut Builder, x: Value, c: f64) -> One {
    if c == 1.0 {
        return Ok(x);
    }
    let c = b.splat_like(x, c)?;
    b.mul(x, c)
}

/// `1 - x`.
pub fn one_minus(b: &mut Builder, x: Value) -> One {
    let one = b.splat_like(x, 1.0)?;
    b.sub(one, x)
}

/// Broadcasts `x`, whose sizes equal those of `like` or 1, to the sizes of `like`.
pub fn spread(b: &mut Builder, x: Value, like: Value) -> One {
    let sizes = b.ty(like).dims.clone();
    b.broadcast_to(x, &sizes)
}

/// Reduction that keeps the reduced dims with size 1.
pub fn reduce_keep(b: &mut Builder, kind: ReduceKind, x: Value, dims: &[i64]) -> One {
    let kept: Dims = b
        .ty(x)
        .dims
        .iter()
        .enumerate()
        .map(|(d, &n)| if dims.contains(&(d as i64)) { 1 } else { n })
        .collect();
    let reduced = b.reduce(kind, x, dims)?;
    b.reshape(reduced, &kept)
}

/// Mean over dims that stay with size 1.
pub fn mean_keep(b: &mut Builder, x: Value, dims: &[i64]) -> One {
    let count: i64 = dims.iter().map(|&d| b.ty(x).dims[d as usize]).product();
    let sum = reduce_keep(b, ReduceKind::Add, x, dims)?;
    let count = b.splat_like(sum, count as f64)?;
    b.div(sum, count)
}
