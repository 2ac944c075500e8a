//! Distinct elements, or distinct slices along a dim, in ascending order or as they come.
//!
//! The elements are sorted; each that differs from its left neighbour begins a new value. NaN differs from itself.
//! Slices are first replaced by their ranks: columns pairwise, each pair by the rank of (left, right), until one is left.

use tnrs_hlo::{ReduceKind, ScatterKind};
use tnrs_types::{DType, Dims, Scalar};

use super::nonzero::{compact, front};
use crate::expr::{Expr, Math};
use crate::helpers::{dim, Lowered};
use crate::layout::moved;
use crate::{Ctx, LowerError, Outcome, Ret, Row, Tensor};

/// Rows of this family. Their sizes are nothing that a meta kernel could know.
pub(crate) const ROWS: &[Row] = &[
    Row::new("aten::_unique", |cx| unique(cx, true, cx.bool(2), None)).infer_by_rule(),
    Row::new("aten::_unique2", |cx| unique(cx, true, cx.bool(2), Some(cx.bool(3)))).infer_by_rule(),
    Row::new("aten::unique_dim", |cx| slices(cx, 1, true, cx.bool(3), cx.bool(4))).infer_by_rule(),
    Row::new("aten::unique_consecutive", consecutive).infer_by_rule(),
    Row::new("aten::unique_dim_consecutive", |cx| slices(cx, 1, false, cx.bool(2), cx.bool(3)))
        .infer_by_rule(),
];

fn consecutive(cx: &mut Ctx) -> Lowered {
    let (inverse, counts) = (cx.bool(1), cx.bool(2));
    let rank = cx.tensor(0)?.ty.rank();
    match cx.opt_int(3) {
        Some(d) if rank != 1 || dim(d, rank)? != 0 => slices(cx, 3, false, inverse, counts),
        _ => unique(cx, false, inverse, Some(counts)),
    }
}

/// Whether each position along dim 0 differs from the one before; the first does. The other dims stay.
fn begins<'m>(m: &'m Math, x: Expr<'m>) -> Expr<'m> {
    let n = x.dims()[0];
    let first = x.steps(0, 0, n.min(1), 1);
    let start = m.splat(DType::Bool, &first.dims(), Scalar::Bool(true));
    if n < 2 {
        return start;
    }
    let changes = x.steps(0, 1, n, 1).ne(x.steps(0, 0, n - 1, 1));
    m.concatenate(&[start, changes], 0)
}

/// How many of a bool hold up to each position along dim 0, less one.
fn ordinals<'m>(m: &'m Math, flags: Expr<'m>) -> Expr<'m> {
    let ones = flags.cast(DType::I64);
    let scan = tnrs_hlo::Composite::Cumulative { dim: 0, kind: ReduceKind::Add };
    let sums = m.composite(scan, &[ones], &[ones.ty()]).map_or(ones, |r| r[0]);
    sums - sums.int(1)
}

/// The rank of each element among the distinct ones of its column.
fn ranks<'m>(m: &'m Math, x: Expr<'m>) -> Expr<'m> {
    let dims = x.dims();
    let at = m.iota(DType::I64, &dims, 0);
    let sorted = m.sort(&[x, at], 0, false);
    let rank = ordinals(m, begins(m, sorted[0]));
    let base = m.splat(DType::I64, &dims, Scalar::Int(0));
    base.put_flat(ScatterKind::Set, sorted[1].flat_index(&dims, 0), rank)
}

/// How many positions each group has.
fn sizes<'m>(m: &'m Math, group: Expr<'m>) -> Expr<'m> {
    let dims = group.dims();
    let ones = m.splat(DType::I64, &dims, Scalar::Int(1));
    m.splat(DType::I64, &dims, Scalar::Int(0)).put_rows(ScatterKind::Add, 0, group, ones)
}

fn nothing(m: &Math) -> Ret {
    Ret::Tensor(m.splat(DType::I64, &[0], Scalar::Int(0)).value())
}

fn no_complex(x: &Tensor) -> Result<(), LowerError> {
    if x.ty.dtype.is_complex() {
        return Err(LowerError::unsupported("complex numbers, which have no order"));
    }
    Ok(())
}

/// Of all elements. `counts` is absent for the overload that does not return them.
fn unique(cx: &mut Ctx, sort: bool, inverse: bool, counts: Option<bool>) -> Lowered {
    let x = cx.tensor(0)?;
    if sort {
        no_complex(&x)?;
    }
    let n = x.ty.numel();
    let rets = cx.math(|m| {
        let flat = m.expr(x.value).flatten();
        let at = m.iota(DType::I64, &[n], 0);
        let (values, order) = match sort {
            true => {
                let sorted = m.sort(&[flat, at], 0, false);
                (sorted[0], Some(sorted[1]))
            }
            false => (flat, None),
        };
        let firsts = begins(m, values);
        let group = ordinals(m, firsts);
        let (distinct, count) = compact(m, firsts, values);
        let mut rets = vec![front(distinct.value(), count.value())];
        rets.push(match (inverse, order) {
            (false, _) => nothing(m),
            (true, None) => Ret::Tensor(group.reshape(&x.ty.dims).value()),
            (true, Some(order)) => {
                let base = m.splat(DType::I64, &[n], Scalar::Int(0));
                let back = base.put_rows(ScatterKind::Set, 0, order, group);
                Ret::Tensor(back.reshape(&x.ty.dims).value())
            }
        });
        match counts {
            None => {}
            Some(false) => rets.push(nothing(m)),
            Some(true) => rets.push(front(sizes(m, group).value(), count.value())),
        }
        rets
    })?;
    Ok(Outcome { rets, writes: Vec::new() })
}

/// Of the slices along a dim, argument `at`.
fn slices(cx: &mut Ctx, at: usize, sort: bool, inverse: bool, counts: bool) -> Lowered {
    let x = cx.tensor(0)?;
    no_complex(&x)?;
    let d = dim(cx.int(at)?, x.ty.rank())? as usize;
    let dims = match x.ty.rank() {
        0 => Dims::from_slice(&[1]),
        _ => x.ty.dims.clone(),
    };
    let n = dims[d];
    let zeros = dims.iter().filter(|&&s| s == 0).count();
    if zeros > usize::from(n == 0) {
        return Err(LowerError::runtime(
            "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied",
        ));
    }
    let rets = cx.math(|m| {
        let x = m.expr(x.value).reshape(&dims);
        let width: i64 = dims.iter().product::<i64>() / n.max(1);
        let table = x.transpose(&moved(dims.len(), d, 0)).reshape(&[n, width]);
        let positions = m.iota(DType::I64, &[n], 0);
        // The order of the positions, and which of them begins a slice in that order.
        let (order, firsts) = if n == 0 {
            (positions, positions.ne(positions))
        } else if sort {
            let mut key = ranks(m, table);
            while key.dims()[1] > 1 {
                let w = key.dims()[1];
                let (left, right) = (key.steps(1, 0, w - w % 2, 2), key.steps(1, 1, w, 2));
                let pairs = ranks(m, left * left.int(n) + right);
                key = match w % 2 {
                    0 => pairs,
                    _ => m.concatenate(&[pairs, key.steps(1, w - 1, w, 1)], 1),
                };
            }
            let sorted = m.sort(&[key.flatten(), positions], 0, false);
            (sorted[1], begins(m, sorted[0]))
        } else {
            (positions, begins(m, table).reduce(ReduceKind::Or, &[1]))
        };
        let ordinal = ordinals(m, firsts);
        let (at, count) = compact(m, firsts, order);
        let at = at.max(0.0).min((n - 1).max(0) as f64);
        let value = if n == 0 { x } else { x.take_rows(d, at) };
        let mut rets = vec![Ret::Bounded { value: value.value(), dim: d, count: count.value() }];
        rets.push(match inverse {
            true => {
                let base = m.splat(DType::I64, &[n], Scalar::Int(0));
                Ret::Tensor(base.put_rows(ScatterKind::Set, 0, order, ordinal).value())
            }
            false => nothing(m),
        });
        rets.push(match counts {
            true => front(sizes(m, ordinal).value(), count.value()),
            false => nothing(m),
        });
        rets
    })?;
    Ok(Outcome { rets, writes: Vec::new() })
}
