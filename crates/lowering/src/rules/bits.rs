//! Operators on the bits of numbers: mantissa and exponent, a hash.

use tnrs_hlo::ReduceKind;
use tnrs_types::{Class, DType};

use crate::helpers::{keep_dims, Lowered};
use crate::{Ctx, LowerError, Outcome, Row};

/// Rows of this family. PyTorch has no meta kernels for them.
pub const ROWS: &[Row] = &[
    Row::new("aten::frexp.Tensor", frexp).infer_by_rule(),
    Row::new("aten::hash_tensor", hash_tensor).infer_by_rule(),
];

/// (m, e) with x = m·2ᵉ and ½ ≤ |m| < 1; (x, 0) for zeros, infinities and NaN.
fn frexp(cx: &mut Ctx) -> Lowered {
    let x = cx.tensor(0)?;
    if !x.ty.dtype.is_float() {
        return Err(LowerError::runtime("torch.frexp() only supports floating-point dtypes"));
    }
    let compute = x.ty.dtype.opmath();
    let v = cx.cast(x.value, compute)?;
    // Bits of the stored mantissa, and of the exponent.
    let (integer, stored, width) = match compute {
        DType::F64 => (DType::I64, 52, 11),
        _ => (DType::I32, 23, 8),
    };
    let lift = stored + 2;
    let bias = (1i64 << (width - 1)) - 2;
    let mask = (1i64 << width) - 1;
    let least = 2f64.powi(1 - bias as i32 - 1);
    let (mantissa, exponent) = cx.math(|m| {
        let x = m.expr(v);
        let small = x.abs().lt(least);
        let bits = small.select(x * 2f64.powi(lift), x).bitcast(integer);
        let field = bits.shr_logical(f64::from(stored)).and(bits.int(mask));
        let e = field - bits.int(bias) - small.select(bits.int(lift.into()), 0.0);
        let keep = bits.int(!(mask << stored));
        let half = bits.and(keep).or(bits.int(bias << stored)).bitcast(compute);
        let plain = x.eq(0.0).or(x.is_finite().not());
        let e = plain.select(0.0, e);
        (plain.select(x, half).value(), e.cast(DType::I32).value())
    })?;
    let mantissa = cx.cast(mantissa, x.ty.dtype)?;
    Ok(Outcome::tensors(&[mantissa, exponent]))
}

/// The exclusive or over dims of the elements as 64-bit words: floats as f64.
fn hash_tensor(cx: &mut Ctx) -> Lowered {
    let x = cx.tensor(0)?;
    let mode = cx.int(3)?;
    if mode != 0 {
        return Err(LowerError::Runtime(format!("Unknown hash_tensor mode: {mode}")));
    }
    let dims = cx.reduced_dims(1, x.ty.rank())?;
    let named = cx.ints(1).is_some_and(|d| !d.is_empty());
    if x.ty.numel() == 0 {
        if !named {
            return Err(LowerError::Runtime(
                "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify the reduction \
                 dim with the 'dim' argument."
                    .to_owned(),
            ));
        }
        if let Some(d) = dims.iter().find(|&&d| x.ty.dims[d as usize] == 0) {
            return Err(LowerError::Index(format!(
                "hash_tensor: Expected reduction dim {d} to have non-zero size."
            )));
        }
    }
    let word = match x.ty.dtype.class() {
        Class::Bool | Class::Int => DType::I64,
        Class::Float => DType::F64,
        _ => return Err(LowerError::unsupported("complex operands")),
    };
    let v = cx.cast(x.value, word)?;
    let kept = keep_dims(&x.ty.dims, &dims);
    let keep = cx.bool(2);
    let v = cx.math(|m| {
        let bits = m.expr(v).bitcast(DType::U64).reduce(ReduceKind::Xor, &dims);
        (if keep { bits.reshape(&kept) } else { bits }).value()
    })?;
    Ok(v.into())
}
