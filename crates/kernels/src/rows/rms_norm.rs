//! Root-mean-square normalisation.

use std::marker::PhantomData;

use tnrs_types::DType;

use super::lanes::{load, store, tree, LANES};
use crate::isa::{entry, Isa};
use crate::math::elem::Elem;
use crate::math::half::{Bf16, F16};
use crate::math::real::Real;

/// Operands and results of [`super::rms_norm`]. "Opmath" is f32 for bf16 and f16, else the type of `x`.
#[derive(Clone, Copy, Debug)]
pub struct RmsNormArgs {
    /// Operand, `rows * cols`.
    pub x: *const u8,
    /// Weight, `cols`, or null.
    pub w: *const u8,
    /// Result, `rows * cols`, of the type of `x`; may equal `x`.
    pub y: *mut u8,
    /// Reciprocal root mean squares, `rows`, opmath, or null.
    pub rstd: *mut u8,
    /// Number of rows.
    pub rows: usize,
    /// Elements of a row.
    pub cols: usize,
    /// Added to the mean square.
    pub eps: f64,
}

/// Operands and results of [`super::rms_norm_grad`].
#[derive(Clone, Copy, Debug)]
pub struct RmsNormGradArgs {
    /// Gradient of the result, `rows * cols`.
    pub dy: *const u8,
    /// Operand of the forward, `rows * cols`.
    pub x: *const u8,
    /// Reciprocal root mean squares of the forward, opmath.
    pub rstd: *const u8,
    /// Weight, `cols`, or null.
    pub w: *const u8,
    /// Gradient of `x`, or null; may equal `dy`.
    pub dx: *mut u8,
    /// Gradient of the weight, `cols` of opmath, added to; or null.
    pub dw: *mut u8,
    /// Number of rows.
    pub rows: usize,
    /// Elements of a row.
    pub cols: usize,
}

/// A root-mean-square normalisation of rows.
///
/// # Safety
/// Every pointer that is not null must be valid for the elements that the fields' comments name.
pub type RmsNormFn = unsafe fn(args: &RmsNormArgs);

/// A gradient of root-mean-square normalisation of rows.
///
/// # Safety
/// As [`RmsNormFn`]; `dw` may not overlap anything.
pub type RmsNormGradFn = unsafe fn(args: &RmsNormGradArgs);

entry!(Body, pick, RmsNormFn, (args: &RmsNormArgs));
entry!(GradBody, pick_grad, RmsNormGradFn, (args: &RmsNormGradArgs));

struct RmsNorm<T, W>(PhantomData<(T, W)>);
impl<T: Elem, W: Elem<Math = T::Math>> Body for RmsNorm<T, W> {
    #[inline(always)]
    unsafe fn run(args: &RmsNormArgs) {
        let n = args.cols;
        let scale = T::Math::of(1.0 / n as f64);
        let w = args.w.cast::<W>();
        for row in 0..args.rows {
            // SAFETY: the contract of `RmsNormFn`; `i + LANES <= n`, and below `i < n`.
            unsafe {
                let x = args.x.cast::<T>().add(row * n);
                let y = args.y.cast::<T>().add(row * n);
                let mut lanes = [T::Math::ZERO; LANES];
                let mut i = 0;
                while i + LANES <= n {
                    let v = load(x.add(i));
                    for j in 0..LANES {
                        lanes[j] = v[j].fma(v[j], lanes[j]);
                    }
                    i += LANES;
                }
                let mut sum = tree(lanes, |a, b| a + b);
                while i < n {
                    let v = x.add(i).read().load();
                    sum = v.fma(v, sum);
                    i += 1;
                }
                let rstd = T::Math::ONE / (sum * scale + T::Math::of(args.eps)).sqrt();
                if !args.rstd.is_null() {
                    args.rstd.cast::<T::Math>().add(row).write(rstd);
                }
                i = 0;
                while i + LANES <= n {
                    let mut v = load(x.add(i));
                    if w.is_null() {
                        for a in &mut v {
                            *a = *a * rstd;
                        }
                    } else {
                        let ws = load(w.add(i));
                        for j in 0..LANES {
                            v[j] = v[j] * rstd * ws[j];
                        }
                    }
                    store(y.add(i), &v);
                    i += LANES;
                }
                while i < n {
                    let wi = if w.is_null() { T::Math::ONE } else { w.add(i).read().load() };
                    y.add(i).write(T::store(x.add(i).read().load() * rstd * wi));
                    i += 1;
                }
            }
        }
    }
}
impl<T: Elem, W: Elem<Math = T::Math>> GradBody for RmsNorm<T, W> {
    #[inline(always)]
    unsafe fn run(args: &RmsNormGradArgs) {
        let n = args.cols;
        let w = args.w.cast::<W>();
        let dw = args.dw.cast::<T::Math>();
        for row in 0..args.rows {
            // SAFETY: the contract of `RmsNormGradFn`; `i + LANES <= n`, and below `i < n`.
            unsafe {
                let x = args.x.cast::<T>().add(row * n);
                let dy = args.dy.cast::<T>().add(row * n);
                let rstd = args.rstd.cast::<T::Math>().add(row).read();
                let weights = |i: usize| -> [T::Math; LANES] {
                    if w.is_null() {
                        [T::Math::ONE; LANES]
                    } else {
                        load(w.add(i))
                    }
                };
                let weight = |i: usize| if w.is_null() { T::Math::ONE } else { w.add(i).read().load() };
                // Σ w·dy·x̂, and the sum over rows on the way.
                let mut lanes = [T::Math::ZERO; LANES];
                let mut i = 0;
                while i + LANES <= n {
                    let (g, mut v, ws) = (load(dy.add(i)), load(x.add(i)), weights(i));
                    for j in 0..LANES {
                        v[j] = v[j] * rstd;
                        lanes[j] = (g[j] * ws[j]).fma(v[j], lanes[j]);
                    }
                    if !dw.is_null() {
                        let mut a = dw.add(i).cast::<[T::Math; LANES]>().read();
                        for j in 0..LANES {
                            a[j] = g[j].fma(v[j], a[j]);
                        }
                        dw.add(i).cast::<[T::Math; LANES]>().write(a);
                    }
                    i += LANES;
                }
                let mut sum = tree(lanes, |a, b| a + b);
                while i < n {
                    let (g, z) = (dy.add(i).read().load(), x.add(i).read().load() * rstd);
                    sum = (g * weight(i)).fma(z, sum);
                    if !dw.is_null() {
                        dw.add(i).write(g.fma(z, dw.add(i).read()));
                    }
                    i += 1;
                }
                if args.dx.is_null() {
                    continue;
                }
                let dx = args.dx.cast::<T>().add(row * n);
                let mean = sum * T::Math::of(1.0 / n as f64);
                let f = |g: T::Math, x: T::Math, w: T::Math| g.fma(w, -(x * rstd * mean)) * rstd;
                i = 0;
                while i + LANES <= n {
                    let (mut g, v, ws) = (load(dy.add(i)), load(x.add(i)), weights(i));
                    for j in 0..LANES {
                        g[j] = f(g[j], v[j], ws[j]);
                    }
                    store(dx.add(i), &g);
                    i += LANES;
                }
                while i < n {
                    let r = f(dy.add(i).read().load(), x.add(i).read().load(), weight(i));
                    dx.add(i).write(T::store(r));
                    i += 1;
                }
            }
        }
    }
}

macro_rules! table {
    ($pick:ident, $isa:ident, $x:ident, $w:ident) => {
        match ($x, $w) {
            (DType::F32, DType::F32) => Some($pick::<RmsNorm<f32, f32>>($isa)),
            (DType::F64, DType::F64) => Some($pick::<RmsNorm<f64, f64>>($isa)),
            (DType::BF16, DType::BF16) => Some($pick::<RmsNorm<Bf16, Bf16>>($isa)),
            (DType::BF16, DType::F32) => Some($pick::<RmsNorm<Bf16, f32>>($isa)),
            (DType::F16, DType::F16) => Some($pick::<RmsNorm<F16, F16>>($isa)),
            (DType::F16, DType::F32) => Some($pick::<RmsNorm<F16, f32>>($isa)),
            _ => None,
        }
    };
}

/// See [`super::rms_norm`].
pub fn rms_norm_on(isa: Isa, x: DType, w: DType) -> Option<RmsNormFn> {
    table!(pick, isa, x, w)
}

/// See [`super::rms_norm_grad`].
pub fn rms_norm_grad_on(isa: Isa, x: DType, w: DType) -> Option<RmsNormGradFn> {
    table!(pick_grad, isa, x, w)
}
