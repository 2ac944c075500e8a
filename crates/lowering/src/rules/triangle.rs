//! Triangles, diagonals and their gradients.

use tnrs_hlo::ScatterKind;
use tnrs_types::{inverse, DType, Dims, Scalar};

use crate::expr::{Expr, Math};
use crate::helpers::{dim, Lowered};
use crate::layout::others;
use crate::{Ctx, LowerError, Row};

/// Rows of this family.
pub(crate) const ROWS: &[Row] = &[
    Row::new("aten::tril", |cx| triangle(cx, true)).exact(),
    Row::new("aten::triu", |cx| triangle(cx, false)).exact(),
    Row::new("aten::tril_indices", |cx| triangle_indices(cx, true)),
    Row::new("aten::triu_indices", |cx| triangle_indices(cx, false)),
    Row::new("aten::trace", trace),
    Row::new("aten::diag_embed", diag_embed),
    Row::new("aten::diagonal_backward", diagonal_backward),
    Row::new("aten::diagonal_scatter", diagonal_scatter),
];

/// Column minus row, over the last two of these dims.
fn diagonals<'m>(m: &'m Math, dims: &[i64]) -> Expr<'m> {
    let rank = dims.len() as i64;
    m.iota(DType::I64, dims, rank - 1) - m.iota(DType::I64, dims, rank - 2)
}

fn triangle(cx: &mut Ctx, lower: bool) -> Lowered {
    let (x, k) = (cx.tensor(0)?, cx.int(1)?);
    let rank = x.ty.rank();
    if rank < 2 {
        return Err(LowerError::runtime("tril: input tensor must have at least 2 dimensions"));
    }
    let matrix = Dims::from_slice(&x.ty.dims[rank - 2..]);
    let v = cx.math(|m| {
        let d = diagonals(m, &matrix);
        let keep = if lower { d.le(d.int(k)) } else { d.ge(d.int(k)) };
        let x = m.expr(x.value);
        keep.select(x, x.int(0)).value()
    })?;
    Ok(v.into())
}

fn triangle_indices(cx: &mut Ctx, lower: bool) -> Lowered {
    let (rows, columns, offset) = (cx.int(0)?, cx.int(1)?, cx.int(2)?);
    let out = cx.out(0)?;
    let (mut r, mut c) = (Vec::new(), Vec::new());
    for i in 0..rows {
        let range = if lower {
            0..(i + offset + 1).clamp(0, columns)
        } else {
            (i + offset).clamp(0, columns)..columns
        };
        for j in range {
            r.push(i);
            c.push(j);
        }
    }
    r.extend(c);
    let v = cx.math(|m| m.ints(&r).reshape(&out.dims).cast(out.dtype).value())?;
    Ok(v.into())
}

fn trace(cx: &mut Ctx) -> Lowered {
    let (x, out) = (cx.tensor(0)?, cx.out(0)?);
    let [rows, columns] = x.ty.dims[..] else {
        return Err(LowerError::runtime("trace: expected a matrix"));
    };
    let n = rows.min(columns);
    let acc = out.dtype.opmath();
    let v = cx.math(|m| {
        let limit = if n == 0 { 0 } else { (n - 1) * (columns + 1) + 1 };
        m.expr(x.value).flatten().steps(0, 0, limit, columns + 1).cast(acc).sum(&[0]).cast(out.dtype).value()
    })?;
    Ok(v.into())
}

/// A tensor of sizes `dims` whose diagonal over `(d1, d2)` is `diagonal` (which has it as the last dim), and which
/// is `base` elsewhere, or 0.
fn embed<'m>(
    diagonal: Expr<'m>,
    base: Option<Expr<'m>>,
    dims: &[i64],
    offset: i64,
    (d1, d2): (usize, usize),
) -> Expr<'m> {
    let m = diagonal.math();
    let rank = dims.len();
    // Work with d1 and d2 as the last two dims.
    let mut perm: Dims = others(d1, rank).into_iter().filter(|&d| d != d2 as i64).collect();
    perm.extend([d1 as i64, d2 as i64]);
    let worked: Dims = perm.iter().map(|&d| dims[d as usize]).collect();
    let (rows, columns) = (worked[rank - 2], worked[rank - 1]);
    // Position i of the diagonal is at row i + skip (below) or row i (above): every `columns + 1` elements.
    let first = (-offset).max(0) * columns + offset.max(0);
    let count = diagonal.dims()[rank - 2];
    let (lead, size) = (&worked[..rank - 2], rows * columns);
    let mut flat = Dims::from_slice(lead);
    flat.push(size);
    let whole = match base {
        _ if count == 0 => {
            base.map_or_else(|| m.splat(diagonal.dtype(), &worked, Scalar::Int(0)), |b| b.transpose(&perm))
        }
        None => {
            let rest = size - first - (count - 1) * (columns + 1) - 1;
            diagonal.pad_dim(Scalar::Int(0), rank - 2, first, rest, columns).reshape(&worked)
        }
        Some(b) => {
            let at: Vec<i64> = (0..count).map(|i| first + i * (columns + 1)).collect();
            let b = b.transpose(&perm).reshape(&flat);
            b.put_rows(ScatterKind::Set, rank - 2, m.ints(&at), diagonal).reshape(&worked)
        }
    };
    whole.transpose(&inverse(&perm))
}

fn pair(cx: &Ctx, i: usize, rank: usize) -> Result<(usize, usize), LowerError> {
    Ok((dim(cx.int(i)?, rank)? as usize, dim(cx.int(i + 1)?, rank)? as usize))
}

fn diag_embed(cx: &mut Ctx) -> Lowered {
    let (x, offset, out) = (cx.tensor(0)?, cx.int(1)?, cx.out(0)?);
    let dims = pair(cx, 2, out.rank())?;
    let v = cx.math(|m| embed(m.expr(x.value), None, &out.dims, offset, dims).value())?;
    Ok(v.into())
}

fn diagonal_backward(cx: &mut Ctx) -> Lowered {
    let (dy, offset, out) = (cx.tensor(0)?, cx.int(2)?, cx.out(0)?);
    let dims = pair(cx, 3, out.rank())?;
    let v = cx.math(|m| embed(m.expr(dy.value), None, &out.dims, offset, dims).value())?;
    Ok(v.into())
}

fn diagonal_scatter(cx: &mut Ctx) -> Lowered {
    let (x, source, offset) = (cx.tensor(0)?, cx.tensor(1)?, cx.int(2)?);
    let dims = pair(cx, 3, x.ty.rank())?;
    let source = cx.cast(source.value, x.ty.dtype)?;
    let v = cx.math(|m| {
        let [x, source] = m.exprs([x.value, source]);
        embed(source, Some(x), &x.dims(), offset, dims).value()
    })?;
    Ok(v.into())
}
