//! `arg_reduce` and `cumulative`.

use smallvec::{smallvec, SmallVec};
use tnrs_types::{CompareDir, DType, Dims, ReduceKind, Scalar};

use super::decompose::Values;
use crate::{body, neutral, Builder, Value};

/// The extreme value and the least index at which it stands; a NaN is more extreme than any number.
pub fn arg_reduce(b: &mut Builder, x: Value, dim: i64, max: bool) -> Values {
    let kind = if max { ReduceKind::Maximum } else { ReduceKind::Minimum };
    let sizes = b.ty(x).dims.clone();
    let value = b.reduce(kind, x, &[dim])?;
    let kept: Dims = (0..sizes.len() as i64).filter(|d| *d != dim).collect();
    let full = b.broadcast_in_dim(value, &kept, &sizes)?;
    let mut hit = b.compare(CompareDir::Eq, x, full)?;
    if b.ty(x).dtype.is_float() {
        // Where a NaN stands the extreme value is NaN, so no number compares equal to it.
        let nan = b.compare(CompareDir::Ne, x, x)?;
        hit = b.or(hit, nan)?;
    }
    let index = b.iota(DType::I64, &sizes, dim)?;
    let beyond = b.splat(DType::I64, &sizes, Scalar::Int(sizes[dim as usize]))?;
    let candidate = b.select(hit, index, beyond)?;
    let index = b.reduce(ReduceKind::Minimum, candidate, &[dim])?;
    Ok(smallvec![value, index])
}

/// Inclusive scan by doubling: after the step with distance `s`, element `i` holds the reduction of the `2s` elements
/// up to `i`.
pub fn cumulative(b: &mut Builder, x: Value, dim: i64, kind: ReduceKind) -> Values {
    let math = b.ty(x).dtype.opmath();
    let mut y = b.convert(x, math)?;
    let size = b.ty(y).dims[dim as usize];
    let identity = b.splat(math, &[], neutral(kind, math))?;
    let mut distance = 1;
    while distance < size {
        let rank = b.ty(y).rank();
        let mut low: Dims = SmallVec::from_elem(0, rank);
        let mut high = low.clone();
        let none = low.clone();
        low[dim as usize] = distance;
        high[dim as usize] = -distance;
        let shifted = b.pad(y, identity, &low, &high, &none)?;
        y = b.binary(body(kind), shifted, y)?;
        distance *= 2;
    }
    Ok(smallvec![y])
}
