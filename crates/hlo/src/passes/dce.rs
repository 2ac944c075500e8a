//! Dead code elimination.

use crate::Func;

/// Removes instructions without effect whose results no result of the function needs. Types of removed values stay.
pub fn dce(func: &mut Func) {
    let mut live = vec![false; func.types.len()];
    for v in &func.results {
        live[v.index()] = true;
    }
    let mut needed = vec![false; func.instrs.len()];
    for (at, instr) in func.instrs.iter().enumerate().rev() {
        needed[at] = instr.op.has_effect() || instr.results.iter().any(|v| live[v.index()]);
        if needed[at] {
            for v in &instr.operands {
                live[v.index()] = true;
            }
        }
    }
    let mut needed = needed.into_iter();
    func.instrs.retain(|_| needed.next().unwrap_or(true));
}
