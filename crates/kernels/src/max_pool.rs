//! Maxima of windows over images, with their positions.

use std::marker::PhantomData;

use tnrs_types::DType;

use crate::isa::{self, entry, Isa};
use crate::math::elem::Elem;
use crate::math::half::{Bf16, F16};
use crate::math::real::Real;

/// Columns whose maxima stay in the first-level cache.
const COLUMNS: usize = 512;

/// Windows over dense planes; lists are (rows, columns). Padding is at most half a window, so that every window has an
/// element of the plane or lies past its end.
#[derive(Clone, Copy, Debug)]
pub struct MaxPool {
    /// Sizes of a plane.
    pub input: [usize; 2],
    /// Number of windows.
    pub output: [usize; 2],
    /// Elements of a window.
    pub kernel: [usize; 2],
    /// Between neighbouring windows.
    pub stride: [usize; 2],
    /// Positions before the plane, whose elements are −∞.
    pub padding: [usize; 2],
    /// Between the elements of a window.
    pub dilation: [usize; 2],
}

/// Maxima `y` of planes `x` and their flat positions `at`: the first of equals, the last NaN.
///
/// # Safety
/// `x`, `y` and `at` must be valid for `planes` dense planes, none overlapping another.
pub type MaxPoolFn = unsafe fn(p: &MaxPool, planes: usize, x: *const u8, y: *mut u8, at: *mut i64);

entry!(Body, pick, MaxPoolFn, (p: &MaxPool, planes: usize, x: *const u8, y: *mut u8, at: *mut i64));

/// The loop for a float type of at least 16 bits.
pub fn max_pool(dtype: DType) -> Option<MaxPoolFn> {
    max_pool_on(isa::current(), dtype)
}

/// [`max_pool`] on a given instruction set.
pub fn max_pool_on(isa: Isa, dtype: DType) -> Option<MaxPoolFn> {
    Some(match dtype {
        DType::F32 => pick::<Planes<f32>>(isa),
        DType::F64 => pick::<Planes<f64>>(isa),
        DType::BF16 => pick::<Planes<Bf16>>(isa),
        DType::F16 => pick::<Planes<F16>>(isa),
        _ => return None,
    })
}

/// The first position of a window from a start on that is not before the plane.
fn first(start: isize, dilation: usize) -> isize {
    if start < 0 {
        start + start.unsigned_abs().div_ceil(dilation) as isize * dilation as isize
    } else {
        start
    }
}

struct Planes<T>(PhantomData<T>);

impl<T: Elem> Body for Planes<T> {
    #[inline(always)]
    unsafe fn run(p: &MaxPool, planes: usize, x: *const u8, y: *mut u8, at: *mut i64) {
        let ([height, width], [rows, columns]) = (p.input, p.output);
        for plane in 0..planes {
            let x = x.cast::<T>().wrapping_add(plane * height * width);
            for row in 0..rows {
                for c in (0..columns).step_by(COLUMNS) {
                    let n = COLUMNS.min(columns - c);
                    let to = (plane * rows + row) * columns + c;
                    // SAFETY: the contract is the caller's; the columns are inside the row.
                    unsafe {
                        let (y, at) = (y.cast::<T>().add(to), at.add(to));
                        match p.stride[1] {
                            1 => part::<T, 1>(p, x, (row, c, n), y, at),
                            2 => part::<T, 2>(p, x, (row, c, n), y, at),
                            _ => part::<T, 0>(p, x, (row, c, n), y, at),
                        }
                    }
                }
            }
        }
    }
}

/// `n` windows from column `c` of a row on; `S` is the stride along it, if not 0.
///
/// # Safety
/// `x` must be a plane, `y` and `at` valid for the windows.
#[inline(always)]
unsafe fn part<T: Elem, const S: usize>(
    p: &MaxPool,
    x: *const T,
    (row, c, n): (usize, usize, usize),
    y: *mut T,
    at: *mut i64,
) {
    let stride = if S == 0 { p.stride[1] } else { S };
    let [height, width] = p.input;
    let mut best = [T::Math::NEG_INF; COLUMNS];
    let mut place = [0i32; COLUMNS];
    let top = (row * p.stride[0]) as isize - p.padding[0] as isize;
    let line = first(top, p.dilation[0]) * width as isize;
    for (i, place) in place[..n].iter_mut().enumerate() {
        let left = ((c + i) * stride) as isize - p.padding[1] as isize;
        *place = (line + first(left, p.dilation[1])) as i32;
    }
    for ky in 0..p.kernel[0] {
        let iy = top + (ky * p.dilation[0]) as isize;
        if iy < 0 || iy as usize >= height {
            continue;
        }
        let from = iy as usize * width;
        for kx in 0..p.kernel[1] {
            // Window i reads column i·stride + shift of the row.
            let shift = (kx * p.dilation[1] + c * stride) as isize - p.padding[1] as isize;
            let begin = ((-shift).max(0) as usize).div_ceil(stride).min(n);
            let end = ((width as isize - shift).max(0) as usize).div_ceil(stride).min(n).max(begin);
            let line = from as isize + shift;
            // SAFETY: the windows' elements are inside the row.
            unsafe {
                let row = x.wrapping_offset(line + (begin * stride) as isize);
                let (best, place) = (&mut best[begin..end], &mut place[begin..end]);
                let base = (line + (begin * stride) as isize) as i32;
                for (i, (best, place)) in best.iter_mut().zip(place).enumerate() {
                    let v = (*row.add(i * stride)).load();
                    let wins = (v > *best) | v.nan();
                    *best = if wins { v } else { *best };
                    *place = if wins { base + (i * stride) as i32 } else { *place };
                }
            }
        }
    }
    for i in 0..n {
        // SAFETY: both are valid for the windows.
        unsafe {
            *y.add(i) = T::store(best[i]);
            *at.add(i) = i64::from(place[i]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_hold_their_maxima() {
        let numbers: Vec<f32> = (0..2 * 37 * 41).map(|i| ((i * 7919) % 101) as f32 - 50.0).collect();
        for (kernel, stride, padding, dilation) in [(3, 2, 1, 1), (2, 2, 0, 1), (3, 1, 1, 2), (2, 3, 1, 1)] {
            let size = |n: usize| (n + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
            let p = MaxPool {
                input: [37, 41],
                output: [size(37), size(41)],
                kernel: [kernel; 2],
                stride: [stride; 2],
                padding: [padding; 2],
                dilation: [dilation; 2],
            };
            let mut x = numbers.clone();
            x[500] = f32::NAN;
            let count = p.output[0] * p.output[1];
            for isa in Isa::available() {
                let (mut y, mut at) = (vec![0f32; 2 * count], vec![0i64; 2 * count]);
                let f = max_pool_on(isa, DType::F32).unwrap();
                // SAFETY: dense planes of the sizes of the windows.
                unsafe { f(&p, 2, x.as_ptr().cast(), y.as_mut_ptr().cast(), at.as_mut_ptr()) };
                for i in 0..2 * count {
                    let (plane, o) = (i / count, i % count);
                    let (mut best, mut place) = (f32::NEG_INFINITY, 0);
                    for t in 0..kernel * kernel {
                        let r = o / p.output[1] * stride + t / kernel * dilation;
                        let c = o % p.output[1] * stride + t % kernel * dilation;
                        let (r, c) = (r.wrapping_sub(padding), c.wrapping_sub(padding));
                        if r < 37 && c < 41 {
                            let v = x[plane * 37 * 41 + r * 41 + c];
                            if v > best || v.is_nan() {
                                (best, place) = (v, (r * 41 + c) as i64);
                            }
                        }
                    }
                    assert!(y[i] == best || y[i].is_nan() && best.is_nan(), "{p:?} on {isa:?}");
                    assert_eq!(at[i], place, "{p:?} on {isa:?}");
                }
            }
        }
    }
}
