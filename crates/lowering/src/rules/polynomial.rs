//! Orthogonal polynomials whose degree is data: routines, see `tnrs_hlo::custom`.

use crate::helpers::{map, Domain};
use crate::Row;

macro_rules! rows {
    ($($name:literal,)*) => {
        &[$(
            rows!(@ "", $name),
            rows!(@ ".n_scalar", $name),
            rows!(@ ".x_scalar", $name),
        )*]
    };
    (@ $overload:literal, $name:literal) => {
        Row::new(concat!("aten::special_", $name, $overload), |cx| {
            map(cx, [0, 1], Domain::Float, |[x, n]| x.math().elementwise($name, &[], &[x, n]))
        })
    };
}

/// Rows of this family.
pub const ROWS: &[Row] = rows! {
    "chebyshev_polynomial_t",
    "chebyshev_polynomial_u",
    "chebyshev_polynomial_v",
    "chebyshev_polynomial_w",
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
    "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
};
