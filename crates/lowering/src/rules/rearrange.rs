//! Elements put elsewhere: flips, rolls, repeats, shuffles.

use smallvec::smallvec;
use tnrs_hlo::{Composite, ReduceKind};
use tnrs_types::Dims;

use crate::expr::Expr;
use crate::helpers::{dim, Lowered};
use crate::{Ctx, LowerError, Row};

/// Rows of this family.
pub(crate) const ROWS: &[Row] = &[
    Row::new("aten::flip", flip),
    Row::new("aten::roll", roll),
    Row::new("aten::repeat", repeat),
    Row::new("aten::channel_shuffle", channel_shuffle).format(&[0], |_, rank| rank == 4),
    Row::new("aten::pixel_shuffle", pixel_shuffle).format(&[0], |_, rank| rank == 4),
    Row::new("aten::pixel_unshuffle", pixel_unshuffle).format(&[0], |_, rank| rank == 4),
];

fn flip(cx: &mut Ctx) -> Lowered {
    let x = cx.tensor(0)?;
    let mut dims = Dims::new();
    for d in cx.ints(1).unwrap_or_default() {
        dims.push(dim(d, x.ty.rank())?);
    }
    if x.ty.rank() == 0 {
        return Ok(x.value.into());
    }
    let v = cx.math(|m| m.expr(x.value).reverse(&dims).value())?;
    Ok(v.into())
}

/// Moves elements along a dim; those past the end come back at the start.
fn rolled<'m>(x: Expr<'m>, dim: usize, shift: i64) -> Expr<'m> {
    let n = x.dims()[dim];
    let cut = if n == 0 { 0 } else { (-shift).rem_euclid(n) };
    if cut == 0 {
        return x;
    }
    let parts = [x.steps(dim, cut, n, 1), x.steps(dim, 0, cut, 1)];
    x.math().concatenate(&parts, dim as i64)
}

fn roll(cx: &mut Ctx) -> Lowered {
    let x = cx.tensor(0)?;
    let shifts = cx.ints(1).unwrap_or_default();
    let dims = cx.ints(2).unwrap_or_default();
    if dims.is_empty() && shifts.len() == 1 {
        let v = cx.math(|m| {
            let x = m.expr(x.value);
            rolled(x.flatten(), 0, shifts[0]).reshape(&x.dims()).value()
        })?;
        return Ok(v.into());
    }
    if dims.len() != shifts.len() {
        return Err(LowerError::runtime(format!(
            "shifts and dimensions must align. shifts: {}, dims:{}",
            shifts.len(),
            dims.len()
        )));
    }
    if x.ty.numel() == 0 {
        return Ok(x.value.into());
    }
    let mut moves = Vec::with_capacity(dims.len());
    for (&d, &s) in dims.iter().zip(&shifts) {
        moves.push((dim(d, x.ty.rank())? as usize, s));
    }
    let v = cx.math(|m| moves.iter().fold(m.expr(x.value), |x, &(d, s)| rolled(x, d, s)).value())?;
    Ok(v.into())
}

fn repeat(cx: &mut Ctx) -> Lowered {
    let (x, out) = (cx.tensor(0)?, cx.out(0)?);
    let times = cx.ints(1).unwrap_or_default();
    let lead = times.len() - x.ty.rank();
    // Every dim of size n repeated r times is (r, n) with the operand along n.
    let (mut apart, mut map) = (Dims::new(), Dims::new());
    for (i, &r) in times.iter().enumerate() {
        apart.push(r);
        if i >= lead {
            map.push(apart.len() as i64);
            apart.push(x.ty.dims[i - lead]);
        }
    }
    let v = cx.math(|m| m.expr(x.value).broadcast_in_dim(&map, &apart).reshape(&out.dims).value())?;
    Ok(v.into())
}

/// Running sum of a rank-1 value.
pub(super) fn cumulative(x: Expr<'_>) -> Expr<'_> {
    let op = Composite::Cumulative { dim: 0, kind: ReduceKind::Add };
    let ty = x.ty();
    x.math().composite(op, &[x], &[ty]).map_or(x, |r| r[0])
}

fn channel_shuffle(cx: &mut Ctx) -> Lowered {
    let (x, groups) = (cx.tensor(0)?, cx.int(1)?);
    let dims = x.ty.dims.clone();
    let mut apart: Dims = smallvec![dims[0], groups, dims[1] / groups];
    apart.extend_from_slice(&dims[2..]);
    let mut perm: Dims = smallvec![0, 2, 1];
    perm.extend(3..apart.len() as i64);
    let v = cx.math(|m| m.expr(x.value).reshape(&apart).transpose(&perm).reshape(&dims).value())?;
    Ok(v.into())
}

/// (…, c·r·r, h, w) to (…, c, h·r, w·r).
fn pixel_shuffle(cx: &mut Ctx) -> Lowered {
    let (x, r, out) = (cx.tensor(0)?, cx.int(1)?, cx.out(0)?);
    let n = x.ty.rank() - 3;
    let [c, h, w] = [x.ty.dims[n], x.ty.dims[n + 1], x.ty.dims[n + 2]];
    shuffle(cx, n, &[c / (r * r), r, r, h, w], &[0, 3, 1, 4, 2], &out.dims)
}

fn pixel_unshuffle(cx: &mut Ctx) -> Lowered {
    let (x, r, out) = (cx.tensor(0)?, cx.int(1)?, cx.out(0)?);
    let n = x.ty.rank() - 3;
    let [c, h, w] = [x.ty.dims[n], x.ty.dims[n + 1], x.ty.dims[n + 2]];
    shuffle(cx, n, &[c, h / r, r, w / r, r], &[0, 2, 4, 1, 3], &out.dims)
}

/// Reshapes the dims from `lead` on to `apart`, permutes those, and reshapes to the result.
fn shuffle(cx: &mut Ctx, lead: usize, apart: &[i64], perm: &[i64], out: &[i64]) -> Lowered {
    let x = cx.tensor(0)?;
    let mut sizes = Dims::from_slice(&x.ty.dims[..lead]);
    sizes.extend_from_slice(apart);
    let mut full: Dims = (0..lead as i64).collect();
    full.extend(perm.iter().map(|p| p + lead as i64));
    let v = cx.math(|m| m.expr(x.value).reshape(&sizes).transpose(&full).reshape(out).value())?;
    Ok(v.into())
}
