//! Replaces composites by their decompositions.

use smallvec::SmallVec;

use crate::{Builder, Composite, Func, HloError, Instr, Op, TensorType, Value};

/// The function with every composite that `keep` refuses replaced by its decomposition; composites inside a
/// decomposition are asked about as well. `keep` sees the instruction and the function it stands in, for the types.
///
/// Errors name a composite that does not decompose for its types.
pub fn inline_composites(
    func: &Func,
    keep: &dyn Fn(&Func, &Instr, &Composite) -> bool,
) -> Result<Func, HloError> {
    let mut b = Builder::new(&func.name);
    let mut new: Vec<Value> = vec![Value(0); func.types.len()];
    for v in &func.params {
        new[v.index()] = b.param(func.ty(*v).clone());
    }
    let mut inlined = false;
    for instr in &func.instrs {
        let operands: SmallVec<[Value; 8]> = instr.operands.iter().map(|v| new[v.index()]).collect();
        let types: SmallVec<[TensorType; 2]> = instr.results.iter().map(|v| func.ty(*v).clone()).collect();
        let results = match &instr.op {
            Op::Composite(c) if !keep(func, instr, c) => {
                inlined = true;
                c.decompose(&mut b, &operands, &types)?
            }
            op => b.push(op.clone(), &operands, &types),
        };
        for (old, value) in instr.results.iter().zip(results) {
            new[old.index()] = value;
        }
    }
    let results: Vec<Value> = func.results.iter().map(|v| new[v.index()]).collect();
    let done = b.finish(&results);
    if inlined {
        inline_composites(&done, keep)
    } else {
        Ok(done)
    }
}
