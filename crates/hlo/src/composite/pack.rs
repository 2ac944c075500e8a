//! `compact` and `nonzero`: elements brought together where a mask holds.

use smallvec::smallvec;
use tnrs_types::{contiguous_strides, BinaryKind, DType, ReduceKind, Scalar};

use super::decompose::Values;
use crate::{Builder, Composite, HloError, ScatterDims, ScatterKind, Value};

/// Where each element of a mask (n) goes: its rank among those that hold, or -1; and how many hold.
fn places(b: &mut Builder, mask: Value) -> Result<(Value, Value), HloError> {
    let ones = b.convert(mask, DType::I64)?;
    let ty = b.ty(ones).clone();
    let scan = Composite::Cumulative { dim: 0, kind: ReduceKind::Add };
    let upto = b.composite(scan, &[ones], std::slice::from_ref(&ty))?[0];
    let one = b.splat(DType::I64, &ty.dims, Scalar::Int(1))?;
    let before = b.sub(upto, one)?;
    let nowhere = b.splat(DType::I64, &ty.dims, Scalar::Int(-1))?;
    let at = b.select(mask, before, nowhere)?;
    Ok((at, b.reduce(ReduceKind::Add, ones, &[0])?))
}

/// Elements `x` (n) put at `at` (n) among zeros.
fn put(b: &mut Builder, at: Value, x: Value) -> Result<Value, HloError> {
    let ty = b.ty(x).clone();
    let zeros = b.splat(ty.dtype, &ty.dims, Scalar::Int(0))?;
    let dims = ScatterDims {
        update_window_dims: smallvec![],
        inserted_window_dims: smallvec![0],
        scatter_dims_to_operand_dims: smallvec![0],
        index_vector_dim: 1,
    };
    b.scatter(ScatterKind::Set, zeros, at, x, dims)
}

/// The elements where the mask holds, then zeros; and how many there are.
pub fn compact(b: &mut Builder, mask: Value, x: Value) -> Values {
    let (at, count) = places(b, mask)?;
    Ok(smallvec![put(b, at, x)?, count])
}

/// Coordinates of the elements that hold, then zeros; and how many there are.
pub fn nonzero(b: &mut Builder, mask: Value) -> Values {
    let dims = b.ty(mask).dims.clone();
    let n = b.ty(mask).numel();
    let flat = b.reshape(mask, &[n])?;
    let (at, count) = places(b, flat)?;
    let mut columns = Vec::with_capacity(dims.len());
    for (d, stride) in contiguous_strides(&dims).into_iter().enumerate() {
        let i = b.iota(DType::I64, &[n], 0)?;
        let stride = b.splat(DType::I64, &[n], Scalar::Int(stride))?;
        let size = b.splat(DType::I64, &[n], Scalar::Int(dims[d]))?;
        let i = b.binary(BinaryKind::Divide, i, stride)?;
        let i = b.binary(BinaryKind::Remainder, i, size)?;
        let column = put(b, at, i)?;
        columns.push(b.reshape(column, &[n, 1])?);
    }
    let coordinates = match columns[..] {
        [] => b.splat(DType::I64, &[n, 0], Scalar::Int(0))?,
        [one] => one,
        _ => b.concatenate(&columns, 1)?,
    };
    Ok(smallvec![coordinates, count])
}
