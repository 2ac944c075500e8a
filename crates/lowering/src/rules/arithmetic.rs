//! Sums, products, quotients and remainders.

use tnrs_hlo::TensorType;
use tnrs_types::DType;

use crate::helpers::{map, Domain, Lowered};
use crate::rules::parts;
use crate::{Ctx, Expr, LowerError, Row};

/// Rows of this family.
pub const ROWS: &[Row] = &[
    Row::new("aten::add.Tensor", |cx| scaled(cx, |x, y| x + y)).narrow(&["alpha"]).unit(&["alpha"]),
    Row::new("aten::add.Scalar", |cx| scaled(cx, |x, y| x + y)).narrow(&["alpha"]).unit(&["alpha"]),
    Row::new("aten::sub.Tensor", |cx| scaled(cx, |x, y| x - y)).narrow(&["alpha"]).unit(&["alpha"]),
    Row::new("aten::sub.Scalar", |cx| scaled(cx, |x, y| x - y)).narrow(&["alpha"]).unit(&["alpha"]),
    Row::new("aten::rsub.Tensor", rsub).narrow(&["alpha"]).unit(&["alpha"]),
    Row::new("aten::rsub.Scalar", rsub).narrow(&["alpha"]).unit(&["alpha"]),
    Row::new("aten::_add_relu.Tensor", add_relu).narrow(&["alpha"]).unit(&["alpha"]).infer_by_rule(),
    Row::new("aten::_add_relu.Scalar", add_relu).narrow(&["alpha"]).unit(&["alpha"]).infer_by_rule(),
    Row::new("aten::mul.Tensor", |cx| map(cx, [0, 1], Domain::Promoted, |[x, y]| x * y)),
    Row::new("aten::mul.Scalar", |cx| map(cx, [0, 1], Domain::Promoted, |[x, y]| x * y)),
    Row::new("aten::div.Tensor", |cx| map(cx, [0, 1], Domain::Float, |[x, y]| x / y)),
    Row::new("aten::div.Scalar", |cx| map(cx, [0, 1], Domain::Float, |[x, y]| x / y)),
    Row::new("aten::div.Tensor_mode", div_mode),
    Row::new("aten::div.Scalar_mode", div_mode),
    Row::new("aten::floor_divide", |cx| map(cx, [0, 1], Domain::Promoted, |[x, y]| div_floor(x, y))),
    Row::new("aten::fmod.Tensor", |cx| map(cx, [0, 1], Domain::Promoted, |[x, y]| x % y)),
    Row::new("aten::fmod.Scalar", |cx| map(cx, [0, 1], Domain::Promoted, |[x, y]| x % y)),
    Row::new("aten::remainder.Tensor", |cx| map(cx, [0, 1], Domain::Promoted, |[x, y]| remainder(x, y))),
    Row::new("aten::remainder.Scalar", |cx| map(cx, [0, 1], Domain::Promoted, |[x, y]| remainder(x, y))),
    Row::new("aten::remainder.Scalar_Tensor", |cx| {
        map(cx, [0, 1], Domain::Promoted, |[x, y]| remainder(x, y))
    }),
    Row::new("aten::maximum", |cx| map(cx, [0, 1], Domain::Promoted, |[x, y]| x.max(y))),
    Row::new("aten::minimum", |cx| map(cx, [0, 1], Domain::Promoted, |[x, y]| x.min(y))),
    Row::new("aten::fmax", |cx| map(cx, [0, 1], Domain::Promoted, |[x, y]| skip_nan(x, y, x.max(y)))),
    Row::new("aten::fmin", |cx| map(cx, [0, 1], Domain::Promoted, |[x, y]| skip_nan(x, y, x.min(y)))),
    Row::new("aten::addcmul", |cx| addc(cx, |x, y| x * y)).unit(&["value"]),
    Row::new("aten::addcdiv", |cx| addc(cx, |x, y| x / y)).unit(&["value"]),
    Row::new("aten::lerp.Scalar", lerp),
    Row::new("aten::lerp.Tensor", lerp),
    Row::new("aten::gcd", |cx| map(cx, [0, 1], Domain::Promoted, |[x, y]| gcd(x, y))),
    Row::new("aten::lcm", |cx| map(cx, [0, 1], Domain::Promoted, |[x, y]| lcm(x, y))),
];

/// `f(self, alpha·other)`.
fn scaled(cx: &mut Ctx, f: impl for<'m> Fn(Expr<'m>, Expr<'m>) -> Expr<'m>) -> Lowered {
    let common = cx.promoted(&[0, 1])?;
    let compute = common.opmath();
    let x = cx.operand(0, common, compute)?;
    let y = cx.operand(1, common, compute)?;
    let alpha = cx.factor(2, compute)?;
    let v = cx.math(|m| {
        let y = match alpha {
            Some(a) => m.expr(y) * m.expr(a),
            None => times_one(m.expr(y)),
        };
        f(m.expr(x), y).value()
    })?;
    cx.finish(v)
}

/// A complex number times one, as PyTorch multiplies it: an infinite part makes the other part NaN.
pub fn times_one(x: Expr<'_>) -> Expr<'_> {
    if x.dtype().is_complex() {
        return x * x.int(1);
    }
    x
}

/// The sum where positive, at most the greatest finite number. NaN stays, as in the CPU's vector loops.
fn add_relu(cx: &mut Ctx) -> Lowered {
    let dtype = cx.promoted(&[0, 1])?;
    cx.outs = vec![TensorType::new(dtype, &cx.broadcast_sizes(&[0, 1])?)];
    let most = if dtype == DType::F64 { f64::MAX } else { f32::MAX.into() };
    scaled(cx, |x, y| {
        let positive = (x + y).max(0.0);
        if dtype.is_float() {
            positive.min(most)
        } else {
            positive
        }
    })
}

/// `other − alpha·self`.
fn rsub(cx: &mut Ctx) -> Lowered {
    cx.args.swap(0, 1);
    scaled(cx, |x, y| x - y)
}

fn div_mode(cx: &mut Ctx) -> Lowered {
    match cx.text(2) {
        None => map(cx, [0, 1], Domain::Float, |[x, y]| x / y),
        // Not in opmath: PyTorch rounds the quotient to the operands' type before it truncates.
        Some("trunc") => map(cx, [0, 1], Domain::Exact, |[x, y]| div_trunc(x, y)),
        Some("floor") => map(cx, [0, 1], Domain::Promoted, |[x, y]| div_floor(x, y)),
        Some(other) => Err(LowerError::runtime(format!(
            "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{other}'"
        ))),
    }
}

/// The quotient rounded toward zero.
pub fn div_trunc<'m>(x: Expr<'m>, y: Expr<'m>) -> Expr<'m> {
    if x.dtype().is_float() {
        (x / y).trunc()
    } else {
        x / y
    }
}

/// The quotient rounded down. For floats by way of the exact remainder, since x/y may round up to an integer.
pub fn div_floor<'m>(x: Expr<'m>, y: Expr<'m>) -> Expr<'m> {
    let d = x.dtype();
    if d.is_unsigned() || d == DType::Bool {
        return x / y;
    }
    let r = x % y;
    let adjust = r.ne(0.0).and(r.lt(0.0).ne(y.lt(0.0)));
    if !d.is_float() {
        let q = x / y;
        return adjust.select(q - 1.0, q);
    }
    let q = (x - r) / y;
    let q = adjust.select(q - 1.0, q);
    let floor = q.floor();
    let floor = (q - floor).gt(0.5).select(floor + 1.0, floor);
    let quotient = x / y;
    let zero = parts::signbit(quotient).select(-0.0, quotient.int(0));
    y.eq(0.0).select(quotient, q.eq(0.0).select(zero, floor))
}

/// The remainder with the sign of the divisor.
pub fn remainder<'m>(x: Expr<'m>, y: Expr<'m>) -> Expr<'m> {
    let r = x % y;
    if x.dtype().is_unsigned() {
        return r;
    }
    let adjust = r.ne(0.0).and(r.lt(0.0).ne(y.lt(0.0)));
    adjust.select(r + y, r)
}

/// `both` unless one is NaN: then the other.
fn skip_nan<'m>(x: Expr<'m>, y: Expr<'m>, both: Expr<'m>) -> Expr<'m> {
    if !x.dtype().is_float() {
        return both;
    }
    x.is_nan().select(y, y.is_nan().select(x, both))
}

/// `self + f(value·tensor1, tensor2)`.
fn addc(cx: &mut Ctx, f: impl for<'m> Fn(Expr<'m>, Expr<'m>) -> Expr<'m>) -> Lowered {
    let common = cx.promoted(&[0, 1, 2])?;
    let compute = common.opmath();
    let mut values = [tnrs_hlo::Value(0); 3];
    for (i, v) in values.iter_mut().enumerate() {
        *v = cx.operand(i, common, compute)?;
    }
    let value = cx.factor(3, compute)?;
    let v = cx.math(|m| {
        let [x, a, b] = m.exprs(values);
        let a = value.map_or_else(|| times_one(a), |v| m.expr(v) * a);
        (x + f(a, b)).value()
    })?;
    cx.finish(v)
}

/// From the nearer end, so that weights 0 and 1 give the ends exactly.
pub fn lerp_formula<'m>(start: Expr<'m>, end: Expr<'m>, weight: Expr<'m>) -> Expr<'m> {
    let near = weight.abs().lt(0.5);
    // What depends on the weight alone comes first: a number stays one.
    let share = near.select(weight, weight - 1.0);
    near.select(start, end) + share * (end - start)
}

fn lerp(cx: &mut Ctx) -> Lowered {
    cx.require(0, "lerp_kernel", |d| d.is_float() || d.is_complex())?;
    let common = cx.promoted(&[0, 1])?;
    let v =
        crate::helpers::apply_as(cx, [0, 1, 2], common, common.opmath(), |[a, b, w]| lerp_formula(a, b, w))?;
    cx.finish(v)
}

/// Euclid's algorithm, unrolled to the longest chain of the type (consecutive Fibonacci numbers).
fn gcd<'m>(x: Expr<'m>, y: Expr<'m>) -> Expr<'m> {
    let steps = match x.dtype().size() {
        1 => 14,
        2 => 25,
        4 => 48,
        _ => 93,
    };
    let (mut a, mut b) = (parts::abs(x), parts::abs(y));
    for _ in 0..steps {
        let done = b.eq(0.0);
        let r = a % done.select(1.0, b);
        (a, b) = (done.select(a, b), done.select(b, r));
    }
    a
}

fn lcm<'m>(x: Expr<'m>, y: Expr<'m>) -> Expr<'m> {
    let g = gcd(x, y);
    let safe = g.eq(0.0).select(1.0, g);
    parts::abs(x / safe * y)
}
