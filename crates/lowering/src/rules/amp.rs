//! Gradient scaling for mixed precision.

use tnrs_hlo::{ReduceKind, Value};
use tnrs_types::{DType, Scalar};

use crate::helpers::Lowered;
use crate::{Ctx, Outcome, Row};

/// Rows of this family.
pub const ROWS: &[Row] = &[
    Row::new("aten::_amp_foreach_non_finite_check_and_unscale_", unscale),
    Row::new("aten::_amp_update_scale_", update_scale),
];

/// Multiplies every gradient by `inv_scale`; `found_inf` becomes 1 when any element was not finite.
fn unscale(cx: &mut Ctx) -> Lowered {
    let grads = cx.tensors(0)?;
    let found = cx.tensor(1)?;
    let inverse = cx.tensor(2)?;
    let mut writes = Vec::with_capacity(grads.len() + 1);
    let mut bad: Value = cx.number(Scalar::Bool(false), DType::Bool)?;
    for (k, g) in grads.iter().enumerate() {
        let compute = g.ty.dtype.opmath();
        let x = cx.cast(g.value, compute)?;
        let s = cx.cast(inverse.value, compute)?;
        let s = cx.b.reshape(s, &[])?;
        let dims: Vec<i64> = (0..g.ty.rank() as i64).collect();
        let (y, any) = cx.math(|m| {
            let x = m.expr(x);
            let any = x.is_finite().not().reduce(ReduceKind::Or, &dims);
            ((x * m.expr(s)).value(), any.or(m.expr(bad)).value())
        })?;
        bad = any;
        writes.push((0, k, cx.fit(y, &g.ty)?));
    }
    let v = cx.math(|m| m.expr(bad).select(1.0, m.expr(found.value)).value())?;
    writes.push((1, 0, cx.fit(v, &found.ty)?));
    Ok(Outcome::writes(writes))
}

/// Shrinks the scale after an infinity; grows it after an interval of good steps, unless that would overflow.
fn update_scale(cx: &mut Ctx) -> Lowered {
    let (scale, tracker, found) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
    let (growth, backoff) = (cx.float(3)?, cx.float(4)?);
    let interval = cx.int(5)? as f64;
    let (new_scale, new_tracker) = cx.math(|m| {
        let (s, n) = (m.expr(scale.value), m.expr(tracker.value));
        let bad = m.expr(found.value).ne(0.0).reshape(&s.dims());
        let next = n + 1.0;
        let due = next.eq(interval);
        let grown = s * growth;
        let good = due.reshape(&s.dims()).and(grown.is_finite()).select(grown, s);
        let good_n = due.select(0.0, next);
        (bad.select(s * backoff, good).value(), bad.reshape(&n.dims()).select(0.0, good_n).value())
    })?;
    let new_scale = cx.fit(new_scale, &scale.ty)?;
    let new_tracker = cx.fit(new_tracker, &tracker.ty)?;
    Ok(Outcome::writes(vec![(0, 0, new_scale), (1, 0, new_tracker)]))
}
