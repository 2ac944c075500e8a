//! Random variates by rejection: elementwise over parameters of one float type (f32 or f64) and equal sizes, followed by
//! the seed and the offset, both u64 scalars. The element at row-major position i draws from the Philox counters
//! (offset, offset + 1, …; 2⁶³ + i).

use super::special::is_real;
use super::{arity, ensure, CustomCall, Target};
use crate::TensorType;
use tnrs_types::DType;

fn draw(x: &[&TensorType], parameters: usize, r: &[TensorType]) -> Result<(), String> {
    arity(x, parameters + 2, r, 1)?;
    let (params, state) = x.split_at(parameters);
    let same = is_real(&r[0]) && params.iter().all(|t| **t == r[0]);
    ensure(same, "parameters and result have one type, f32 or f64", x, r)?;
    let scalars = state.iter().all(|t| t.dtype == DType::U64 && t.dims.is_empty());
    ensure(scalars, "seed and offset are u64 scalars", x, r)
}

fn one(_: &CustomCall, x: &[&TensorType], r: &[TensorType]) -> Result<(), String> {
    draw(x, 1, r)
}

fn two(_: &CustomCall, x: &[&TensorType], r: &[TensorType]) -> Result<(), String> {
    draw(x, 2, r)
}

/// Targets of this family.
pub(super) const TARGETS: &[Target] = &[
    // The logarithm of a gamma variate of this shape and scale 1.
    Target { name: "ln_gamma_variate", attrs: &[], check: one },
    // A Poisson variate of this rate; NaN for a rate below 0.
    Target { name: "poisson", attrs: &[], check: one },
    // A binomial variate of (number of trials, probability).
    Target { name: "binomial", attrs: &[], check: two },
];
