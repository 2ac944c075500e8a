//! LU, and what is computed from it: solutions, inverses, determinants.

use tnrs_hlo::custom::InfoSite;
use tnrs_hlo::Value;
use tnrs_types::{DType, Dims, ReduceKind};

use super::linalg::{call, call_like, checked, common_batch, join, matrix, nothing, pivots_like, unit};
use crate::expr::Expr;
use crate::helpers::Lowered;
use crate::{Ctx, LowerError, Outcome, Row, Tensor};

/// Rows of this family.
pub(crate) const ROWS: &[Row] = &[
    Row::new("aten::linalg_lu_factor_ex", lu_factor_ex),
    Row::new("aten::linalg_lu", linalg_lu),
    Row::new("aten::linalg_lu_solve", lu_solve),
    Row::new("aten::lu_unpack", lu_unpack),
    Row::new("aten::_linalg_solve_ex", solve_ex),
    Row::new("aten::linalg_inv_ex", inv_ex),
    Row::new("aten::_linalg_det", det),
    Row::new("aten::_linalg_slogdet", slogdet),
];

/// LU, pivots and info of a value.
struct Factors {
    lu: Value,
    pivots: Value,
    info: Value,
}

fn factor(cx: &mut Ctx, a: Value, pivot: bool) -> Result<Factors, LowerError> {
    let ty = cx.b.ty(a).clone();
    let (batch, m, n) = matrix(&ty.dims)?;
    let results = [
        (ty.dtype, ty.dims.clone()),
        (DType::I32, join(batch, &[m.min(n)])),
        (DType::I32, Dims::from_slice(batch)),
    ];
    let r = call(cx, "lu", &[i64::from(pivot)], &[a], &results)?;
    Ok(Factors { lu: r[0], pivots: r[1], info: r[2] })
}

fn lu_factor_ex(cx: &mut Ctx) -> Lowered {
    let (a, pivot, check) = (cx.tensor(0)?, cx.bool(1), cx.bool(2));
    let mut f = factor(cx, a.value, pivot)?;
    if check {
        f.lu = checked(cx, InfoSite::LuFactorEx, f.info, f.lu)?;
    }
    Ok(Outcome::tensors(&[f.lu, f.pivots, f.info]))
}

/// L and U as matrices of their own.
fn triangles(cx: &mut Ctx, lu: Value) -> Result<[Value; 2], LowerError> {
    cx.math(|m| {
        let lu = m.expr(lu);
        let dims = lu.dims();
        let at = dims.len() - 2;
        let k = dims[at].min(dims[at + 1]);
        let l = lu.slice(at + 1, 0, k);
        let below = l.triangle(false);
        let last = &l.dims()[at..];
        let on = m.iota(DType::I64, last, 0).eq(m.iota(DType::I64, last, 1));
        let l = on.select(below.int(1), below);
        let u = lu.slice(at, 0, k).triangle(true);
        [l, u].map(Expr::value)
    })
}

/// The permutation matrix P of A = P·L·U, for A of `rows` rows.
fn permutation(cx: &mut Ctx, pivots: Value, rows: i64, dtype: DType) -> Result<Value, LowerError> {
    let ty = cx.b.ty(pivots).clone();
    let batch = &ty.dims[..ty.rank() - 1];
    let order = call(cx, "row_order", &[], &[pivots], &[(DType::I32, join(batch, &[rows]))])?[0];
    cx.math(|m| {
        let dims = join(batch, &[rows, rows]);
        let row = m.iota(DType::I32, &dims, dims.len() as i64 - 2);
        let order = m.expr(order).unsqueeze(batch.len()).broadcast(&dims);
        row.eq(order).cast(dtype).value()
    })
}

fn linalg_lu(cx: &mut Ctx) -> Lowered {
    let (a, pivot) = (cx.tensor(0)?, cx.bool(1));
    let (_, rows, _) = matrix(&a.ty.dims)?;
    let f = factor(cx, a.value, pivot)?;
    let p = if pivot { permutation(cx, f.pivots, rows, a.ty.dtype)? } else { nothing(cx, a.ty.dtype)? };
    let [l, u] = triangles(cx, f.lu)?;
    Ok(Outcome::tensors(&[p, l, u]))
}

fn lu_unpack(cx: &mut Ctx) -> Lowered {
    let (lu, pivots) = (cx.tensor(0)?, cx.tensor(1)?);
    let (data, order) = (cx.bool(2), cx.bool(3));
    let dtype = lu.ty.dtype;
    let (_, rows, _) = matrix(&lu.ty.dims)?;
    if order && pivots.ty.dtype != DType::I32 {
        return Err(LowerError::runtime(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\n\
             Note: this function is intended to be used with the output produced by torch.linalg.lu_factor",
        ));
    }
    let p = if order { permutation(cx, pivots.value, rows, dtype)? } else { nothing(cx, dtype)? };
    let [l, u] = if data { triangles(cx, lu.value)? } else { [nothing(cx, dtype)?, nothing(cx, dtype)?] };
    Ok(Outcome::tensors(&[p, l, u]))
}

/// X with A·X = B (`left`) or X·A = B, or with Aᴴ in the place of A.
fn solve_by(
    cx: &mut Ctx,
    lu: Value,
    pivots: Value,
    b: Value,
    left: bool,
    adjoint: bool,
) -> Result<Value, LowerError> {
    if left {
        return call_like(cx, "lu_solve", &[i64::from(adjoint)], &[lu, pivots, b], b);
    }
    // (X·A)ᴴ = Aᴴ·Xᴴ.
    let bh = cx.math(|m| m.expr(b).adjoint().value())?;
    let xh = call_like(cx, "lu_solve", &[i64::from(!adjoint)], &[lu, pivots, bh], bh)?;
    cx.math(|m| m.expr(xh).adjoint().value())
}

fn lu_solve(cx: &mut Ctx) -> Lowered {
    let (lu, pivots, b) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
    let (left, adjoint) = (cx.bool(3), cx.bool(4));
    let (f, b) = common_batch(cx, &lu, &b)?;
    let p = pivots_like(cx, &pivots, f)?;
    Ok(solve_by(cx, f, p, b, left, adjoint)?.into())
}

/// Factors as PyTorch's derivatives of determinants expect them: of Aᵀ for real contiguous A, otherwise of A.
fn factor_for_det(cx: &mut Ctx, a: &Tensor) -> Result<Factors, LowerError> {
    let transposed = cx.contiguous.contains(&0) && !a.ty.dtype.is_complex();
    let x = if transposed { cx.math(|m| m.expr(a.value).transposed().value())? } else { a.value };
    factor(cx, x, true)
}

fn solve_ex(cx: &mut Ctx) -> Lowered {
    let (a, b, left, check) = (cx.tensor(0)?, cx.tensor(1)?, cx.bool(2), cx.bool(3));
    let (batch, n, _) = matrix(&a.ty.dims)?;
    let vector = b.ty.rank() == 1 || b.ty.dims == join(batch, &[n]);
    let mut f = factor(cx, a.value, true)?;
    if check {
        f.lu = checked(cx, InfoSite::SolveEx, f.info, f.lu)?;
    }
    let rhs = if vector {
        let dims = join(&b.ty.dims, &[1]);
        let value = cx.b.reshape(b.value, &dims)?;
        Tensor { value, ty: cx.b.ty(value).clone(), wrapped: false }
    } else {
        b
    };
    let lu = Tensor { value: f.lu, ty: cx.b.ty(f.lu).clone(), wrapped: false };
    let p = Tensor { value: f.pivots, ty: cx.b.ty(f.pivots).clone(), wrapped: false };
    let (wide_lu, rhs) = common_batch(cx, &lu, &rhs)?;
    let wide_p = pivots_like(cx, &p, wide_lu)?;
    let x = solve_by(cx, wide_lu, wide_p, rhs, left || vector, false)?;
    let out = cx.out(0)?;
    let x = cx.b.reshape(x, &out.dims)?;
    Ok(Outcome::tensors(&[x, f.lu, f.pivots, f.info]))
}

fn inv_ex(cx: &mut Ctx) -> Lowered {
    let (a, check) = (cx.tensor(0)?, cx.bool(1));
    let mut f = factor(cx, a.value, true)?;
    if check {
        f.lu = checked(cx, InfoSite::InvEx, f.info, f.lu)?;
    }
    let one = cx.math(|m| unit(m, a.ty.dtype, &a.ty.dims).value())?;
    let x = solve_by(cx, f.lu, f.pivots, one, true, false)?;
    Ok(Outcome::tensors(&[x, f.info]))
}

/// 1 for an even number of row exchanges, −1 for an odd one.
fn parity<'m>(pivots: Expr<'m>, dtype: DType) -> Expr<'m> {
    let dims = pivots.dims();
    let last = dims.len() as i64 - 1;
    let at = pivots.math().iota(DType::I32, &dims, last);
    let moved = pivots.ne(at + at.int(1)).cast(DType::I32).sum(&[last]);
    let odd = moved.and(moved.int(1)).eq(moved.int(1));
    let one = odd.math().splat(dtype, &odd.dims(), tnrs_types::Scalar::Int(1));
    odd.select(one.int(-1), one)
}

fn det(cx: &mut Ctx) -> Lowered {
    let a = cx.tensor(0)?;
    let f = factor_for_det(cx, &a)?;
    let last = a.ty.rank() as i64 - 2;
    let d = cx.math(|m| {
        let [lu, p] = m.exprs([f.lu, f.pivots]);
        (lu.diagonal().reduce(ReduceKind::Multiply, &[last]) * parity(p, a.ty.dtype)).value()
    })?;
    Ok(Outcome::tensors(&[d, f.lu, f.pivots]))
}

fn slogdet(cx: &mut Ctx) -> Lowered {
    let a = cx.tensor(0)?;
    let f = factor_for_det(cx, &a)?;
    let last = a.ty.rank() as i64 - 2;
    let [sign, log] = cx.math(|m| {
        let [lu, p] = m.exprs([f.lu, f.pivots]);
        let d = lu.diagonal();
        let sign = d.sign().reduce(ReduceKind::Multiply, &[last]) * parity(p, a.ty.dtype);
        [sign, d.abs().log().sum(&[last])].map(Expr::value)
    })?;
    Ok(Outcome::tensors(&[sign, log, f.lu, f.pivots]))
}
