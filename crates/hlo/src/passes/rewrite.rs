//! The driver of local rules: one walk over the function, in which every instruction is rewritten until no rule
//! applies. Operands are rewritten before their uses, so a rule sees simplified definitions.

use smallvec::SmallVec;

use super::{algebra, convert, fold, layout};
use crate::interpret::Element;
use crate::{Func, Instr, Literal, Op, TensorType, Value};

/// What a rule puts in the place of an instruction with one result.
#[allow(clippy::large_enum_variant, reason = "it lives for one step and moves straight into the instruction")]
pub enum Rewrite {
    /// An existing value of the same type.
    Value(Value),
    /// Another instruction with the same result type.
    Op(Op, SmallVec<[Value; 4]>),
}

impl Rewrite {
    /// An instruction of one operand.
    pub fn unary(op: Op, x: Value) -> Option<Rewrite> {
        Some(Rewrite::Op(op, SmallVec::from_slice(&[x])))
    }
}

/// An instruction under consideration, and what is known of the values before it.
pub struct Context<'a> {
    func: &'a Func,
    done: &'a [Instr],
    definition: &'a [Option<u32>],
    /// The instruction; its operands are simplified.
    pub instr: &'a Instr,
}

impl<'a> Context<'a> {
    /// Type of a value.
    pub fn ty(&self, v: Value) -> &'a TensorType {
        self.func.ty(v)
    }

    /// Type of the result.
    pub fn result(&self) -> &'a TensorType {
        self.func.ty(self.instr.results[0])
    }

    /// An operand.
    pub fn operand(&self, i: usize) -> Value {
        self.instr.operands[i]
    }

    /// The instruction that defines a value, unless it is a parameter.
    pub fn definition(&self, v: Value) -> Option<&'a Instr> {
        self.definition[v.index()].map(|at| &self.done[at as usize])
    }

    /// The number that all elements of a value equal, when it is a splat constant.
    pub fn splat(&self, v: Value) -> Option<Element> {
        match &self.definition(v)?.op {
            Op::Constant(literal) => fold::splat_value(literal),
            _ => None,
        }
    }

    /// The splat constant that defines a value, with the sizes of the result.
    pub fn splat_resized(&self, v: Value) -> Option<Rewrite> {
        match &self.definition(v)?.op {
            Op::Constant(Literal::Splat(_, value)) => {
                let literal = Literal::Splat(self.result().clone(), *value);
                Some(Rewrite::Op(Op::Constant(literal), SmallVec::new()))
            }
            _ => None,
        }
    }
}

/// Applies the algebraic, conversion and layout rules.
pub fn simplify(func: &mut Func) {
    let instrs = std::mem::take(&mut func.instrs);
    let mut done: Vec<Instr> = Vec::with_capacity(instrs.len());
    let mut alias: Vec<Value> = (0..func.types.len() as u32).map(Value).collect();
    let mut definition: Vec<Option<u32>> = vec![None; func.types.len()];
    'instrs: for mut instr in instrs {
        for v in &mut instr.operands {
            *v = alias[v.index()];
        }
        while instr.results.len() == 1 {
            let context = Context { func, done: &done, definition: &definition, instr: &instr };
            let rule = algebra::rule(&context)
                .or_else(|| convert::rule(&context))
                .or_else(|| layout::rule(&context));
            match rule {
                None => break,
                Some(Rewrite::Value(v)) => {
                    alias[instr.results[0].index()] = v;
                    continue 'instrs;
                }
                Some(Rewrite::Op(op, operands)) => {
                    instr.op = op;
                    instr.operands = operands;
                }
            }
        }
        for v in &instr.results {
            definition[v.index()] = Some(done.len() as u32);
        }
        done.push(instr);
    }
    func.instrs = done;
    for v in &mut func.results {
        *v = alias[v.index()];
    }
}
