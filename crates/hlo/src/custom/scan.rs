//! Scans that are not sums of anything.

use super::{arity, ensure, CustomCall, Target};
use crate::TensorType;
use tnrs_types::DType;

fn along_dim(c: &CustomCall, x: &[&TensorType], r: &[TensorType]) -> Result<(), String> {
    arity(x, 1, r, 1)?;
    let number = matches!(r[0].dtype, DType::F32 | DType::F64 | DType::C64 | DType::C128);
    ensure(number && *x[0] == r[0], "operand and result have one type, f32, f64 or complex", x, r)?;
    let d = c.int("dim");
    ensure((0..x[0].rank() as i64).contains(&d), "dim is one of the operand's", x, r)
}

/// Targets of this family.
pub(super) const TARGETS: &[Target] = &[
    // ln Σ eˣ of all elements so far along a dim.
    Target { name: "log_cumulative_sum_exp", attrs: &["dim"], check: along_dim },
];
