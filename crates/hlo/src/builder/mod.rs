//! Builds functions; infers and checks each instruction as it is added.
//!
//! Every method returns the value it defines, or the constraint that its operands violate. Nothing is added when
//! a constraint is violated, so a builder stays usable after an error.
mod elementwise;
mod shape;
mod structured;

use smallvec::SmallVec;

use crate::{infer, Func, HloError, Instr, Op, TensorType, Value};

/// Builds a [`Func`].
#[derive(Default, Debug)]
pub struct Builder {
    func: Func,
}

impl Builder {
    /// An empty function.
    pub fn new(name: &str) -> Self {
        Builder {
            func: Func {
                name: name.to_owned(),
                types: Vec::with_capacity(16),
                instrs: Vec::with_capacity(8),
                ..Func::default()
            },
        }
    }

    /// Type of a value built so far.
    pub fn ty(&self, v: Value) -> &TensorType {
        self.func.ty(v)
    }

    /// Parameters added so far, in order.
    pub fn params(&self) -> &[Value] {
        &self.func.params
    }
    /// Adds a parameter.
    pub fn param(&mut self, ty: TensorType) -> Value {
        let v = self.value(ty);
        self.func.params.push(v);
        v
    }

    /// Finishes with these results.
    pub fn finish(mut self, results: &[Value]) -> Func {
        self.func.results = results.to_vec();
        self.func
    }

    /// Appends an instruction with known result types, unchecked.
    pub fn push(&mut self, op: Op, operands: &[Value], types: &[TensorType]) -> SmallVec<[Value; 2]> {
        let results: SmallVec<[Value; 2]> = types.iter().map(|t| self.value(t.clone())).collect();
        self.func.instrs.push(Instr {
            op,
            operands: SmallVec::from_slice(operands),
            results: results.clone(),
        });
        results
    }

    /// Appends an instruction of any op. `want` are its result types; it may be empty where the operands decide them.
    pub fn add_op(
        &mut self,
        op: Op,
        operands: &[Value],
        want: &[TensorType],
    ) -> Result<SmallVec<[Value; 2]>, HloError> {
        let types = {
            let operand_types: SmallVec<[&TensorType; 6]> =
                operands.iter().map(|v| self.func.ty(*v)).collect();
            infer::infer(&op, &operand_types, want)?
        };
        let results: SmallVec<[Value; 2]> = types.into_iter().map(|t| self.value(t)).collect();
        self.func.instrs.push(Instr {
            op,
            operands: SmallVec::from_slice(operands),
            results: results.clone(),
        });
        Ok(results)
    }

    fn one(&mut self, op: Op, operands: &[Value], want: &[TensorType]) -> Result<Value, HloError> {
        Ok(self.add_op(op, operands, want)?[0])
    }

    fn value(&mut self, ty: TensorType) -> Value {
        self.func.types.push(ty);
        Value(u32::try_from(self.func.types.len() - 1).expect("fewer than 2^32 values"))
    }
}
