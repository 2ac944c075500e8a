//! Special functions of real numbers that take a loop whose length depends on the operands: elementwise over operands
//! of one float type (f32 or f64) and equal sizes.

use super::{arity, ensure, CustomCall, Target};
use crate::TensorType;
use tnrs_types::DType;

pub(super) fn is_real(t: &TensorType) -> bool {
    matches!(t.dtype, DType::F32 | DType::F64)
}

fn elementwise(x: &[&TensorType], operands: usize, r: &[TensorType]) -> Result<(), String> {
    arity(x, operands, r, 1)?;
    let same = is_real(&r[0]) && x.iter().all(|t| **t == r[0]);
    ensure(same, "operands and result have one type, f32 or f64", x, r)
}

fn one(_: &CustomCall, x: &[&TensorType], r: &[TensorType]) -> Result<(), String> {
    elementwise(x, 1, r)
}

fn two(_: &CustomCall, x: &[&TensorType], r: &[TensorType]) -> Result<(), String> {
    elementwise(x, 2, r)
}

fn three(_: &CustomCall, x: &[&TensorType], r: &[TensorType]) -> Result<(), String> {
    elementwise(x, 3, r)
}

const fn binary(name: &'static str) -> Target {
    Target { name, attrs: &[], check: two }
}

/// Targets of this family.
pub(super) const TARGETS: &[Target] = &[
    // P(a, x) and Q(a, x).
    binary("igamma"),
    binary("igammac"),
    // Hurwitz' ζ(s, q).
    binary("zeta"),
    // The n-th derivative of digamma.
    Target { name: "polygamma", attrs: &["n"], check: one },
    // Orthogonal polynomials of (x, degree).
    binary("chebyshev_polynomial_t"),
    binary("chebyshev_polynomial_u"),
    binary("chebyshev_polynomial_v"),
    binary("chebyshev_polynomial_w"),
    binary("hermite_polynomial_h"),
    binary("hermite_polynomial_he"),
    binary("laguerre_polynomial_l"),
    binary("legendre_polynomial_p"),
    binary("shifted_chebyshev_polynomial_t"),
    binary("shifted_chebyshev_polynomial_u"),
    binary("shifted_chebyshev_polynomial_v"),
    binary("shifted_chebyshev_polynomial_w"),
    // Derivatives of random draws: of a gamma variate by (shape, variate), of Dirichlet's by (variate, shape, sum of
    // shapes).
    binary("standard_gamma_grad"),
    Target { name: "dirichlet_grad", attrs: &[], check: three },
];
