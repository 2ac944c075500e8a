//! f64 attention by the definition, one row of scores at a time.

use super::desc::{AttentionDesc, BackwardDesc, BackwardPtrs, ForwardPtrs, Strides4};
use crate::gemm::driver::Shared;
use crate::gemm::float::{Bf16, Elem, F16};
use crate::philox;
use crate::pool::Pool;
use tnrs_types::DType;

/// Element (b, h, r, d).
fn at(s: &Strides4, b: usize, h: usize, r: usize, d: usize) -> isize {
    b as isize * s.b + h as isize * s.h + r as isize * s.r + d as isize * s.d
}

/// Weights of one query before dropout, their sum's logarithm, and each weight's dropout factor.
///
/// # Safety
/// As [`forward`](super::forward).
unsafe fn weights(
    d: &AttentionDesc,
    p: &ForwardPtrs,
    (b, h, i): (usize, usize, usize),
    row: &mut [f64],
    factors: &mut [f64],
) -> f64 {
    let kv = h / (d.heads / d.kv_heads);
    let (q, k) = (p.q.cast::<f64>(), p.k.cast::<f64>());
    for (j, s) in row.iter_mut().enumerate() {
        let mut sum = 0.0;
        // SAFETY: the contract is the caller's.
        unsafe {
            for e in 0..d.head_dim {
                sum += *q.offset(at(&d.q, b, h, i, e)) * *k.offset(at(&d.k, b, kv, j, e));
            }
            *s = sum * d.scale;
            if let Some((dtype, strides)) = &d.bias {
                let o = at(strides, b, h, i, j);
                *s += match dtype {
                    DType::F64 => *p.bias.cast::<f64>().offset(o),
                    DType::BF16 => (*p.bias.cast::<Bf16>().offset(o)).get().into(),
                    DType::F16 => (*p.bias.cast::<F16>().offset(o)).get().into(),
                    _ => f64::from(*p.bias.cast::<f32>().offset(o)),
                };
            }
        }
        if d.causal && j > i {
            *s = f64::NEG_INFINITY;
        }
        let index = ((b * d.heads + h) * d.queries + i) * d.keys + j;
        factors[j] = 1.0;
        if d.dropout > 0.0 {
            let word = philox::word(p.seed, p.offset, index as u64);
            let uniform = (word >> 8) as f32 * (1.0 / 16_777_216.0);
            let kept = uniform < (1.0 - d.dropout) as f32;
            factors[j] = if kept { 1.0 / (1.0 - d.dropout) } else { 0.0 };
        }
    }
    let max = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let base = if max == f64::NEG_INFINITY { 0.0 } else { max };
    row.iter_mut().for_each(|s| *s = (*s - base).exp());
    let sum: f64 = row.iter().sum();
    let inverse = if sum == 0.0 { 0.0 } else { 1.0 / sum };
    row.iter_mut().for_each(|s| *s *= inverse);
    max + sum.ln()
}

/// [`forward`](super::forward) for F64.
///
/// # Safety
/// As [`forward`](super::forward).
pub(super) unsafe fn forward(pool: &Pool, d: &AttentionDesc, p: &ForwardPtrs) {
    let shared = Shared(std::ptr::from_ref(p).cast_mut());
    pool.run(d.batch * d.heads, &|bh, _| {
        // SAFETY: `p` outlives the job.
        let p = unsafe { &*shared.ptr() };
        let (b, h) = (bh / d.heads, bh % d.heads);
        let kv = h / (d.heads / d.kv_heads);
        let (mut row, mut factors) = (vec![0f64; d.keys], vec![0f64; d.keys]);
        for i in 0..d.queries {
            // SAFETY: the contract is the caller's; chunks own different heads of the results.
            unsafe {
                let lse = weights(d, p, (b, h, i), &mut row, &mut factors);
                *p.lse.cast::<f64>().add(bh * d.queries + i) = lse;
                for e in 0..d.value_dim {
                    let mut sum = 0.0;
                    for (j, (w, f)) in row.iter().zip(&factors).enumerate() {
                        sum += w * f * *p.v.cast::<f64>().offset(at(&d.v, b, kv, j, e));
                    }
                    *p.out.cast::<f64>().offset(at(&d.out, b, h, i, e)) = sum;
                }
            }
        }
    });
}

/// [`backward`](super::backward) for F64.
///
/// # Safety
/// As [`backward`](super::backward).
pub(super) unsafe fn backward(pool: &Pool, desc: &BackwardDesc, ptrs: &BackwardPtrs) {
    let d = &desc.forward;
    let shared = Shared(std::ptr::from_ref(ptrs).cast_mut());
    let heads = d.heads / d.kv_heads;
    pool.run(d.batch * d.kv_heads, &|chunk, _| {
        // SAFETY: `ptrs` outlives the job.
        let x = unsafe { &*shared.ptr() };
        let p = &x.forward;
        let (b, kv) = (chunk / d.kv_heads, chunk % d.kv_heads);
        let (mut row, mut factors) = (vec![0f64; d.keys], vec![0f64; d.keys]);
        let mut ds = vec![0f64; d.keys];
        let mut dk = vec![0f64; d.keys * d.head_dim];
        let mut dv = vec![0f64; d.keys * d.value_dim];
        let dout = x.dout.cast::<f64>();
        for h in kv * heads..(kv + 1) * heads {
            for i in 0..d.queries {
                // SAFETY: the contract is the caller's; chunks own different heads of the results.
                unsafe {
                    weights(d, p, (b, h, i), &mut row, &mut factors);
                    let g = |e: usize| *dout.offset(at(&desc.dout, b, h, i, e));
                    let mut delta = 0.0;
                    for j in 0..d.keys {
                        let mut dp = 0.0;
                        for e in 0..d.value_dim {
                            dp += g(e) * *p.v.cast::<f64>().offset(at(&d.v, b, kv, j, e));
                            dv[j * d.value_dim + e] += row[j] * factors[j] * g(e);
                        }
                        ds[j] = dp * factors[j];
                        delta += row[j] * ds[j];
                    }
                    for j in 0..d.keys {
                        ds[j] = row[j] * (ds[j] - delta);
                        if let Some((dtype, s)) = &desc.dbias {
                            let o = at(s, b, h, i, j);
                            match dtype {
                                DType::F64 => *x.dbias.cast::<f64>().offset(o) = ds[j],
                                _ => *x.dbias.cast::<f32>().offset(o) = ds[j] as f32,
                            }
                        }
                    }
                    for e in 0..d.head_dim {
                        let q = *p.q.cast::<f64>().offset(at(&d.q, b, h, i, e));
                        let mut dq = 0.0;
                        for j in 0..d.keys {
                            dq += ds[j] * *p.k.cast::<f64>().offset(at(&d.k, b, kv, j, e));
                            dk[j * d.head_dim + e] += ds[j] * q * d.scale;
                        }
                        *x.dq.cast::<f64>().offset(at(&desc.dq, b, h, i, e)) = dq * d.scale;
                    }
                }
            }
        }
        for j in 0..d.keys {
            for e in 0..d.head_dim {
                // SAFETY: as above.
                unsafe { *x.dk.cast::<f64>().offset(at(&desc.dk, b, kv, j, e)) = dk[j * d.head_dim + e] }
            }
            for e in 0..d.value_dim {
                // SAFETY: as above.
                unsafe { *x.dv.cast::<f64>().offset(at(&desc.dv, b, kv, j, e)) = dv[j * d.value_dim + e] }
            }
        }
    });
}
