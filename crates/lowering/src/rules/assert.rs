//! Checks of data without a result.

use tnrs_hlo::Composite;
use tnrs_types::DType;

use crate::helpers::Lowered;
use crate::{Ctx, LowerError, Outcome, Row};

/// Rows of this family.
pub(crate) const ROWS: &[Row] = &[
    Row::new("aten::_assert_async", assert).infer_by_rule(),
    Row::new("aten::_assert_async.msg", assert).infer_by_rule(),
];

/// A fault unless the one element is true.
fn assert(cx: &mut Ctx) -> Lowered {
    let x = cx.tensor(0)?;
    match x.ty.numel() {
        0 => return Err(LowerError::runtime("Boolean value of Tensor with no values is ambiguous")),
        1 => {}
        _ => {
            return Err(LowerError::runtime("Boolean value of Tensor with more than one value is ambiguous"))
        }
    }
    let message = match cx.text(1) {
        Some(text) => tnrs_hlo::intern(text),
        None => "Expected Tensor with single nonzero value, but got zero",
    };
    let holds = cx.cast(x.value, DType::Bool)?;
    let ty = cx.b.ty(holds).clone();
    cx.b.composite(Composite::Assert { message }, &[holds], &[ty])?;
    Ok(Outcome::default())
}
