//! Functions, instructions and values.

use smallvec::SmallVec;
use tnrs_types::{numel, DType, Dims};

use crate::Op;

/// Type of a value: element type and static sizes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TensorType {
    /// Element type.
    pub dtype: DType,
    /// Sizes; empty for a scalar tensor.
    pub dims: Dims,
}

impl TensorType {
    /// A type from its parts.
    pub fn new(dtype: DType, dims: &[i64]) -> Self {
        TensorType { dtype, dims: Dims::from_slice(dims) }
    }
    /// Number of elements.
    pub fn numel(&self) -> i64 {
        numel(&self.dims)
    }
    /// Rank.
    pub fn rank(&self) -> usize {
        self.dims.len()
    }
}

/// As in the text form: `f32[2,3]`.
impl std::fmt::Display for TensorType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}[", self.dtype.hlo_name())?;
        for (i, d) in self.dims.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            write!(f, "{comma}{d}")?;
        }
        f.write_str("]")
    }
}

/// An SSA value of one [`Func`]: an index into [`Func::types`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value(pub u32);

impl Value {
    /// The value's index, for side tables.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One instruction.
#[derive(Clone, Debug)]
pub struct Instr {
    /// What it computes, with its attributes.
    pub op: Op,
    /// Operands, in StableHLO's order.
    pub operands: SmallVec<[Value; 4]>,
    /// Results; exactly one for most ops.
    pub results: SmallVec<[Value; 2]>,
}

/// A straight-line function. Instructions are in an order in which every operand is defined before its use.
#[derive(Clone, Debug, Default)]
pub struct Func {
    /// Name, for text and dumps.
    pub name: String,
    /// Type of every value, by [`Value::index`].
    pub types: Vec<TensorType>,
    /// Parameters, in order.
    pub params: Vec<Value>,
    /// Instructions, in order.
    pub instrs: Vec<Instr>,
    /// Results, in order. A parameter may be a result; a value may be several results.
    pub results: Vec<Value>,
}

impl Func {
    /// Type of a value.
    pub fn ty(&self, v: Value) -> &TensorType {
        &self.types[v.index()]
    }
}
