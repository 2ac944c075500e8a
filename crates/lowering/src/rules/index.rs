//! Advanced indexing with integer tensors, and with a mask where the result's size does not depend on it.

use tnrs_hlo::{Composite, ReduceKind, ScatterKind, Value};
use tnrs_types::{contiguous_strides, inverse, DType, Dims, Scalar};

use crate::expr::{Expr, Math};
use crate::helpers::{broadcast_dims, Lowered};
use crate::{Arg, Ctx, LowerError, Outcome, Row, Tensor};

/// Rows of this family.
pub(crate) const ROWS: &[Row] = &[
    Row::new("aten::index.Tensor", index),
    Row::new("aten::_unsafe_index.Tensor", index),
    // PyTorch's meta kernel refuses a mask, whose element count it does not know.
    Row::new("aten::index_put", |cx| Ok(index_put(cx)?.into())).infer_by_rule(),
    Row::new("aten::_unsafe_index_put", |cx| Ok(index_put(cx)?.into())).infer_by_rule(),
    Row::new("aten::_index_put_impl_", |cx| Ok(Outcome::writes(vec![(0, 0, index_put(cx)?)]))),
    Row::new("aten::take", take).exact_as(
        "take(): self and out expected to have the same dtype, but got self.dtype = {want} and out.dtype = {got}",
    ),
    Row::new("aten::put", put),
    Row::new("aten::masked_scatter", masked_scatter).check(boolean_mask),
];

/// Which dims an index list selects, and how the rest is laid out around them.
struct Plan {
    /// Position and tensor of each index.
    indices: Vec<(usize, Tensor)>,
    /// Sizes of the indices broadcast together.
    grid: Dims,
    /// Dims of the operand with the indexed ones moved next to each other.
    perm: Dims,
    /// Where they stand in `perm`.
    at: usize,
    /// Operand sizes with the indexed dims merged into one.
    merged: Dims,
}

impl Plan {
    fn new(x: &Tensor, list: &[Option<Tensor>]) -> Result<Plan, LowerError> {
        let indices: Vec<(usize, Tensor)> =
            list.iter().enumerate().filter_map(|(d, t)| Some((d, t.clone()?))).collect();
        if let Some((_, t)) = indices.iter().find(|(_, t)| !matches!(t.ty.dtype, DType::I64 | DType::I32)) {
            return Err(LowerError::Index(format!(
                "tensors used as indices must be long, int, byte or bool tensors, got {}",
                t.ty.dtype.hlo_name()
            )));
        }
        let mut grid = Dims::new();
        for (_, t) in &indices {
            grid = broadcast_dims(&grid, &t.ty.dims)?;
        }
        let dims: Vec<usize> = indices.iter().map(|&(d, _)| d).collect();
        let (Some(&first), Some(&last)) = (dims.first(), dims.last()) else {
            return Err(LowerError::unsupported("indexing without any index"));
        };
        if last >= x.ty.rank() {
            return Err(LowerError::Index(format!(
                "too many indices for tensor of dimension {} (got {})",
                x.ty.rank(),
                last + 1
            )));
        }
        // Indices that are not next to each other put their grid in front, as in numpy.
        let at = if last + 1 - first == dims.len() { first } else { 0 };
        let mut perm: Dims = (0..x.ty.rank()).filter(|d| !dims.contains(d)).map(|d| d as i64).collect();
        perm.insert_many(at, dims.iter().map(|&d| d as i64));
        let size = |d: &i64| x.ty.dims[*d as usize];
        let mut merged: Dims = perm[..at].iter().map(size).collect();
        merged.push(dims.iter().map(|&d| x.ty.dims[d]).product());
        merged.extend(perm[at + dims.len()..].iter().map(size));
        Ok(Plan { indices, grid, perm, at, merged })
    }
    /// Positions in the merged dim, in the grid's sizes.
    fn positions<'m>(&self, m: &'m Math, x: &Tensor, site: &'static str) -> Expr<'m> {
        let sizes: Dims = self.indices.iter().map(|&(d, _)| x.ty.dims[d]).collect();
        let strides = contiguous_strides(&sizes);
        let mut sum: Option<Expr<'m>> = None;
        for (i, (d, t)) in self.indices.iter().enumerate() {
            let index = m.expr(t.value).wrapped(sizes[i], site, *d);
            let index = if strides[i] == 1 { index } else { index * index.int(strides[i]) };
            sum = Some(sum.map_or(index, |s| s + index));
        }
        sum.map_or_else(|| m.ints(&[]), |s| s.broadcast(&self.grid))
    }
    /// The operand with indexed dims adjacent and merged.
    fn merge<'m>(&self, x: Expr<'m>) -> Expr<'m> {
        x.transpose(&self.perm).reshape(&self.merged)
    }
    /// The inverse of [`Plan::merge`].
    fn restore<'m>(&self, y: Expr<'m>, dims: &[i64]) -> Expr<'m> {
        let apart: Dims = self.perm.iter().map(|&d| dims[d as usize]).collect();
        y.reshape(&apart).transpose(&inverse(&self.perm))
    }
    /// Sizes of what the indices select.
    fn selected(&self) -> Dims {
        crate::layout::splice(&self.merged, self.at, &self.grid)
    }
}

fn index_list(cx: &Ctx, i: usize) -> Result<Vec<Option<Tensor>>, LowerError> {
    match cx.args.get(i) {
        Some(Arg::Tensors(list)) => Ok(list.clone()),
        other => Err(LowerError::runtime(format!(
            "{}: argument {i} must be a list of index tensors, got {other:?}",
            cx.op
        ))),
    }
}

fn is_mask(t: &Tensor) -> bool {
    matches!(t.ty.dtype, DType::Bool | DType::U8)
}

fn has_mask(list: &[Option<Tensor>]) -> bool {
    list.iter().flatten().any(is_mask)
}

fn index(cx: &mut Ctx) -> Lowered {
    let (x, list) = (cx.tensor(0)?, index_list(cx, 1)?);
    if has_mask(&list) {
        return Err(LowerError::unsupported(format!("{}: the result's size depends on a mask", cx.op)));
    }
    if list.iter().all(Option::is_none) {
        return Ok(x.value.into());
    }
    let (plan, site) = (Plan::new(&x, &list)?, cx.op);
    let v = cx.math(|m| {
        let at = plan.positions(m, &x, site);
        plan.merge(m.expr(x.value)).take_rows(plan.at, at).value()
    })?;
    Ok(v.into())
}

/// The operand with `values` put where the indices say, or added there.
fn index_put(cx: &mut Ctx) -> Result<Value, LowerError> {
    let (x, list, values) = (cx.tensor(0)?, index_list(cx, 1)?, cx.tensor(2)?);
    let accumulate = cx.bool(3);
    if values.ty.dtype != x.ty.dtype {
        return Err(LowerError::Runtime(format!(
            "Index put requires the source and destination dtypes match, got {} for the destination and {} for the source.",
            x.ty.dtype.torch_name(),
            values.ty.dtype.torch_name()
        )));
    }
    if has_mask(&list) {
        return masked_put(cx, &x, &list, &values, accumulate);
    }
    if list.iter().all(Option::is_none) {
        return cx.math(|m| {
            let [x, v] = m.exprs([x.value, values.value]);
            let v = v.broadcast(&x.dims());
            (if accumulate { x + v } else { v }).value()
        });
    }
    let (plan, site) = (Plan::new(&x, &list)?, cx.op);
    let (kind, acc) =
        if accumulate { (ScatterKind::Add, x.ty.dtype.opmath()) } else { (ScatterKind::Set, x.ty.dtype) };
    cx.math(|m| {
        let [base, values] = m.exprs([x.value, values.value]).map(|e| e.cast(acc));
        let at = plan.positions(m, &x, site);
        let y = plan.merge(base).put_rows(kind, plan.at, at, values.broadcast(&plan.selected()));
        plan.restore(y, &x.ty.dims).cast(x.ty.dtype).value()
    })
}

/// `x[mask] = values`: the k-th selected element gets the k-th of `values`, or the only one.
fn masked_put(
    cx: &mut Ctx,
    x: &Tensor,
    list: &[Option<Tensor>],
    values: &Tensor,
    accumulate: bool,
) -> Result<Value, LowerError> {
    let found: Vec<(usize, &Tensor)> =
        list.iter().enumerate().filter_map(|(d, t)| Some((d, t.as_ref()?))).collect();
    let [(at, mask)] = found[..] else {
        return Err(LowerError::unsupported(format!("{}: a mask beside other indices", cx.op)));
    };
    let after = x
        .ty
        .rank()
        .checked_sub(at + mask.ty.rank())
        .filter(|_| x.ty.dims[at..at + mask.ty.rank()] == mask.ty.dims[..])
        .ok_or_else(|| {
            LowerError::Index(format!(
                "The shape of the mask {:?} at index {at} does not match the shape of the indexed tensor {:?}",
                mask.ty.dims.as_slice(),
                x.ty.dims.as_slice()
            ))
        })?;
    // The values' dim that counts selected elements: when it is absent or of size 1, one value serves all.
    let mut dims = values.ty.dims.clone();
    let mut counted = None;
    if let Some(counter) = dims.len().checked_sub(after + 1) {
        let n = dims.remove(counter);
        if n == 1 {
            dims.insert_many(counter, std::iter::repeat_n(1, mask.ty.rank()));
        } else {
            dims.insert_many(counter, mask.ty.dims.iter().copied());
            counted = Some((counter, n));
        }
    }
    let sizes = mask.ty.dims.clone();
    let mut mask_dims = mask.ty.dims.clone();
    mask_dims.extend(std::iter::repeat_n(1, after));
    cx.math(|m| {
        let [base, mask, values] = m.exprs([x.value, mask.value, values.value]);
        let mask = mask.cast(DType::Bool);
        let values = match counted {
            Some((counter, n)) => {
                let flat = mask.flatten();
                let order = super::rearrange::cumulative(flat.cast(DType::I64));
                let total = flat.cast(DType::I64).reduce(ReduceKind::Add, &[0]);
                total.eq(total.int(n)).assert(
                    "shape mismatch: the value tensor cannot be broadcast to the indexing result: the mask does not \
                     hold for as many elements as there are values",
                );
                let last = order.int((n - 1).max(0));
                let order = flat.select(order - order.int(1), 0.0).max(0.0).min(last);
                let low = vec![0; values.rank()];
                let mut high = low.clone();
                high[counter] = i64::from(n == 0);
                values.pad(Scalar::Int(0), &low, &high).take_rows(counter, order.reshape(&sizes))
            }
            None => values,
        };
        let mask = mask.reshape(&mask_dims);
        let values = values.reshape(&dims);
        let new = if accumulate { base + values } else { values };
        mask.select(new, base).value()
    })
}

fn take(cx: &mut Ctx) -> Lowered {
    let (x, index) = (cx.tensor(0)?, cx.tensor(1)?);
    let (n, site) = (x.ty.numel(), cx.op);
    let v = cx.math(|m| {
        let [x, index] = m.exprs([x.value, index.value]);
        x.flatten().take_rows(0, index.wrapped(n, site, 0)).value()
    })?;
    Ok(v.into())
}

fn put(cx: &mut Ctx) -> Lowered {
    let [x, index, source] = [cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?];
    let (n, site) = (x.ty.numel(), cx.op);
    let (kind, acc) =
        if cx.bool(3) { (ScatterKind::Add, x.ty.dtype.opmath()) } else { (ScatterKind::Set, x.ty.dtype) };
    let v = cx.math(|m| {
        let [x, source] = m.exprs([x.value, source.value]);
        let index = m.expr(index.value).wrapped(n, site, 0);
        x.cast(acc).put_flat(kind, index, source.cast(acc)).cast(x.dtype()).value()
    })?;
    Ok(v.into())
}

fn boolean_mask(cx: &Ctx) -> Result<(), LowerError> {
    match cx.tensor(1)?.ty.dtype {
        DType::Bool => Ok(()),
        other => Err(LowerError::Runtime(format!(
            "masked_scatter_ only supports boolean masks, but got mask with dtype {}",
            other.torch_name()
        ))),
    }
}

/// The i-th selected element gets the i-th element of the source.
fn masked_scatter(cx: &mut Ctx) -> Lowered {
    let [x, mask, source] = [cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?];
    let out = cx.out(0)?;
    let n = source.ty.numel();
    let v = cx.math(|m| {
        let [x, mask, source] = m.exprs([x.value, mask.value, source.value]);
        let mask = mask.broadcast(&out.dims).flatten();
        let counts = mask.cast(DType::I64);
        let op = Composite::Cumulative { dim: 0, kind: ReduceKind::Add };
        let ty = counts.ty();
        let order = m.composite(op, &[counts], &[ty]).map_or(counts, |r| r[0]);
        // One more element, so that an empty source can be indexed. Counts run from 1; 0 is an unselected element.
        let source = source.flatten().pad(Scalar::Int(0), &[0], &[1]);
        let at = mask.select(order, 0.0);
        at.le(at.int(n)).assert("Number of elements of source < number of ones in mask");
        let at = at.min(at.int(n));
        let taken = source.take_rows(0, (at - at.int(1)).max(0.0));
        let x = x.broadcast(&out.dims).flatten();
        mask.select(taken, x).reshape(&out.dims).value()
    })?;
    Ok(v.into())
}
