//! Shape and type inference, which is also the check of every constraint.
//!
//! One function an op. A constraint carries the label that the StableHLO specification gives it.
mod composite;
mod conv;
mod dot;
mod elementwise;
mod fft;
mod index;
mod reduce;
mod shape;

use smallvec::{smallvec, SmallVec};
use tnrs_types::Dims;

use crate::{HloError, Op, TensorType};

pub(crate) use composite::infer as composite;

pub(crate) type Types = SmallVec<[TensorType; 2]>;

/// Returns a labelled [`HloError::Constraint`] from the function unless the condition holds.
macro_rules! check {
    ($cond:expr, $op:expr, $label:expr, $($detail:tt)*) => {
        if !$cond {
            return Err($crate::HloError::Constraint { op: $op, label: $label, detail: format!($($detail)*) });
        }
    };
}
pub(crate) use check;

/// Result types of an op on operands of these types. `want` are the types that the instruction states; the ops
/// whose operands do not decide them read what they need from it, and whoever states more compares afterwards.
pub(crate) fn infer(op: &Op, x: &[&TensorType], want: &[TensorType]) -> Result<Types, HloError> {
    if let Op::Composite(c) = op {
        return composite(c, x, want);
    }
    if let Op::CustomCall(c) = op {
        c.check(x, want)?;
        return Ok(want.iter().cloned().collect());
    }
    let arity = match op {
        Op::Constant(_) | Op::Iota { .. } => 0,
        Op::Binary(_) | Op::Compare(_) | Op::Pad { .. } | Op::DotGeneral(_) => 2,
        Op::Convolution(_) | Op::Gather(_) => 2,
        Op::Select | Op::Clamp | Op::Scatter { .. } => 3,
        Op::DynamicSlice => x.len().max(1),
        Op::DynamicUpdateSlice => x.len().max(2),
        Op::Concatenate { .. } | Op::Sort { .. } => x.len(),
        _ => 1,
    };
    check!(x.len() == arity, op.name(), "operands", "{} operands given, {arity} needed", x.len());
    let needs_type = matches!(
        op,
        Op::Iota { .. }
            | Op::Convert
            | Op::BitcastConvert
            | Op::BroadcastInDim { .. }
            | Op::Reshape
            | Op::DynamicSlice
            | Op::DotGeneral(_)
            | Op::Convolution(_)
    );
    check!(!needs_type || want.len() == 1, op.name(), "results", "one result type must be stated");
    let one = match op {
        Op::Constant(literal) => elementwise::constant(literal),
        Op::Iota { dim } => elementwise::iota(*dim, &want[0]),
        Op::Unary(kind) => elementwise::unary(*kind, x[0]),
        Op::Binary(kind) => elementwise::binary(*kind, x[0], x[1]),
        Op::Compare(dir) => elementwise::compare(*dir, x[0], x[1]),
        Op::Select => elementwise::select(x[0], x[1], x[2]),
        Op::Clamp => elementwise::clamp(x[0], x[1], x[2]),
        Op::Convert => elementwise::convert(x[0], &want[0]),
        Op::BitcastConvert => elementwise::bitcast_convert(x[0], &want[0]),
        Op::BroadcastInDim { dims } => shape::broadcast_in_dim(dims, x[0], &want[0]),
        Op::Reshape => shape::reshape(x[0], &want[0]),
        Op::Transpose { perm } => shape::transpose(perm, x[0]),
        Op::Slice { start, limit, stride } => shape::slice(start, limit, stride, x[0]),
        Op::DynamicSlice => shape::dynamic_slice(x[0], &x[1..], &want[0]),
        Op::DynamicUpdateSlice => shape::dynamic_update_slice(x[0], x[1], &x[2..]),
        Op::Pad { low, high, interior } => shape::pad(low, high, interior, x[0], x[1]),
        Op::Concatenate { dim } => shape::concatenate(*dim, x),
        Op::Reverse { dims } => shape::reverse(dims, x[0]),
        Op::DotGeneral(dims) => dot::dot_general(dims, x[0], x[1], want[0].dtype),
        Op::Convolution(attrs) => conv::convolution(attrs, x[0], x[1], want[0].dtype),
        Op::Reduce { kind, dims } => reduce::reduce(*kind, dims, x[0]),
        Op::Gather(dims) => index::gather(dims, x[0], x[1]),
        Op::Scatter { kind, dims } => index::scatter(*kind, dims, x[0], x[1], x[2]),
        Op::Sort { dim, .. } => return reduce::sort(*dim, x),
        Op::Fft { kind, length } => fft::fft(*kind, length, x[0]),
        Op::Composite(_) | Op::CustomCall(_) => unreachable!("handled above"),
    };
    Ok(smallvec![one?])
}

/// Whether every dim is one of `0..rank`.
fn in_range(dims: &[i64], rank: usize) -> bool {
    dims.iter().all(|d| (0..rank as i64).contains(d))
}

/// Whether no dim occurs twice.
fn unique(dims: &[i64]) -> bool {
    dims.iter().enumerate().all(|(i, d)| !dims[..i].contains(d))
}

/// Whether the dims ascend.
fn sorted(dims: &[i64]) -> bool {
    dims.windows(2).all(|w| w[0] <= w[1])
}

/// The sizes of a type without some dims.
fn without(dims: &[i64], removed: &[i64]) -> Dims {
    (0..dims.len()).filter(|d| !removed.contains(&(*d as i64))).map(|d| dims[d]).collect()
}
