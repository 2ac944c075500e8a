//! Whole slices along one dim, selected by a vector of positions.

use tnrs_hlo::{ScatterKind, Value};
use tnrs_types::{Dims, Raises};

use super::accumulate::{reduce_into, Combine};
use crate::expr::{Expr, Math};
use crate::helpers::{dim, Lowered};
use crate::layout::with_dim;
use crate::{Arg, Ctx, LowerError, Row, Tensor};

/// Rows of this family.
pub(crate) const ROWS: &[Row] = &[
    Row::new("aten::index_select", index_select)
        .exact_as("index_select(): self and result must have the same scalar type"),
    Row::new("aten::index_add", index_add).narrow(&["alpha"]).exact().unit(&["alpha"]),
    Row::new("aten::index_copy", |cx| index_into(cx, Combine::Set, true)).exact(),
    Row::new("aten::index_fill.int_Scalar", index_fill),
    Row::new("aten::index_fill.int_Tensor", index_fill),
    Row::new("aten::index_reduce", index_reduce),
];

/// Operand sizes with at least one dim, the dim, and the number of positions.
struct Along {
    dim: usize,
    operand: Dims,
    count: i64,
}

impl Along {
    fn new(cx: &Ctx, x: &Tensor) -> Result<(Along, Tensor), LowerError> {
        let index = cx.tensor(2)?;
        if index.ty.rank() > 1 {
            let name = cx.op.trim_start_matches("aten::");
            return Err(LowerError::Index(format!("{name}(): Index is supposed to be a vector")));
        }
        let operand = match x.ty.rank() {
            0 => Dims::from_slice(&[1]),
            _ => x.ty.dims.clone(),
        };
        let along = Along { dim: dim(cx.int(1)?, x.ty.rank())? as usize, operand, count: index.ty.numel() };
        Ok((along, index))
    }
    fn size(&self) -> i64 {
        self.operand[self.dim]
    }
    fn selected(&self) -> Dims {
        with_dim(&self.operand, self.dim, self.count)
    }
    fn positions<'m>(&self, m: &'m Math, index: Value, site: &'static str) -> Expr<'m> {
        // As PyTorch's loops do: those over slices raise another exception than those over elements.
        let raises = match site {
            "aten::index_add" if self.operand.len() > 1 => Raises::Runtime,
            "aten::index_select" if self.dim > 0 => Raises::Runtime,
            _ => Raises::Index,
        };
        m.expr(index).flatten().checked_as(raises, 0, self.size(), site, self.dim)
    }
}

fn index_select(cx: &mut Ctx) -> Lowered {
    let x = cx.tensor(0)?;
    let (along, index) = Along::new(cx, &x)?;
    let (site, out) = (cx.op, cx.out(0)?);
    let v = cx.math(|m| {
        let at = along.positions(m, index.value, site);
        m.expr(x.value).reshape(&along.operand).take_rows(along.dim, at).reshape(&out.dims).value()
    })?;
    Ok(v.into())
}

fn index_add(cx: &mut Ctx) -> Lowered {
    index_into(cx, Combine::Sum, true)
}

fn index_reduce(cx: &mut Ctx) -> Lowered {
    let combine = Combine::parse(cx, 4)?;
    let include_self = cx.bool(5);
    index_into(cx, combine, include_self)
}

fn index_into(cx: &mut Ctx, combine: Combine, include_self: bool) -> Lowered {
    let (x, source) = (cx.tensor(0)?, cx.tensor(3)?);
    let (along, index) = Along::new(cx, &x)?;
    // Only index_add has a number there: its alpha.
    let alpha = match cx.args.get(4) {
        Some(Arg::Scalar(_)) => cx.factor(4, x.ty.dtype.opmath())?,
        _ => None,
    };
    let site = cx.op;
    let v = cx.math(|m| {
        let [x, source] = m.exprs([x.value, source.value]);
        let source = source.reshape(&along.selected());
        let source = match alpha {
            Some(a) => source.cast(x.dtype().opmath()) * m.expr(a),
            None => source,
        };
        let at = along.positions(m, index.value, site);
        let put = |kind: ScatterKind, base: Expr<'_>, updates: Expr<'_>| {
            let (base, updates) = (m.expr(base.value()), m.expr(updates.value()));
            base.put_rows(kind, along.dim, at, updates).value()
        };
        let base = x.reshape(&along.operand);
        reduce_into(base, source, combine, include_self, put).reshape(&x.dims()).value()
    })?;
    Ok(v.into())
}

fn index_fill(cx: &mut Ctx) -> Lowered {
    let x = cx.tensor(0)?;
    let (along, index) = Along::new(cx, &x)?;
    let value = match cx.args.get(3) {
        Some(Arg::Tensor(t)) => t.value,
        _ => cx.scalar(3, x.ty.dtype)?,
    };
    let value = cx.cast(value, x.ty.dtype)?;
    let site = cx.op;
    let v = cx.math(|m| {
        let [x, value] = m.exprs([x.value, value]);
        let at = m.expr(index.value).flatten().wrapped(along.size(), site, along.dim);
        let updates = value.reshape(&[]).broadcast(&along.selected());
        x.reshape(&along.operand)
            .put_rows(ScatterKind::Set, along.dim, at, updates)
            .reshape(&x.dims())
            .value()
    })?;
    Ok(v.into())
}
