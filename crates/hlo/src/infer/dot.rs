//! `dot_general`.

use tnrs_types::{DType, Dims};

use super::{check, in_range, unique};
use crate::{DotDims, HloError, TensorType};

const OP: &str = "dot_general";

/// The element type that a contraction of `operand` elements may have: its own, f32 for reduced floats, or a wider
/// integer of the same signedness.
pub fn accumulates(operand: DType, result: DType) -> bool {
    let wider_int = operand.is_int()
        && result.is_int()
        && operand.is_unsigned() == result.is_unsigned()
        && operand.size() < result.size();
    result == operand || (operand.is_reduced_float() && result == DType::F32) || wider_int
}

pub fn dot_general(
    dims: &DotDims,
    x: &TensorType,
    y: &TensorType,
    out: DType,
) -> Result<TensorType, HloError> {
    let DotDims { lhs_batch, rhs_batch, lhs_contract, rhs_contract } = dims;
    check!(
        lhs_batch.len() == rhs_batch.len(),
        OP,
        "dot_general_c1",
        "batching dims {lhs_batch:?} and {rhs_batch:?}"
    );
    check!(
        lhs_contract.len() == rhs_contract.len(),
        OP,
        "dot_general_c2",
        "contracting dims {lhs_contract:?} and {rhs_contract:?}"
    );
    let sides: [(_, _, _, [&'static str; 3]); 2] = [
        (lhs_batch, lhs_contract, x, ["dot_general_c3", "dot_general_c5", "dot_general_c6"]),
        (rhs_batch, rhs_contract, y, ["dot_general_c4", "dot_general_c7", "dot_general_c8"]),
    ];
    for (batch, contract, ty, [repeat, batch_range, contract_range]) in sides {
        check!(
            unique(batch) && unique(contract) && !batch.iter().any(|d| contract.contains(d)),
            OP,
            repeat,
            "dims {batch:?} and {contract:?} repeat"
        );
        check!(in_range(batch, ty.rank()), OP, batch_range, "batching dims {batch:?} of {ty}");
        check!(in_range(contract, ty.rank()), OP, contract_range, "contracting dims {contract:?} of {ty}");
    }
    let equal =
        |a: &[i64], b: &[i64]| a.iter().zip(b).all(|(&i, &j)| x.dims[i as usize] == y.dims[j as usize]);
    check!(equal(lhs_batch, rhs_batch), OP, "dot_general_c9", "batching sizes of {x} and {y} differ");
    check!(
        equal(lhs_contract, rhs_contract),
        OP,
        "dot_general_c10",
        "contracting sizes of {x} and {y} differ"
    );
    check!(
        x.dtype == y.dtype && accumulates(x.dtype, out),
        OP,
        "dot_general_c13",
        "operands are {x} and {y}, result is {}",
        out.hlo_name()
    );
    let mut result: Dims = lhs_batch.iter().map(|&d| x.dims[d as usize]).collect();
    for (batch, contract, ty, _) in sides {
        let free = (0..ty.rank() as i64).filter(|d| !batch.contains(d) && !contract.contains(d));
        result.extend(free.map(|d| ty.dims[d as usize]));
    }
    Ok(TensorType { dtype: out, dims: result })
}
