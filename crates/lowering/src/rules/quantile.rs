//! The quantile of the normal distribution.
//!
//! In the tails, with r = √(−2 ln p) and z = 1/r, it is −(r − ln(r)/r − z g(z)). The tables are Chebyshev coefficients
//! (of T₀, T₁, …) of g, computed from its values at the Chebyshev nodes with 40 digits and cut where they fall below the
//! precision of f64.

use crate::helpers::{map, Domain};
use crate::rules::special::chebyshev;
use crate::{Expr, Row};

/// Rows of this family.
pub const ROWS: &[Row] = &[Row::new("aten::special_ndtri", |cx| map(cx, [0], Domain::Float, |[x]| ndtri(x)))];

/// Φ⁻¹(p): ∓∞ at 0 and 1, NaN outside.
fn ndtri(p: Expr<'_>) -> Expr<'_> {
    let middle = (p * 2.0 - 1.0).erfinv() * std::f64::consts::SQRT_2;
    let high = p.gt(0.5);
    let tail = high.select(1.0 - p, p);
    let r = (tail.log() * -2.0).max(4.0).sqrt();
    let z = 1.0 / r;
    let near = chebyshev((z * 16.0 - 5.0) / 3.0, &NEAR);
    let far = chebyshev(z * 20.0 - 1.5, &FAR);
    let x = r.log() * z + z * r.le(8.0).select(near, far) - r;
    let x = tail.eq(0.0).select(f64::NEG_INFINITY, x);
    let inside = tail.ge(0.0).and(tail.lt(TAIL));
    inside.select(high.select(-x, x), middle)
}

/// e⁻², where r is 2.
const TAIL: f64 = 0.1353352832366127;

/// On r in [2, 8], in t = (16z − 5)/3.
const NEAR: [f64; 27] = [
    1.0323738340148971,
    0.07255464837448264,
    -0.001044276659135336,
    -0.00011057060922319904,
    5.264914442301038e-05,
    -1.6126373143885156e-05,
    4.24074817680432e-06,
    -1.035141917428997e-06,
    2.464825866558015e-07,
    -5.918235741573259e-08,
    1.4585713938895267e-08,
    -3.706647235699129e-09,
    9.67966568445924e-10,
    -2.5822724711374293e-10,
    7.002080033211766e-11,
    -1.923711457746276e-11,
    5.3451947625850664e-12,
    -1.5005386530215092e-12,
    4.2525805368601176e-13,
    -1.2157759092208812e-13,
    3.503610653766156e-14,
    -1.016977628033468e-14,
    2.9712387491616964e-15,
    -8.732286753112015e-16,
    2.580205353005128e-16,
    -7.661633112480505e-17,
    2.2853938553279365e-17,
];
/// On r in [8, 40], in t = 20z − 3/2.
const FAR: [f64; 28] = [
    0.9403940828842694,
    0.01797714885093382,
    0.0007204861229618141,
    -0.00015515924440180946,
    2.766990183752755e-05,
    -5.2871863320761524e-06,
    1.1257975486215228e-06,
    -2.63130441947549e-07,
    6.598571696792872e-08,
    -1.7454474989197393e-08,
    4.813437226308787e-09,
    -1.3723843993819895e-09,
    4.020765183199371e-10,
    -1.2049092786599042e-10,
    3.680244733303348e-11,
    -1.1425423829283465e-11,
    3.5973396421448492e-12,
    -1.1466389375188485e-12,
    3.694619836156521e-13,
    -1.2019329832370284e-13,
    3.943780055458432e-14,
    -1.3040352009872962e-14,
    4.341972684971494e-15,
    -1.4548813696997355e-15,
    4.903082054921721e-16,
    -1.6611190668679537e-16,
    5.655056658682269e-17,
    -1.933810755374142e-17,
];
