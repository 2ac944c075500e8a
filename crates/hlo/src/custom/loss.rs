//! Losses of sequences: connectionist temporal classification (Graves et al., 2006), by the names of PyTorch's
//! `_ctc_loss` and its backward.

use tnrs_types::{DType, Dims};

use super::{arity, ensure, CustomCall, Target};
use crate::TensorType;

/// Rows of this family.
pub(super) const TARGETS: &[Target] = &[
    // Operands: log-probabilities (time, batch, classes); targets i64, (batch, width) or all in one row; input lengths
    // and target lengths i64 (batch). Results: loss (batch); alpha (batch, time, 2·longest + 1), −∞ where unreached.
    Target { name: "ctc_loss", attrs: &["blank"], check: forward },
    // Operands: the loss's gradient (batch), the four of `ctc_loss`, loss and alpha. Result: the gradient of the
    // log-probabilities. `zero_infinity` drops batch elements whose loss is infinite.
    Target { name: "ctc_loss_grad", attrs: &["blank", "zero_infinity"], check: backward },
];

/// The operands that both share, and the sizes of the loss and of alpha's leading dims.
fn shared(x: &[&TensorType]) -> Option<(Dims, Dims)> {
    let [probabilities, targets, inputs, lengths] = x else { return None };
    let is_vector = |t: &TensorType| t.dtype == DType::I64 && t.dims[..] == [probabilities.dims[1]];
    let targets_fit = targets.dtype == DType::I64
        && match targets.dims[..] {
            [_] => true,
            [batch, _] => batch == probabilities.dims[1],
            _ => false,
        };
    let ok = probabilities.rank() == 3
        && matches!(probabilities.dtype, DType::F32 | DType::F64)
        && targets_fit
        && is_vector(inputs)
        && is_vector(lengths);
    let [time, batch] = [probabilities.dims[0], probabilities.dims[1]];
    ok.then(|| (Dims::from_slice(&[batch]), Dims::from_slice(&[batch, time])))
}

fn forward(_: &CustomCall, x: &[&TensorType], r: &[TensorType]) -> Result<(), String> {
    arity(x, 4, r, 2)?;
    let ok = x[0].rank() == 3
        && shared(x).is_some_and(|(loss, lead)| {
            r[0].dims == loss && r[1].rank() == 3 && r[1].dims[..2] == lead[..] && r[1].dims[2] % 2 == 1
        })
        && r.iter().all(|t| t.dtype == x[0].dtype);
    ensure(ok, "sizes of sequences, targets, lengths and results", x, r)
}

fn backward(_: &CustomCall, x: &[&TensorType], r: &[TensorType]) -> Result<(), String> {
    arity(x, 7, r, 1)?;
    let ok = x[1].rank() == 3
        && shared(&x[1..5]).is_some_and(|(loss, lead)| {
            x[0].dims == loss
                && x[5].dims == loss
                && x[6].rank() == 3
                && x[6].dims[..2] == lead[..]
                && x[6].dims[2] % 2 == 1
        })
        && [x[0], x[5], x[6], &r[0]].iter().all(|t| t.dtype == x[1].dtype)
        && r[0].dims == x[1].dims;
    ensure(ok, "sizes of sequences, targets, lengths and results", x, r)
}
