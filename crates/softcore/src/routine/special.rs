//! Special functions.

use tnrs_kernels::math::{incomplete, orthogonal, zeta};
use tnrs_kernels::sample;
use tnrs_types::DType;

use super::elements::{fill, map};
use super::{Args, Routine};

/// About what an element costs, in nanoseconds.
const NS: u64 = 200;
/// The same for the quadratures of [`sample::gamma_grad`].
const QUADRATURE_NS: u64 = 5_000;

fn cost(a: &Args) -> u64 {
    NS * a.outs[0].len() as u64
}

fn quadrature_cost(a: &Args) -> u64 {
    QUADRATURE_NS * a.outs[0].len() as u64
}

fn polynomial(a: &Args, single: fn(f32, f32) -> f32, double: fn(f64, f64) -> f64) {
    match a.outs[0].dtype {
        DType::F32 => {
            let (x, n) = (a.ins[0].read::<f32>(), a.ins[1].read::<f32>());
            fill(&a.outs[0], NS, |i| single(x[i], n[i]));
        }
        _ => {
            let (x, n) = (a.ins[0].read::<f64>(), a.ins[1].read::<f64>());
            fill(&a.outs[0], NS, |i| double(x[i], n[i]));
        }
    }
}

/// ψ′ of a number in single precision. At the poles it is not ∞ but, as on the CPU, what π as an f32 leaves of them.
fn trigamma_single(x: f64) -> f64 {
    if x < 0.0 && x == x.floor() {
        let sine = f64::from((std::f32::consts::PI * x as f32).sin());
        return std::f64::consts::PI.powi(2) / (sine * sine);
    }
    zeta::trigamma(x)
}

macro_rules! routine {
    ($name:literal, $cost:ident, |$a:ident| $run:expr) => {
        Routine {
            name: $name,
            run: |$a| {
                $run;
                Ok(())
            },
            cost: $cost,
        }
    };
}

macro_rules! polynomial {
    ($name:literal, $f:ident) => {
        routine!($name, cost, |a| polynomial(a, orthogonal::f32::$f, orthogonal::f64::$f))
    };
}

/// Routines of this family.
pub(super) static ROUTINES: &[Routine] = &[
    routine!("igamma", cost, |a| map(a, NS, |_, [s, x]| incomplete::lower(s, x))),
    routine!("igammac", cost, |a| map(a, NS, |_, [s, x]| incomplete::upper(s, x))),
    routine!("zeta", cost, |a| map(a, NS, |_, [s, q]| zeta::zeta(s, q))),
    routine!("polygamma", cost, |a| {
        let n = a.call.int("n") as f64;
        let single = a.outs[0].dtype == DType::F32;
        map(a, NS, |_, [x]| if single && n == 1.0 { trigamma_single(x) } else { zeta::polygamma(n, x) })
    }),
    polynomial!("chebyshev_polynomial_t", chebyshev_t),
    polynomial!("chebyshev_polynomial_u", chebyshev_u),
    polynomial!("chebyshev_polynomial_v", chebyshev_v),
    polynomial!("chebyshev_polynomial_w", chebyshev_w),
    polynomial!("hermite_polynomial_h", hermite_h),
    polynomial!("hermite_polynomial_he", hermite_he),
    polynomial!("laguerre_polynomial_l", laguerre_l),
    polynomial!("legendre_polynomial_p", legendre_p),
    polynomial!("shifted_chebyshev_polynomial_t", shifted_chebyshev_t),
    polynomial!("shifted_chebyshev_polynomial_u", shifted_chebyshev_u),
    polynomial!("shifted_chebyshev_polynomial_v", shifted_chebyshev_v),
    polynomial!("shifted_chebyshev_polynomial_w", shifted_chebyshev_w),
    routine!("standard_gamma_grad", quadrature_cost, |a| {
        map(a, QUADRATURE_NS, |_, [alpha, x]| sample::gamma_grad(alpha, x))
    }),
    routine!("dirichlet_grad", quadrature_cost, |a| {
        map(a, QUADRATURE_NS, |_, [x, alpha, total]| sample::dirichlet_grad(x, alpha, total))
    }),
];
