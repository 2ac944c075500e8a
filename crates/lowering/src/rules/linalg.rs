//! Linear algebra: what its rules share, triangular systems, Cholesky, QR and LDL.

use tnrs_hlo::custom::InfoSite;
use tnrs_hlo::{TensorType, Value};
use tnrs_types::{DType, Dims, Scalar};

use crate::expr::{Expr, Math};
use crate::helpers::{broadcast_dims, Lowered};
use crate::{Ctx, LowerError, Outcome, Row, Tensor};

/// Rows of this family.
pub(crate) const ROWS: &[Row] = &[
    Row::new("aten::linalg_cholesky_ex", cholesky_ex),
    Row::new("aten::cholesky_inverse", cholesky_inverse),
    Row::new("aten::_cholesky_solve_helper", cholesky_solve),
    Row::new("aten::linalg_solve_triangular", solve_triangular),
    Row::new("aten::triangular_solve", triangular_solve),
    Row::new("aten::linalg_qr", qr),
    Row::new("aten::geqrf", geqrf).infer_by_rule(),
    Row::new("aten::linalg_householder_product", householder_product),
    Row::new("aten::ormqr", ormqr).check(reflectors),
    Row::new("aten::linalg_ldl_factor_ex", ldl_factor_ex),
    Row::new("aten::linalg_ldl_solve", ldl_solve),
];

/// The batch, rows and columns of a matrix.
pub(super) fn matrix(dims: &[i64]) -> Result<(&[i64], i64, i64), LowerError> {
    match dims {
        [batch @ .., m, n] => Ok((batch, *m, *n)),
        _ => Err(LowerError::runtime("linalg: input must have at least 2 dimensions")),
    }
}

/// `batch` and then `dims`.
pub(super) fn join(batch: &[i64], dims: &[i64]) -> Dims {
    batch.iter().chain(dims).copied().collect()
}

/// The CPU backend's name of a routine, for its words about element types.
fn kernel(cx: &Ctx, name: &str) -> &'static str {
    match name {
        "cholesky" => "cholesky_cpu",
        "lu" => "lu_cpu",
        "lu_solve" => "linalg.lu_solve_cpu",
        "triangular_solve" if cx.op.contains("cholesky") => "cholesky_solve_cpu",
        "triangular_solve" => "triangular_solve_cpu",
        "geqrf" => "geqrf_cpu",
        "householder_product" => "orgqr_cpu",
        "ormqr" => "ormqr_cpu",
        "svd" => "linalg_svd_cpu",
        "eigh" => "linalg_eigh_cpu",
        "eig" => "linalg_eig_out_cpu",
        "ldl" => "ldl_factor_kernel_cpu",
        "ldl_solve" => "ldl_solve_kernel_cpu",
        _ => "linalg_lstsq_cpu",
    }
}

/// A custom call with integer attributes. Matrices are of 32-bit floats or wider.
pub(super) fn call(
    cx: &mut Ctx,
    name: &str,
    attrs: &[i64],
    operands: &[Value],
    results: &[(DType, Dims)],
) -> Result<Vec<Value>, LowerError> {
    let dtype = cx.b.ty(operands[0]).dtype;
    let on_codes = matches!(name, "row_order" | "check_info");
    if !on_codes && !matches!(dtype, DType::F32 | DType::F64 | DType::C64 | DType::C128) {
        return Err(LowerError::no_kernel(kernel(cx, name), dtype));
    }
    let attrs: Vec<Scalar> = attrs.iter().map(|&i| Scalar::Int(i)).collect();
    let types: Vec<TensorType> = results.iter().map(|(t, d)| TensorType::new(*t, d)).collect();
    Ok(cx.b.custom_call(name, &attrs, operands, &types)?.to_vec())
}

/// As [`call`], with one result like `like`.
pub(super) fn call_like(
    cx: &mut Ctx,
    name: &str,
    attrs: &[i64],
    operands: &[Value],
    like: Value,
) -> Result<Value, LowerError> {
    let ty = cx.b.ty(like).clone();
    Ok(call(cx, name, attrs, operands, &[(ty.dtype, ty.dims)])?[0])
}

/// `value`, with a fault when an info is not 0.
pub(super) fn checked(cx: &mut Ctx, site: InfoSite, info: Value, value: Value) -> Result<Value, LowerError> {
    call_like(cx, "check_info", &[site as i64], &[info, value], value)
}

/// A value of no elements, as PyTorch returns for what is not wanted.
pub(super) fn nothing(cx: &mut Ctx, dtype: DType) -> Result<Value, LowerError> {
    Ok(cx.b.splat(dtype, &[0], Scalar::Int(0))?)
}

impl<'m> Expr<'m> {
    /// Transposed matrices.
    pub(super) fn transposed(self) -> Expr<'m> {
        let mut perm: Dims = (0..self.rank() as i64).collect();
        let n = perm.len();
        perm.swap(n - 2, n - 1);
        self.transpose(&perm)
    }
    /// Adjoint matrices.
    pub(super) fn adjoint(self) -> Expr<'m> {
        let t = self.transposed();
        if t.dtype().is_complex() {
            t.conj()
        } else {
            t
        }
    }
    /// One triangle, the diagonal included, and zeros.
    pub(super) fn triangle(self, upper: bool) -> Expr<'m> {
        let dims = self.dims();
        let at = dims.len() - 2;
        let matrix = &dims[at..];
        let d = self.math().iota(DType::I64, matrix, 1) - self.math().iota(DType::I64, matrix, 0);
        let keep = if upper { d.ge(d.int(0)) } else { d.le(d.int(0)) };
        keep.select(self, self.int(0))
    }
    /// The diagonal, as the last dim.
    pub(super) fn diagonal(self) -> Expr<'m> {
        let dims = self.dims();
        let at = dims.len() - 2;
        let (m, n) = (dims[at], dims[at + 1]);
        let k = m.min(n);
        let mut flat = Dims::from_slice(&dims[..at]);
        flat.push(m * n);
        let limit = if k == 0 { 0 } else { (k - 1) * (n + 1) + 1 };
        self.reshape(&flat).steps(at, 0, limit, n + 1)
    }
    /// The product of two batches of matrices with the same leading dims.
    pub(super) fn matmul(self, other: Expr<'m>) -> Expr<'m> {
        let rank = self.rank() as i64;
        let dims = tnrs_hlo::DotDims {
            lhs_batch: (0..rank - 2).collect(),
            rhs_batch: (0..rank - 2).collect(),
            lhs_contract: Dims::from_slice(&[rank - 1]),
            rhs_contract: Dims::from_slice(&[rank - 2]),
        };
        let dtype = self.dtype();
        self.dot(other, dims, dtype)
    }
}

/// Unit matrices of these sizes.
pub(super) fn unit<'m>(m: &'m Math, dtype: DType, dims: &[i64]) -> Expr<'m> {
    let last = &dims[dims.len() - 2..];
    let on = m.iota(DType::I64, last, 0).eq(m.iota(DType::I64, last, 1));
    let one = m.splat(dtype, dims, Scalar::Int(1));
    on.select(one, one.int(0))
}

/// Both broadcast to common leading dims.
pub(super) fn common_batch(cx: &mut Ctx, a: &Tensor, b: &Tensor) -> Result<(Value, Value), LowerError> {
    let ((ba, am, an), (bb, bm, bn)) = (matrix(&a.ty.dims)?, matrix(&b.ty.dims)?);
    let batch = broadcast_dims(ba, bb)?;
    let x = cx.b.broadcast_to(a.value, &join(&batch, &[am, an]))?;
    let y = cx.b.broadcast_to(b.value, &join(&batch, &[bm, bn]))?;
    Ok((x, y))
}

fn cholesky_ex(cx: &mut Ctx) -> Lowered {
    let (x, upper, check) = (cx.tensor(0)?, cx.bool(1), cx.bool(2));
    let (batch, ..) = matrix(&x.ty.dims)?;
    let results = [(x.ty.dtype, x.ty.dims.clone()), (DType::I32, Dims::from_slice(batch))];
    let mut r = call(cx, "cholesky", &[i64::from(upper)], &[x.value], &results)?;
    if check {
        r[0] = checked(cx, InfoSite::CholeskyEx, r[1], r[0])?;
    }
    Ok(Outcome::tensors(&r))
}

/// Solves A·X = B by a Cholesky factor of A.
fn by_cholesky(cx: &mut Ctx, factor: Value, b: Value, upper: bool) -> Result<Value, LowerError> {
    // A = L·Lᴴ = Uᴴ·U: the lower factor first.
    let (first, second) = if upper { (2, 0) } else { (0, 2) };
    let upper = i64::from(upper);
    let y = call_like(cx, "triangular_solve", &[upper, 0, first, 1], &[factor, b], b)?;
    call_like(cx, "triangular_solve", &[upper, 0, second, 1], &[factor, y], y)
}

fn cholesky_inverse(cx: &mut Ctx) -> Lowered {
    let (x, upper) = (cx.tensor(0)?, cx.bool(1));
    let (_, _, n) = matrix(&x.ty.dims)?;
    let (one, info) = cx.math(|m| {
        let d = m.expr(x.value).diagonal();
        let dims = d.dims();
        let at = m.iota(DType::I32, &dims, dims.len() as i64 - 1);
        let none = at.int(n + 1);
        let first = d.eq(d.int(0)).select(at + at.int(1), none);
        let first = first.reduce(tnrs_types::ReduceKind::Minimum, &[dims.len() as i64 - 1]);
        let info = first.gt(first.int(n)).select(first.int(0), first);
        (unit(m, x.ty.dtype, &x.ty.dims).value(), info.value())
    })?;
    let factor = checked(cx, InfoSite::CholeskyInverse, info, x.value)?;
    Ok(by_cholesky(cx, factor, one, upper)?.into())
}

fn cholesky_solve(cx: &mut Ctx) -> Lowered {
    let (b, factor, upper) = (cx.tensor(0)?, cx.tensor(1)?, cx.bool(2));
    let (factor, b) = common_batch(cx, &factor, &b)?;
    Ok(by_cholesky(cx, factor, b, upper)?.into())
}

fn solve_triangular(cx: &mut Ctx) -> Lowered {
    let (a, b) = (cx.tensor(0)?, cx.tensor(1)?);
    let (upper, left, unit) = (cx.bool(2), cx.bool(3), cx.bool(4));
    // As on the CPU the right-hand side takes the matrix' type.
    let a_type = a.ty.dtype;
    let (a, b) = common_batch(cx, &a, &b)?;
    let b = cx.cast(b, a_type)?;
    let attrs = [i64::from(upper), i64::from(unit), 0, i64::from(left)];
    Ok(call_like(cx, "triangular_solve", &attrs, &[a, b], b)?.into())
}

fn triangular_solve(cx: &mut Ctx) -> Lowered {
    let (b, a) = (cx.tensor(0)?, cx.tensor(1)?);
    let (upper, transpose, unit) = (cx.bool(2), cx.bool(3), cx.bool(4));
    let (a, b) = common_batch(cx, &a, &b)?;
    let attrs = [i64::from(upper), i64::from(unit), i64::from(transpose), 1];
    let x = call_like(cx, "triangular_solve", &attrs, &[a, b], b)?;
    Ok(Outcome::tensors(&[x, a]))
}

/// R above reflections, and their factors.
fn reflections(cx: &mut Ctx, x: &Tensor) -> Result<(Value, Value), LowerError> {
    let (batch, m, n) = matrix(&x.ty.dims)?;
    let results = [(x.ty.dtype, x.ty.dims.clone()), (x.ty.dtype, join(batch, &[m.min(n)]))];
    let r = call(cx, "geqrf", &[], &[x.value], &results)?;
    Ok((r[0], r[1]))
}

fn qr(cx: &mut Ctx) -> Lowered {
    let x = cx.tensor(0)?;
    let mode = cx.text(1).unwrap_or("reduced").to_owned();
    let (batch, m, n) = matrix(&x.ty.dims)?;
    let (f, tau) = reflections(cx, &x)?;
    let rows = if mode == "complete" { m } else { m.min(n) };
    let rank = x.ty.rank();
    let r = cx.math(|math| math.expr(f).slice(rank - 2, 0, rows).triangle(true).value())?;
    let q = if mode == "r" {
        nothing(cx, x.ty.dtype)?
    } else {
        call(cx, "householder_product", &[], &[f, tau], &[(x.ty.dtype, join(batch, &[m, rows]))])?[0]
    };
    Ok(Outcome::tensors(&[q, r]))
}

fn geqrf(cx: &mut Ctx) -> Lowered {
    let x = cx.tensor(0)?;
    if x.ty.rank() < 2 {
        return Err(LowerError::runtime("torch.geqrf: input must have at least 2 dimensions."));
    }
    let (f, tau) = reflections(cx, &x)?;
    Ok(Outcome::tensors(&[f, tau]))
}

fn householder_product(cx: &mut Ctx) -> Lowered {
    let (x, tau) = (cx.tensor(0)?, cx.tensor(1)?);
    Ok(call_like(cx, "householder_product", &[], &[x.value, tau.value], x.value)?.into())
}

/// As many as the operands have room for.
fn reflectors(cx: &Ctx) -> Result<(), LowerError> {
    let [x, tau, c] = [cx.tensor(0)?.ty.dims, cx.tensor(1)?.ty.dims, cx.tensor(2)?.ty.dims];
    let side = if cx.bool(3) { 2 } else { 1 };
    let (Some(&k), true, true) = (tau.last(), x.len() >= 2, c.len() >= 2) else { return Ok(()) };
    if k != c[c.len() - side].min(x[x.len() - 1]) {
        return Err(LowerError::Runtime(format!(
            "torch.ormqr: tau.shape[-1] must be equal to min(other.shape[-{side}], input.shape[-1])"
        )));
    }
    Ok(())
}

fn ormqr(cx: &mut Ctx) -> Lowered {
    let (x, tau, c) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
    let attrs = [i64::from(cx.bool(3)), i64::from(cx.bool(4))];
    Ok(call_like(cx, "ormqr", &attrs, &[x.value, tau.value, c.value], c.value)?.into())
}

fn ldl_factor_ex(cx: &mut Ctx) -> Lowered {
    let (x, hermitian, check) = (cx.tensor(0)?, cx.bool(1), cx.bool(2));
    let (batch, n, _) = matrix(&x.ty.dims)?;
    let results = [
        (x.ty.dtype, x.ty.dims.clone()),
        (DType::I32, join(batch, &[n])),
        (DType::I32, Dims::from_slice(batch)),
    ];
    let mut r = call(cx, "ldl", &[i64::from(hermitian)], &[x.value], &results)?;
    if check {
        r[0] = checked(cx, InfoSite::LdlFactorEx, r[2], r[0])?;
    }
    Ok(Outcome::tensors(&r))
}

fn ldl_solve(cx: &mut Ctx) -> Lowered {
    let (ld, pivots, b, hermitian) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?, cx.bool(3));
    let (f, b) = common_batch(cx, &ld, &b)?;
    let p = pivots_like(cx, &pivots, f)?;
    Ok(call_like(cx, "ldl_solve", &[i64::from(hermitian)], &[f, p, b], b)?.into())
}

/// Pivots broadcast to the batch of the factors.
pub(super) fn pivots_like(cx: &mut Ctx, pivots: &Tensor, factors: Value) -> Result<Value, LowerError> {
    let dims = cx.b.ty(factors).dims.clone();
    let (batch, ..) = matrix(&dims)?;
    let k = pivots.ty.dims.last().copied().unwrap_or(0);
    Ok(cx.b.broadcast_to(pivots.value, &join(batch, &[k]))?)
}
