//! Fused optimizer steps: one pass over parameter, gradient and state.
//!
//! The order of operations is that of PyTorch's fused CPU optimizers, except that a division by one number for the
//! whole array is a multiplication by its reciprocal, so results agree to a few units in the last place. Memory is the
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

/// Elements handled at a time. A shorter loop would be unrolled before it is vectorised, and then not be.
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

/// The numbers of an Adam step.
#[derive(Clone, Copy)]
struct Rates<M> {
    step_size: M,
    unbias: M,
    beta2: M,
    rest2: M,
    eps: M,
    decay: M,
    coefficient: M,
    scale: M,
    /// The first moment is nearer the end of the interpolation that it starts from.
    near: bool,
}

struct Adam<T>(PhantomData<T>);
impl<T: Elem> Adam<T> {
    /// `STRETCH` elements from `i`. Results wait in local arrays, so that the loop need not know what they overlap.
    #[inline(always)]
    unsafe fn stretch<const AMSGRAD: bool, const DECAY: u8>(a: &AdamArgs, r: &Rates<T::Math>, i: usize) {
        let at = |p: *const u8| p.cast::<T>().wrapping_add(i);
        let (g, p, m, v, top) = (at(a.g), at(a.p), at(a.m), at(a.v), at(a.vmax));
        for q in [g, p, m, v] {
            prefetch(q.cast(), size_of::<T>() * STRETCH);
        }
        let (mut p_out, mut m_out) = ([T::Math::ZERO; STRETCH], [T::Math::ZERO; STRETCH]);
        let (mut v_out, mut top_out) = ([T::Math::ZERO; STRETCH], [T::Math::ZERO; STRETCH]);
        // SAFETY: the contract of `AdamFn`, for `STRETCH` elements from `i`.
        unsafe {
            for j in 0..STRETCH {
                let mut x = g.add(j).read().load() * r.scale;
                let (mut p, m, v) = (p.add(j).read().load(), m.add(j).read().load(), v.add(j).read().load());
                if DECAY == 1 {
                    x = p.fma(r.decay, x);
                }
                if DECAY == 2 {
                    p = p * r.decay;
                }
                let m = r.coefficient.fma(x - m, if r.near { m } else { x });
                let v = v * r.beta2 + r.rest2 * x * x;
                let mut second = v;
                if AMSGRAD {
                    second = top.add(j).read().load().max(v);
                    top_out[j] = second;
                }
                let denominator = second.sqrt().fma(r.unbias, r.eps);
                p_out[j] = p + r.step_size * (m / denominator);
                m_out[j] = m;
                v_out[j] = v;
            }
            write::<T>(a.p_out, i, STRETCH, &p_out);
            write::<T>(a.m_out, i, STRETCH, &m_out);
            write::<T>(a.v_out, i, STRETCH, &v_out);
            if AMSGRAD {
                write::<T>(a.vmax_out, i, STRETCH, &top_out);
            }
        }
    }

    #[inline(always)]
    unsafe fn step<const AMSGRAD: bool, const DECAY: u8>(a: &AdamArgs) {
        let of = |x: f64| <T::Math as Real>::of(x);
        let correction1 = 1.0 - a.beta1.powf(a.step);
        let correction2 = 1.0 - a.beta2.powf(a.step);
        // Linear interpolation from the nearer end, as `lerp` does.
        let weight = of(1.0 - a.beta1);
        let near = 1.0 - a.beta1 < 0.5;
        let sign = if a.maximize { -1.0 } else { 1.0 };
        let rates = Rates {
            step_size: of(-(a.lr / correction1)),
            unbias: of(1.0 / correction2.sqrt()),
            beta2: of(a.beta2),
            rest2: of(1.0 - a.beta2),
            eps: of(a.eps),
            decay: of(if DECAY == 2 { 1.0 - a.lr * a.weight_decay } else { a.weight_decay }),
            coefficient: if near { weight } else { weight - T::Math::ONE },
            scale: of(sign / a.grad_scale),
            near,
        };
        let mut i = 0;
        while i + STRETCH <= a.n {
            // SAFETY: the contract of `AdamFn`.
            unsafe { Self::stretch::<AMSGRAD, DECAY>(a, &rates, i) };
            i += STRETCH;
        }
        let left = a.n - i;
        if left == 0 {
            return;
        }
        // The rest as a stretch of copies, filled up with zeros.
        let mut copies = [[T::store(T::Math::ZERO); STRETCH]; 5];
        let [p, g, m, v, top] = &mut copies;
        let at = |p: *const u8| p.cast::<T>().wrapping_add(i);
        let top_or_null = if AMSGRAD { top.as_mut_ptr().cast() } else { std::ptr::null_mut::<u8>() };
        let rest = AdamArgs {
            p: p.as_ptr().cast(),
            g: g.as_ptr().cast(),
            m: m.as_ptr().cast(),
            v: v.as_ptr().cast(),
            vmax: top_or_null,
            p_out: p.as_mut_ptr().cast(),
            m_out: m.as_mut_ptr().cast(),
            v_out: v.as_mut_ptr().cast(),
            vmax_out: top_or_null,
            ..*a
        };
        // SAFETY: `left` elements remain in every array, and every copy has room for `STRETCH`.
        unsafe {
            at(a.p).copy_to_nonoverlapping(p.as_mut_ptr(), left);
            at(a.g).copy_to_nonoverlapping(g.as_mut_ptr(), left);
            at(a.m).copy_to_nonoverlapping(m.as_mut_ptr(), left);
            at(a.v).copy_to_nonoverlapping(v.as_mut_ptr(), left);
            if AMSGRAD {
                at(a.vmax).copy_to_nonoverlapping(top.as_mut_ptr(), left);
            }
            Self::stretch::<AMSGRAD, DECAY>(&rest, &rates, 0);
            at(a.p_out).cast_mut().copy_from_nonoverlapping(p.as_ptr(), left);
            at(a.m_out).cast_mut().copy_from_nonoverlapping(m.as_ptr(), left);
            at(a.v_out).cast_mut().copy_from_nonoverlapping(v.as_ptr(), left);
            if AMSGRAD {
                at(a.vmax_out).cast_mut().copy_from_nonoverlapping(top.as_ptr(), left);
            }
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
        let sign = if a.maximize { -1.0 } else { 1.0 };
        let scale = of(sign / a.grad_scale);
        let with_buffer = !a.buf_out.is_null();
        let mut i = 0;
        while i < a.n {
            let count = (a.n - i).min(STRETCH);
            // SAFETY: the contract of `SgdFn`.
            unsafe {
                let mut g = read::<T>(a.g, i, count);
                let mut p = read::<T>(a.p, i, count);
                for j in 0..STRETCH {
                    g[j] = p[j].fma(decay, g[j] * scale);
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
