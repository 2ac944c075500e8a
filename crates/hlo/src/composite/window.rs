//! `max_pool`.

use smallvec::{smallvec, SmallVec};
use tnrs_types::{contiguous_strides, BinaryKind, CompareDir, DType, Dims, ReduceKind, Scalar};

use super::decompose::Values;
use crate::{neutral, Builder, HloError, Value};

/// Kernel, stride, padding and dilation of windows over the trailing dims.
pub type Window<'a> = [&'a [i64]; 4];

/// The greatest element of every window and its flat position in the plane; the first of equals, the last NaN. `sizes`
/// are those of the result. A window of padding alone has the position of its first element that is no padding.
pub fn max_pool(b: &mut Builder, x: Value, window: Window, sizes: &[i64]) -> Values {
    let [kernel, stride, padding, dilation] = window;
    let (ty, lead) = (b.ty(x).clone(), sizes.len() - kernel.len());
    let none: Dims = SmallVec::from_elem(0, sizes.len());
    let (mut low, mut high) = (none.clone(), none.clone());
    for d in 0..kernel.len() {
        let covered = (sizes[lead + d] - 1) * stride[d] + dilation[d] * (kernel[d] - 1) + 1;
        low[lead + d] = padding[d];
        high[lead + d] = covered - ty.dims[lead + d] - padding[d];
    }
    let least = neutral(ReduceKind::Maximum, ty.dtype);
    let fill = b.splat(ty.dtype, &[], least)?;
    let padded = b.pad(x, fill, &low, &high, &none)?;
    let plane = &ty.dims[lead..];
    let steps = contiguous_strides(plane);
    let fits = tnrs_types::numel(plane) < i64::from(i32::MAX) / 2;
    let at = if fits { DType::I32 } else { DType::I64 };
    let starts = |b: &mut Builder, skip: bool| -> Result<Value, HloError> {
        let grid = &sizes[lead..];
        let number = |b: &mut Builder, n: i64| b.splat(at, grid, Scalar::Int(n));
        let mut sum = number(b, 0)?;
        for d in 0..kernel.len() {
            let i = b.iota(at, grid, d as i64)?;
            let (by, pad) = (number(b, stride[d])?, number(b, padding[d])?);
            let i = b.mul(i, by)?;
            let mut start = b.sub(i, pad)?;
            if skip {
                // Dilated steps from a negative start to the first position that is not.
                let (zero, step, most) =
                    (number(b, 0)?, number(b, dilation[d])?, number(b, dilation[d] - 1)?);
                let missing = b.sub(zero, start)?;
                let missing = b.binary(BinaryKind::Maximum, missing, zero)?;
                let missing = b.add(missing, most)?;
                let missing = b.binary(BinaryKind::Divide, missing, step)?;
                let missing = b.mul(missing, step)?;
                start = b.add(start, missing)?;
            }
            let step = number(b, steps[d])?;
            let start = b.mul(start, step)?;
            sum = b.add(sum, start)?;
        }
        Ok(sum)
    };
    let map: Dims = (lead as i64..sizes.len() as i64).collect();
    let (base, first) = (starts(b, false)?, starts(b, true)?);
    let mut best = b.splat(ty.dtype, sizes, least)?;
    let mut place = b.broadcast_in_dim(first, &map, sizes)?;
    let count: i64 = kernel.iter().product();
    for element in 0..count {
        let (mut rest, mut offset) = (element, 0);
        let (mut from, mut to, mut by) = (none.clone(), Dims::from_slice(sizes), none.clone());
        by[..lead].fill(1);
        for d in (0..kernel.len()).rev() {
            let k = rest % kernel[d] * dilation[d];
            rest /= kernel[d];
            offset += k * steps[d];
            from[lead + d] = k;
            to[lead + d] = k + (sizes[lead + d] - 1) * stride[d] + 1;
            by[lead + d] = stride[d];
        }
        let value = b.slice(padded, &from, &to, &by)?;
        let offset = b.splat(at, &sizes[lead..], Scalar::Int(offset))?;
        let here = b.add(base, offset)?;
        let here = b.broadcast_in_dim(here, &map, sizes)?;
        let mut wins = b.compare(CompareDir::Gt, value, best)?;
        if ty.dtype.is_float() {
            let nan = b.compare(CompareDir::Ne, value, value)?;
            wins = b.or(wins, nan)?;
        }
        best = b.select(wins, value, best)?;
        place = b.select(wins, here, place)?;
    }
    Ok(smallvec![best, place])
}
