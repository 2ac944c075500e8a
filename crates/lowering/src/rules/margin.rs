//! Margin losses over classes.

use tnrs_hlo::{Composite, ReduceKind, ScatterKind, TensorType, Value};
use tnrs_types::{DType, Raises};

use super::nll::{reduction, Reduction};
use crate::expr::{Expr, Math};
use crate::helpers::Lowered;
use crate::{Ctx, LowerError, Outcome, Row, Tensor};

/// Rows of this family.
pub(crate) const ROWS: &[Row] = &[
    Row::new("aten::multi_margin_loss", multi_margin)
        .stat(&["p", "margin"])
        .check(|cx| multi_margin_sizes(cx, [0, 1, 4])),
    Row::new("aten::multi_margin_loss_backward", multi_margin_backward)
        .stat(&["p", "margin"])
        .infer_by_rule(),
    Row::new("aten::multilabel_margin_loss_forward", multilabel).infer_by_rule(),
    Row::new("aten::multilabel_margin_loss_backward", multilabel_backward).infer_by_rule(),
];

/// The hinge of every class against the target's score, which does not count itself.
struct Hinge<'m> {
    /// margin − x\[target\] + x, where positive, per row and class; 0 for the target.
    excess: Expr<'m>,
    /// Whether a class is the row's target.
    is_target: Expr<'m>,
    /// The target's weight per row, as a column; absent without weights.
    weight: Option<Expr<'m>>,
}

fn hinge<'m>(
    m: &'m Math,
    [x, target]: [Value; 2],
    weight: Option<Value>,
    (rows, classes): (i64, i64),
    margin: f64,
    site: &'static str,
) -> Hinge<'m> {
    let x = m.expr(x);
    let x = x.cast(x.dtype().opmath()).reshape(&[rows, classes]);
    let t = m.expr(target).reshape(&[rows, 1]).checked_as(Raises::Runtime, 0, classes, site, 1);
    let at = t.flat_index(&[rows, classes], 1);
    let own = x.flatten().take_rows(0, at.flatten()).reshape(&[rows, 1]);
    let is_target = m.iota(DType::I64, &[rows, classes], 1).eq(t);
    let distance = x - own + margin;
    // NaN counts as no excess.
    let excess = is_target.select(0.0, distance.gt(0.0).select(distance, 0.0));
    let weight = weight.map(|w| m.expr(w).cast(x.dtype()).take_rows(0, t.flatten()).reshape(&[rows, 1]));
    Hinge { excess, is_target, weight }
}

fn sizes(x: &TensorType) -> (i64, i64) {
    match x.dims[..] {
        [n, c] => (n, c),
        [c] => (1, c),
        _ => (1, 1),
    }
}

/// p (1 or 2) and the margin, at a position.
fn options(cx: &Ctx, i: usize) -> Result<(bool, f64), LowerError> {
    Ok((cx.known(i)?.to_f64() == 2.0, cx.known(i + 1)?.to_f64()))
}

/// Of the data, the target and the weight, at these positions.
fn multi_margin_sizes(cx: &Ctx, at: [usize; 3]) -> Result<(), LowerError> {
    let (x, target, weight) = (cx.tensor(at[0])?.ty, cx.tensor(at[1])?.ty, cx.opt_tensor(at[2]));
    let ((rows, classes), given) = (sizes(&x), x.dims.as_slice());
    let wrong = if given.len() > 2 || (!given.is_empty() && classes == 0) {
        format!("Expected non-empty vector or matrix with optional 0-dim batch size, but got: {given:?}")
    } else if target.rank() > 1 || target.numel() != rows {
        format!(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch \
             size). Expected target size [{rows}], but got {:?}. Input has shape {given:?}.",
            target.dims.as_slice()
        )
    } else if let Some(w) = weight.filter(|w| w.ty.rank() > 1 || w.ty.numel() != classes) {
        format!("inconsistent weight size, expected {classes} but got {:?}", w.ty.dims.as_slice())
    } else if target.dtype != DType::I64 {
        format!("expected scalar type Long but found {}", target.dtype.torch_name())
    } else {
        return Ok(());
    };
    Err(LowerError::Runtime(wrong))
}

fn multi_margin(cx: &mut Ctx) -> Lowered {
    let (x, target, weight) = (cx.tensor(0)?, cx.tensor(1)?, cx.opt_tensor(4));
    let ((squared, margin), how) = (options(cx, 2)?, reduction(cx, 5)?);
    let ((rows, classes), site, out) = (sizes(&x.ty), cx.op, cx.out(0)?);
    let weight = weight.map(|w| w.value);
    let v = cx.math(|m| {
        let h = hinge(m, [x.value, target.value], weight, (rows, classes), margin, site);
        let mut losses = if squared { h.excess * h.excess } else { h.excess };
        if let Some(w) = h.weight {
            losses = losses * w;
        }
        let losses = losses.sum(&[1]) / classes as f64;
        let loss = match how {
            Reduction::None => losses,
            Reduction::Sum => losses.sum(&[0]),
            Reduction::Mean => losses.sum(&[0]) / rows as f64,
        };
        loss.reshape(&out.dims).cast(out.dtype).value()
    })?;
    Ok(v.into())
}

fn multi_margin_backward(cx: &mut Ctx) -> Lowered {
    let [dy, x, target] = [cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?];
    let (weight, (squared, margin), how) = (cx.opt_tensor(5), options(cx, 3)?, reduction(cx, 6)?);
    let ((rows, classes), site) = (sizes(&x.ty), cx.op);
    let weight = weight.map(|w| w.value);
    let v = cx.math(|m| {
        let h = hinge(m, [x.value, target.value], weight, (rows, classes), margin, site);
        let acc = h.excess.dtype();
        let active = h.excess.gt(0.0);
        let slope = if squared { h.excess * 2.0 } else { active.cast(acc) };
        let slope = match h.weight {
            Some(w) => slope * w,
            None => slope,
        };
        let dy = m.expr(dy.value).cast(acc);
        let scale = match how {
            Reduction::None => dy.reshape(&[rows, 1]) / classes as f64,
            Reduction::Sum => dy.reshape(&[]) / classes as f64,
            Reduction::Mean => dy.reshape(&[]) / (classes * rows) as f64,
        };
        // What the other classes gain, the target loses.
        let own = -slope.sum(&[1]).reshape(&[rows, 1]);
        let g = h.is_target.select(own, slope) * scale;
        g.reshape(&x.ty.dims).cast(x.ty.dtype).value()
    })?;
    Ok(v.into())
}

/// A row's targets up to its first −1 as i64, and which ones count. Both are (rows, classes).
fn labels<'m>(
    m: &'m Math,
    target: Value,
    (rows, classes): (i64, i64),
    site: &'static str,
) -> (Expr<'m>, Expr<'m>) {
    let t = m.expr(target).reshape(&[rows, classes]).checked(-1, classes, site, 1);
    let ends = t.lt(0.0).cast(DType::I64);
    let op = Composite::Cumulative { dim: 1, kind: ReduceKind::Add };
    let ty = ends.ty();
    let ended = m.composite(op, &[ends], &[ty]).map_or(ends, |r| r[0]);
    (t, ended.eq(0.0))
}

/// Which classes are among a row's targets, (rows, classes).
fn targets_of<'m>(t: Expr<'m>, counts: Expr<'m>) -> Expr<'m> {
    let dims = t.dims();
    let at = counts.select(t.flat_index(&dims, 1), -1.0);
    t.int(0).put_flat(ScatterKind::Set, at, t.int(1)).ne(0.0)
}

fn multilabel_sizes(cx: &Ctx, x: &Tensor, target: &Tensor) -> Result<(i64, i64), LowerError> {
    let name = "Expected non-empty vector or matrix with optional 0-dim batch size";
    let dims = x.ty.dims.as_slice();
    if !(x.ty.rank() < 2 && x.ty.numel() > 0 || x.ty.rank() == 2 && dims[1] != 0) {
        return Err(LowerError::runtime(format!("{name}, but got: {dims:?}")));
    }
    let (rows, classes) = sizes(&x.ty);
    let fits = match x.ty.rank() {
        2 => target.ty.dims[..] == [rows, classes],
        _ => target.ty.rank() <= 1 && target.ty.numel() == classes,
    };
    if !fits {
        return Err(LowerError::runtime(format!(
            "inconsistent target size: {:?} for input of size: {dims:?}",
            target.ty.dims.as_slice()
        )));
    }
    if target.ty.dtype != DType::I64 {
        return Err(LowerError::runtime(format!(
            "{}: expected scalar type Long but found {}",
            cx.op,
            target.ty.dtype.hlo_name()
        )));
    }
    if !matches!(x.ty.dtype, DType::F32 | DType::F64) {
        return Err(LowerError::unsupported(format!(
            "\"multilabel_margin_loss\" not implemented for '{}'",
            x.ty.dtype.hlo_name()
        )));
    }
    Ok((rows, classes))
}

/// Every pair of a target j and another class i: 1 − x\[j\] + x\[i\], (rows, targets, classes), and which pairs count.
fn label_pairs<'m>(x: Expr<'m>, t: Expr<'m>, counts: Expr<'m>, is_target: Expr<'m>) -> (Expr<'m>, Expr<'m>) {
    let at = counts.select(t, 0.0).flat_index(&x.dims(), 1);
    let own = x.flatten().take_rows(0, at.flatten()).reshape(&x.dims());
    let excess = x.unsqueeze(1) - own.unsqueeze(2) + 1.0;
    let pairs = counts.unsqueeze(2).and(is_target.not().unsqueeze(1));
    (excess, pairs)
}

fn multilabel(cx: &mut Ctx) -> Lowered {
    let (x, target, how) = (cx.tensor(0)?, cx.tensor(1)?, reduction(cx, 2)?);
    let ((rows, classes), site) = (multilabel_sizes(cx, &x, &target)?, cx.op);
    let dtype = x.ty.dtype;
    let vector = x.ty.rank() < 2;
    let r = cx.math(|m| {
        let (t, counts) = labels(m, target.value, (rows, classes), site);
        let is_target = targets_of(t, counts);
        let x = m.expr(x.value).reshape(&[rows, classes]).cast(dtype.opmath());
        let (excess, pairs) = label_pairs(x, t, counts, is_target);
        // NaN is not above zero.
        let losses = pairs.and(excess.gt(0.0)).select(excess, 0.0).sum(&[1, 2]) / classes as f64;
        let loss = match how {
            Reduction::None if vector => losses.reshape(&[]),
            Reduction::None => losses,
            Reduction::Sum => losses.sum(&[0]),
            Reduction::Mean => losses.sum(&[0]) / rows as f64,
        };
        [loss.cast(dtype).value(), is_target.cast(dtype).reshape(&target.ty.dims).value()]
    })?;
    Ok(Outcome::tensors(&r))
}

fn multilabel_backward(cx: &mut Ctx) -> Lowered {
    let [dy, x, target] = [cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?];
    let (how, is_target) = (reduction(cx, 3)?, cx.tensor(4)?);
    let ((rows, classes), site) = (multilabel_sizes(cx, &x, &target)?, cx.op);
    let dtype = x.ty.dtype;
    let acc = dtype.opmath();
    let v = cx.math(|m| {
        let (t, counts) = labels(m, target.value, (rows, classes), site);
        let is_target = m.expr(is_target.value).reshape(&[rows, classes]).ne(0.0);
        let x = m.expr(x.value).reshape(&[rows, classes]).cast(acc);
        let (excess, pairs) = label_pairs(x, t, counts, is_target);
        let active = pairs.and(excess.gt(0.0)).cast(acc);
        let gains = active.sum(&[1]);
        // What the other classes gain, each target loses; a target listed twice loses twice.
        let at = counts.select(t.flat_index(&[rows, classes], 1), -1.0);
        let g = gains.put_flat(ScatterKind::Add, at, -active.sum(&[2]));
        let dy = m.expr(dy.value).cast(acc);
        let scale = match how {
            Reduction::None => dy.reshape(&[rows, 1]) / classes as f64,
            Reduction::Sum => dy.reshape(&[]) / classes as f64,
            Reduction::Mean => dy.reshape(&[]) / (classes * rows) as f64,
        };
        (g * scale).cast(dtype).value()
    })?;
    let v = cx.b.reshape(v, &x.ty.dims)?;
    Ok(v.into())
}
