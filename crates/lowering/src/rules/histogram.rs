//! Histograms by bin edges, of one dim or many.
//!
//! A bin holds its left edge; the last one its right edge as well. What lies outside counts nowhere.

use tnrs_hlo::{ReduceKind, ScatterKind, Value};
use tnrs_types::{DType, Dims, Scalar};

use crate::expr::{Expr, Math};
use crate::helpers::Lowered;
use crate::{Arg, Ctx, LowerError, Outcome, Ret, Row, Tensor};

/// Rows of this family.
pub(crate) const ROWS: &[Row] = &[
    Row::new("aten::histogram.bin_ct", by_count).infer_by_rule(),
    Row::new("aten::histogram.bins_tensor", by_edges).infer_by_rule(),
    Row::new("aten::_histogramdd_bin_edges", edges_of).infer_by_rule(),
    Row::new("aten::_histogramdd_from_bin_cts", dd_by_count).infer_by_rule(),
    Row::new("aten::_histogramdd_from_bin_tensors", dd_by_edges).infer_by_rule(),
];

/// Data as (elements, dims), weights as (elements).
struct Data {
    x: Value,
    dtype: DType,
    count: i64,
    dims: usize,
    weight: Option<Value>,
    density: bool,
}

impl Data {
    /// Of the tensor at 0 and the weight at a position, which the density flag follows.
    fn new(cx: &mut Ctx, weight: usize, flat: bool) -> Result<Data, LowerError> {
        let (x, w) = (cx.tensor(0)?, cx.opt_tensor(weight));
        let name = if flat { "torch.histogram" } else { "torch.histogramdd" };
        if !x.ty.dtype.is_float() || x.ty.dtype.size() == 1 {
            return Err(not_implemented(x.ty.dtype));
        }
        if !flat && x.ty.rank() < 2 {
            return Err(LowerError::runtime(format!(
                "{name}: input tensor should have at least 2 dimensions, but got {}",
                x.ty.rank()
            )));
        }
        let dims = if flat { 1 } else { x.ty.dims[x.ty.rank() - 1] };
        let lead: i64 = if flat { x.ty.numel() } else { x.ty.dims[..x.ty.rank() - 1].iter().product() };
        if let Some(w) = &w {
            if w.ty.dtype != x.ty.dtype {
                return Err(LowerError::runtime(format!(
                    "{name}: if weight tensor is provided, it should have the same dtype as input"
                )));
            }
            let wanted = if flat { &x.ty.dims[..] } else { &x.ty.dims[..x.ty.rank() - 1] };
            if w.ty.dims[..] != *wanted {
                return Err(LowerError::runtime(format!(
                    "{name}: if weight tensor is provided it should have the same shape as the input tensor \
                     excluding its innermost dimension"
                )));
            }
        }
        let rows = cx.b.reshape(x.value, &[lead, dims])?;
        let weight = match w {
            Some(w) => Some(cx.b.reshape(w.value, &[lead])?),
            None => None,
        };
        // The last argument in every overload.
        let density = cx.bool(cx.args.len() - 1);
        Ok(Data { x: rows, dtype: x.ty.dtype, count: lead, dims: dims as usize, weight, density })
    }

    fn column<'m>(&self, m: &'m Math, d: usize) -> Expr<'m> {
        m.expr(self.x).steps(1, d as i64, d as i64 + 1, 1).reshape(&[self.count])
    }
}

/// As the CPU, which has no kernel for some types.
fn not_implemented(dtype: DType) -> LowerError {
    LowerError::unsupported(format!("\"histogramdd\" not implemented for '{}'", dtype.hlo_name()))
}

fn require_bins(bins: &[i64]) -> Result<(), LowerError> {
    match bins.iter().find(|b| **b <= 0) {
        Some(b) => Err(LowerError::runtime(format!("torch.histogramdd(): bins must be > 0, but got {b}"))),
        None => Ok(()),
    }
}

/// The stated range, if any: a pair for every dim.
fn range(cx: &Ctx, i: usize, dims: usize) -> Result<Option<Vec<f64>>, LowerError> {
    let v = match cx.args.get(i) {
        Some(Arg::Floats(v)) => v.clone(),
        Some(Arg::Ints(v)) => v.iter().map(|&i| i as f64).collect(),
        _ => return Ok(None),
    };
    if v.len() != 2 * dims {
        return Err(LowerError::runtime(format!(
            "torch.histogramdd(): for a {dims}-dimensional histogram range should have {} elements, but got {}",
            2 * dims,
            v.len()
        )));
    }
    for pair in v.chunks(2) {
        if !pair[0].is_finite() || !pair[1].is_finite() {
            return Err(LowerError::runtime(format!(
                "torch.histogramdd(): range of [{}, {}] is not finite",
                pair[0], pair[1]
            )));
        }
        if pair[0] > pair[1] {
            return Err(LowerError::runtime(format!(
                "torch.histogramdd(): min should not exceed max, but got min {} max {}",
                pair[0], pair[1]
            )));
        }
    }
    Ok(Some(v))
}

/// Edges of `bins` equal bins, over the range or what the data covers.
fn equal_edges<'m>(x: Expr<'m>, bins: i64, range: Option<&[f64]>) -> Expr<'m> {
    let m = x.math();
    let dtype = x.dtype();
    let x = x.cast(dtype.opmath());
    let fixed = |v: f64| m.splat(x.dtype(), &[], Scalar::Float(v));
    let (lo, hi) = match range {
        Some(r) => (fixed(r[0]), fixed(r[1])),
        None if x.ty().numel() == 0 => (fixed(0.0), fixed(1.0)),
        None => {
            let (lo, hi) = (x.reduce(ReduceKind::Minimum, &[0]), x.reduce(ReduceKind::Maximum, &[0]));
            lo.is_finite()
                .and(hi.is_finite())
                .assert("torch.histogramdd: the range of a dimension is not finite");
            (lo, hi)
        }
    };
    // An empty range is widened by a half on each side.
    let same = lo.eq(hi);
    let (lo, hi) = (same.select(lo - 0.5, lo), same.select(hi + 0.5, hi));
    // As linspace: counted from the nearer end, so that both ends are exact.
    let step = (hi - lo) / bins as f64;
    let i = m.iota(x.dtype(), &[bins + 1], 0);
    let from_end = i.int(bins) - i;
    let low_half = i.lt(((bins + 1) / 2) as f64);
    low_half.select(lo + step * i, hi - step * from_end).cast(dtype)
}

/// How many edges are not above each element: a binary search of one comparison per bit.
pub(super) fn not_above<'m>(edges: Expr<'m>, x: Expr<'m>) -> Expr<'m> {
    let m = x.math();
    let n = edges.dims()[0];
    let mut found = m.splat(DType::I64, &x.dims(), Scalar::Int(0));
    let mut bit = 1i64 << (63 - n.max(1).leading_zeros());
    while bit > 0 {
        let next = found + found.int(bit);
        let exists = next.le(next.int(n));
        let at = (next - next.int(1)).min(next.int(n - 1));
        let passes = exists.and(edges.take_rows(0, at).le(x));
        found = passes.select(next, found);
        bit >>= 1;
    }
    found
}

/// Weights summed per cell of the grid that the edges make; divided by the sum and the cells' volumes for a density.
fn binned(m: &Math, data: &Data, edges: &[Value]) -> Value {
    let mut cell = m.splat(DType::I64, &[data.count], Scalar::Int(0));
    let mut inside = m.splat(DType::Bool, &[data.count], Scalar::Bool(true));
    let mut sizes = Dims::new();
    for (d, &e) in edges.iter().enumerate() {
        let (e, x) = (m.expr(e), data.column(m, d));
        let bins = e.dims()[0] - 1;
        sizes.push(bins);
        if bins == 0 {
            continue;
        }
        let bin = not_above(e, x) - cell.int(1);
        let bin = bin.min(bin.int(bins - 1));
        let (first, last) = (e.at(0, 0), e.at(0, bins));
        inside = inside.and(x.ge(first)).and(x.le(last));
        cell = cell * cell.int(bins) + bin;
    }
    let total: i64 = sizes.iter().product();
    let acc = data.dtype.opmath();
    let ones = m.splat(acc, &[data.count], Scalar::Int(1));
    let weight = data.weight.map_or(ones, |w| m.expr(w).cast(acc));
    let hist = m.splat(acc, &[total], Scalar::Int(0));
    let mut hist = if data.count > 0 && total > 0 {
        hist.put_rows(ScatterKind::Add, 0, inside.select(cell, -1.0), weight)
    } else {
        hist
    };
    if data.density {
        hist = hist / hist.sum(&[0]);
    }
    let mut hist = hist.reshape(&sizes);
    if data.density {
        for (d, &e) in edges.iter().enumerate() {
            let (e, bins) = (m.expr(e).cast(acc), sizes[d]);
            let widths = e.steps(0, 1, bins + 1, 1) - e.steps(0, 0, bins, 1);
            hist = hist / widths.along(d, &sizes);
        }
    }
    hist.cast(data.dtype).value()
}

fn equal(cx: &mut Ctx, data: &Data, bins: &[i64], range_at: usize) -> Result<Vec<Value>, LowerError> {
    require_bins(bins)?;
    if bins.len() != data.dims {
        return Err(LowerError::runtime(
            "histogramdd: The size of bins must be equal to the innermost dimension of the input.",
        ));
    }
    let range = range(cx, range_at, data.dims)?;
    // Where the data decides the range, the CPU has no kernel for 16 bits.
    if data.dtype.is_reduced_float() && range.is_none() && data.count > 0 {
        return Err(not_implemented(data.dtype));
    }
    cx.math(|m| {
        let edges = |(d, &n): (usize, &i64)| {
            equal_edges(data.column(m, d), n, range.as_ref().map(|r| &r[2 * d..2 * d + 2])).value()
        };
        bins.iter().enumerate().map(edges).collect()
    })
}

fn stated(data: &Data, bins: &[Tensor]) -> Result<Vec<Value>, LowerError> {
    if bins.len() != data.dims {
        return Err(LowerError::runtime(format!(
            "torch.histogramdd(): expected {} sequences of bin edges for a {}-dimensional histogram but got {}",
            data.dims,
            data.dims,
            bins.len()
        )));
    }
    for t in bins {
        if t.ty.dtype != data.dtype {
            return Err(LowerError::runtime(
                "torch.histogramdd(): input tensor and bins tensors should have the same dtype",
            ));
        }
        if t.ty.rank() != 1 || t.ty.numel() == 0 {
            return Err(LowerError::runtime(format!(
                "torch.histogramdd(): bins tensor should have one dimension and at least 1 element, got {:?}",
                t.ty.dims.as_slice()
            )));
        }
    }
    Ok(bins.iter().map(|t| t.value).collect())
}

fn by_count(cx: &mut Ctx) -> Lowered {
    let data = Data::new(cx, 3, true)?;
    let bins = [cx.int(1)?];
    let edges = equal(cx, &data, &bins, 2)?;
    let hist = cx.math(|m| binned(m, &data, &edges))?;
    Ok(Outcome::tensors(&[hist, edges[0]]))
}

fn by_edges(cx: &mut Ctx) -> Lowered {
    let data = Data::new(cx, 2, true)?;
    let edges = stated(&data, &[cx.tensor(1)?])?;
    let hist = cx.math(|m| binned(m, &data, &edges))?;
    Ok(Outcome::tensors(&[hist, edges[0]]))
}

fn edges_of(cx: &mut Ctx) -> Lowered {
    let data = Data::new(cx, 3, false)?;
    let bins = cx.ints(1).unwrap_or_default();
    let edges = equal(cx, &data, &bins, 2)?;
    Ok(Outcome { rets: vec![Ret::List(edges)], writes: Vec::new() })
}

fn dd_by_count(cx: &mut Ctx) -> Lowered {
    let data = Data::new(cx, 3, false)?;
    let bins = cx.ints(1).unwrap_or_default();
    let edges = equal(cx, &data, &bins, 2)?;
    Ok(cx.math(|m| binned(m, &data, &edges))?.into())
}

fn dd_by_edges(cx: &mut Ctx) -> Lowered {
    let data = Data::new(cx, 2, false)?;
    let edges = stated(&data, &cx.tensors(1)?)?;
    Ok(cx.math(|m| binned(m, &data, &edges))?.into())
}
