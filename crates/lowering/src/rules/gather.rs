//! Gather and scatter along a dim by an index of the operand's rank.
//!
//! The operand is seen flat, so that one index component per element suffices.

use tnrs_hlo::{ScatterKind, Value};
use tnrs_types::{Dims, Raises, Scalar};

use super::accumulate::{reduce_into, Combine};
use crate::expr::{Expr, Math};
use crate::helpers::{dim, Lowered};
use crate::{Arg, Ctx, LowerError, Row, Tensor};

/// Rows of this family.
pub(crate) const ROWS: &[Row] = &[
    Row::new("aten::gather", gather),
    Row::new("aten::scatter.src", scatter),
    Row::new("aten::scatter.value", scatter),
    Row::new("aten::scatter.reduce", scatter),
    Row::new("aten::scatter.value_reduce", scatter),
    Row::new("aten::scatter_add", scatter_add),
    Row::new("aten::scatter_reduce.two", scatter_reduce).exact(),
];

/// Operand and index sizes with at least one dim, and the dim.
struct Along {
    dim: usize,
    operand: Dims,
    index: Dims,
}

impl Along {
    fn new(cx: &Ctx, x: &Tensor, index: &Tensor) -> Result<Along, LowerError> {
        let row = |t: &Tensor| match t.ty.rank() {
            0 => Dims::from_slice(&[1]),
            _ => t.ty.dims.clone(),
        };
        let (operand, index) = (row(x), row(index));
        let along = Along { dim: dim(cx.int(1)?, x.ty.rank())? as usize, operand, index };
        // An empty index may have any rank.
        if along.index.len() != along.operand.len() && index_numel(&along.index) != 0 {
            return Err(LowerError::runtime(
                "Index tensor must have the same number of dimensions as self tensor",
            ));
        }
        Ok(along)
    }
    fn is_empty(&self) -> bool {
        index_numel(&self.index) == 0
    }
    /// Flat position of every index element.
    fn positions<'m>(&self, m: &'m Math, index: Value, site: &'static str) -> Expr<'m> {
        m.expr(index)
            .reshape(&self.index)
            .checked_as(Raises::Runtime, 0, self.operand[self.dim], site, self.dim)
            .flat_index(&self.operand, self.dim)
    }
}

fn index_numel(dims: &[i64]) -> i64 {
    tnrs_types::numel(dims)
}

/// The part of a source that has the index's sizes.
fn front<'m>(source: Expr<'m>, dims: &[i64]) -> Expr<'m> {
    let source = match source.rank() {
        0 => source.reshape(&[1]),
        _ => source,
    };
    (0..dims.len()).fold(source, |s, d| s.steps(d, 0, dims[d], 1))
}

fn gather(cx: &mut Ctx) -> Lowered {
    let (x, index) = (cx.tensor(0)?, cx.tensor(2)?);
    let along = Along::new(cx, &x, &index)?;
    let (site, out) = (cx.op, cx.out(0)?);
    let v = cx.math(|m| {
        let x = m.expr(x.value);
        if along.is_empty() {
            return m.splat(x.dtype(), &out.dims, Scalar::Int(0)).value();
        }
        let at = along.positions(m, index.value, site);
        x.flatten().take_rows(0, at.flatten()).reshape(&out.dims).value()
    })?;
    Ok(v.into())
}

/// `scatter` with a source tensor or a number, replacing or reducing by name.
fn scatter(cx: &mut Ctx) -> Lowered {
    let combine = match cx.text(4) {
        None => Combine::Set,
        Some("add") => Combine::Sum,
        Some("multiply") => Combine::Product,
        Some(other) => {
            return Err(LowerError::runtime(format!(
                "reduce argument must be either add or multiply, got {other}"
            )))
        }
    };
    into(cx, combine, true)
}

fn scatter_add(cx: &mut Ctx) -> Lowered {
    into(cx, Combine::Sum, true)
}

fn scatter_reduce(cx: &mut Ctx) -> Lowered {
    let combine = Combine::parse(cx, 4)?;
    let include_self = cx.bool(5);
    into(cx, combine, include_self)
}

fn into(cx: &mut Ctx, combine: Combine, include_self: bool) -> Lowered {
    let (x, index) = (cx.tensor(0)?, cx.tensor(2)?);
    let along = Along::new(cx, &x, &index)?;
    let source = match cx.args.get(3) {
        Some(Arg::Tensor(t)) => t.value,
        _ => cx.scalar(3, x.ty.dtype)?,
    };
    let from_number = !matches!(cx.args.get(3), Some(Arg::Tensor(_)));
    if along.is_empty() {
        return Ok(x.value.into());
    }
    let site = cx.op;
    let v = cx.math(|m| {
        let x = m.expr(x.value);
        let source = m.expr(source);
        let source = if from_number { source.broadcast(&along.index) } else { front(source, &along.index) };
        let at = along.positions(m, index.value, site);
        let put = |kind: ScatterKind, base: Expr<'_>, updates: Expr<'_>| {
            let (base, updates) = (m.expr(base.value()), m.expr(updates.value()));
            base.put_flat(kind, at, updates).value()
        };
        reduce_into(x, source, combine, include_self, put).value()
    })?;
    Ok(v.into())
}
