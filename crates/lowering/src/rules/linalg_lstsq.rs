//! Least squares.

use tnrs_hlo::TensorType;
use tnrs_types::{DType, Dims, ReduceKind, Scalar};

use super::linalg::{call, common_batch, join, matrix, nothing};
use crate::helpers::Lowered;
use crate::{Ctx, LowerError, Outcome, Row, Tensor};

/// Rows of this family.
pub(crate) const ROWS: &[Row] = &[Row::new("aten::linalg_lstsq", lstsq).infer_by_rule()];

fn refuse(text: impl Into<String>) -> LowerError {
    LowerError::runtime(format!("torch.linalg.lstsq: {}", text.into()))
}

fn check(a: &Tensor, b: &Tensor) -> Result<bool, LowerError> {
    if a.ty.rank() < 2 {
        return Err(refuse("input must have at least 2 dimensions."));
    }
    if b.ty.rank() < 1 {
        return Err(refuse("other must have at least 1 dimension."));
    }
    if a.ty.dtype != b.ty.dtype {
        return Err(refuse("Expected input and other to have the same dtype"));
    }
    if !matches!(a.ty.dtype, DType::F32 | DType::F64 | DType::C64 | DType::C128) {
        return Err(LowerError::runtime("This function doesn't handle types other than float and double"));
    }
    let difference = a.ty.rank() as i64 - b.ty.rank() as i64;
    if !(0..=1).contains(&difference) {
        return Err(refuse(
            "input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1",
        ));
    }
    let (batch, m, _) = matrix(&a.ty.dims)?;
    let vector = b.ty.rank() == 1 || (difference == 1 && b.ty.dims == join(batch, &[m]));
    let rows = b.ty.dims[b.ty.rank() - if vector { 1 } else { 2.min(b.ty.rank()) }];
    if rows != m {
        return Err(refuse(format!(
            "input.size(-2) should match other.size(-{})",
            if vector { 1 } else { 2 }
        )));
    }
    Ok(vector)
}

/// Solution, residuals, rank and singular values. Which of these are empty depends on the driver, as on the CPU, but
/// for the residuals of a matrix whose rank `gelsd` and `gelss` find below its columns: they are computed here.
fn lstsq(cx: &mut Ctx) -> Lowered {
    let (a, b) = (cx.tensor(0)?, cx.tensor(1)?);
    let vector = check(&a, &b)?;
    let driver = cx.text(3).unwrap_or("gelsy").to_owned();
    if !["gels", "gelsy", "gelsd", "gelss"].contains(&driver.as_str()) {
        return Err(refuse("parameter `driver` should be one of (gels, gelsy, gelsd, gelss)"));
    }
    let dtype = a.ty.dtype;
    let b = if vector {
        let value = cx.b.reshape(b.value, &join(&b.ty.dims, &[1]))?;
        Tensor { value, ty: cx.b.ty(value).clone(), wrapped: false }
    } else {
        b
    };
    let (x, rhs) = common_batch(cx, &a, &b)?;
    let dims = cx.b.ty(x).dims.clone();
    let (batch, m, n) = matrix(&dims)?;
    let columns = b.ty.dims[b.ty.rank() - 1];
    let solution = |rows| (dtype, join(batch, &[rows, columns]));
    let row = batch.len();
    let (y, rank, s) = if driver == "gels" {
        let y = call(cx, "lstsq_full_rank", &[], &[x, rhs], &[solution(m.max(n))])?[0];
        let y = cx.math(|math| math.expr(y).slice(row, 0, n).value())?;
        (y, nothing(cx, DType::I64)?, None)
    } else {
        let epsilon = if dtype.real() == DType::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON };
        let rcond = cx.float(2).unwrap_or(epsilon * m.max(n) as f64);
        let types =
            [solution(n), (DType::I64, Dims::from_slice(batch)), (dtype.real(), join(batch, &[m.min(n)]))]
                .map(|(t, d)| TensorType::new(t, &d));
        let r = cx.b.custom_call("lstsq", &[Scalar::Float(rcond)], &[x, rhs], &types)?;
        (r[0], r[1], Some(r[2]))
    };
    let residuals = if m > n && driver != "gelsy" {
        cx.math(|math| {
            let [a, b, y] = math.exprs([x, rhs, y]);
            let e = (a.matmul(y) - b).abs();
            (e * e).reduce(ReduceKind::Add, &[row as i64]).value()
        })?
    } else {
        nothing(cx, dtype.real())?
    };
    let s = match s {
        Some(s) if driver != "gelsy" => s,
        _ => nothing(cx, dtype.real())?,
    };
    let y = if vector { cx.b.reshape(y, &join(batch, &[n]))? } else { y };
    Ok(Outcome::tensors(&[y, residuals, rank, s]))
}
