//! Elementwise work on blocks of scores. A block is `[row][W]`: one lane per column, so that all but the loads of
//! per-row numbers is vertical.

#![allow(clippy::needless_range_loop, reason = "lanes of several rows advance together")]

use crate::gemm::float::to_bf16;
use crate::isa::{entry, Isa};
use crate::math::exp::exp_nonpositive;

/// Forward block: rows are keys, lanes are queries.
pub(super) struct Softmax {
    /// Scores in, weights out.
    pub(super) s: *mut f32,
    /// Rows.
    pub(super) keys: usize,
    /// Key of the first row minus query of the first lane, when later keys are masked.
    pub(super) causal: Option<isize>,
    pub(super) scale: f32,
    /// Block of biases, or null.
    pub(super) bias: *const f32,
    /// Block of random words, or null.
    pub(super) words: *const u32,
    /// Probability of keeping a weight.
    pub(super) keep: f32,
    /// Per lane: greatest score so far.
    pub(super) max: *mut f32,
    /// Per lane: sum of exponentials so far.
    pub(super) sum: *mut f32,
    /// Per lane, out: factor that brings earlier sums to the new maximum.
    pub(super) correction: *mut f32,
    /// [`Loops::scale`].
    pub(super) raise: ScaleFn,
}

/// Backward block: rows are queries, lanes are keys.
pub(super) struct Gradient {
    /// Scores in, weights (as the forward multiplied them into v) out.
    pub(super) s: *mut f32,
    /// dout·vᵀ in, gradients of the scaled and biased scores out.
    pub(super) dp: *mut f32,
    /// Rows.
    pub(super) queries: usize,
    /// Lanes that are keys.
    pub(super) keys: usize,
    /// Query of the first row minus key of the first lane, when later keys are masked.
    pub(super) causal: Option<isize>,
    pub(super) scale: f32,
    /// Block of biases, or null.
    pub(super) bias: *const f32,
    /// Block of random words, or null.
    pub(super) words: *const u32,
    /// Probability of keeping a weight.
    pub(super) keep: f32,
    /// Per row: the forward's lse.
    pub(super) lse: *const f32,
    /// Per row: Σ dout·out.
    pub(super) delta: *const f32,
}

/// Turns products into scores (scaled, biased, masked) and raises each lane of `top` to its greatest.
pub(super) type ScaleFn = unsafe fn(&Softmax, top: *mut f32);
pub(super) type SoftmaxFn = unsafe fn(&Softmax);
pub(super) type GradientFn = unsafe fn(&Gradient);
/// Turns rows `[rows][W]` of f32 into `[rows/2][W]` of bf16 pairs, in place; an odd last row is paired with zeros.
pub(super) type PairFn = unsafe fn(block: *mut f32, rows: usize);
/// Multiplies each of `rows` rows by a row of factors.
pub(super) type RescaleFn = unsafe fn(block: *mut f32, rows: usize, factor: *const f32);

entry!(ScaleBody, pick_scale, ScaleFn, (x: &Softmax, top: *mut f32));
entry!(SoftmaxBody, pick_softmax, SoftmaxFn, (x: &Softmax));
entry!(GradientBody, pick_gradient, GradientFn, (x: &Gradient));
entry!(PairBody, pick_pair, PairFn, (block: *mut f32, rows: usize));
entry!(RescaleBody, pick_rescale, RescaleFn, (block: *mut f32, rows: usize, factor: *const f32));

/// The loops for one instruction set and block width.
#[derive(Clone, Copy)]
pub(super) struct Loops {
    pub(super) scale: ScaleFn,
    pub(super) softmax: SoftmaxFn,
    pub(super) gradient: GradientFn,
    pub(super) pair: PairFn,
    pub(super) rescale: RescaleFn,
}

impl Loops {
    /// Loops for blocks of `width` lanes (8, 16 or 32).
    pub(super) fn new(isa: Isa, width: usize) -> Loops {
        fn of<const W: usize>(isa: Isa) -> Loops {
            Loops {
                scale: pick_scale::<Lanes<W>>(isa),
                softmax: pick_softmax::<Lanes<W>>(isa),
                gradient: pick_gradient::<Lanes<W>>(isa),
                pair: pick_pair::<Lanes<W>>(isa),
                rescale: pick_rescale::<Lanes<W>>(isa),
            }
        }
        #[cfg(target_arch = "x86_64")]
        if isa == Isa::Avx512 && width == 32 {
            use super::scores512 as x;
            return Loops { scale: x::scale, rescale: x::rescale, ..of::<32>(isa) };
        }
        match width {
            8 => of::<8>(isa),
            16 => of::<16>(isa),
            _ => of::<32>(isa),
        }
    }
}

struct Lanes<const W: usize>;

/// Row `i` of a block.
///
/// # Safety
/// The row must be valid.
#[inline(always)]
unsafe fn row<'a, T, const W: usize>(block: *const T, i: usize) -> &'a [T; W] {
    // SAFETY: the contract is the caller's.
    unsafe { &*block.add(i * W).cast() }
}

/// Row `i` of a block, writable.
///
/// # Safety
/// The row must be valid and not otherwise borrowed.
#[inline(always)]
unsafe fn row_mut<'a, const W: usize>(block: *mut f32, i: usize) -> &'a mut [f32; W] {
    // SAFETY: the contract is the caller's.
    unsafe { &mut *block.add(i * W).cast() }
}

/// Whether a random word keeps its weight.
#[inline(always)]
fn kept(word: u32, keep: f32) -> bool {
    (word >> 8) as f32 * (1.0 / 16_777_216.0) < keep
}

impl<const W: usize> ScaleBody for Lanes<W> {
    #[inline(always)]
    unsafe fn run(x: &Softmax, top: *mut f32) {
        // SAFETY: the statistics have W lanes.
        let top = unsafe { row_mut::<W>(top, 0) };
        for i in 0..x.keys {
            // SAFETY: the blocks have `keys` rows.
            let s = unsafe { row_mut::<W>(x.s, i) };
            for v in s.iter_mut() {
                *v *= x.scale;
            }
            if !x.bias.is_null() {
                // SAFETY: as above.
                let bias = unsafe { row::<f32, W>(x.bias, i) };
                for l in 0..W {
                    s[l] += bias[l];
                }
            }
            if let Some(first) = x.causal {
                let key = (first + i as isize) as i32;
                if key > 0 {
                    for l in 0..W {
                        s[l] = if (l as i32) < key { f32::NEG_INFINITY } else { s[l] };
                    }
                }
            }
            for l in 0..W {
                top[l] = if s[l] > top[l] { s[l] } else { top[l] };
            }
        }
    }
}

impl<const W: usize> SoftmaxBody for Lanes<W> {
    #[inline(always)]
    unsafe fn run(x: &Softmax) {
        // SAFETY: the statistics have W lanes.
        let (max, sum, correction) =
            unsafe { (row_mut::<W>(x.max, 0), row_mut::<W>(x.sum, 0), row_mut::<W>(x.correction, 0)) };
        let mut top = *max;
        // SAFETY: the contract is the caller's.
        unsafe { (x.raise)(x, top.as_mut_ptr()) }
        // Without any score above -inf, subtracting 0 leaves every exponential 0.
        let mut base = top;
        for l in 0..W {
            base[l] = if top[l] == f32::NEG_INFINITY { 0.0 } else { top[l] };
            correction[l] = exp_nonpositive(max[l] - base[l]);
        }
        *max = top;
        let mut total = [0f32; W];
        let inverse = 1.0 / x.keep;
        for i in 0..x.keys {
            // SAFETY: the blocks have `keys` rows.
            let s = unsafe { row_mut::<W>(x.s, i) };
            for l in 0..W {
                let p = exp_nonpositive(s[l] - base[l]);
                total[l] += p;
                s[l] = p;
            }
            if !x.words.is_null() {
                // SAFETY: as above.
                let words = unsafe { row::<u32, W>(x.words, i) };
                for l in 0..W {
                    s[l] = if kept(words[l], x.keep) { s[l] * inverse } else { 0.0 };
                }
            }
        }
        for l in 0..W {
            sum[l] = sum[l] * correction[l] + total[l];
        }
    }
}

impl<const W: usize> GradientBody for Lanes<W> {
    #[inline(always)]
    unsafe fn run(x: &Gradient) {
        let inverse = 1.0 / x.keep;
        for i in 0..x.queries {
            // SAFETY: the blocks have `queries` rows, and the per-row numbers as many elements.
            let (s, dp, lse, delta) =
                unsafe { (row_mut::<W>(x.s, i), row_mut::<W>(x.dp, i), *x.lse.add(i), *x.delta.add(i)) };
            // Lanes from `end` on are masked.
            let mut end = x.keys as isize;
            if let Some(first) = x.causal {
                end = end.min(first + i as isize + 1);
            }
            if lse == f32::NEG_INFINITY {
                end = 0;
            }
            let end = end as i32;
            for v in s.iter_mut() {
                *v *= x.scale;
            }
            if !x.bias.is_null() {
                // SAFETY: as above.
                let bias = unsafe { row::<f32, W>(x.bias, i) };
                for l in 0..W {
                    s[l] += bias[l];
                }
            }
            for l in 0..W {
                let p = exp_nonpositive(s[l] - lse);
                s[l] = if (l as i32) < end { p } else { 0.0 };
            }
            if x.words.is_null() {
                for l in 0..W {
                    let d = s[l] * (dp[l] - delta);
                    dp[l] = if (l as i32) < end { d } else { 0.0 };
                }
            } else {
                // SAFETY: as above.
                let words = unsafe { row::<u32, W>(x.words, i) };
                for l in 0..W {
                    let factor = if kept(words[l], x.keep) { inverse } else { 0.0 };
                    let d = s[l] * (dp[l] * factor - delta);
                    dp[l] = if (l as i32) < end { d } else { 0.0 };
                    s[l] = if factor == 0.0 { 0.0 } else { s[l] * factor };
                }
            }
        }
    }
}

impl<const W: usize> PairBody for Lanes<W> {
    #[inline(always)]
    unsafe fn run(block: *mut f32, rows: usize) {
        for u in 0..rows.div_ceil(2) {
            // SAFETY: rows 2u and 2u+1 lie at or after row u, which is written after they are read.
            unsafe {
                let low = *row::<f32, W>(block, 2 * u);
                let high = if 2 * u + 1 < rows { *row::<f32, W>(block, 2 * u + 1) } else { [0.0; W] };
                let to = &mut *block.add(u * W).cast::<[u32; W]>();
                for l in 0..W {
                    to[l] = u32::from(to_bf16(low[l])) | u32::from(to_bf16(high[l])) << 16;
                }
            }
        }
    }
}

impl<const W: usize> RescaleBody for Lanes<W> {
    #[inline(always)]
    unsafe fn run(block: *mut f32, rows: usize, factor: *const f32) {
        // SAFETY: one row of factors.
        let factor = unsafe { row::<f32, W>(factor, 0) };
        for i in 0..rows {
            // SAFETY: the block has `rows` rows.
            let v = unsafe { row_mut::<W>(block, i) };
            for l in 0..W {
                v[l] *= factor[l];
            }
        }
    }
}
