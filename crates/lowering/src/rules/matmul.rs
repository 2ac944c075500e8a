//! Matrix products. One `dot_general` each, with scale, addend and activation as elementwise ops after it.
//!
//! Reduced floats accumulate in f32. A bare product rounds in the product itself; with an epilogue the product stays
//! in f32 and the sum is rounded once.

use smallvec::smallvec;
use tnrs_hlo::{Composite, DotDims, Value};
use tnrs_types::{DType, Dims};

use super::arithmetic::times_one;
use crate::expr::Expr;
use crate::helpers::Lowered;
use crate::{Ctx, LowerError, Outcome, Row, Tensor};

/// Rows of this family.
pub(crate) const ROWS: &[Row] = &[
    Row::new("aten::mm", mm),
    Row::new("aten::mm.dtype", mm),
    Row::new("aten::bmm", bmm),
    Row::new("aten::bmm.dtype", bmm),
    Row::new("aten::mv", mv),
    Row::new("aten::dot", dot),
    Row::new("aten::vdot", vdot),
    Row::new("aten::addmm", |cx| addmm(cx, 3, Activation::None)).unit(&["beta", "alpha"]),
    Row::new("aten::addmm.dtype", |cx| addmm(cx, 4, Activation::None)).unit(&["beta", "alpha"]),
    Row::new("aten::_addmm_activation", addmm_activation).unit(&["beta", "alpha"]),
    Row::new("aten::addmv", addmv).unit(&["beta", "alpha"]),
    Row::new("aten::baddbmm", |cx| baddbmm(cx, 3)).unit(&["beta", "alpha"]),
    Row::new("aten::baddbmm.dtype", |cx| baddbmm(cx, 4)).unit(&["beta", "alpha"]),
    Row::new("aten::addbmm", addbmm).unit(&["beta", "alpha"]),
    Row::new("aten::_compute_linear_combination", linear_combination).infer_by_rule(),
    Row::new("aten::addr", addr).unit(&["beta", "alpha"]),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Activation {
    None,
    Relu,
    Gelu,
}

pub(super) fn contract(lhs: &[i64], rhs: &[i64]) -> DotDims {
    DotDims { lhs_contract: Dims::from_slice(lhs), rhs_contract: Dims::from_slice(rhs), ..DotDims::default() }
}

fn batched() -> DotDims {
    DotDims {
        lhs_batch: smallvec![0],
        rhs_batch: smallvec![0],
        lhs_contract: smallvec![2],
        rhs_contract: smallvec![1],
    }
}

fn refuse_bool(dtype: DType) -> Result<(), LowerError> {
    if dtype == DType::Bool {
        return Err(LowerError::unsupported("matrix products are not implemented for 'Bool'"));
    }
    Ok(())
}

/// How PyTorch's CPU kernels complain about operands of different dtypes, which its meta kernels let pass.
#[derive(Clone, Copy)]
enum Complaint {
    /// By the names of the C++ types.
    Cpp,
    /// By the names of the scalar types.
    Scalar,
    /// As `addmv` does, with `vec` in the place of its missing addend.
    Mv,
    /// As `addmm` does.
    Addmm,
}

fn same_dtype(x: &Tensor, y: &Tensor, complaint: Complaint) -> Result<(), LowerError> {
    let (x, y) = (x.ty.dtype, y.ty.dtype);
    if x == y {
        return Ok(());
    }
    let ([x_cpp, x], [y_cpp, y]) = (torch_names(x), torch_names(y));
    Err(LowerError::runtime(match complaint {
        Complaint::Cpp => format!("expected m1 and m2 to have the same dtype, but got: {x_cpp} != {y_cpp}"),
        Complaint::Scalar => format!("expected scalar type {x} but found {y}"),
        Complaint::Mv => format!("addmv input tensors must have the same dtype, but got {y}, {x}, and {y}"),
        Complaint::Addmm => format!("self and mat2 must have the same dtype, but got {x} and {y}"),
    }))
}

/// PyTorch's names of an element type: of the C++ type, and of the scalar type.
fn torch_names(dtype: DType) -> [&'static str; 2] {
    match dtype {
        DType::Bool => ["bool", "Bool"],
        DType::U8 => ["unsigned char", "Byte"],
        DType::I8 => ["signed char", "Char"],
        DType::U16 => ["short unsigned int", "UInt16"],
        DType::I16 => ["short int", "Short"],
        DType::U32 => ["unsigned int", "UInt32"],
        DType::I32 => ["int", "Int"],
        DType::U64 => ["long unsigned int", "UInt64"],
        DType::I64 => ["long int", "Long"],
        DType::F8E4M3FN => ["c10::Float8_e4m3fn", "Float8_e4m3fn"],
        DType::F8E5M2 => ["c10::Float8_e5m2", "Float8_e5m2"],
        DType::F8E4M3FNUZ => ["c10::Float8_e4m3fnuz", "Float8_e4m3fnuz"],
        DType::F8E5M2FNUZ => ["c10::Float8_e5m2fnuz", "Float8_e5m2fnuz"],
        DType::F8E8M0FNU => ["c10::Float8_e8m0fnu", "Float8_e8m0fnu"],
        DType::F16 => ["c10::Half", "Half"],
        DType::BF16 => ["c10::BFloat16", "BFloat16"],
        DType::F32 => ["float", "Float"],
        DType::F64 => ["double", "Double"],
        DType::C32 => ["c10::complex<c10::Half>", "ComplexHalf"],
        DType::C64 => ["c10::complex<float>", "ComplexFloat"],
        DType::C128 => ["c10::complex<double>", "ComplexDouble"],
    }
}

/// A product without epilogue.
fn product(cx: &mut Ctx, dims: DotDims, complaint: Complaint) -> Result<Outcome, LowerError> {
    let (x, y) = (cx.tensor(0)?, cx.tensor(1)?);
    let out = cx.out(0)?.dtype;
    refuse_bool(x.ty.dtype)?;
    same_dtype(&x, &y, complaint)?;
    let matrices = x.ty.rank() == 2 && y.ty.rank() == 2;
    let left = match matrices {
        true => cx.math(|m| by_alpha(m.expr(x.value), Factor::One).value())?,
        false => x.value,
    };
    Ok(cx.b.dot_general(left, y.value, dims, out)?.into())
}

fn mm(cx: &mut Ctx) -> Result<Outcome, LowerError> {
    product(cx, contract(&[1], &[0]), Complaint::Cpp)
}

fn bmm(cx: &mut Ctx) -> Result<Outcome, LowerError> {
    product(cx, batched(), Complaint::Scalar)
}

fn mv(cx: &mut Ctx) -> Result<Outcome, LowerError> {
    product(cx, contract(&[1], &[0]), Complaint::Mv)
}

fn dot(cx: &mut Ctx) -> Result<Outcome, LowerError> {
    product(cx, contract(&[0], &[0]), Complaint::Scalar)
}

fn vdot(cx: &mut Ctx) -> Result<Outcome, LowerError> {
    let (x, y) = (cx.tensor(0)?, cx.tensor(1)?);
    let out = cx.out(0)?.dtype;
    let r = cx.math(|m| {
        let [x, y] = m.exprs([x.value, y.value]);
        let x = if x.dtype().is_complex() { x.conj() } else { x };
        x.dot(y, contract(&[0], &[0]), out).value()
    })?;
    Ok(r.into())
}

/// A `beta` or `alpha` argument.
#[derive(Clone, Copy)]
enum Factor {
    Zero,
    One,
    By(Value),
}

fn factor(cx: &mut Ctx, arg: usize, dtype: DType) -> Result<Factor, LowerError> {
    match cx.scalar_arg(arg)?.known {
        Some(s) if s.is(0) => Ok(Factor::Zero),
        Some(s) if s.is(1) => Ok(Factor::One),
        _ => Ok(Factor::By(cx.scalar(arg, dtype)?)),
    }
}

fn scaled<'m>(x: Expr<'m>, factor: Factor) -> Expr<'m> {
    match factor {
        Factor::Zero => x.int(0),
        Factor::One => x,
        Factor::By(v) => x * x.math().expr(v),
    }
}

/// A product even with zero and with a complex one, which NaN and infinity do not leave as they were.
fn multiplied<'m>(x: Expr<'m>, factor: Factor) -> Expr<'m> {
    match factor {
        Factor::Zero => x * x.int(0),
        Factor::One => times_one(x),
        Factor::By(v) => x * x.math().expr(v),
    }
}

/// The left operand of a complex matrix product times alpha, which PyTorch's library applies there, in double precision
/// even where it is one; infinities show it.
fn by_alpha<'m>(x: Expr<'m>, alpha: Factor) -> Expr<'m> {
    match alpha {
        Factor::One if x.dtype() != DType::C128 => x,
        _ => multiplied(x, alpha),
    }
}

/// `beta * self + alpha * product`, where a zero `beta` ignores `self`, NaN included.
fn add_product(
    cx: &mut Ctx,
    beta: usize,
    activation: Activation,
    batched: bool,
    multiply: impl FnOnce([Expr<'_>; 2], DType) -> Value,
) -> Result<Outcome, LowerError> {
    let [base, x, y] = [cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?];
    refuse_bool(x.ty.dtype)?;
    let out = cx.out(0)?;
    let acc = out.dtype.opmath();
    let (beta, alpha) = (factor(cx, beta, acc)?, factor(cx, beta + 1, acc)?);
    let r = cx.math(|m| {
        let [base, x, y] = m.exprs([base.value, x.value, y.value]);
        let early = acc.is_complex() && !batched && !matches!(alpha, Factor::Zero);
        let xy = match early {
            true => m.expr(multiply([by_alpha(x, alpha), y], acc)),
            false => scaled(m.expr(multiply([x, y], acc)), alpha),
        };
        let sum = match beta {
            Factor::Zero => xy,
            _ => xy + scaled(base.cast(acc), beta),
        };
        let y = match activation {
            Activation::None => sum,
            Activation::Relu => sum.max(0.0),
            Activation::Gelu => {
                let ty = sum.ty();
                m.composite(Composite::Gelu { tanh: false }, &[sum], &[ty]).map_or(sum, |r| r[0])
            }
        };
        y.broadcast(&out.dims).cast(out.dtype).value()
    })?;
    Ok(r.into())
}

fn addmm(cx: &mut Ctx, beta: usize, activation: Activation) -> Result<Outcome, LowerError> {
    add_product(cx, beta, activation, false, |[x, y], acc| x.dot(y, contract(&[1], &[0]), acc).value())
}

fn addmm_activation(cx: &mut Ctx) -> Result<Outcome, LowerError> {
    let activation = if cx.bool(5) { Activation::Gelu } else { Activation::Relu };
    addmm(cx, 3, activation)
}

fn addmv(cx: &mut Ctx) -> Result<Outcome, LowerError> {
    addmm(cx, 3, Activation::None)
}

fn baddbmm(cx: &mut Ctx, beta: usize) -> Result<Outcome, LowerError> {
    same_dtype(&cx.tensor(1)?, &cx.tensor(2)?, Complaint::Scalar)?;
    add_product(cx, beta, Activation::None, true, |[x, y], acc| x.dot(y, batched(), acc).value())
}

fn addbmm(cx: &mut Ctx) -> Result<Outcome, LowerError> {
    let [base, x, y] = [cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?];
    same_dtype(&x, &y, Complaint::Addmm)?;
    same_dtype(&base, &y, Complaint::Addmm)?;
    let all = contract(&[0, 2], &[0, 1]);
    add_product(cx, 3, Activation::None, false, |[x, y], acc| x.dot(y, all, acc).value())
}

fn addr(cx: &mut Ctx) -> Result<Outcome, LowerError> {
    let [base, x, y] = [cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?];
    let out = cx.out(0)?;
    let acc = out.dtype.opmath();
    let (beta, alpha) = (factor(cx, 3, acc)?, factor(cx, 4, acc)?);
    let r = cx.math(|m| {
        let [base, x, y] = m.exprs([base.value, x.value, y.value]).map(|e| e.cast(acc));
        let outer = multiplied(x, alpha).unsqueeze(1) * y.unsqueeze(0);
        let sum = match beta {
            Factor::Zero => outer,
            _ => outer + multiplied(base, beta),
        };
        sum.broadcast(&out.dims).cast(out.dtype).value()
    })?;
    Ok(r.into())
}

/// Sums of the tensors stacked in the first argument, with the coefficients of one sum in each row of the second.
fn linear_combination(cx: &mut Ctx) -> Lowered {
    let [x, c] = [cx.tensor(0)?, cx.tensor(1)?];
    if x.ty.rank() == 0 || c.ty.rank() != 2 || c.ty.dims[1] != x.ty.dims[0] {
        return Err(LowerError::runtime(format!(
            "{}: coefficients of sizes [sums, {:?}] needed, got {:?}",
            cx.op,
            x.ty.dims.first(),
            c.ty.dims.as_slice()
        )));
    }
    let compute = x.ty.dtype.opmath();
    let [xs, cs] = [cx.cast(x.value, compute)?, cx.cast(c.value, compute)?];
    let r =
        cx.math(|m| m.expr(cs).dot(m.expr(xs), contract(&[1], &[0]), compute).cast(x.ty.dtype).value())?;
    Ok(r.into())
}
