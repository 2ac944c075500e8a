//! Algebraic identities that hold for every number of the type: NaN, infinities and −0 included.

use smallvec::SmallVec;
use tnrs_types::{BinaryKind, DType, ReduceKind, UnaryKind};

use super::rewrite::{Context, Rewrite};
use crate::interpret::Element;
use crate::{Op, Value};

/// The first rule that applies.
pub fn rule(c: &Context) -> Option<Rewrite> {
    match &c.instr.op {
        Op::Unary(kind) => unary(c, *kind),
        Op::Binary(kind) => binary(c, *kind),
        Op::Select => select(c),
        Op::Reduce { kind, dims } => reduce(c, *kind, dims),
        _ => None,
    }
}

fn unary(c: &Context, kind: UnaryKind) -> Option<Rewrite> {
    let x = c.operand(0);
    let inner = c.definition(x)?;
    match (kind, &inner.op) {
        // Negation, complement and conjugation undo themselves.
        (UnaryKind::Negate | UnaryKind::Not | UnaryKind::Conj, Op::Unary(again)) if *again == kind => {
            Some(Rewrite::Value(inner.operands[0]))
        }
        // These change nothing that they have made.
        (
            UnaryKind::Abs
            | UnaryKind::Ceil
            | UnaryKind::Floor
            | UnaryKind::RoundNearestAfz
            | UnaryKind::RoundNearestEven
            | UnaryKind::Sign
            | UnaryKind::Trunc,
            Op::Unary(again),
        ) if *again == kind && !c.ty(x).dtype.is_complex() && c.ty(x) == c.result() => {
            Some(Rewrite::Value(x))
        }
        (UnaryKind::Real, Op::Binary(BinaryKind::Complex)) => Some(Rewrite::Value(inner.operands[0])),
        (UnaryKind::Imag, Op::Binary(BinaryKind::Complex)) => Some(Rewrite::Value(inner.operands[1])),
        _ => None,
    }
}

fn is_zero(e: Element) -> bool {
    e == Element::Int(0) || e == Element::Bool(false)
}

/// Whether `x op y = x` for every x.
fn neutral_on_the_right(kind: BinaryKind, dtype: DType, y: Element) -> bool {
    let one = y == Element::Int(1) || y == Element::Float(1.0);
    let minus_zero = matches!(y, Element::Float(f) if f == 0.0 && f.is_sign_negative());
    let plus_zero = matches!(y, Element::Float(f) if f == 0.0 && f.is_sign_positive());
    let ones = y == Element::Bool(true) || y == Element::Int(-1).rounded(dtype);
    match kind {
        // −0 + 0 is 0, so only −0 is neutral for addition, and only 0 for subtraction.
        BinaryKind::Add => is_zero(y) || minus_zero,
        BinaryKind::Subtract => is_zero(y) || plus_zero,
        BinaryKind::Multiply => one || y == Element::Bool(true),
        BinaryKind::Divide => one,
        BinaryKind::Or | BinaryKind::Xor => is_zero(y),
        BinaryKind::And => ones,
        BinaryKind::ShiftLeft | BinaryKind::ShiftRightArithmetic | BinaryKind::ShiftRightLogical => {
            is_zero(y)
        }
        _ => false,
    }
}

fn commutes(kind: BinaryKind) -> bool {
    matches!(
        kind,
        BinaryKind::Add | BinaryKind::Multiply | BinaryKind::And | BinaryKind::Or | BinaryKind::Xor
    )
}

fn binary(c: &Context, kind: BinaryKind) -> Option<Rewrite> {
    let (x, y) = (c.operand(0), c.operand(1));
    let dtype = c.ty(x).dtype;
    let idempotent =
        matches!(kind, BinaryKind::And | BinaryKind::Or | BinaryKind::Maximum | BinaryKind::Minimum);
    if x == y && idempotent {
        return Some(Rewrite::Value(x));
    }
    if let Some(value) = c.splat(y) {
        if neutral_on_the_right(kind, dtype, value) {
            return Some(Rewrite::Value(x));
        }
        if absorbs(kind, value) {
            return Some(Rewrite::Value(y));
        }
    }
    if commutes(kind) {
        let value = c.splat(x)?;
        if neutral_on_the_right(kind, dtype, value) {
            return Some(Rewrite::Value(y));
        }
        if absorbs(kind, value) {
            return Some(Rewrite::Value(x));
        }
    }
    None
}

/// Whether `x op y = y` for every x; never for floats, where NaN would be lost.
fn absorbs(kind: BinaryKind, y: Element) -> bool {
    matches!(kind, BinaryKind::Multiply | BinaryKind::And) && is_zero(y)
}

fn select(c: &Context) -> Option<Rewrite> {
    let (p, t, f) = (c.operand(0), c.operand(1), c.operand(2));
    if t == f {
        return Some(Rewrite::Value(t));
    }
    let chosen = |b: bool| -> Value {
        if b {
            t
        } else {
            f
        }
    };
    Some(Rewrite::Value(chosen(c.splat(p)?.bool())))
}

/// A reduction of one element each is the element, except that 0 + −0 is 0.
fn reduce(c: &Context, kind: ReduceKind, dims: &[i64]) -> Option<Rewrite> {
    let x = c.operand(0);
    let ty = c.ty(x);
    let single = dims.iter().all(|&d| ty.dims[d as usize] == 1);
    let float_sum = kind == ReduceKind::Add && (ty.dtype.is_float() || ty.dtype.is_complex());
    let complex_product = kind == ReduceKind::Multiply && ty.dtype.is_complex();
    if !single || float_sum || complex_product {
        return None;
    }
    if dims.is_empty() {
        return Some(Rewrite::Value(x));
    }
    Some(Rewrite::Op(Op::Reshape, SmallVec::from_slice(&[x])))
}
