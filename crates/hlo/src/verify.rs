//! Checks a whole function.

use smallvec::SmallVec;

use crate::infer::{check, infer};
use crate::{Func, HloError, TensorType, Value};

/// Checks that every value is defined once and before its uses (`func_ssa`), that every instruction satisfies the
/// constraints of its op, and that its results have the types that inference gives (`result_type`).
pub fn verify(func: &Func) -> Result<(), HloError> {
    let mut defined = vec![false; func.types.len()];
    for v in &func.params {
        define(&mut defined, *v)?;
    }
    for instr in &func.instrs {
        uses(&defined, instr.op.name(), &instr.operands)?;
        let operands: SmallVec<[&TensorType; 6]> = instr.operands.iter().map(|v| func.ty(*v)).collect();
        for v in &instr.results {
            define(&mut defined, *v)?;
        }
        let stated: SmallVec<[TensorType; 2]> = instr.results.iter().map(|v| func.ty(*v).clone()).collect();
        let inferred = infer(&instr.op, &operands, &stated)?;
        check!(
            inferred == stated,
            instr.op.name(),
            "result_type",
            "{} stated, {} inferred",
            list(&stated),
            list(&inferred)
        );
    }
    uses(&defined, "return", &func.results)
}

fn define(defined: &mut [bool], v: Value) -> Result<(), HloError> {
    let fresh = defined.get(v.index()) == Some(&false);
    check!(fresh, "func", "func_ssa", "value {} is out of range or defined twice", v.0);
    defined[v.index()] = true;
    Ok(())
}

fn uses(defined: &[bool], op: &'static str, values: &[Value]) -> Result<(), HloError> {
    for v in values {
        check!(
            defined.get(v.index()) == Some(&true),
            op,
            "func_ssa",
            "value {} is used before it is defined",
            v.0
        );
    }
    Ok(())
}

fn list(types: &[TensorType]) -> String {
    let names: Vec<String> = types.iter().map(TensorType::to_string).collect();
    names.join(", ")
}
