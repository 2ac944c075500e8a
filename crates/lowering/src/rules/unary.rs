//! Functions of one operand that are defined on floats: integers promote to f32.

use std::f64::consts::{LN_10, LN_2, PI};

use tnrs_types::Scalar;

use crate::helpers::{apply, map, Domain, Lowered};
use crate::{Ctx, Expr, LowerError, Row};

macro_rules! rows {
    ($($name:literal => |$x:ident| $e:expr;)*) => {
        &[$(Row::new(concat!("aten::", $name), |cx| map(cx, [0], Domain::Float, |[$x]| $e)),)*
          // The meta kernel of the in-place overload does not look at types.
          Row::new("aten::logit", logit).castable(),
          Row::new("aten::logit_backward", logit_backward)]
    };
}

/// Rows of this family.
pub const ROWS: &[Row] = rows! {
    "acos" => |x| x.acos();
    "acosh" => |x| x.acosh();
    "asin" => |x| x.asin();
    "asinh" => |x| x.asinh();
    "atan" => |x| x.atan();
    "atanh" => |x| x.atanh();
    "cos" => |x| x.cos();
    "cosh" => |x| x.cosh();
    "digamma" => |x| digamma(x);
    "erf" => |x| x.erf();
    "erfc" => |x| x.erfc();
    "erfinv" => |x| x.erfinv();
    "exp" => |x| x.exp();
    "exp2" => |x| exp2(x);
    "expm1" => |x| x.expm1();
    "lgamma" => |x| x.lgamma();
    "log" => |x| x.log();
    "log10" => |x| over(x.log(), LN_10);
    "log1p" => |x| x.log1p();
    "log2" => |x| over(x.log(), LN_2);
    "reciprocal" => |x| 1.0 / x;
    "rsqrt" => |x| x.rsqrt();
    "sigmoid" => |x| x.sigmoid();
    "sin" => |x| x.sin();
    "sinc" => |x| sinc(x);
    "sinh" => |x| x.sinh();
    "special_entr" => |x| entr(x);
    "special_spherical_bessel_j0" => |x| spherical_bessel_j0(x);
    "sqrt" => |x| x.sqrt();
    "tan" => |x| x.tan();
    "tanh" => |x| x.tanh();
    "deg2rad" => |x| x * (PI / 180.0);
    "rad2deg" => |x| x * (180.0 / PI);
};

/// The quotient by a real number, part by part.
pub fn over(x: Expr<'_>, divisor: f64) -> Expr<'_> {
    if x.dtype().is_complex() {
        return (x.real() / divisor).complex(x.imag() / divisor);
    }
    x / divisor
}

/// 2ˣ.
pub fn exp2(x: Expr<'_>) -> Expr<'_> {
    if x.dtype().is_complex() {
        return over(x, 1.0 / LN_2).exp();
    }
    x.int(2).pow(x)
}

/// ψ(x): −∞ of zero's sign at zero, NaN at the negative integers.
pub fn digamma(x: Expr<'_>) -> Expr<'_> {
    let pole = x.lt(0.0).and(x.floor().eq(x));
    let at_zero = -(1.0 / x);
    x.eq(0.0).select(at_zero, pole.select(f64::NAN, x.digamma()))
}

/// sin(πx)/(πx).
fn sinc(x: Expr<'_>) -> Expr<'_> {
    let t = x * PI;
    x.eq(0.0).select(1.0, t.sin() / t)
}

/// −x ln x, continued to 0 and to −∞ below it.
fn entr(x: Expr<'_>) -> Expr<'_> {
    let positive = -(x * x.log());
    x.gt(0.0).select(positive, x.eq(0.0).select(0.0, x.lt(0.0).select(f64::NEG_INFINITY, x)))
}

/// sin(x)/x, by its Taylor polynomial near 0 where the quotient loses digits.
fn spherical_bessel_j0(x: Expr<'_>) -> Expr<'_> {
    let y = x * x;
    let coefficients =
        [1.0 / 6227020800.0, -1.0 / 39916800.0, 1.0 / 362880.0, -1.0 / 5040.0, 1.0 / 120.0, -1.0 / 6.0, 1.0];
    let mut series = y.constant(tnrs_types::Scalar::Float(coefficients[0]));
    for c in &coefficients[1..] {
        series = series * y + *c;
    }
    let general = x.is_inf().select(0.0, x.sin() / x);
    x.abs().lt(0.5).select(series, general)
}

fn eps(cx: &Ctx, i: usize) -> Option<f64> {
    cx.float(i).ok()
}

/// ln(x / (1 − x)), with x first brought into [eps, 1 − eps] when eps is given.
fn logit(cx: &mut Ctx) -> Lowered {
    let eps = eps(cx, 1);
    let dtype = Domain::Float.common(cx.promoted(&[0])?);
    map(cx, [0], Domain::Float, |[x]| {
        let bound = |e: f64| x.constant(Scalar::Float(e)).cast(dtype).cast(x.dtype());
        let x = match eps {
            Some(e) => x.lt(bound(e)).select(bound(e), x.gt(bound(1.0 - e)).select(bound(1.0 - e), x)),
            None => x,
        };
        (x / (1.0 - x)).log()
    })
}

fn logit_backward(cx: &mut Ctx) -> Lowered {
    let eps = eps(cx, 2);
    let dtype = cx.promoted(&[0, 1])?;
    if !dtype.is_float() {
        return Err(LowerError::unsupported("logit_backward of a type that is not a float"));
    }
    let v = apply(cx, [0, 1], Domain::Promoted, |[g, x]| {
        let inside = g / (x * (1.0 - x));
        match eps {
            Some(e) => x.lt(e).or(x.gt(1.0 - e)).select(0.0, inside),
            None => {
                let edge = x.eq(0.0).or(x.eq(1.0)).select(g * f64::INFINITY, inside);
                x.lt(0.0).or(x.gt(1.0)).select(f64::NAN, edge)
            }
        }
    })?;
    cx.finish(v)
}
