//! Rows of a batch end to end, with the offsets where each starts, and the same batch padded to one length.

use tnrs_types::{DType, Dims, Scalar};

use super::histogram::not_above;
use super::nonzero::front;
use crate::expr::{Expr, Math};
use crate::helpers::Lowered;
use crate::{Ctx, LowerError, Outcome, Row, Tensor};

/// Rows of this family.
pub(crate) const ROWS: &[Row] = &[
    Row::new("aten::_jagged_to_padded_dense_forward", to_padded).infer_by_rule(),
    Row::new("aten::_padded_dense_to_jagged_forward", to_jagged).infer_by_rule(),
];

/// The only offsets: one dim of a batch varies.
fn offsets(cx: &Ctx) -> Result<Tensor, LowerError> {
    match &cx.tensors(1)?[..] {
        [one] if one.ty.rank() == 1 && one.ty.numel() > 0 => Ok(one.clone()),
        other => Err(LowerError::runtime(format!(
            "{}: only a single jagged dimension is supported, got {} lists of offsets",
            cx.op,
            other.len()
        ))),
    }
}

fn starts<'m>(m: &'m Math, offsets: &Tensor) -> Expr<'m> {
    m.expr(offsets.value).cast(DType::I64)
}

/// `to[b, l] = from[offsets[b] + l]`, and the padding where row b is shorter.
fn to_padded(cx: &mut Ctx) -> Lowered {
    let (x, offsets) = (cx.tensor(0)?, offsets(cx)?);
    let longest = match cx.ints(2).as_deref() {
        Some([n]) => *n,
        other => {
            return Err(LowerError::runtime(format!("{}: one maximal length needed, got {other:?}", cx.op)))
        }
    };
    let padding = Scalar::Float(cx.float(3).unwrap_or(0.0));
    let (batch, total, site) = (offsets.ty.numel() - 1, x.ty.dims[0], cx.op);
    let grid = [batch, longest];
    let v = cx.math(|m| {
        let marks = starts(m, &offsets);
        let column = |from: i64| marks.steps(0, from, from + batch, 1).reshape(&[batch, 1]).broadcast(&grid);
        let at = column(0) + m.iota(DType::I64, &grid, 1);
        let inside = at.lt(column(1));
        // One more row holds the padding.
        let at = inside.select(at, at.int(total)).checked(0, total + 1, site, 0);
        let mut high = vec![0; x.ty.rank()];
        high[0] = 1;
        m.expr(x.value).pad(padding, &vec![0; x.ty.rank()], &high).take_rows(0, at).value()
    })?;
    Ok(v.into())
}

/// `to[offsets[b] + l] = from[b, l]`; what a padded row does not hold is 0.
fn to_jagged(cx: &mut Ctx) -> Lowered {
    let (x, offsets) = (cx.tensor(0)?, offsets(cx)?);
    let (batch, length) = (offsets.ty.numel() - 1, x.ty.dims[1]);
    // Without it, the last offset says how many rows there are.
    let known = cx.opt_int(2);
    let total = known.unwrap_or(batch * length);
    if x.ty.dims[0] != batch {
        return Err(LowerError::runtime(format!("{}: {batch} rows needed, got {}", cx.op, x.ty.dims[0])));
    }
    let (v, count) = cx.math(|m| {
        let marks = starts(m, &offsets);
        let count = marks.steps(0, batch, batch + 1, 1).reshape(&[]);
        if known.is_none() {
            count.le(count.int(total)).assert("the last offset lies beyond the padded rows");
        }
        let at = m.iota(DType::I64, &[total], 0);
        let row = not_above(marks, at) - at.int(1);
        let row = row.max(row.int(0)).min(row.int(batch - 1));
        let column = at - marks.take_rows(0, row);
        let inside = column.ge(0.0).and(column.lt(length as f64));
        let flat = inside.select(row * row.int(length) + column, at.int(batch * length));
        let mut joined = Dims::from_slice(&[batch * length]);
        joined.extend_from_slice(&x.ty.dims[2..]);
        let mut high = vec![0; joined.len()];
        high[0] = 1;
        let rows = m.expr(x.value).reshape(&joined);
        let joined = rows.pad(Scalar::Int(0), &vec![0; joined.len()], &high).take_rows(0, flat);
        (joined.value(), count.value())
    })?;
    match known {
        Some(_) => Ok(v.into()),
        None => Ok(Outcome { rets: vec![front(v, count)], writes: Vec::new() }),
    }
}
