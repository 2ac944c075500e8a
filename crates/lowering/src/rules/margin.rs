//! Margin losses over classes.

use tnrs_hlo::Value;
use tnrs_types::{DType, Raises};

use super::nll::{reduction, Reduction};
use crate::expr::{Expr, Math};
use crate::helpers::Lowered;
use crate::{Ctx, LowerError, Row, Tensor};

/// Rows of this family.
pub(crate) const ROWS: &[Row] = &[
    Row::new("aten::multi_margin_loss", multi_margin).stat(&["p", "margin"]),
    Row::new("aten::multi_margin_loss_backward", multi_margin_backward)
        .stat(&["p", "margin"])
        .infer_by_rule(),
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
    let excess = is_target.select(0.0, (x - own + margin).max(0.0));
    let weight = weight.map(|w| m.expr(w).cast(x.dtype()).take_rows(0, t.flatten()).reshape(&[rows, 1]));
    Hinge { excess, is_target, weight }
}

fn sizes(x: &Tensor) -> (i64, i64) {
    match x.ty.dims[..] {
        [n, c] => (n, c),
        [c] => (1, c),
        _ => (1, 1),
    }
}

/// p (1 or 2) and the margin, at a position.
fn options(cx: &Ctx, i: usize) -> Result<(bool, f64), LowerError> {
    Ok((cx.known(i)?.to_f64() == 2.0, cx.known(i + 1)?.to_f64()))
}

fn multi_margin(cx: &mut Ctx) -> Lowered {
    let (x, target, weight) = (cx.tensor(0)?, cx.tensor(1)?, cx.opt_tensor(4));
    let ((squared, margin), how) = (options(cx, 2)?, reduction(cx, 5)?);
    let ((rows, classes), site, out) = (sizes(&x), cx.op, cx.out(0)?);
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
    let ((rows, classes), site) = (sizes(&x), cx.op);
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
