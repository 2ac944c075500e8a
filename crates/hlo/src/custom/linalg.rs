//! Dense linear algebra. Operands and results are batches of matrices (or vectors): the leading dims are the same for
//! all of a call. Pivots count from 1 and info codes are LAPACK's; both are i32.

use tnrs_types::DType;

use super::{arity, ensure, CustomCall, Target};
use crate::TensorType;

type Types<'a> = (&'a [&'a TensorType], &'a [TensorType]);

/// Routines of this family.
pub(super) static TARGETS: &[Target] = &[
    // A → L (Lᴴ with `upper`), info.
    Target { name: "cholesky", attrs: &["upper"], check: cholesky },
    // A → LU, pivots, info.
    Target { name: "lu", attrs: &["pivot"], check: lu },
    // pivots → order of the rows: row i of L·U is row order[i] of A.
    Target { name: "row_order", attrs: &[], check: row_order },
    // LU, pivots, B → X with A·X = B, or Aᴴ·X = B.
    Target { name: "lu_solve", attrs: &["adjoint"], check: factored_solve },
    // A, B → X with op(A)·X = B, or X·op(A) = B. `op` is 0, 1 for the transpose, 2 for the adjoint.
    Target { name: "triangular_solve", attrs: &["upper", "unit", "op", "left"], check: triangular_solve },
    // A → R and reflections, their factors.
    Target { name: "geqrf", attrs: &[], check: geqrf },
    // Reflections, factors → the first columns of Q, as many as the result has.
    Target { name: "householder_product", attrs: &[], check: householder_product },
    // Reflections, factors, C → Q·C, Qᴴ·C, C·Q or C·Qᴴ.
    Target { name: "ormqr", attrs: &["left", "adjoint"], check: ormqr },
    // A → U, S, Vᴴ; thin or full by their sizes; or S alone.
    Target { name: "svd", attrs: &[], check: svd },
    // A → eigenvalues, vectors; or eigenvalues alone.
    Target { name: "eigh", attrs: &["upper"], check: eigh },
    // A → complex eigenvalues, vectors; or eigenvalues alone.
    Target { name: "eig", attrs: &[], check: eig },
    // A → LD, pivots, info.
    Target { name: "ldl", attrs: &["hermitian"], check: lu },
    // LD, pivots, B → X.
    Target { name: "ldl_solve", attrs: &["hermitian"], check: factored_solve },
    // A, B → X with rows for max(m, n), A of full rank.
    Target { name: "lstsq_full_rank", attrs: &[], check: lstsq_full_rank },
    // A, B → X, rank (i64), singular values; those up to `rcond` times the largest count as 0.
    Target { name: "lstsq", attrs: &["rcond"], check: lstsq },
    // A → e^A.
    Target { name: "matrix_exp", attrs: &[], check: matrix_exp },
    // info, any value → the value, with a fault if an info is not 0. `what` is an [`InfoSite`].
    Target { name: "check_info", attrs: &["what"], check: check_info },
];

/// Who checks an info code: decides the text of the fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i64)]
#[allow(missing_docs, reason = "named after the functions")]
pub enum InfoSite {
    CholeskyEx,
    CholeskyInverse,
    InvEx,
    LuFactorEx,
    SolveEx,
    LdlFactorEx,
    Svd,
    SvdNotFinite,
    Eigh,
    Eig,
    Lstsq,
}

impl InfoSite {
    /// From its number.
    pub fn from_code(code: i64) -> Option<InfoSite> {
        use InfoSite::*;
        [
            CholeskyEx,
            CholeskyInverse,
            InvEx,
            LuFactorEx,
            SolveEx,
            LdlFactorEx,
            Svd,
            SvdNotFinite,
            Eigh,
            Eig,
            Lstsq,
        ]
        .get(code as usize)
        .copied()
    }
}

fn number(t: &TensorType) -> bool {
    matches!(t.dtype, DType::F32 | DType::F64 | DType::C64 | DType::C128)
}

/// The leading dims and the last `k`; `None` if there are fewer.
fn split(t: &TensorType, k: usize) -> Option<(&[i64], &[i64])> {
    t.dims.len().checked_sub(k).map(|at| t.dims.split_at(at))
}

/// Whether `t` is `batch` and then `dims`, of type `dtype`.
fn is(t: &TensorType, dtype: DType, batch: &[i64], dims: &[i64]) -> bool {
    t.dtype == dtype && split(t, dims.len()).is_some_and(|(b, d)| b == batch && d == dims)
}

fn check(
    (x, r): Types,
    operands: usize,
    results: usize,
    rule: &str,
    f: impl Fn(&[i64], i64, i64) -> bool,
) -> Result<(), String> {
    arity(x, operands, r, results)?;
    let ok = number(x[0]) && split(x[0], 2).is_some_and(|(batch, d)| f(batch, d[0], d[1]));
    ensure(ok, rule, x, r)
}

fn cholesky(_: &CustomCall, x: &[&TensorType], r: &[TensorType]) -> Result<(), String> {
    check((x, r), 1, 2, "a square matrix gives one like it and an i32", |b, m, n| {
        m == n && is(&r[0], x[0].dtype, b, &[n, n]) && is(&r[1], DType::I32, b, &[])
    })
}

fn lu(_: &CustomCall, x: &[&TensorType], r: &[TensorType]) -> Result<(), String> {
    check((x, r), 1, 3, "a matrix gives one like it, i32 pivots and an i32", |b, m, n| {
        is(&r[0], x[0].dtype, b, &[m, n])
            && is(&r[1], DType::I32, b, &[m.min(n)])
            && is(&r[2], DType::I32, b, &[])
    })
}

fn row_order(_: &CustomCall, x: &[&TensorType], r: &[TensorType]) -> Result<(), String> {
    arity(x, 1, r, 1)?;
    let ok = match (split(x[0], 1), split(&r[0], 1)) {
        (Some((b, k)), Some((c, m))) => b == c && k[0] <= m[0],
        _ => false,
    };
    ensure(
        ok && x[0].dtype == DType::I32 && r[0].dtype == DType::I32,
        "i32 pivots give at least as many i32 rows",
        x,
        r,
    )
}

fn factored_solve(_: &CustomCall, x: &[&TensorType], r: &[TensorType]) -> Result<(), String> {
    check((x, r), 3, 1, "factors, i32 pivots and a right side give one like it", |b, m, n| {
        let side = split(x[2], 1).map_or(0, |(_, d)| d[0]);
        m == n && is(x[1], DType::I32, b, &[n]) && is(x[2], x[0].dtype, b, &[n, side]) && r[0] == *x[2]
    })
}

fn triangular_solve(c: &CustomCall, x: &[&TensorType], r: &[TensorType]) -> Result<(), String> {
    check((x, r), 2, 1, "a square matrix and a right side give one like it", |b, m, n| {
        let Some((_, d)) = split(x[1], 2) else { return false };
        let fits = if c.flag("left") { d[0] == n } else { d[1] == n };
        m == n && fits && is(x[1], x[0].dtype, b, d) && r[0] == *x[1]
    })
}

fn geqrf(_: &CustomCall, x: &[&TensorType], r: &[TensorType]) -> Result<(), String> {
    check((x, r), 1, 2, "a matrix gives one like it and factors", |b, m, n| {
        r[0] == *x[0] && is(&r[1], x[0].dtype, b, &[m.min(n)])
    })
}

fn householder_product(_: &CustomCall, x: &[&TensorType], r: &[TensorType]) -> Result<(), String> {
    check((x, r), 2, 1, "reflections and factors give columns of Q", |b, m, n| {
        let k = split(x[1], 1).map_or(0, |(_, d)| d[0]);
        let columns = split(&r[0], 1).map_or(0, |(_, d)| d[0]);
        k <= n.min(m)
            && k <= columns
            && columns <= m
            && is(x[1], x[0].dtype, b, &[k])
            && is(&r[0], x[0].dtype, b, &[m, columns])
    })
}

fn ormqr(c: &CustomCall, x: &[&TensorType], r: &[TensorType]) -> Result<(), String> {
    check((x, r), 3, 1, "reflections, factors and a matrix give one like it", |b, m, n| {
        let k = split(x[1], 1).map_or(0, |(_, d)| d[0]);
        let Some((_, d)) = split(x[2], 2) else { return false };
        let side = if c.flag("left") { d[0] } else { d[1] };
        k <= n.min(m)
            && side == m
            && is(x[1], x[0].dtype, b, &[k])
            && is(x[2], x[0].dtype, b, d)
            && r[0] == *x[2]
    })
}

fn svd(_: &CustomCall, x: &[&TensorType], r: &[TensorType]) -> Result<(), String> {
    let results = if r.len() == 1 { 1 } else { 3 };
    check((x, r), 1, results, "a matrix gives U, S, Vᴴ or S", |b, m, n| {
        let k = m.min(n);
        let (dtype, s) = (x[0].dtype, if results == 1 { &r[0] } else { &r[1] });
        let vectors = |p, q| is(&r[0], dtype, b, &[m, p]) && is(&r[2], dtype, b, &[q, n]);
        is(s, dtype.real(), b, &[k]) && (results == 1 || vectors(k, k) || vectors(m, n))
    })
}

fn spectrum(x: &[&TensorType], r: &[TensorType], w: DType, v: DType) -> Result<(), String> {
    let results = if r.len() == 1 { 1 } else { 2 };
    check((x, r), 1, results, "a square matrix gives eigenvalues, and vectors or not", |b, m, n| {
        m == n && is(&r[0], w, b, &[n]) && (results == 1 || is(&r[1], v, b, &[n, n]))
    })
}

fn eigh(_: &CustomCall, x: &[&TensorType], r: &[TensorType]) -> Result<(), String> {
    let dtype = x.first().map_or(DType::F32, |t| t.dtype);
    spectrum(x, r, dtype.real(), dtype)
}

fn eig(_: &CustomCall, x: &[&TensorType], r: &[TensorType]) -> Result<(), String> {
    let single = x.first().is_some_and(|t| t.dtype.real() == DType::F32);
    let dtype = if single { DType::C64 } else { DType::C128 };
    spectrum(x, r, dtype, dtype)
}

fn lstsq_full_rank(_: &CustomCall, x: &[&TensorType], r: &[TensorType]) -> Result<(), String> {
    check((x, r), 2, 1, "a matrix and a right side give a solution", |b, m, n| {
        let k = split(x[1], 1).map_or(0, |(_, d)| d[0]);
        is(x[1], x[0].dtype, b, &[m, k]) && is(&r[0], x[0].dtype, b, &[m.max(n), k])
    })
}

fn lstsq(_: &CustomCall, x: &[&TensorType], r: &[TensorType]) -> Result<(), String> {
    check((x, r), 2, 3, "a matrix and a right side give a solution, an i64 and singular values", |b, m, n| {
        let k = split(x[1], 1).map_or(0, |(_, d)| d[0]);
        is(x[1], x[0].dtype, b, &[m, k])
            && is(&r[0], x[0].dtype, b, &[n, k])
            && is(&r[1], DType::I64, b, &[])
            && is(&r[2], x[0].dtype.real(), b, &[m.min(n)])
    })
}

fn matrix_exp(_: &CustomCall, x: &[&TensorType], r: &[TensorType]) -> Result<(), String> {
    check((x, r), 1, 1, "a square matrix gives one like it", |_, m, n| m == n && r[0] == *x[0])
}

fn check_info(c: &CustomCall, x: &[&TensorType], r: &[TensorType]) -> Result<(), String> {
    arity(x, 2, r, 1)?;
    let ok = x[0].dtype == DType::I32 && r[0] == *x[1] && InfoSite::from_code(c.int("what")).is_some();
    ensure(ok, "i32 codes and a value give the value", x, r)
}
