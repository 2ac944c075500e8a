//! The loss of connectionist temporal classification, as a routine: its graph would grow with the sequence.

use tnrs_hlo::{TensorType, Value};
use tnrs_types::{DType, Dims, Scalar};

use crate::helpers::Lowered;
use crate::{Ctx, LowerError, Outcome, Row, Tensor};

/// Rows of this family.
pub(crate) const ROWS: &[Row] = &[
    Row::new("aten::_ctc_loss", forward).infer_by_rule(),
    Row::new("aten::_ctc_loss_backward", backward).infer_by_rule(),
];

/// Checked operands: log-probabilities, targets, lengths.
struct Problem {
    operands: [Value; 4],
    ty: TensorType,
    longest: i64,
}

/// From the positions of log-probabilities (targets and the two lists of lengths follow) and of the blank.
fn problem(cx: &mut Ctx, first: usize, blank: usize) -> Result<Problem, LowerError> {
    let (x, targets) = (cx.tensor(first)?, cx.tensor(first + 1)?);
    let lists = [first + 2, first + 3].map(|i| cx.ints(i).unwrap_or_default());
    let blank = cx.int(blank)?;
    check(&x, &targets, &lists, blank)?;
    let lengths = |cx: &mut Ctx, list: &Dims| cx.math(|m| m.ints(list).value());
    let inputs = lengths(cx, &lists[0])?;
    let targets_of = lengths(cx, &lists[1])?;
    let sequence = cx.cast(targets.value, DType::I64)?;
    let longest = lists[1].iter().copied().max().unwrap_or(0);
    Ok(Problem { operands: [x.value, sequence, inputs, targets_of], ty: x.ty, longest })
}

fn check(x: &Tensor, targets: &Tensor, lists: &[Dims; 2], blank: i64) -> Result<(), LowerError> {
    let fail = |text: String| Err(LowerError::Runtime(text));
    if x.ty.rank() != 3 {
        return fail(format!(
            "Expected 3-dimensional log_probs, got {:?} for ctc_loss",
            x.ty.dims.as_slice()
        ));
    }
    if !matches!(x.ty.dtype, DType::F32 | DType::F64) {
        return Err(LowerError::unsupported(format!(
            "\"ctc_loss\" not implemented for '{}'",
            x.ty.dtype.hlo_name()
        )));
    }
    let [time, batch, classes] = [0, 1, 2].map(|d| x.ty.dims[d]);
    if x.ty.numel() == 0 {
        return fail("log_probs tensor must not be empty".into());
    }
    if !matches!(targets.ty.dtype, DType::I32 | DType::I64) {
        return fail("targets must be of integer type, int or long".into());
    }
    if !(0..classes).contains(&blank) {
        return fail("blank must be in label range".into());
    }
    for (list, name) in lists.iter().zip(["input_lengths", "target_lengths"]) {
        if list.len() as i64 != batch {
            return fail(format!("{name} must be of size batch_size"));
        }
        if let Some(n) = list.iter().find(|n| **n < 0) {
            return fail(format!("Expected {name} to have value at least 0, but got value {n}"));
        }
    }
    if let Some(n) = lists[0].iter().find(|n| **n > time) {
        return fail(format!("Expected input_lengths to have value at most {time}, but got value {n}"));
    }
    let sizes = &targets.ty.dims;
    let fits = match sizes[..] {
        [n] => n == lists[1].iter().sum::<i64>(),
        [rows, width] => rows == batch && lists[1].iter().all(|&n| n <= width),
        _ => false,
    };
    if !fits {
        return fail(format!(
            "Expected targets of (batch, longest target) or of the sum of target_lengths, got {:?} with \
             target_lengths {:?}",
            sizes.as_slice(),
            lists[1].as_slice()
        ));
    }
    Ok(())
}

fn forward(cx: &mut Ctx) -> Lowered {
    let p = problem(cx, 0, 4)?;
    let (dtype, dims) = (p.ty.dtype, &p.ty.dims);
    let results =
        [TensorType::new(dtype, &[dims[1]]), TensorType::new(dtype, &[dims[1], dims[0], 2 * p.longest + 1])];
    let r = cx.b.custom_call("ctc_loss", &[Scalar::Int(cx.int(4)?)], &p.operands, &results)?;
    Ok(Outcome::tensors(&[r[0], r[1]]))
}

fn backward(cx: &mut Ctx) -> Lowered {
    let p = problem(cx, 1, 7)?;
    let [dy, loss, alpha] = [cx.tensor(0)?, cx.tensor(5)?, cx.tensor(6)?];
    let attrs = [Scalar::Int(cx.int(7)?), Scalar::Bool(cx.bool(8))];
    let [x, targets, inputs, lengths] = p.operands;
    let dy = cx.b.broadcast_to(dy.value, &[p.ty.dims[1]])?;
    let operands = [dy, x, targets, inputs, lengths, loss.value, alpha.value];
    let r = cx.b.custom_call("ctc_loss_grad", &attrs, &operands, std::slice::from_ref(&p.ty))?;
    Ok(r[0].into())
}
