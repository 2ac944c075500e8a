//! Bags of embeddings: rows taken by index and reduced per bag; and the renormalisation of used rows.
//!
//! The bag of every index and the number of indices that count in each bag travel to the backward, as in PyTorch.

use tnrs_hlo::ScatterKind;
use tnrs_types::{DType, Raises, Scalar};

use super::rearrange::cumulative;
use crate::expr::{Expr, Math};
use crate::helpers::Lowered;
use crate::{Ctx, Outcome, Row};

/// Rows of this family.
pub(crate) const ROWS: &[Row] = &[
    Row::new("aten::_embedding_bag", forward),
    Row::new("aten::_embedding_bag_forward_only", forward),
    Row::new("aten::_embedding_bag_dense_backward", backward),
    Row::new("aten::_embedding_bag_per_sample_weights_backward", weights_backward),
    Row::new("aten::embedding_renorm_", renorm),
];

const MEAN: i64 = 1;
const MAX: i64 = 2;

/// The bag of every position, from where bags start.
fn bags<'m>(m: &'m Math, offsets: Expr<'m>, n: i64, count: i64) -> Expr<'m> {
    let starts = offsets.cast(DType::I64).steps(0, 0, count, 1);
    // A start at n, of an empty last bag, is out of range and dropped.
    let marks =
        m.splat(DType::I64, &[n], Scalar::Int(0)).put_rows(ScatterKind::Add, 0, starts, starts.int(1));
    let ordinal = cumulative(marks);
    ordinal - ordinal.int(1)
}

fn zeros<'m>(m: &'m Math, dtype: DType, dims: &[i64]) -> Expr<'m> {
    m.splat(dtype, dims, Scalar::Int(0))
}

/// A value per row beside rows of some width.
fn column(x: Expr<'_>) -> Expr<'_> {
    x.unsqueeze(x.rank())
}

fn forward(cx: &mut Ctx) -> Lowered {
    let [weight, indices, offsets] = [cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?];
    let (mode, scales, padding) = (cx.int(4)?, cx.opt_tensor(6), cx.int(8)?);
    let types = [cx.out(0)?, cx.out(1)?, cx.out(2)?, cx.out(3)?];
    // As the CPU does: a plain sum counts nothing, and the greatest elements' place holds the sizes otherwise.
    let plain = !matches!(mode, MEAN | MAX);
    let (count, width) = (types[0].dims[0], types[0].dims[1]);
    let (n, rows, site) = (indices.ty.numel(), weight.ty.dims[0], cx.op);
    let acc = weight.ty.dtype.opmath();
    let r = cx.math(|m| {
        let at = m.expr(indices.value).checked_as(Raises::Runtime, 0, rows, site, 0);
        let bag = bags(m, m.expr(offsets.value), n, count);
        // Padding counts in no bag: it goes to -1, which scatter drops.
        let counted = if padding >= 0 { at.eq(at.int(padding)).select(-1.0, bag) } else { bag };
        let sizes = zeros(m, DType::I64, &[count]).put_rows(ScatterKind::Add, 0, counted, bag.int(1));
        let mut taken = m.expr(weight.value).take_rows(0, at).cast(acc);
        if let Some(s) = scales {
            taken = taken * column(m.expr(s.value).cast(acc));
        }
        let (out, arg) = if mode == MAX {
            let least = m.splat(acc, &[count, width], Scalar::Float(f64::NEG_INFINITY));
            let best = least.put_rows(ScatterKind::Maximum, 0, counted, taken);
            // The first position whose element is the bag's maximum.
            let position = m.iota(DType::I64, &[n, width], 0);
            let hit = best.take_rows(0, bag).eq(taken).select(position, n as f64);
            let first = m.splat(DType::I64, &[count, width], Scalar::Int(n)).put_rows(
                ScatterKind::Minimum,
                0,
                counted,
                hit,
            );
            let found = first.lt(first.int(n));
            let source = at.pad(Scalar::Int(0), &[0], &[1]);
            (found.select(best, 0.0), source.take_rows(0, first))
        } else {
            let sum = zeros(m, acc, &[count, width]).put_rows(ScatterKind::Add, 0, counted, taken);
            let divisor = column(sizes.max(sizes.int(1))).cast(acc);
            let out = if mode == MEAN { sum / divisor } else { sum };
            (out, sizes)
        };
        let [sizes, arg] = if plain { [zeros(m, DType::I64, &[count]); 2] } else { [sizes, arg] };
        let bag = if types[1].numel() == 0 { zeros(m, DType::I64, &types[1].dims) } else { bag };
        [(out, 0), (bag, 1), (sizes, 2), (arg, 3)].map(|(v, i)| v.cast(types[i].dtype).value())
    })?;
    Ok(Outcome::tensors(&r))
}

fn backward(cx: &mut Ctx) -> Lowered {
    let (dy, indices) = (cx.tensor(0)?, cx.tensor(1)?);
    let [bag, sizes, arg] = [cx.tensor(2)?, cx.tensor(3)?, cx.tensor(4)?];
    let (by_frequency, mode) = (cx.bool(6), cx.int(7)?);
    let (scales, padding) = (cx.opt_tensor(8), cx.int(9)?);
    let out = cx.out(0)?;
    let acc = dy.ty.dtype.opmath();
    let v = cx.math(|m| {
        let dy = m.expr(dy.value).cast(acc);
        let base = zeros(m, acc, &out.dims);
        if mode == MAX {
            // What an empty bag names counts nowhere: a negative position is dropped.
            let flat = m.expr(arg.value).cast(DType::I64).flat_index(&out.dims, 0);
            let kept = column(m.expr(sizes.value)).eq(0.0).select(-1.0, flat);
            return base.put_flat(ScatterKind::Add, kept, dy).cast(out.dtype).value();
        }
        let indices = m.expr(indices.value).cast(DType::I64);
        let bag = m.expr(bag.value).cast(DType::I64);
        let mut rows = dy.take_rows(0, bag);
        if mode == MEAN {
            let sizes = m.expr(sizes.value).cast(DType::I64);
            let divisor = sizes.max(sizes.int(1)).take_rows(0, bag);
            rows = rows / column(divisor).cast(acc);
        }
        if let Some(s) = scales {
            rows = rows * column(m.expr(s.value).cast(acc));
        }
        if by_frequency {
            let ones = indices.int(1).cast(acc);
            let counts = zeros(m, acc, &[out.dims[0]]).put_rows(ScatterKind::Add, 0, indices, ones);
            rows = rows / column(counts.take_rows(0, indices));
        }
        let kept =
            if padding >= 0 { indices.eq(indices.int(padding)).select(-1.0, indices) } else { indices };
        base.put_rows(ScatterKind::Add, 0, kept, rows).cast(out.dtype).value()
    })?;
    Ok(v.into())
}

/// The gradient of the per-sample weights: each row's product with its bag's gradient.
fn weights_backward(cx: &mut Ctx) -> Lowered {
    let [dy, weight, indices] = [cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?];
    let [offsets, bag] = [cx.tensor(3)?, cx.tensor(4)?];
    let (n, count) = (indices.ty.numel(), dy.ty.dims[0]);
    let (padding, out) = (cx.int(6)?, cx.out(0)?);
    let acc = dy.ty.dtype.opmath();
    let v = cx.math(|m| {
        let indices = m.expr(indices.value).cast(DType::I64);
        let rows = m.expr(weight.value).take_rows(0, indices).cast(acc);
        // The forward of a plain sum does not say which bag an index is in.
        let bag = if bag.ty.numel() == n {
            m.expr(bag.value).cast(DType::I64)
        } else {
            bags(m, m.expr(offsets.value), n, count)
        };
        let grads = m.expr(dy.value).take_rows(0, bag).cast(acc);
        let dot = (rows * grads).sum(&[1]);
        indices.eq(indices.int(padding)).select(0.0, dot).cast(out.dtype).value()
    })?;
    Ok(v.into())
}

/// Rows that the indices name, scaled down to the greatest allowed norm.
fn renorm(cx: &mut Ctx) -> Lowered {
    let (weight, indices) = (cx.tensor(0)?, cx.tensor(1)?);
    let (limit, p) = (cx.float(2)?, cx.float(3)?);
    let (rows, site) = (weight.ty.dims[0], cx.op);
    let acc = weight.ty.dtype.opmath();
    let v = cx.math(|m| {
        let at = m.expr(indices.value).flatten().checked(0, rows, site, 0);
        let used =
            m.splat(DType::Bool, &[rows], Scalar::Bool(false)).put_rows(ScatterKind::Set, 0, at, at.eq(at));
        let w = m.expr(weight.value).cast(acc);
        let size = if acc.is_complex() { w.abs() } else { w };
        let norm = if p == 2.0 {
            (size * size).sum(&[1]).sqrt()
        } else if p == 1.0 {
            size.abs().sum(&[1])
        } else if p.is_infinite() {
            size.abs().reduce(tnrs_hlo::ReduceKind::Maximum, &[1])
        } else {
            size.abs().pow(p).sum(&[1]).pow(1.0 / p)
        };
        let factor = used.and(norm.gt(limit)).select(limit / (norm + 1e-7), 1.0);
        (w * column(factor).cast(acc)).cast(weight.ty.dtype).value()
    })?;
    Ok(Outcome::writes(vec![(0, 0, v)]))
}
