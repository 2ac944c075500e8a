//! Powers, logarithms and other functions of two operands.

use std::f64::consts::LN_2;

use tnrs_types::{Class, DType, Scalar};

use crate::helpers::{apply_as, in_range, map, Domain, Lowered};
use crate::rules::{parts, unary};
use crate::{Ctx, Expr, LowerError, Row};

/// Rows of this family.
pub const ROWS: &[Row] = &[
    Row::new("aten::pow.Tensor_Tensor", |cx| map(cx, [0, 1], Domain::Promoted, |[x, y]| pow(x, y))),
    Row::new("aten::pow.Tensor_Scalar", pow_scalar).stat(&["exponent"]),
    Row::new("aten::pow.Scalar", |cx| map(cx, [0, 1], Domain::Promoted, |[x, y]| pow(x, y))),
    Row::new("aten::atan2", |cx| map(cx, [0, 1], Domain::Float, |[y, x]| y.atan2(x))),
    Row::new("aten::hypot", |cx| map(cx, [0, 1], Domain::Promoted, |[x, y]| hypot(x, y))),
    Row::new("aten::copysign.Tensor", |cx| map(cx, [0, 1], Domain::Float, |[x, y]| copysign(x, y))),
    Row::new("aten::nextafter", |cx| map(cx, [0, 1], Domain::Exact, |[x, y]| nextafter(x, y))),
    Row::new("aten::logaddexp", |cx| {
        map(cx, [0, 1], Domain::Float, |[x, y]| logaddexp(x, y, |t| t.exp().log1p()))
    }),
    Row::new("aten::logaddexp2", |cx| {
        map(cx, [0, 1], Domain::Float, |[x, y]| logaddexp(x, y, |t| unary::exp2(t).log1p() / LN_2))
    }),
    Row::new("aten::xlogy.Tensor", |cx| map(cx, [0, 1], Domain::Float, |[x, y]| xlog(x, y, y.log()))),
    Row::new("aten::special_xlog1py", |cx| map(cx, [0, 1], Domain::Float, |[x, y]| xlog(x, y, y.log1p()))),
    Row::new("aten::heaviside", |cx| {
        map(cx, [0, 1], Domain::Exact, |[x, v]| x.eq(0.0).select(v, x.gt(0.0).select(1.0, v.int(0))))
    })
    .exact(),
];

/// xʸ. Integers to negative powers are the truncated reciprocal: 0 except for bases 1 and −1.
pub fn pow<'m>(x: Expr<'m>, y: Expr<'m>) -> Expr<'m> {
    let d = x.dtype();
    if d == DType::Bool {
        return x.or(y.not());
    }
    if d.is_float() || d.is_complex() || d.is_unsigned() {
        return x.pow(y);
    }
    let odd = y.and(y.int(1)).ne(0.0);
    let one = x.int(1);
    let inverse = x.eq(1.0).select(one, x.eq(-1.0).select(odd.select(-1.0, one), x.int(0)));
    y.lt(0.0).select(inverse, x.pow(y.max(0.0)))
}

/// xᵉ for a known e, by multiplication or roots where PyTorch does so too.
pub fn pow_known<'m>(x: Expr<'m>, e: Scalar) -> Expr<'m> {
    let floating = x.dtype().is_float();
    match e {
        Scalar::Complex(_, im) if im != 0.0 => x.pow(x.constant(e)),
        _ if e.is(0) => x.int(1),
        _ if e.is(1) => x,
        _ if e.is(2) => x * x,
        _ if e.is(3) => x * x * x,
        _ if e.is(-1) && floating => 1.0 / x,
        _ if e.is(-2) && floating => 1.0 / (x * x),
        Scalar::Float(v) if v == 0.5 && floating => x.sqrt(),
        Scalar::Float(v) if v == -0.5 && floating => x.rsqrt(),
        _ => pow(x, x.constant(e)),
    }
}

/// Exponents that PyTorch has no power of this element type for.
pub fn refuse_exponent(dtype: DType, e: Scalar) -> Result<(), LowerError> {
    if dtype.class() <= Class::Int && e.class() <= Class::Int && e.to_i64() < 0 {
        return Err(LowerError::runtime("Integers to negative integer powers are not allowed."));
    }
    match dtype.real() {
        DType::F32 | DType::F64 => Ok(()),
        _ if dtype.class() < e.class() => Ok(()),
        _ => in_range(e, dtype),
    }
}

fn pow_scalar(cx: &mut Ctx) -> Lowered {
    let e = cx.known(1)?;
    let common = cx.promoted(&[0, 1])?;
    refuse_exponent(common, e)?;
    let v = apply_as(cx, [0], common, common.opmath(), |[x]| pow_known(x, e))?;
    cx.finish(v)
}

/// √(x² + y²) without overflow in between.
fn hypot<'m>(x: Expr<'m>, y: Expr<'m>) -> Expr<'m> {
    let (a, b) = (x.abs(), y.abs());
    let (hi, lo) = (a.max(b), a.min(b));
    let q = lo / hi;
    let r = hi * (q * q + 1.0).sqrt();
    let r = hi.eq(0.0).select(hi, r);
    x.is_inf().or(y.is_inf()).select(f64::INFINITY, r)
}

/// |x| with the sign of y.
fn copysign<'m>(x: Expr<'m>, y: Expr<'m>) -> Expr<'m> {
    let a = x.abs();
    parts::signbit(y).select(-a, a)
}

/// The neighbour of x in y's direction: one step of the bits read as an integer, away from zero or towards it.
fn nextafter<'m>(x: Expr<'m>, y: Expr<'m>) -> Expr<'m> {
    let bits_type = match x.dtype().size() {
        2 => DType::I16,
        4 => DType::I32,
        _ => DType::I64,
    };
    let bits = x.bitcast(bits_type);
    let outward = x.gt(0.0).eq(y.gt(x));
    let step = outward.select(1.0, bits.int(-1));
    let moved = (bits + step).bitcast(x.dtype());
    let least = bits.int(1).bitcast(x.dtype());
    let from_zero = y.lt(0.0).select(-least, least);
    let r = x.eq(0.0).select(from_zero, moved);
    let r = x.eq(y).select(y, r);
    y.is_nan().select(y, x.is_nan().select(x, r))
}

/// m + f(n − m), with m the operand of larger real part and n the other; equal infinities stay. Of complex operands NaN in
/// any part makes all NaN, and of two whose real part is −∞ the second stays.
fn logaddexp<'m>(x: Expr<'m>, y: Expr<'m>, f: impl Fn(Expr<'m>) -> Expr<'m>) -> Expr<'m> {
    if x.dtype().is_complex() {
        let first = x.real().ge(y.real());
        let (hi, lo) = (first.select(x, y), first.select(y, x));
        let (r, top) = (hi + f(lo - hi), hi.real());
        let same = top.eq(lo.real()).and(top.is_inf());
        let r = same.select(top.lt(0.0).select(y, (x.exp() + y.exp()).log()), r);
        let nan = [x.real(), x.imag(), y.real(), y.imag()].map(Expr::is_nan).into_iter().reduce(Expr::or);
        return nan.map_or(r, |nan| nan.select(r.constant(Scalar::Complex(f64::NAN, f64::NAN)), r));
    }
    let r = x.max(y) + f(-((x - y).abs()));
    x.eq(y).and(x.is_inf()).select(x, r)
}

/// x·log, 0 for x = 0 unless y is NaN.
fn xlog<'m>(x: Expr<'m>, y: Expr<'m>, log: Expr<'m>) -> Expr<'m> {
    let r = x.eq(0.0).select(0.0, x * log);
    y.is_nan().select(y, r)
}
