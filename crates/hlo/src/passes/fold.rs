//! Constant folding, by the reference interpreter.

use crate::interpret::{interpret, Element};
use crate::{Builder, Func, Instr, Literal, Op, Scalar, TensorType, Value};

/// Results of more elements stay computed: a literal would cost more memory than the instruction saves time.
const MAX_ELEMENTS: i64 = 1024;

/// Replaces instructions whose operands are constants by constants. Elementwise ops on splats give splats of any
/// size; other results are limited in size. Composites stay.
pub fn fold(func: &mut Func) {
    let mut known: Vec<Option<Literal>> = vec![None; func.types.len()];
    for at in 0..func.instrs.len() {
        let instr = &func.instrs[at];
        if let Op::Constant(literal) = &instr.op {
            known[instr.results[0].index()] = Some(literal.clone());
            continue;
        }
        let foldable =
            !matches!(instr.op, Op::Composite(_) | Op::CustomCall(_) | Op::Iota { .. } | Op::Sort { .. });
        if !foldable || instr.operands.is_empty() {
            continue;
        }
        let args: Option<Vec<&Literal>> = instr.operands.iter().map(|v| known[v.index()].as_ref()).collect();
        let Some(args) = args else { continue };
        let ty = func.ty(instr.results[0]);
        let folded = splat(instr, &args, ty).or_else(|| dense(instr, &args, ty));
        if let Some(literal) = folded {
            let instr = &mut func.instrs[at];
            instr.op = Op::Constant(literal.clone());
            instr.operands.clear();
            known[instr.results[0].index()] = Some(literal);
        }
    }
}

/// Runs one instruction on constants.
fn evaluate(op: &Op, args: &[Literal], ty: &TensorType) -> Option<Literal> {
    let mut b = Builder::new("fold");
    let params: Vec<Value> = args.iter().map(|a| b.param(a.ty().clone())).collect();
    let results = b.add_op(op.clone(), &params, std::slice::from_ref(ty)).ok()?;
    interpret(&b.finish(&results), args).pop()
}

/// An elementwise op on splats, computed once.
fn splat(instr: &Instr, args: &[&Literal], ty: &TensorType) -> Option<Literal> {
    let elementwise = matches!(
        instr.op,
        Op::Unary(_)
            | Op::Binary(_)
            | Op::Compare(_)
            | Op::Select
            | Op::Clamp
            | Op::Convert
            | Op::BitcastConvert
    );
    if !elementwise {
        return None;
    }
    let scalars: Option<Vec<Literal>> = args
        .iter()
        .map(|a| match a {
            Literal::Splat(t, value) => Some(Literal::Splat(TensorType::new(t.dtype, &[]), *value)),
            Literal::Dense(..) => None,
        })
        .collect();
    let result = evaluate(&instr.op, &scalars?, &TensorType::new(ty.dtype, &[]))?;
    let value = result.scalars()[0];
    // A host scalar holds every number of every type, but of all NaNs only one.
    let nan = |s: Scalar| match s {
        Scalar::Float(f) => f.is_nan(),
        Scalar::Complex(re, im) => re.is_nan() || im.is_nan(),
        _ => false,
    };
    (!nan(value)).then(|| Literal::Splat(ty.clone(), value))
}

/// Any op with a small result and small operands.
fn dense(instr: &Instr, args: &[&Literal], ty: &TensorType) -> Option<Literal> {
    let small = |t: &TensorType| t.numel() <= MAX_ELEMENTS;
    if !small(ty) || !args.iter().all(|a| small(a.ty())) {
        return None;
    }
    let args: Vec<Literal> = args.iter().map(|a| (*a).clone()).collect();
    evaluate(&instr.op, &args, ty)
}

/// The number that every element of a constant equals, when it is a splat.
pub(super) fn splat_value(literal: &Literal) -> Option<Element> {
    match literal {
        Literal::Splat(ty, value) => Some(Element::from_scalar(*value, ty.dtype)),
        Literal::Dense(..) => None,
    }
}
