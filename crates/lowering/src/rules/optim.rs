//! Fused optimizer steps: whole parameter lists in one program.

use tnrs_hlo::{Composite, TensorType, Value};
use tnrs_types::DType;

use crate::helpers::Lowered;
use crate::{Arg, Ctx, LowerError, Outcome, Row, Tensor};

/// Rows of this family.
pub const ROWS: &[Row] = &[
    Row::new("aten::_fused_adam_", |cx| adam(cx, false)).dynamic(&["lr"]),
    Row::new("aten::_fused_adam_.tensor_lr", |cx| adam(cx, false)),
    Row::new("aten::_fused_adamw_", |cx| adam(cx, true)).dynamic(&["lr"]),
    Row::new("aten::_fused_adamw_.tensor_lr", |cx| adam(cx, true)),
    Row::new("aten::_fused_sgd_", sgd).dynamic(&["lr"]),
    Row::new("aten::_fused_sgd_.tensor_lr", sgd),
    Row::new("aten::_fused_adagrad_", adagrad).dynamic(&["lr"]),
    Row::new("aten::_fused_adagrad_.tensor_lr", adagrad),
];

/// Element types of a step's numbers: f64 for f64 parameters, else f32.
fn number_type(p: &Tensor) -> DType {
    match p.ty.dtype {
        DType::F64 => DType::F64,
        _ => DType::F32,
    }
}

/// The learning rate, and the gradient scale and infinity flag where given.
type Rate = (Value, Option<(Value, Value)>);

/// The learning rate, gradient scale and infinity flag, each converted once per element type.
struct Numbers {
    lr: usize,
    scale: Option<(usize, usize)>,
    made: Vec<(DType, Rate)>,
}

impl Numbers {
    /// Of the arguments at these positions; scale and flag are used when both are present.
    fn new(cx: &Ctx, lr: usize, grad_scale: usize, found_inf: usize) -> Result<Self, LowerError> {
        let scale = match (cx.is_absent(grad_scale), cx.is_absent(found_inf)) {
            (false, false) => Some((grad_scale, found_inf)),
            (true, true) => None,
            _ => return Err(LowerError::unsupported("grad_scale and found_inf must be given together")),
        };
        Ok(Numbers { lr, scale, made: Vec::new() })
    }

    fn get(&mut self, cx: &mut Ctx, dtype: DType) -> Result<Rate, LowerError> {
        if let Some(&(_, rate)) = self.made.iter().find(|m| m.0 == dtype) {
            return Ok(rate);
        }
        let lr = scalar(cx, self.lr, dtype)?;
        let scale = match self.scale {
            Some((s, f)) => Some((scalar(cx, s, dtype)?, scalar(cx, f, dtype)?)),
            None => None,
        };
        self.made.push((dtype, (lr, scale)));
        Ok((lr, scale))
    }
}

/// A number, or a one-element tensor, as a rank-0 value.
fn scalar(cx: &mut Ctx, i: usize, dtype: DType) -> Result<Value, LowerError> {
    let v = cx.operand(i, dtype, dtype)?;
    Ok(cx.b.reshape(v, &[])?)
}

fn step_value(cx: &mut Ctx, steps: &[Tensor], k: usize, dtype: DType) -> Result<Value, LowerError> {
    let step = steps.get(k).ok_or_else(|| LowerError::runtime(format!("{}: too few state steps", cx.op)))?;
    let v = cx.cast(step.value, dtype)?;
    Ok(cx.b.reshape(v, &[])?)
}

/// Lists at these positions, of equal length.
fn lists<const N: usize>(cx: &Ctx, args: [usize; N]) -> Result<[Vec<Tensor>; N], LowerError> {
    let mut out: [Vec<Tensor>; N] = std::array::from_fn(|_| Vec::new());
    for (list, i) in out.iter_mut().zip(args) {
        *list = cx.tensors(i)?;
    }
    if out.iter().any(|l| l.len() != out[0].len()) {
        return Err(LowerError::runtime(format!("{}: tensor lists must have the same length", cx.op)));
    }
    Ok(out)
}

/// The gradient divided by its scale, as PyTorch leaves it in the gradient, unless an infinity was found.
fn unscaled(cx: &mut Ctx, g: &Tensor, scale: (Value, Value)) -> Result<Value, LowerError> {
    let compute = cx.b.ty(scale.0).dtype;
    let v = cx.cast(g.value, compute)?;
    let v = cx.math(|m| {
        let (g, s, found) = (m.expr(v), m.expr(scale.0), m.expr(scale.1));
        found.ne(0.0).select(g, g / s).value()
    })?;
    cx.fit(v, &g.ty)
}

fn adam(cx: &mut Ctx, decoupled: bool) -> Lowered {
    let [params, grads, means, squares] = lists(cx, [0, 1, 2, 3])?;
    let steps = cx.tensors(5)?;
    let amsgrad = cx.bool(11);
    let peaks = if amsgrad { cx.tensors(4)? } else { Vec::new() };
    let mut numbers = Numbers::new(cx, 6, 13, 14)?;
    let op = Composite::AdamStep {
        beta1: cx.float(7)?,
        beta2: cx.float(8)?,
        weight_decay: cx.float(9)?,
        eps: cx.float(10)?,
        decoupled,
        amsgrad,
        maximize: cx.bool(12),
        scaled: numbers.scale.is_some(),
    };
    let mut writes = Vec::new();
    for (k, p) in params.iter().enumerate() {
        let dtype = number_type(p);
        let (lr, scale) = numbers.get(cx, dtype)?;
        let step = step_value(cx, &steps, k, dtype)?;
        let mut state: Vec<(usize, &Tensor)> = vec![(0, p), (2, &means[k]), (3, &squares[k])];
        if amsgrad {
            let peak = peaks
                .get(k)
                .ok_or_else(|| LowerError::runtime(format!("{}: too few maximum second moments", cx.op)))?;
            state.push((4, peak));
        }
        let mut operands = vec![p.value, grads[k].value];
        operands.extend(state[1..].iter().map(|(_, t)| t.value));
        operands.extend([step, lr]);
        operands.extend(scale.iter().flat_map(|s| [s.0, s.1]));
        let types: Vec<TensorType> = state.iter().map(|(_, t)| t.ty.clone()).collect();
        let results = cx.b.composite(op.clone(), &operands, &types)?;
        writes.extend(state.iter().zip(results).map(|((arg, _), v)| (*arg, k, v)));
        if let Some(scale) = scale {
            writes.push((1, k, unscaled(cx, &grads[k], scale)?));
        }
    }
    Ok(Outcome::writes(writes))
}

fn sgd(cx: &mut Ctx) -> Lowered {
    let [params, grads] = lists(cx, [0, 1])?;
    let momentum = cx.float(4)?;
    let buffers = match cx.args.get(2) {
        Some(Arg::Tensors(_)) if momentum != 0.0 => cx.tensors(2)?,
        _ => Vec::new(),
    };
    let mut numbers = Numbers::new(cx, 5, 10, 11)?;
    let op = Composite::SgdStep {
        weight_decay: cx.float(3)?,
        momentum,
        dampening: cx.float(6)?,
        nesterov: cx.bool(7),
        maximize: cx.bool(8),
        first_step: cx.bool(9),
        scaled: numbers.scale.is_some(),
    };
    let mut writes = Vec::new();
    for (k, p) in params.iter().enumerate() {
        let (lr, scale) = numbers.get(cx, number_type(p))?;
        let mut state: Vec<(usize, &Tensor)> = vec![(0, p)];
        if momentum != 0.0 {
            let buffer = buffers
                .get(k)
                .ok_or_else(|| LowerError::runtime(format!("{}: too few momentum buffers", cx.op)))?;
            state.push((2, buffer));
        }
        let mut operands = vec![p.value, grads[k].value];
        operands.extend(state[1..].iter().map(|(_, t)| t.value));
        operands.push(lr);
        operands.extend(scale.iter().flat_map(|s| [s.0, s.1]));
        let types: Vec<TensorType> = state.iter().map(|(_, t)| t.ty.clone()).collect();
        let results = cx.b.composite(op.clone(), &operands, &types)?;
        writes.extend(state.iter().zip(results).map(|((arg, _), v)| (*arg, k, v)));
        if let Some(scale) = scale {
            writes.push((1, k, unscaled(cx, &grads[k], scale)?));
        }
    }
    Ok(Outcome::writes(writes))
}

fn adagrad(cx: &mut Ctx) -> Lowered {
    let [params, grads, sums, steps] = lists(cx, [0, 1, 2, 3])?;
    let (decay, weight_decay, eps) = (cx.float(5)?, cx.float(6)?, cx.float(7)?);
    let maximize = cx.bool(8);
    let mut numbers = Numbers::new(cx, 4, 9, 10)?;
    let mut writes = Vec::new();
    for (k, p) in params.iter().enumerate() {
        let dtype = number_type(p);
        let (lr, scale) = numbers.get(cx, dtype)?;
        let step = step_value(cx, &steps, k, dtype)?;
        let grad = match scale {
            Some(scale) => {
                let g = unscaled(cx, &grads[k], scale)?;
                writes.push((1, k, g));
                g
            }
            None => grads[k].value,
        };
        let values = [p.value, grad, sums[k].value];
        let mut wide = values;
        for (w, v) in wide.iter_mut().zip(values) {
            *w = cx.cast(v, dtype)?;
        }
        let (new_p, new_sum) = cx.math(|m| {
            let [p, g, sum] = m.exprs(wide);
            let (lr, step) = (m.expr(lr), m.expr(step));
            let rate = lr / ((step - 1.0) * decay + 1.0);
            let g = if maximize { -g } else { g };
            let g = if weight_decay != 0.0 { g + p * weight_decay } else { g };
            let new_sum = sum + g * g;
            let new_p = p - rate * g / (new_sum.sqrt() + eps);
            match scale {
                Some((_, found)) => {
                    let skip = m.expr(found).ne(0.0);
                    (skip.select(p, new_p).value(), skip.select(sum, new_sum).value())
                }
                None => (new_p.value(), new_sum.value()),
            }
        })?;
        writes.push((0, k, cx.fit(new_p, &p.ty)?));
        writes.push((2, k, cx.fit(new_sum, &sums[k].ty)?));
    }
    Ok(Outcome::writes(writes))
}
