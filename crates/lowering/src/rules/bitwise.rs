//! Logic on truth values and on bits, and shifts.

use tnrs_types::DType;

use crate::helpers::{apply, map, Domain, Lowered};
use crate::{Ctx, Expr, Outcome, Row};

/// Rows of this family.
pub const ROWS: &[Row] = &[
    Row::new("aten::logical_and", |cx| map(cx, [0, 1], Domain::Truth, |[x, y]| x.and(y))),
    Row::new("aten::logical_or", |cx| map(cx, [0, 1], Domain::Truth, |[x, y]| x.or(y))),
    Row::new("aten::logical_xor", |cx| map(cx, [0, 1], Domain::Truth, |[x, y]| x.xor(y))),
    Row::new("aten::logical_not", |cx| map(cx, [0], Domain::Truth, |[x]| x.not())),
    Row::new("aten::bitwise_and.Tensor", |cx| map(cx, [0, 1], Domain::Exact, |[x, y]| x.and(y))),
    Row::new("aten::bitwise_or.Tensor", |cx| map(cx, [0, 1], Domain::Exact, |[x, y]| x.or(y))),
    Row::new("aten::bitwise_xor.Tensor", |cx| map(cx, [0, 1], Domain::Exact, |[x, y]| x.xor(y))),
    Row::new("aten::bitwise_not", |cx| map(cx, [0], Domain::Exact, |[x]| x.not()))
        .exact_as("Found dtype {got} but expected {want}"),
    Row::new("aten::bitwise_left_shift.Tensor", |cx| map(cx, [0, 1], Domain::Exact, |[x, y]| left(x, y))),
    Row::new("aten::bitwise_right_shift.Tensor", |cx| map(cx, [0, 1], Domain::Exact, |[x, y]| right(x, y))),
    Row::new("aten::__lshift__.Tensor", |cx| map(cx, [0, 1], Domain::Exact, |[x, y]| left(x, y))),
    Row::new("aten::__lshift__.Scalar", |cx| map(cx, [0, 1], Domain::Exact, |[x, y]| left(x, y))),
    Row::new("aten::__rshift__.Tensor", |cx| map(cx, [0, 1], Domain::Exact, |[x, y]| right(x, y))),
    Row::new("aten::__rshift__.Scalar", |cx| map(cx, [0, 1], Domain::Exact, |[x, y]| right(x, y))),
    Row::new("aten::__ilshift__.Tensor", |cx| in_place(cx, left)),
    Row::new("aten::__ilshift__.Scalar", |cx| in_place(cx, left)),
    Row::new("aten::__irshift__.Tensor", |cx| in_place(cx, right)),
    Row::new("aten::__irshift__.Scalar", |cx| in_place(cx, right)),
];

/// These are not named after their functional overloads, so they write `self` themselves.
fn in_place(cx: &mut Ctx, f: impl for<'m> Fn(Expr<'m>, Expr<'m>) -> Expr<'m>) -> Lowered {
    let ty = cx.tensor(0)?.ty;
    let v = apply(cx, [0, 1], Domain::Exact, |[x, y]| f(x, y))?;
    let v = cx.fit(v, &ty)?;
    Ok(Outcome::writes(vec![(0, 0, v)]))
}

fn bits(d: DType) -> f64 {
    (d.size() * 8) as f64
}

/// x·2ʸ on bits; 0 when y is negative or not below the width.
fn left<'m>(x: Expr<'m>, y: Expr<'m>) -> Expr<'m> {
    let width = bits(x.dtype());
    let out = y.lt(0.0).or(y.ge(width));
    out.select(0.0, x.shl(out.select(0.0, y)))
}

/// x/2ʸ rounded down; the sign fills when y is negative or not below the width.
fn right<'m>(x: Expr<'m>, y: Expr<'m>) -> Expr<'m> {
    let width = bits(x.dtype());
    let out = y.lt(0.0).or(y.ge(width));
    if x.dtype().is_unsigned() {
        return out.select(0.0, x.shr_logical(out.select(0.0, y)));
    }
    x.shr(out.select(width - 1.0, y))
}
