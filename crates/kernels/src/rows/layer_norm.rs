//! Layer normalisation.

use std::marker::PhantomData;

use tnrs_types::DType;

use super::lanes::{ahead, load, reach, store, tree, LANES};
use crate::isa::{entry, Isa};
use crate::math::elem::Elem;
use crate::math::half::{Bf16, F16};
use crate::math::real::Real;

/// Operands and results of [`super::layer_norm`]. "Opmath" is f32 for bf16 and f16, else the type of `x`.
#[derive(Clone, Copy, Debug)]
pub struct LayerNormArgs {
    /// Operand, `rows * cols`.
    pub x: *const u8,
    /// Weight, `cols`, or null.
    pub w: *const u8,
    /// Bias, `cols`, or null.
    pub b: *const u8,
    /// Result, `rows * cols`, of the type of `x`; may equal `x`.
    pub y: *mut u8,
    /// Means, `rows`, opmath, or null.
    pub mean: *mut u8,
    /// Reciprocal standard deviations, `rows`, opmath, or null.
    pub rstd: *mut u8,
    /// Number of rows.
    pub rows: usize,
    /// Elements of a row.
    pub cols: usize,
    /// Added to the variance.
    pub eps: f64,
}

/// Operands and results of [`super::layer_norm_grad`].
#[derive(Clone, Copy, Debug)]
pub struct LayerNormGradArgs {
    /// Gradient of the result, `rows * cols`.
    pub dy: *const u8,
    /// Operand of the forward, `rows * cols`.
    pub x: *const u8,
    /// Means of the forward, opmath.
    pub mean: *const u8,
    /// Reciprocal standard deviations of the forward, opmath.
    pub rstd: *const u8,
    /// Weight, `cols`, or null.
    pub w: *const u8,
    /// Gradient of `x`, or null; may equal `dy`.
    pub dx: *mut u8,
    /// Gradient of the weight, `cols` of opmath, added to; or null.
    pub dw: *mut u8,
    /// Gradient of the bias, `cols` of opmath, added to; or null.
    pub db: *mut u8,
    /// Number of rows.
    pub rows: usize,
    /// Elements of a row.
    pub cols: usize,
}

/// A layer normalisation of rows.
///
/// # Safety
/// Every pointer that is not null must be valid for the elements that the fields' comments name.
pub type LayerNormFn = unsafe fn(args: &LayerNormArgs);

/// A gradient of layer normalisation of rows.
///
/// # Safety
/// As [`LayerNormFn`]; `dw` and `db` may not overlap anything.
pub type LayerNormGradFn = unsafe fn(args: &LayerNormGradArgs);

entry!(Body, pick, LayerNormFn, (args: &LayerNormArgs));
entry!(GradBody, pick_grad, LayerNormGradFn, (args: &LayerNormGradArgs));

/// Sum of `f(x)` over a row, asking for the memory `next` elements on.
#[inline(always)]
unsafe fn sum_of<T: Elem>(
    x: *const T,
    n: usize,
    next: usize,
    f: impl Fn(T::Math, T::Math) -> T::Math,
) -> T::Math {
    let mut lanes = [T::Math::ZERO; LANES];
    let mut i = 0;
    // SAFETY: `i + LANES <= n`, and below `i < n`.
    unsafe {
        while i + LANES <= n {
            let v = load(x.add(i));
            ahead(x.wrapping_add(i), next);
            for j in 0..LANES {
                lanes[j] = f(v[j], lanes[j]);
            }
            i += LANES;
        }
        let mut sum = tree(lanes, |a, b| a + b);
        while i < n {
            sum = f(x.add(i).read().load(), sum);
            i += 1;
        }
        sum
    }
}

struct LayerNorm<T, W>(PhantomData<(T, W)>);
impl<T: Elem, W: Elem<Math = T::Math>> LayerNorm<T, W> {
    /// One row, with or without weight and bias.
    #[inline(always)]
    unsafe fn apply<const WEIGHT: bool, const BIAS: bool>(
        y: *mut T,
        x: *const T,
        w: *const W,
        b: *const W,
        n: usize,
        mean: T::Math,
        rstd: T::Math,
    ) {
        let f = |x: T::Math, w: T::Math, b: T::Math| {
            let z = (x - mean) * rstd;
            match (WEIGHT, BIAS) {
                (true, true) => z.fma(w, b),
                (true, false) => z * w,
                (false, true) => z + b,
                (false, false) => z,
            }
        };
        let next = reach::<T>(n);
        let mut i = 0;
        // SAFETY: `i + LANES <= n`, and below `i < n`; w and b are read only where they exist.
        unsafe {
            while i + LANES <= n {
                let mut v = load(x.add(i));
                let ws = if WEIGHT { load(w.add(i)) } else { [T::Math::ONE; LANES] };
                let bs = if BIAS { load(b.add(i)) } else { [T::Math::ZERO; LANES] };
                for j in 0..LANES {
                    v[j] = f(v[j], ws[j], bs[j]);
                }
                store(y.add(i), &v);
                ahead(y.wrapping_add(i), next);
                i += LANES;
            }
            while i < n {
                let wi = if WEIGHT { w.add(i).read().load() } else { T::Math::ONE };
                let bi = if BIAS { b.add(i).read().load() } else { T::Math::ZERO };
                y.add(i).write(T::store(f(x.add(i).read().load(), wi, bi)));
                i += 1;
            }
        }
    }
}
impl<T: Elem, W: Elem<Math = T::Math>> Body for LayerNorm<T, W> {
    #[inline(always)]
    unsafe fn run(args: &LayerNormArgs) {
        let n = args.cols;
        let scale = T::Math::of(1.0 / n as f64);
        let (w, b) = (args.w.cast::<W>(), args.b.cast::<W>());
        for row in 0..args.rows {
            // SAFETY: the contract of `LayerNormFn`.
            unsafe {
                let x = args.x.cast::<T>().add(row * n);
                let y = args.y.cast::<T>().add(row * n);
                let mean = sum_of(x, n, 0, |v, s| s + v) * scale;
                let var = sum_of(x, n, reach::<T>(n), |v, s| {
                    let d = v - mean;
                    d.fma(d, s)
                }) * scale;
                let rstd = T::Math::ONE / (var + T::Math::of(args.eps)).sqrt();
                if !args.mean.is_null() {
                    args.mean.cast::<T::Math>().add(row).write(mean);
                }
                if !args.rstd.is_null() {
                    args.rstd.cast::<T::Math>().add(row).write(rstd);
                }
                match (w.is_null(), b.is_null()) {
                    (false, false) => Self::apply::<true, true>(y, x, w, b, n, mean, rstd),
                    (false, true) => Self::apply::<true, false>(y, x, w, b, n, mean, rstd),
                    (true, false) => Self::apply::<false, true>(y, x, w, b, n, mean, rstd),
                    (true, true) => Self::apply::<false, false>(y, x, w, b, n, mean, rstd),
                }
            }
        }
    }
}

impl<T: Elem, W: Elem<Math = T::Math>> LayerNorm<T, W> {
    /// One row of the gradient.
    #[inline(always)]
    unsafe fn gradient_row(args: &LayerNormGradArgs, row: usize) {
        type Wide<M> = [M; LANES];
        let n = args.cols;
        // SAFETY: the contract of `LayerNormGradFn`; `i + LANES <= n`, and below `i < n`.
        unsafe {
            let x = args.x.cast::<T>().add(row * n);
            let dy = args.dy.cast::<T>().add(row * n);
            let dx = args.dx.cast::<T>().wrapping_add(row * n);
            let w = args.w.cast::<W>();
            let (dw, db) = (args.dw.cast::<T::Math>(), args.db.cast::<T::Math>());
            let mean = args.mean.cast::<T::Math>().add(row).read();
            let rstd = args.rstd.cast::<T::Math>().add(row).read();
            let weights = |i: usize| -> Wide<T::Math> {
                if w.is_null() {
                    [T::Math::ONE; LANES]
                } else {
                    load(w.add(i))
                }
            };
            let weight = |i: usize| if w.is_null() { T::Math::ONE } else { w.add(i).read().load() };
            // Σ w·dy and Σ w·dy·x̂, and the sums over rows on the way.
            let (mut s1, mut s2) = ([T::Math::ZERO; LANES], [T::Math::ZERO; LANES]);
            let mut i = 0;
            while i + LANES <= n {
                let (g, mut v, ws) = (load(dy.add(i)), load(x.add(i)), weights(i));
                for j in 0..LANES {
                    v[j] = (v[j] - mean) * rstd;
                    let h = g[j] * ws[j];
                    s1[j] = s1[j] + h;
                    s2[j] = h.fma(v[j], s2[j]);
                }
                if !dw.is_null() {
                    let mut a: Wide<T::Math> = dw.add(i).cast::<Wide<T::Math>>().read();
                    for j in 0..LANES {
                        a[j] = g[j].fma(v[j], a[j]);
                    }
                    dw.add(i).cast::<Wide<T::Math>>().write(a);
                }
                if !db.is_null() {
                    let mut a: Wide<T::Math> = db.add(i).cast::<Wide<T::Math>>().read();
                    for j in 0..LANES {
                        a[j] = a[j] + g[j];
                    }
                    db.add(i).cast::<Wide<T::Math>>().write(a);
                }
                i += LANES;
            }
            let (mut s1, mut s2) = (tree(s1, |a, b| a + b), tree(s2, |a, b| a + b));
            while i < n {
                let (g, z) = (dy.add(i).read().load(), (x.add(i).read().load() - mean) * rstd);
                let h = g * weight(i);
                s1 = s1 + h;
                s2 = h.fma(z, s2);
                if !dw.is_null() {
                    dw.add(i).write(g.fma(z, dw.add(i).read()));
                }
                if !db.is_null() {
                    db.add(i).write(db.add(i).read() + g);
                }
                i += 1;
            }
            if args.dx.is_null() {
                return;
            }
            let scale = T::Math::of(1.0 / n as f64);
            let (m1, m2) = (s1 * scale, s2 * scale);
            let f = |g: T::Math, x: T::Math, w: T::Math| {
                let z = (x - mean) * rstd;
                (g.fma(w, -m1) - z * m2) * rstd
            };
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
impl<T: Elem, W: Elem<Math = T::Math>> GradBody for LayerNorm<T, W> {
    #[inline(always)]
    unsafe fn run(args: &LayerNormGradArgs) {
        for row in 0..args.rows {
            // SAFETY: the contract of `LayerNormGradFn`.
            unsafe { Self::gradient_row(args, row) };
        }
    }
}

macro_rules! table {
    ($pick:ident, $isa:ident, $x:ident, $w:ident) => {
        match ($x, $w) {
            (DType::F32, DType::F32) => Some($pick::<LayerNorm<f32, f32>>($isa)),
            (DType::F64, DType::F64) => Some($pick::<LayerNorm<f64, f64>>($isa)),
            (DType::BF16, DType::BF16) => Some($pick::<LayerNorm<Bf16, Bf16>>($isa)),
            (DType::BF16, DType::F32) => Some($pick::<LayerNorm<Bf16, f32>>($isa)),
            (DType::F16, DType::F16) => Some($pick::<LayerNorm<F16, F16>>($isa)),
            (DType::F16, DType::F32) => Some($pick::<LayerNorm<F16, f32>>($isa)),
            _ => None,
        }
    };
}

/// See [`super::layer_norm`].
pub fn layer_norm_on(isa: Isa, x: DType, w: DType) -> Option<LayerNormFn> {
    table!(pick, isa, x, w)
}

/// See [`super::layer_norm_grad`].
pub fn layer_norm_grad_on(isa: Isa, x: DType, w: DType) -> Option<LayerNormGradFn> {
    table!(pick_grad, isa, x, w)
}
