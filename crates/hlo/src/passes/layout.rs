//! Rules about ops that only move elements.

use smallvec::SmallVec;
use tnrs_types::Dims;

use super::rewrite::{Context, Rewrite};
use crate::{DotDims, Op, TensorType, Value};

/// The first rule that applies.
pub fn rule(c: &Context) -> Option<Rewrite> {
    match &c.instr.op {
        Op::Reshape => reshape(c),
        Op::Transpose { perm } => transpose(c, perm),
        Op::BroadcastInDim { dims } => broadcast(c, dims),
        Op::Slice { start, stride, .. } => slice(c, start, stride),
        Op::Pad { low, high, interior } => {
            let nothing = [low, high, interior].iter().all(|list| list.iter().all(|&n| n == 0));
            nothing.then(|| Rewrite::Value(c.operand(0)))
        }
        Op::Concatenate { dim } => concatenate(c, *dim),
        Op::Reverse { dims } => reverse(c, dims),
        Op::DotGeneral(dims) => dot_general(c, dims),
        _ => None,
    }
}

fn reshape(c: &Context) -> Option<Rewrite> {
    let x = c.operand(0);
    if c.ty(x) == c.result() {
        return Some(Rewrite::Value(x));
    }
    let inner = c.definition(x)?;
    if matches!(inner.op, Op::Reshape) {
        return Rewrite::unary(Op::Reshape, inner.operands[0]);
    }
    c.splat_resized(x)
}

/// Dims of sizes other than 1, in the order of a permutation.
fn moved(perm: &[i64], ty: &TensorType) -> Dims {
    let real = |d: &i64| ty.dims[*d as usize] != 1;
    perm.iter().copied().filter(real).collect()
}

fn transpose(c: &Context, perm: &[i64]) -> Option<Rewrite> {
    let x = c.operand(0);
    if perm.iter().enumerate().all(|(i, &d)| i as i64 == d) {
        return Some(Rewrite::Value(x));
    }
    if moved(perm, c.ty(x)).windows(2).all(|w| w[0] < w[1]) {
        return Rewrite::unary(Op::Reshape, x);
    }
    let inner = c.definition(x)?;
    if let Op::Transpose { perm: first } = &inner.op {
        let perm = perm.iter().map(|&d| first[d as usize]).collect();
        return Rewrite::unary(Op::Transpose { perm }, inner.operands[0]);
    }
    if let Op::BroadcastInDim { dims } = &inner.op {
        // Where dim d of the broadcast goes.
        let goes = |d: &i64| perm.iter().position(|p| p == d).unwrap_or(0) as i64;
        let dims = dims.iter().map(goes).collect();
        return Rewrite::unary(Op::BroadcastInDim { dims }, inner.operands[0]);
    }
    c.splat_resized(x)
}

fn broadcast(c: &Context, dims: &[i64]) -> Option<Rewrite> {
    let x = c.operand(0);
    let ty = c.ty(x);
    let ascending = dims.windows(2).all(|w| w[0] < w[1]);
    if ty == c.result() && ascending {
        return Some(Rewrite::Value(x));
    }
    if ascending && ty.numel() == c.result().numel() {
        return Rewrite::unary(Op::Reshape, x);
    }
    let inner = c.definition(x)?;
    if let Op::BroadcastInDim { dims: first } = &inner.op {
        let dims = first.iter().map(|&d| dims[d as usize]).collect();
        return Rewrite::unary(Op::BroadcastInDim { dims }, inner.operands[0]);
    }
    c.splat_resized(x)
}

fn slice(c: &Context, start: &[i64], stride: &[i64]) -> Option<Rewrite> {
    let x = c.operand(0);
    if c.ty(x) == c.result() && stride.iter().all(|&s| s == 1) {
        return Some(Rewrite::Value(x));
    }
    let inner = c.definition(x)?;
    if let Op::Slice { start: first, stride: step, .. } = &inner.op {
        let at = |d: usize, i: i64| first[d] + i * step[d];
        let ranks = 0..start.len();
        let start: Dims = ranks.clone().map(|d| at(d, start[d])).collect();
        // One past the last element taken, which lies within the operand where the composed limit might not.
        let limit = ranks.clone().map(|d| {
            let count = c.result().dims[d];
            if count == 0 {
                start[d]
            } else {
                start[d] + (count - 1) * step[d] * stride[d] + 1
            }
        });
        let op =
            Op::Slice { limit: limit.collect(), stride: ranks.map(|d| step[d] * stride[d]).collect(), start };
        // An empty slice may begin beyond the end of the operand.
        let source = c.ty(inner.operands[0]);
        let fits =
            matches!(&op, Op::Slice { limit, .. } if limit.iter().zip(&source.dims).all(|(l, n)| l <= n));
        return fits.then(|| Rewrite::unary(op, inner.operands[0])).flatten();
    }
    c.splat_resized(x)
}

fn concatenate(c: &Context, dim: i64) -> Option<Rewrite> {
    let empty = |v: &Value| c.ty(*v).dims[dim as usize] == 0;
    let operands = &c.instr.operands;
    if operands.len() == 1 {
        return Some(Rewrite::Value(operands[0]));
    }
    let kept: SmallVec<[Value; 4]> = operands.iter().copied().filter(|v| !empty(v)).collect();
    if kept.len() == operands.len() || kept.is_empty() {
        return None;
    }
    Some(Rewrite::Op(Op::Concatenate { dim }, kept))
}

fn reverse(c: &Context, dims: &[i64]) -> Option<Rewrite> {
    let x = c.operand(0);
    if dims.iter().all(|&d| c.ty(x).dims[d as usize] <= 1) {
        return Some(Rewrite::Value(x));
    }
    let inner = c.definition(x)?;
    if let Op::Reverse { dims: first } = &inner.op {
        let once = |d: &&i64, other: &[i64]| !other.contains(d);
        let mut dims: Dims = dims
            .iter()
            .filter(|d| once(d, first))
            .chain(first.iter().filter(|d| once(d, dims)))
            .copied()
            .collect();
        dims.sort_unstable();
        return Rewrite::unary(Op::Reverse { dims }, inner.operands[0]);
    }
    c.splat_resized(x)
}

/// An operand's transposition becomes part of the dimension numbers, as long as its free dims keep their order.
fn dot_general(c: &Context, dims: &DotDims) -> Option<Rewrite> {
    for side in 0..2 {
        let x = c.operand(side);
        let Some(inner) = c.definition(x) else {
            continue;
        };
        let Op::Transpose { perm } = &inner.op else {
            continue;
        };
        let mut dims = dims.clone();
        let (batch, contract) = if side == 0 {
            (&mut dims.lhs_batch, &mut dims.lhs_contract)
        } else {
            (&mut dims.rhs_batch, &mut dims.rhs_contract)
        };
        let free: Dims = (0..perm.len() as i64)
            .filter(|d| !batch.contains(d) && !contract.contains(d))
            .map(|d| perm[d as usize])
            .collect();
        if free.windows(2).any(|w| w[0] > w[1]) {
            continue;
        }
        for d in batch.iter_mut().chain(contract.iter_mut()) {
            *d = perm[*d as usize];
        }
        let mut operands = c.instr.operands.clone();
        operands[side] = inner.operands[0];
        return Some(Rewrite::Op(Op::DotGeneral(dims), operands));
    }
    None
}
