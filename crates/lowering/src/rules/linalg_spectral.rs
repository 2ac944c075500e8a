//! Singular values, eigenvalues and functions of matrices.

use tnrs_types::{DType, Dims};

use super::linalg::{call, call_like, join, matrix, nothing};
use crate::expr::Expr;
use crate::helpers::Lowered;
use crate::{Ctx, LowerError, Outcome, Row};

/// Rows of this family.
pub(crate) const ROWS: &[Row] = &[
    Row::new("aten::_linalg_svd", svd),
    Row::new("aten::_linalg_eigh", eigh),
    Row::new("aten::linalg_eig", eig),
    Row::new("aten::_linalg_eigvals", eigvals),
    // The functional overload is a composite.
    Row::new("aten::linalg_eigvals.out", eigvals),
    Row::new("aten::linalg_matrix_exp", matrix_exp),
    Row::new("aten::linalg_matrix_sqrth", matrix_sqrth),
    Row::new("aten::linalg_polar", polar),
];

fn svd(cx: &mut Ctx) -> Lowered {
    let (a, full, vectors) = (cx.tensor(0)?, cx.bool(1), cx.bool(2));
    if !cx.is_absent(3) {
        return Err(LowerError::runtime(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend.",
        ));
    }
    let (batch, m, n) = matrix(&a.ty.dims)?;
    let k = m.min(n);
    let s = (a.ty.dtype.real(), join(batch, &[k]));
    if !vectors {
        let s = call(cx, "svd", &[], &[a.value], &[s])?[0];
        let none = nothing(cx, a.ty.dtype)?;
        return Ok(Outcome::tensors(&[none, s, none]));
    }
    let (p, q) = if full { (m, n) } else { (k, k) };
    let results = [(a.ty.dtype, join(batch, &[m, p])), s, (a.ty.dtype, join(batch, &[q, n]))];
    Ok(Outcome::tensors(&call(cx, "svd", &[], &[a.value], &results)?))
}

fn eigh(cx: &mut Ctx) -> Lowered {
    let a = cx.tensor(0)?;
    let upper = cx.text(1).is_some_and(|s| s.eq_ignore_ascii_case("u"));
    let vectors = cx.bool(2);
    let (batch, n, _) = matrix(&a.ty.dims)?;
    let mut results = vec![(a.ty.dtype.real(), join(batch, &[n]))];
    if vectors {
        results.push((a.ty.dtype, a.ty.dims.clone()));
    }
    let mut r = call(cx, "eigh", &[i64::from(upper)], &[a.value], &results)?;
    if !vectors {
        r.push(nothing(cx, a.ty.dtype)?);
    }
    Ok(Outcome::tensors(&r))
}

fn general(cx: &mut Ctx, vectors: bool) -> Lowered {
    let a = cx.tensor(0)?;
    let (batch, n, _) = matrix(&a.ty.dims)?;
    let complex = if a.ty.dtype.real() == DType::F64 { DType::C128 } else { DType::C64 };
    let mut results = vec![(complex, join(batch, &[n]))];
    if vectors {
        results.push((complex, a.ty.dims.clone()));
    }
    Ok(Outcome::tensors(&call(cx, "eig", &[], &[a.value], &results)?))
}

fn eig(cx: &mut Ctx) -> Lowered {
    general(cx, true)
}

fn eigvals(cx: &mut Ctx) -> Lowered {
    general(cx, false)
}

fn matrix_exp(cx: &mut Ctx) -> Lowered {
    let a = cx.tensor(0)?;
    let x = cx.cast(a.value, a.ty.dtype.opmath())?;
    let e = call_like(cx, "matrix_exp", &[], &[x], x)?;
    cx.finish(e)
}

/// Columns of `v` times numbers.
fn scaled<'m>(v: Expr<'m>, by: Expr<'m>) -> Expr<'m> {
    let by = if v.dtype().is_complex() { by.complex(by.int(0)) } else { by };
    v * by.unsqueeze(by.rank() - 1)
}

fn matrix_sqrth(cx: &mut Ctx) -> Lowered {
    let a = cx.tensor(0)?;
    let (batch, n, _) = matrix(&a.ty.dims)?;
    let results = [(a.ty.dtype.real(), join(batch, &[n])), (a.ty.dtype, a.ty.dims.clone())];
    let r = call(cx, "eigh", &[0], &[a.value], &results)?;
    let x = cx.math(|m| {
        let [w, v] = m.exprs([r[0], r[1]]);
        scaled(v, w.max(w.int(0)).sqrt()).matmul(v.adjoint()).value()
    })?;
    Ok(x.into())
}

fn polar(cx: &mut Ctx) -> Lowered {
    let a = cx.tensor(0)?;
    let (batch, m, n) = matrix(&a.ty.dims)?;
    let k = m.min(n);
    let dims = |p, q| -> (DType, Dims) { (a.ty.dtype, join(batch, &[p, q])) };
    let results = [dims(m, k), (a.ty.dtype.real(), join(batch, &[k])), dims(k, n)];
    let r = call(cx, "svd", &[], &[a.value], &results)?;
    let [u, h] = cx.math(|math| {
        let [u, s, vh] = math.exprs([r[0], r[1], r[2]]);
        [u.matmul(vh), scaled(vh.adjoint(), s).matmul(vh)].map(Expr::value)
    })?;
    Ok(Outcome::tensors(&[u, h]))
}
