//! Loops over blocks of 32 lanes in AVX-512 registers: compiled from the general form, lanes of short rows that carry
//! from row to row become scalars.

use std::arch::x86_64::*;

use super::scores::Softmax;

/// Lanes of a block.
const W: usize = 32;

/// [`ScaleFn`](super::scores::ScaleFn) for 32 lanes.
///
/// # Safety
/// As the function type says, on a processor with AVX-512F.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn scale(x: &Softmax, top: *mut f32) {
    let scale = _mm512_set1_ps(x.scale);
    let lowest = _mm512_set1_ps(f32::NEG_INFINITY);
    // SAFETY: the statistics have 32 lanes, the blocks `keys` rows of 32.
    unsafe {
        let mut tops = [_mm512_loadu_ps(top), _mm512_loadu_ps(top.add(16))];
        for i in 0..x.keys {
            let key = x.causal.map_or(0, |first| (first + i as isize).clamp(0, 32));
            let masked = ((1u64 << key) - 1) as u32;
            for (half, top) in tops.iter_mut().enumerate() {
                let s = x.s.add(i * W + 16 * half);
                let mut v = _mm512_mul_ps(_mm512_loadu_ps(s), scale);
                if !x.bias.is_null() {
                    v = _mm512_add_ps(v, _mm512_loadu_ps(x.bias.add(i * W + 16 * half)));
                }
                v = _mm512_mask_mov_ps(v, (masked >> (16 * half)) as u16, lowest);
                _mm512_storeu_ps(s, v);
                // The second operand is the result when either is a NaN.
                *top = _mm512_max_ps(v, *top);
            }
        }
        _mm512_storeu_ps(top, tops[0]);
        _mm512_storeu_ps(top.add(16), tops[1]);
    }
}

/// [`RescaleFn`](super::scores::RescaleFn) for 32 lanes.
///
/// # Safety
/// As the function type says, on a processor with AVX-512F.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn rescale(block: *mut f32, rows: usize, factor: *const f32) {
    // SAFETY: the block has `rows` rows of 32, and there is one row of factors.
    unsafe {
        let factors = [_mm512_loadu_ps(factor), _mm512_loadu_ps(factor.add(16))];
        for i in 0..2 * rows {
            let p = block.add(16 * i);
            _mm512_storeu_ps(p, _mm512_mul_ps(_mm512_loadu_ps(p), factors[i % 2]));
        }
    }
}
