//! Optimizer steps. Formulas are those of `torch.optim` as its documentation states them.
//!
//! What depends only on scalars (bias corrections, step size) is computed in f64: `1 − β₂^step` loses four decimal
//! digits in f32.

use smallvec::SmallVec;
use tnrs_types::{CompareDir, DType, Scalar};

use super::decompose::Values;
use super::math::{add_c, mul_c, one_minus, opmath, spread};
use crate::{Builder, Composite, HloError, Value};

/// Operands of a step after the tensors: scalars, and what found_inf guards.
struct Tail {
    gradient: Value,
    skip: Option<Value>,
}

/// The gradient in the math type, unscaled and negated as asked, and whether the step is to be skipped.
fn tail(
    b: &mut Builder,
    gradient: Value,
    scaled: Option<&[Value]>,
    maximize: bool,
    math: DType,
) -> Result<Tail, HloError> {
    let mut g = b.convert(gradient, math)?;
    let mut skip = None;
    if let Some([grad_scale, found_inf]) = scaled {
        let scale = b.convert(*grad_scale, math)?;
        let scale = spread(b, scale, g)?;
        g = b.div(g, scale)?;
        let zero = b.splat_like(*found_inf, 0.0)?;
        skip = Some(b.compare(CompareDir::Ne, *found_inf, zero)?);
    }
    if maximize {
        g = b.neg(g)?;
    }
    Ok(Tail { gradient: g, skip })
}

/// A rank-0 f64 value as a tensor of the sizes of `like` in its element type.
fn scalar_like(b: &mut Builder, x: Value, like: Value) -> Result<Value, HloError> {
    let dtype = b.ty(like).dtype;
    let x = b.convert(x, dtype)?;
    spread(b, x, like)
}

/// The new states, or the old ones when the step is skipped.
fn guarded(b: &mut Builder, skip: Option<Value>, old: &[Value], new: &[Value]) -> Values {
    let mut results = SmallVec::new();
    for (o, n) in old.iter().zip(new) {
        let dtype = b.ty(*o).dtype;
        let n = b.convert(*n, dtype)?;
        results.push(match skip {
            Some(skip) => b.select(skip, *o, n)?,
            None => n,
        });
    }
    Ok(results)
}

/// Adam and AdamW.
pub fn adam(b: &mut Builder, x: &[Value], c: &Composite) -> Values {
    let Composite::AdamStep { beta1, beta2, weight_decay, eps, decoupled, amsgrad, maximize, scaled } = c
    else {
        unreachable!("called for AdamStep only")
    };
    let math = opmath(b, &x[..4]);
    let at = 4 + usize::from(*amsgrad);
    let step = b.convert(x[at], DType::F64)?;
    let lr = b.convert(x[at + 1], DType::F64)?;
    let scaled = scaled.then(|| &x[at + 2..]);
    let Tail { gradient: mut g, skip } = tail(b, x[1], scaled, *maximize, math)?;
    let mut p = b.convert(x[0], math)?;
    let m = b.convert(x[2], math)?;
    let v = b.convert(x[3], math)?;
    if *weight_decay != 0.0 {
        if *decoupled {
            let decay = mul_c(b, lr, *weight_decay)?;
            let keep = one_minus(b, decay)?;
            let keep = scalar_like(b, keep, p)?;
            p = b.mul(p, keep)?;
        } else {
            let decay = mul_c(b, p, *weight_decay)?;
            g = b.add(g, decay)?;
        }
    }
    let difference = b.sub(g, m)?;
    let move_by = mul_c(b, difference, 1.0 - beta1)?;
    let m = b.add(m, move_by)?;
    let kept = mul_c(b, v, *beta2)?;
    let square = b.mul(g, g)?;
    let new = mul_c(b, square, 1.0 - beta2)?;
    let v = b.add(kept, new)?;
    let mut old: SmallVec<[Value; 4]> = SmallVec::from_slice(&[x[0], x[2], x[3]]);
    let mut states: SmallVec<[Value; 4]> = SmallVec::from_slice(&[p, m, v]);
    let mut second = v;
    if *amsgrad {
        let top = b.convert(x[4], math)?;
        second = b.max(top, v)?;
        old.push(x[4]);
        states.push(second);
    }
    let correction1 = bias_correction(b, step, *beta1)?;
    let correction2 = bias_correction(b, step, *beta2)?;
    let step_size = b.div(lr, correction1)?;
    let step_size = scalar_like(b, step_size, p)?;
    let correction2 = b.sqrt(correction2)?;
    let correction2 = scalar_like(b, correction2, p)?;
    let root = b.sqrt(second)?;
    let corrected = b.div(root, correction2)?;
    let denominator = add_c(b, corrected, *eps)?;
    let direction = b.div(m, denominator)?;
    let update = b.mul(step_size, direction)?;
    states[0] = b.sub(p, update)?;
    guarded(b, skip, &old, &states)
}

/// `1 − βˢᵗᵉᵖ`.
fn bias_correction(b: &mut Builder, step: Value, beta: f64) -> Result<Value, HloError> {
    let beta = b.splat(DType::F64, &[], Scalar::Float(beta))?;
    let power = b.pow(beta, step)?;
    one_minus(b, power)
}

/// SGD with momentum.
pub fn sgd(b: &mut Builder, x: &[Value], c: &Composite) -> Values {
    let Composite::SgdStep { weight_decay, momentum, dampening, nesterov, maximize, first_step, scaled } = c
    else {
        unreachable!("called for SgdStep only")
    };
    let math = opmath(b, &x[..2]);
    let has_buffer = *momentum != 0.0;
    let at = 2 + usize::from(has_buffer);
    let lr = b.convert(x[at], DType::F64)?;
    let scaled = scaled.then(|| &x[at + 1..]);
    let Tail { gradient: mut g, skip } = tail(b, x[1], scaled, *maximize, math)?;
    let p = b.convert(x[0], math)?;
    if *weight_decay != 0.0 {
        let decay = mul_c(b, p, *weight_decay)?;
        g = b.add(g, decay)?;
    }
    let mut old: SmallVec<[Value; 2]> = SmallVec::from_slice(&[x[0]]);
    let mut states: SmallVec<[Value; 2]> = SmallVec::from_slice(&[p]);
    if has_buffer {
        let buffer = if *first_step {
            g
        } else {
            let buffer = b.convert(x[2], math)?;
            let kept = mul_c(b, buffer, *momentum)?;
            let new = mul_c(b, g, 1.0 - dampening)?;
            b.add(kept, new)?
        };
        g = if *nesterov {
            let ahead = mul_c(b, buffer, *momentum)?;
            b.add(g, ahead)?
        } else {
            buffer
        };
        old.push(x[2]);
        states.push(buffer);
    }
    let lr = scalar_like(b, lr, p)?;
    let update = b.mul(lr, g)?;
    states[0] = b.sub(p, update)?;
    guarded(b, skip, &old, &states)
}
