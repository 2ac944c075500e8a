//! What a rule sees: operands, attributes, expected results, and the builder.

use tnrs_hlo::{Builder, Literal, TensorType, Value};
use tnrs_types::{DType, Dims, Scalar};

use crate::LowerError;

/// A tensor operand. A 0-dim CPU tensor (or a Python number where a tensor is expected) is also one: a rank-0 value
/// whose number arrives at run time.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// Its value in the function being built.
    pub value: Value,
    /// Element type and sizes.
    pub ty: TensorType,
    /// A Python number: ranks lower in type promotion.
    pub wrapped: bool,
}

/// A `Scalar` (or `float`) argument.
#[derive(Clone, Copy, Debug)]
pub struct ScalarArg {
    /// Position in the schema.
    pub index: usize,
    /// Its value when it is part of the key.
    pub known: Option<Scalar>,
    /// Bool, I64, F64 or C128.
    pub natural: DType,
}

/// An argument, by position in the schema.
#[derive(Clone, Debug)]
pub enum Arg {
    /// Absent.
    None,
    /// A tensor.
    Tensor(Tensor),
    /// A list of (optional) tensors.
    Tensors(Vec<Option<Tensor>>),
    /// A number of schema type `Scalar`, or `float` when declared dynamic.
    Scalar(ScalarArg),
    /// A list of `Scalar`s.
    Scalars(Vec<ScalarArg>),
    /// An integer (also enumerations such as a reduction mode).
    Int(i64),
    /// A number of schema type `float`.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// A list of integers.
    Ints(Dims),
    /// A list of floats.
    Floats(Vec<f64>),
    /// A list of truth values.
    Bools(Vec<bool>),
    /// Text.
    Str(String),
    /// An element type.
    DType(DType),
    /// A random generator, or its absence; see [`Ctx::philox`].
    Generator,
    /// Layout, device, memory format: not a rule's business.
    Other,
}

/// One return of the operator.
#[derive(Clone, Debug)]
pub enum Ret {
    /// A tensor.
    Tensor(Value),
    /// An undefined tensor.
    Undefined,
    /// An integer.
    Int(i64),
    /// A list of tensors.
    List(Vec<Value>),
    /// A tensor whose size along `dim` the data decides: the first `count` (a rank-0 i64 value) positions of `value`,
    /// which has room for the most there can be. The caller waits for the program to learn the size.
    Bounded {
        /// Room for the result.
        value: Value,
        /// The dim.
        dim: usize,
        /// How much of it is used.
        count: Value,
    },
}

/// What a rule returns.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Returns that are not aliases of arguments, in schema order. For a row that has in-place and `out=` overloads
    /// these are also what is written to `self` or to the `out` arguments.
    pub rets: Vec<Ret>,
    /// For ops that write their arguments by schema (`normal_`, `_fused_adamw_`, running statistics): argument
    /// position, element of a tensor list (0 otherwise), new value of the argument's sizes.
    pub writes: Vec<(usize, usize, Value)>,
}

impl From<Value> for Outcome {
    fn from(v: Value) -> Self {
        Outcome { rets: vec![Ret::Tensor(v)], writes: Vec::new() }
    }
}

impl Outcome {
    /// Several tensor returns.
    pub fn tensors(values: &[Value]) -> Self {
        Outcome { rets: values.iter().map(|&v| Ret::Tensor(v)).collect(), writes: Vec::new() }
    }
    /// Only writes.
    pub fn writes(writes: Vec<(usize, usize, Value)>) -> Self {
        Outcome { rets: Vec::new(), writes }
    }
}

/// Where a parameter of the built function gets its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A tensor argument (position, element of a list).
    Tensor(usize, usize),
    /// A number (position, element of a list), converted to the parameter's element type.
    Scalar(usize, usize),
    /// The generator's seed.
    Seed,
    /// The generator's offset, in 128-bit blocks.
    Offset,
}

/// The context of one rule application.
pub struct Ctx {
    /// The function being built.
    pub b: Builder,
    /// The operator's name, for messages (`aten::add.Tensor`).
    pub op: &'static str,
    /// Arguments by position.
    pub args: Vec<Arg>,
    /// Result types by PyTorch's meta kernel (lists flattened; undefined results left out); empty with `Infer::Rule`.
    pub outs: Vec<TensorType>,
    /// Source of each parameter of the function, in order.
    pub sources: Vec<Source>,
    /// Positions of tensor arguments that are contiguous. Only for results that PyTorch's derivatives read differently
    /// then (the factors of `_linalg_det`, which are those of the transpose).
    pub contiguous: Vec<usize>,
    /// 128-bit Philox blocks that one run consumes.
    pub philox_blocks: u64,
    philox: Option<(Value, Value)>,
}

impl Ctx {
    /// A context without arguments, to build on a function in progress.
    pub fn new(op: &'static str, b: Builder) -> Self {
        Ctx {
            b,
            op,
            args: Vec::new(),
            outs: Vec::new(),
            sources: Vec::new(),
            contiguous: Vec::new(),
            philox_blocks: 0,
            philox: None,
        }
    }

    /// Declares a parameter for a tensor argument.
    pub fn tensor_param(&mut self, arg: usize, elem: usize, ty: TensorType, wrapped: bool) -> Tensor {
        self.sources.push(Source::Tensor(arg, elem));
        Tensor { value: self.b.param(ty.clone()), ty, wrapped }
    }

    /// The tensor at a position; an error if absent.
    pub fn tensor(&self, i: usize) -> Result<Tensor, LowerError> {
        match self.args.get(i) {
            Some(Arg::Tensor(t)) => Ok(t.clone()),
            other => {
                Err(LowerError::runtime(format!("{}: argument {i} must be a tensor, got {other:?}", self.op)))
            }
        }
    }
    /// The tensor at a position, if present.
    pub fn opt_tensor(&self, i: usize) -> Option<Tensor> {
        match self.args.get(i) {
            Some(Arg::Tensor(t)) => Some(t.clone()),
            _ => None,
        }
    }
    /// The tensor list at a position (undefined elements are an error).
    pub fn tensors(&self, i: usize) -> Result<Vec<Tensor>, LowerError> {
        match self.args.get(i) {
            Some(Arg::Tensors(ts)) => ts
                .iter()
                .map(|t| {
                    t.clone().ok_or_else(|| {
                        LowerError::runtime(format!("{}: undefined tensor in a list", self.op))
                    })
                })
                .collect(),
            other => Err(LowerError::runtime(format!(
                "{}: argument {i} must be a tensor list, got {other:?}",
                self.op
            ))),
        }
    }
    /// An integer argument.
    pub fn int(&self, i: usize) -> Result<i64, LowerError> {
        match self.args.get(i) {
            Some(Arg::Int(v)) => Ok(*v),
            Some(Arg::Bool(v)) => Ok(i64::from(*v)),
            other => {
                Err(LowerError::runtime(format!("{}: argument {i} must be an int, got {other:?}", self.op)))
            }
        }
    }
    /// An optional integer argument.
    pub fn opt_int(&self, i: usize) -> Option<i64> {
        self.int(i).ok()
    }
    /// A bool argument; absent is false.
    pub fn bool(&self, i: usize) -> bool {
        matches!(self.args.get(i), Some(Arg::Bool(true)) | Some(Arg::Int(1)))
    }
    /// A static float argument (or a static number).
    pub fn float(&self, i: usize) -> Result<f64, LowerError> {
        match self.args.get(i) {
            Some(Arg::Float(v)) => Ok(*v),
            Some(Arg::Int(v)) => Ok(*v as f64),
            Some(Arg::Scalar(ScalarArg { known: Some(s), .. })) => Ok(s.to_f64()),
            other => Err(LowerError::runtime(format!(
                "{}: argument {i} must be a static number, got {other:?}",
                self.op
            ))),
        }
    }
    /// A list of integers; a single integer is a list of one; absent is `None`.
    pub fn ints(&self, i: usize) -> Option<Dims> {
        match self.args.get(i) {
            Some(Arg::Ints(v)) => Some(v.clone()),
            Some(Arg::Int(v)) => Some(Dims::from_slice(&[*v])),
            _ => None,
        }
    }
    /// An element type argument, if present.
    pub fn dtype(&self, i: usize) -> Option<DType> {
        match self.args.get(i) {
            Some(Arg::DType(d)) => Some(*d),
            _ => None,
        }
    }
    /// The numeric argument at a position.
    pub fn scalar_arg(&self, i: usize) -> Result<ScalarArg, LowerError> {
        match self.args.get(i) {
            Some(Arg::Scalar(s)) => Ok(*s),
            other => {
                Err(LowerError::runtime(format!("{}: argument {i} must be a number, got {other:?}", self.op)))
            }
        }
    }
    /// The numeric argument at a position as a rank-0 value of `dtype`: a constant when it is in the key, a run-time
    /// parameter otherwise.
    pub fn scalar(&mut self, i: usize, dtype: DType) -> Result<Value, LowerError> {
        match self.args.get(i) {
            Some(Arg::Float(v)) => {
                let v = Scalar::Float(*v);
                self.number(v, dtype)
            }
            Some(Arg::Int(v)) => {
                let v = Scalar::Int(*v);
                self.number(v, dtype)
            }
            _ => {
                let s = self.scalar_arg(i)?;
                self.scalar_value(s, 0, dtype)
            }
        }
    }
    /// As [`Ctx::scalar`], for element `elem` of a list argument (0 for a plain argument).
    pub fn scalar_value(&mut self, s: ScalarArg, elem: usize, dtype: DType) -> Result<Value, LowerError> {
        if let Some(v) = s.known {
            return self.number(v, dtype);
        }
        self.sources.push(Source::Scalar(s.index, elem));
        // Launch arguments have no 8-bit float encoding.
        let carried = if dtype.is_float() && dtype.size() == 1 { DType::F32 } else { dtype };
        let v = self.b.param(TensorType::new(carried, &[]));
        Ok(self.b.convert(v, dtype)?)
    }
    /// A rank-0 constant.
    pub fn number(&mut self, v: Scalar, dtype: DType) -> Result<Value, LowerError> {
        Ok(self.b.constant(Literal::Splat(TensorType::new(dtype, &[]), v))?)
    }
    /// Seed and offset of the call's generator (u64 scalars), reserving `count` random u32 words for this run.
    /// Call once per rule.
    pub fn philox(&mut self, count: i64) -> (Value, Value) {
        self.philox_blocks += (count.max(0) as u64).div_ceil(4);
        if let Some(pair) = self.philox {
            return pair;
        }
        self.sources.extend([Source::Seed, Source::Offset]);
        let ty = TensorType::new(DType::U64, &[]);
        let pair = (self.b.param(ty.clone()), self.b.param(ty));
        self.philox = Some(pair);
        pair
    }
    /// Random u32 words of these sizes from the call's generator.
    pub fn random_bits(&mut self, dims: &[i64]) -> Result<Value, LowerError> {
        let (seed, offset) = self.philox(tnrs_types::numel(dims));
        Ok(self.b.philox(seed, offset, dims)?)
    }
    /// Expected type of result `i`, or an error when the row infers by rule.
    pub fn out(&self, i: usize) -> Result<TensorType, LowerError> {
        self.outs.get(i).cloned().ok_or_else(|| LowerError::unsupported(format!("no type for result {i}")))
    }
}
