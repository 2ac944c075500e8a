//! Common subexpression elimination.

use std::collections::HashMap;
use std::mem::Discriminant;

use smallvec::SmallVec;

use crate::{Func, Literal, Op, TensorType, Value};

/// Dense constants of more bytes are not compared.
const MAX_LITERAL_BYTES: usize = 1024;

/// Uses the first of equal instructions for all of them.
pub fn cse(func: &mut Func) {
    type Key = (Discriminant<Op>, SmallVec<[Value; 4]>);
    let mut seen: HashMap<Key, SmallVec<[usize; 2]>> = HashMap::with_capacity(func.instrs.len());
    let mut alias: Vec<Value> = (0..func.types.len() as u32).map(Value).collect();
    for at in 0..func.instrs.len() {
        for v in &mut func.instrs[at].operands {
            *v = alias[v.index()];
        }
        let instr = &func.instrs[at];
        let key = (std::mem::discriminant(&instr.op), instr.operands.clone());
        let candidates = seen.entry(key).or_default();
        let types = |at: usize| -> SmallVec<[&TensorType; 2]> {
            let results = func.instrs[at].results.iter();
            results.map(|v| func.ty(*v)).collect()
        };
        let equal = candidates
            .iter()
            .find(|&&earlier| types(earlier) == types(at) && same(&func.instrs[earlier].op, &instr.op));
        match equal {
            Some(&earlier) => {
                for (old, new) in instr.results.iter().zip(&func.instrs[earlier].results) {
                    alias[old.index()] = *new;
                }
            }
            None => candidates.push(at),
        }
    }
    for v in &mut func.results {
        *v = alias[v.index()];
    }
}

/// Whether two ops are the same with their attributes. Their debug text is compared, since equality of floats would
/// take 0 for −0.
fn same(a: &Op, b: &Op) -> bool {
    let large =
        |op: &Op| matches!(op, Op::Constant(Literal::Dense(_, bytes)) if bytes.len() > MAX_LITERAL_BYTES);
    match (a, b) {
        (Op::Unary(a), Op::Unary(b)) => a == b,
        (Op::Binary(a), Op::Binary(b)) => a == b,
        _ => !large(a) && !large(b) && format!("{a:?}") == format!("{b:?}"),
    }
}
