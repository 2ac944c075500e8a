//! Fused optimizer steps: one pass over parameter, gradient and state.
//!
//! The order of operations is that of PyTorch's fused CPU optimizers, so results agree to the last bits. Memory is the
//! limit, so each stretch asks for its successors in every array ahead of time.

use std::marker::PhantomData;
use std::mem::size_of;

use tnrs_types::DType;

use crate::isa::{self, entry, prefetch_line, Isa};
use crate::math::elem::Elem;
use crate::math::half::{Bf16, F16};
use crate::math::real::Real;

/// One Adam or AdamW step over `n` elements of one type. The output pointers may equal their inputs.
#[derive(Clone, Copy, Debug)]
pub struct AdamArgs {
    /// Parameter in.
    pub p: *const u8,
    /// Gradient.
    pub g: *const u8,
    /// First moment in.
    pub m: *const u8,
    /// Second moment in.
    pub v: *const u8,
    /// Maximum of second moments in; null without amsgrad.
    pub vmax: *const u8,
    /// Parameter out.
    pub p_out: *mut u8,
    /// First moment out.
    pub m_out: *mut u8,
    /// Second moment out.
    pub v_out: *mut u8,
    /// Maximum of second moments out; null without amsgrad.
    pub vmax_out: *mut u8,
    /// Elements.
    pub n: usize,
    /// Learning rate.
    pub lr: f64,
    /// β₁.
    pub beta1: f64,
    /// β₂.
    pub beta2: f64,
    /// Added to the denominator.
    pub eps: f64,
    /// Weight decay.
    pub weight_decay: f64,
    /// Number of this step, from 1.
    pub step: f64,
    /// The gradient is divided by this (1 without a gradient scaler).
    pub grad_scale: f64,
    /// AdamW: decay applied to the parameter, not the gradient.
    pub decoupled: bool,
    /// Ascend.
    pub maximize: bool,
}

/// One SGD step over `n` elements of one type. The output pointers may equal their inputs.
#[derive(Clone, Copy, Debug)]
pub struct SgdArgs {
    /// Parameter in.
    pub p: *const u8,
    /// Gradient.
    pub g: *const u8,
    /// Momentum buffer in; null without momentum.
    pub buf: *const u8,
    /// Parameter out.
    pub p_out: *mut u8,
    /// Momentum buffer out; null without momentum.
    pub buf_out: *mut u8,
    /// Elements.
    pub n: usize,
    /// Learning rate.
    pub lr: f64,
    /// Weight decay.
    pub weight_decay: f64,
    /// Momentum.
    pub momentum: f64,
    /// Dampening.
    pub dampening: f64,
    /// The gradient is divided by this (1 without a gradient scaler).
    pub grad_scale: f64,
    /// Nesterov momentum.
    pub nesterov: bool,
    /// Ascend.
    pub maximize: bool,
    /// The buffer becomes the gradient.
    pub first_step: bool,
}

/// An Adam step.
///
/// # Safety
/// Pointers must be valid for `n` elements; each output equals its own input or overlaps nothing.
pub type AdamFn = unsafe fn(args: &AdamArgs);

/// An SGD step.
///
/// # Safety
/// As [`AdamFn`].
pub type SgdFn = unsafe fn(args: &SgdArgs);

entry!(AdamBody, pick_adam, AdamFn, (args: &AdamArgs));
entry!(SgdBody, pick_sgd, SgdFn, (args: &SgdArgs));

/// Elements handled at a time.
const STRETCH: usize = 64;
/// How far ahead, in bytes, memory is asked for.
const AHEAD: usize = 1024;

/// A stretch of numbers in registers.
type Lane<M> = [M; STRETCH];

/// Reads up to `STRETCH` elements; the rest is 0.
#[inline(always)]
unsafe fn read<T: Elem>(p: *const u8, i: usize, count: usize) -> Lane<T::Math> {
    let p = p.cast::<T>().wrapping_add(i);
    let mut out = [T::Math::ZERO; STRETCH];
    // SAFETY: the caller's arrays hold `i + count` elements.
    unsafe {
        if count == STRETCH {
            prefetch(p.cast(), size_of::<T>() * STRETCH);
            for (j, o) in out.iter_mut().enumerate() {
                *o = p.add(j).read().load();
            }
        } else {
            for (j, o) in out.iter_mut().enumerate().take(count) {
                *o = p.add(j).read().load();
            }
        }
    }
    out
}

#[inline(always)]
fn prefetch(p: *const u8, bytes: usize) {
    let mut k = 0;
    while k < bytes {
        prefetch_line(p.wrapping_add(AHEAD + k));
        k += 64;
    }
}

/// Writes up to `STRETCH` elements.
#[inline(always)]
unsafe fn write<T: Elem>(p: *mut u8, i: usize, count: usize, v: &Lane<T::Math>) {
    let p = p.cast::<T>().wrapping_add(i);
    // SAFETY: the caller's arrays hold `i + count` elements.
    unsafe {
        if count == STRETCH {
            for (j, &x) in v.iter().enumerate() {
                p.add(j).write(T::store(x));
            }
        } else {
            for (j, &x) in v.iter().enumerate().take(count) {
                p.add(j).write(T::store(x));
            }
        }
    }
}

struct Adam<T>(PhantomData<T>);
impl<T: Elem> Adam<T> {
    #[inline(always)]
    unsafe fn step<const AMSGRAD: bool, const DECAY: u8>(a: &AdamArgs) {
        let of = |x: f64| <T::Math as Real>::of(x);
        let correction1 = 1.0 - a.beta1.powf(a.step);
        let correction2 = 1.0 - a.beta2.powf(a.step);
        let step_size = of(-(a.lr / correction1));
        let root2 = of(correction2.sqrt());
        let (beta2, rest2, eps) = (of(a.beta2), of(1.0 - a.beta2), of(a.eps));
        let decay = if DECAY == 2 { of(1.0 - a.lr * a.weight_decay) } else { of(a.weight_decay) };
        // Linear interpolation from the nearer end, as `lerp` does.
        let weight = of(1.0 - a.beta1);
        let near = 1.0 - a.beta1 < 0.5;
        let coefficient = if near { weight } else { weight - T::Math::ONE };
        let sign = if a.maximize { of(-1.0) } else { T::Math::ONE };
        let scale = of(a.grad_scale);
        let mut i = 0;
        while i < a.n {
            let count = (a.n - i).min(STRETCH);
            // SAFETY: the contract of `AdamFn`.
            unsafe {
                let mut g = read::<T>(a.g, i, count);
                let mut p = read::<T>(a.p, i, count);
                let mut m = read::<T>(a.m, i, count);
                let mut v = read::<T>(a.v, i, count);
                let mut top = if AMSGRAD { read::<T>(a.vmax, i, count) } else { v };
                for j in 0..STRETCH {
                    let mut x = g[j] / scale * sign;
                    if DECAY == 1 {
                        x = p[j].fma(decay, x);
                    }
                    if DECAY == 2 {
                        p[j] = p[j] * decay;
                    }
                    let base = if near { m[j] } else { x };
                    m[j] = coefficient.fma(x - m[j], base);
                    v[j] = v[j] * beta2 + rest2 * x * x;
                    let mut second = v[j];
                    if AMSGRAD {
                        top[j] = top[j].max(v[j]);
                        second = top[j];
                    }
                    let denominator = second.sqrt() / root2 + eps;
                    g[j] = p[j] + step_size * (m[j] / denominator);
                }
                write::<T>(a.p_out, i, count, &g);
                write::<T>(a.m_out, i, count, &m);
                write::<T>(a.v_out, i, count, &v);
                if AMSGRAD {
                    write::<T>(a.vmax_out, i, count, &top);
                }
            }
            i += count;
        }
    }
}
impl<T: Elem> AdamBody for Adam<T> {
    #[inline(always)]
    unsafe fn run(a: &AdamArgs) {
        let decay = match (a.weight_decay != 0.0, a.decoupled) {
            (false, _) => 0,
            (true, false) => 1,
            (true, true) => 2,
        };
        // SAFETY: the contract of `AdamFn`.
        unsafe {
            match (a.vmax.is_null(), decay) {
                (true, 0) => Self::step::<false, 0>(a),
                (true, 1) => Self::step::<false, 1>(a),
                (true, _) => Self::step::<false, 2>(a),
                (false, 0) => Self::step::<true, 0>(a),
                (false, 1) => Self::step::<true, 1>(a),
                (false, _) => Self::step::<true, 2>(a),
            }
        }
    }
}

struct Sgd<T>(PhantomData<T>);
impl<T: Elem> SgdBody for Sgd<T> {
    #[inline(always)]
    unsafe fn run(a: &SgdArgs) {
        let of = |x: f64| <T::Math as Real>::of(x);
        let (lr, decay, momentum) = (of(-a.lr), of(a.weight_decay), of(a.momentum));
        let rest = of(1.0 - a.dampening);
        let sign = if a.maximize { of(-1.0) } else { T::Math::ONE };
        let scale = of(a.grad_scale);
        let with_buffer = !a.buf_out.is_null();
        let mut i = 0;
        while i < a.n {
            let count = (a.n - i).min(STRETCH);
            // SAFETY: the contract of `SgdFn`.
            unsafe {
                let mut g = read::<T>(a.g, i, count);
                let mut p = read::<T>(a.p, i, count);
                for j in 0..STRETCH {
                    g[j] = p[j].fma(decay, g[j] / scale * sign);
                }
                if with_buffer {
                    let mut b = g;
                    if !a.first_step {
                        b = read::<T>(a.buf, i, count);
                        for j in 0..STRETCH {
                            b[j] = b[j].fma(momentum, g[j] * rest);
                        }
                    }
                    write::<T>(a.buf_out, i, count, &b);
                    if a.nesterov {
                        for j in 0..STRETCH {
                            g[j] = b[j].fma(momentum, g[j]);
                        }
                    } else {
                        g = b;
                    }
                }
                for j in 0..STRETCH {
                    p[j] = g[j].fma(lr, p[j]);
                }
                write::<T>(a.p_out, i, count, &p);
            }
            i += count;
        }
    }
}

/// The Adam step for arrays of `dtype` (f32, f64, bf16 or f16; reduced floats compute in f32).
pub fn adam_step(dtype: DType) -> Option<AdamFn> {
    adam_step_on(isa::current(), dtype)
}

/// [`adam_step`] for an instruction set.
pub fn adam_step_on(isa: Isa, dtype: DType) -> Option<AdamFn> {
    Some(match dtype {
        DType::F32 => pick_adam::<Adam<f32>>(isa),
        DType::F64 => pick_adam::<Adam<f64>>(isa),
        DType::BF16 => pick_adam::<Adam<Bf16>>(isa),
        DType::F16 => pick_adam::<Adam<F16>>(isa),
        _ => return None,
    })
}

/// The SGD step for arrays of `dtype` (f32, f64, bf16 or f16; reduced floats compute in f32).
pub fn sgd_step(dtype: DType) -> Option<SgdFn> {
    sgd_step_on(isa::current(), dtype)
}

/// [`sgd_step`] for an instruction set.
pub fn sgd_step_on(isa: Isa, dtype: DType) -> Option<SgdFn> {
    Some(match dtype {
        DType::F32 => pick_sgd::<Sgd<f32>>(isa),
        DType::F64 => pick_sgd::<Sgd<f64>>(isa),
        DType::BF16 => pick_sgd::<Sgd<Bf16>>(isa),
        DType::F16 => pick_sgd::<Sgd<F16>>(isa),
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
