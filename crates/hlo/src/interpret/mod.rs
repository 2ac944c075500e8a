//! The reference interpreter: meant to be read, not to be fast.
//!
//! One function an op. Element types are hidden behind [`Element`]: integers are computed in i128, floats in f64,
//! complex numbers in pairs of f64, and every result element is rounded once to its type. Reductions and
//! contractions round once at the end, so they are at least as accurate as any executor's.
mod binary;
mod contract;
mod element;
mod elementwise;
mod fft;
mod index;
mod reduce;
mod shape;
mod small_float;
mod special;
mod tensor;
mod unary;

use smallvec::SmallVec;

pub use element::Element;
pub use tensor::Tensor;

use crate::{Builder, Composite, Func, Instr, Literal, Op, TensorType, Value};

/// What an executor reports about the data of a well-formed program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A custom call has no reference implementation.
    #[error("custom_call.{name}: the interpreter has no such routine")]
    CustomCall {
        /// The routine.
        name: &'static str,
    },
    /// [`Composite::CheckIndex`] found an index out of range.
    #[error("{site}: index {index} is out of range [{lo}, {hi}) of dim {dim}")]
    Index {
        /// Operator that the composite names.
        site: &'static str,
        /// The first illegal index.
        index: i64,
        /// Least legal index.
        lo: i64,
        /// One past the greatest legal index.
        hi: i64,
        /// Dim that the composite names.
        dim: i64,
    },
    /// [`Composite::Assert`] found that something does not hold.
    #[error("{message}")]
    Assertion {
        /// What the composite says.
        message: &'static str,
    },
}

/// Runs a verified function.
///
/// # Panics
/// On a [`Fault`], and on arguments whose types are not those of the parameters.
pub fn interpret(func: &Func, args: &[Literal]) -> Vec<Literal> {
    match try_interpret(func, args) {
        Ok(results) => results,
        Err(fault) => panic!("{fault}"),
    }
}

/// Runs a verified function; an illegal index is a [`Fault`].
///
/// # Panics
/// On arguments whose types are not those of the parameters.
pub fn try_interpret(func: &Func, args: &[Literal]) -> Result<Vec<Literal>, Fault> {
    let args: Vec<Tensor> = args.iter().map(Tensor::from_literal).collect();
    let results = run(func, &args)?;
    Ok(results.iter().map(Tensor::to_literal).collect())
}

fn run(func: &Func, args: &[Tensor]) -> Result<Vec<Tensor>, Fault> {
    assert_eq!(args.len(), func.params.len(), "number of arguments of {}", func.name);
    let mut values: Vec<Option<Tensor>> = vec![None; func.types.len()];
    for (param, arg) in func.params.iter().zip(args) {
        assert_eq!(&arg.ty, func.ty(*param), "argument type of {}", func.name);
        values[param.index()] = Some(arg.clone());
    }
    for instr in &func.instrs {
        let results = {
            let operands: Vec<&Tensor> = instr
                .operands
                .iter()
                .map(|v| values[v.index()].as_ref().expect("defined before use"))
                .collect();
            let types: Vec<TensorType> = instr.results.iter().map(|v| func.ty(*v).clone()).collect();
            eval(instr, &operands, &types)?
        };
        for (v, result) in instr.results.iter().zip(results) {
            values[v.index()] = Some(result);
        }
    }
    let results = func.results.iter();
    Ok(results.map(|v| values[v.index()].clone().expect("defined")).collect())
}

fn eval(instr: &Instr, x: &[&Tensor], types: &[TensorType]) -> Result<Vec<Tensor>, Fault> {
    let ty = &types[0];
    let one = match &instr.op {
        Op::Constant(literal) => Tensor::from_literal(literal),
        Op::Iota { dim } => shape::iota(*dim, ty),
        Op::Unary(kind) => unary::unary(*kind, x[0], ty),
        Op::Binary(kind) => binary::binary(*kind, x[0], x[1], ty),
        Op::Compare(dir) => elementwise::compare(*dir, x[0], x[1], ty),
        Op::Select => elementwise::select(x[0], x[1], x[2]),
        Op::Clamp => elementwise::clamp(x[0], x[1], x[2]),
        Op::Convert => elementwise::convert(x[0], ty),
        Op::BitcastConvert => elementwise::bitcast_convert(x[0], ty),
        Op::BroadcastInDim { dims } => shape::broadcast_in_dim(dims, x[0], ty),
        Op::Reshape => shape::reshape(x[0], ty),
        Op::Transpose { perm } => shape::transpose(perm, x[0], ty),
        Op::Slice { start, stride, .. } => shape::slice(start, stride, x[0], ty),
        Op::DynamicSlice => shape::dynamic_slice(x[0], &x[1..], ty),
        Op::DynamicUpdateSlice => shape::dynamic_update_slice(x[0], x[1], &x[2..]),
        Op::Pad { low, interior, .. } => shape::pad(low, interior, x[0], x[1], ty),
        Op::Concatenate { dim } => shape::concatenate(*dim, x, ty),
        Op::Reverse { dims } => shape::reverse(dims, x[0]),
        Op::DotGeneral(dims) => contract::dot_general(dims, x[0], x[1], ty),
        Op::Convolution(attrs) => contract::convolution(attrs, x[0], x[1], ty),
        Op::Reduce { kind, dims } => reduce::reduce(*kind, dims, x[0], ty),
        Op::Gather(dims) => index::gather(dims, x[0], x[1], ty),
        Op::Scatter { kind, dims } => index::scatter(*kind, dims, x[0], x[1], x[2]),
        Op::Sort { dim, descending } => return Ok(reduce::sort(*dim, *descending, x)),
        Op::Fft { kind, length } => fft::fft(*kind, length, x[0], ty),
        Op::Composite(c) => return composite(c, x, types),
        Op::CustomCall(c) => return Err(Fault::CustomCall { name: c.name() }),
    };
    Ok(vec![one])
}

/// Runs the decomposition.
fn composite(c: &Composite, x: &[&Tensor], types: &[TensorType]) -> Result<Vec<Tensor>, Fault> {
    if let Composite::CheckIndex { lo, hi, site, dim, .. } = c {
        let illegal = |i: &i128| !(i128::from(*lo)..i128::from(*hi)).contains(i);
        if let Some(index) = x[0].data.iter().map(|e| e.int()).find(illegal) {
            return Err(Fault::Index { site, index: index as i64, lo: *lo, hi: *hi, dim: *dim });
        }
    }
    if let Composite::Assert { message } = c {
        if x[0].data.iter().any(|e| !e.bool()) {
            return Err(Fault::Assertion { message });
        }
    }
    let mut b = Builder::new(c.name());
    let params: SmallVec<[Value; 8]> = x.iter().map(|t| b.param(t.ty.clone())).collect();
    let results = c.decompose(&mut b, &params, types).expect("a verified composite decomposes");
    let func = b.finish(&results);
    let args: Vec<Tensor> = x.iter().map(|t| (*t).clone()).collect();
    run(&func, &args)
}
