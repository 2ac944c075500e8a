//! Softmax and log-softmax.

use std::marker::PhantomData;

use tnrs_types::DType;

use super::lanes::{ahead, load, reach, store, tree, LANES};
use crate::isa::{entry, Isa};
use crate::math::elem::Elem;
use crate::math::half::{Bf16, F16};
use crate::math::real::Real;

/// `rows` rows of `cols` elements from `x` into `y`.
///
/// # Safety
/// `x` and `y` must be valid for `rows * cols` elements of their types; they must be disjoint, or equal where both types
/// have the same size.
pub type SoftmaxFn = unsafe fn(y: *mut u8, x: *const u8, rows: usize, cols: usize);

/// Gradient rows `dx` from `dy` and the forward's result `y`.
///
/// # Safety
/// All must be valid for `rows * cols` elements of their types; `dx` may equal a source of the same size.
pub type SoftmaxGradFn = unsafe fn(dx: *mut u8, dy: *const u8, y: *const u8, rows: usize, cols: usize);

entry!(Body, pick, SoftmaxFn, (y: *mut u8, x: *const u8, rows: usize, cols: usize));
entry!(GradBody, pick_grad, SoftmaxGradFn, (dx: *mut u8, dy: *const u8, y: *const u8, rows: usize, cols: usize));

/// Greatest element of a row; NaN if there is one.
#[inline(always)]
unsafe fn maximum<T: Elem>(x: *const T, n: usize) -> T::Math {
    let mut lanes = [T::Math::NEG_INF; LANES];
    let mut i = 0;
    // SAFETY: `i + LANES <= n`, and below `i < n`.
    unsafe {
        while i + LANES <= n {
            let v = load(x.add(i));
            for j in 0..LANES {
                // NaN is dropped here, which does no harm: the sum of exponentials meets it again.
                lanes[j] = if v[j] > lanes[j] { v[j] } else { lanes[j] };
            }
            i += LANES;
        }
        let mut m = tree(lanes, |a, b| if b > a { b } else { a });
        while i < n {
            let v = x.add(i).read().load();
            m = if v > m { v } else { m };
            i += 1;
        }
        m
    }
}

/// Sum of `e(x)` over a row, calling `put` with each stretch of results and its start.
#[inline(always)]
unsafe fn exp_sum<T: Elem, const STORE: bool, U: Elem<Math = T::Math>>(
    x: *const T,
    y: *mut U,
    n: usize,
    m: T::Math,
) -> T::Math {
    let mut lanes = [T::Math::ZERO; LANES];
    let next = reach::<T>(n);
    let mut i = 0;
    // SAFETY: `i + LANES <= n`, and below `i < n`.
    unsafe {
        while i + LANES <= n {
            let v = load(x.add(i));
            ahead(x.wrapping_add(i), next);
            let mut e = [T::Math::ZERO; LANES];
            for j in 0..LANES {
                e[j] = (v[j] - m).exp_nonpositive();
                lanes[j] = lanes[j] + e[j];
            }
            if STORE {
                store(y.add(i), &e);
            }
            i += LANES;
        }
        let mut sum = tree(lanes, |a, b| a + b);
        while i < n {
            let e = (x.add(i).read().load() - m).exp_nonpositive();
            sum = sum + e;
            if STORE {
                y.add(i).write(U::store(e));
            }
            i += 1;
        }
        sum
    }
}

/// Maps a row element by element.
#[inline(always)]
unsafe fn map<T: Elem, U: Elem<Math = T::Math>>(
    x: *const T,
    y: *mut U,
    n: usize,
    f: impl Fn(T::Math) -> T::Math,
) {
    let next = reach::<U>(n);
    let mut i = 0;
    // SAFETY: `i + LANES <= n`, and below `i < n`.
    unsafe {
        while i + LANES <= n {
            ahead(y.wrapping_add(i), next);
            let mut v = load(x.add(i));
            for a in &mut v {
                *a = f(*a);
            }
            store(y.add(i), &v);
            i += LANES;
        }
        while i < n {
            y.add(i).write(U::store(f(x.add(i).read().load())));
            i += 1;
        }
    }
}

struct Softmax<T, U, const LOG: bool>(PhantomData<(T, U)>);
impl<T: Elem, U: Elem<Math = T::Math>, const LOG: bool> Body for Softmax<T, U, LOG> {
    #[inline(always)]
    unsafe fn run(y: *mut u8, x: *const u8, rows: usize, cols: usize) {
        for row in 0..rows {
            // SAFETY: the contract of `SoftmaxFn`.
            unsafe {
                let x = x.cast::<T>().add(row * cols);
                let y = y.cast::<U>().add(row * cols);
                let m = maximum(x, cols);
                // +inf in the row: inf − inf is NaN there and the sum is NaN, as the definition has it. Only −inf:
                // the same by −inf − −inf.
                if LOG {
                    let sum = exp_sum::<T, false, U>(x, y, cols, m);
                    let log = sum.ln();
                    map(x, y, cols, |v| (v - m) - log);
                } else if U::REDUCED {
                    let sum = exp_sum::<T, false, U>(x, y, cols, m);
                    let scale = T::Math::ONE / sum;
                    map(x, y, cols, |v| (v - m).exp_nonpositive() * scale);
                } else {
                    let sum = exp_sum::<T, true, U>(x, y, cols, m);
                    let scale = T::Math::ONE / sum;
                    map(y, y, cols, |v| v * scale);
                }
            }
        }
    }
}

struct SoftmaxGrad<T, U, const LOG: bool>(PhantomData<(T, U)>);
impl<T: Elem, U: Elem<Math = T::Math>, const LOG: bool> GradBody for SoftmaxGrad<T, U, LOG> {
    #[inline(always)]
    unsafe fn run(dx: *mut u8, dy: *const u8, y: *const u8, rows: usize, cols: usize) {
        let next = reach::<T>(cols);
        for row in 0..rows {
            // SAFETY: the contract of `SoftmaxGradFn`; `i + LANES <= cols`, and below `i < cols`.
            unsafe {
                let dy = dy.cast::<T>().add(row * cols);
                let y = y.cast::<T>().add(row * cols);
                let dx = dx.cast::<U>().add(row * cols);
                let mut lanes = [T::Math::ZERO; LANES];
                let mut i = 0;
                while i + LANES <= cols {
                    let (g, v) = (load(dy.add(i)), load(y.add(i)));
                    for j in 0..LANES {
                        lanes[j] = if LOG { lanes[j] + g[j] } else { g[j].fma(v[j], lanes[j]) };
                    }
                    i += LANES;
                }
                let mut sum = tree(lanes, |a, b| a + b);
                while i < cols {
                    let (g, v) = (dy.add(i).read().load(), y.add(i).read().load());
                    sum = if LOG { sum + g } else { g.fma(v, sum) };
                    i += 1;
                }
                let f = |g: T::Math, v: T::Math| if LOG { g - v.exp() * sum } else { v * (g - sum) };
                i = 0;
                while i + LANES <= cols {
                    let (mut g, v) = (load(dy.add(i)), load(y.add(i)));
                    ahead(dy.wrapping_add(i), next);
                    ahead(y.wrapping_add(i), next);
                    for j in 0..LANES {
                        g[j] = f(g[j], v[j]);
                    }
                    store(dx.add(i), &g);
                    i += LANES;
                }
                while i < cols {
                    let r = f(dy.add(i).read().load(), y.add(i).read().load());
                    dx.add(i).write(U::store(r));
                    i += 1;
                }
            }
        }
    }
}

macro_rules! table {
    ($pick:ident, $kernel:ident, $isa:ident, $log:ident, $from:ident, $to:ident) => {
        table!(@ $pick, $kernel, $isa, $log, $from, $to;
            F64 f64 F64 f64, F32 f32 F32 f32, F32 f32 BF16 Bf16, F32 f32 F16 F16, BF16 Bf16 F32 f32,
            BF16 Bf16 BF16 Bf16, F16 F16 F32 f32, F16 F16 F16 F16, BF16 Bf16 F16 F16, F16 F16 BF16 Bf16)
    };
    (@ $pick:ident, $kernel:ident, $isa:ident, $log:ident, $from:ident, $to:ident;
     $($d:ident $t:ident $e:ident $u:ident),*) => {
        match ($from, $to, $log) {
            $((DType::$d, DType::$e, false) => Some($pick::<$kernel<$t, $u, false>>($isa)),
              (DType::$d, DType::$e, true) => Some($pick::<$kernel<$t, $u, true>>($isa)),)*
            _ => None,
        }
    };
}

/// See [`super::softmax`].
pub fn softmax_on(isa: Isa, log: bool, from: DType, to: DType) -> Option<SoftmaxFn> {
    table!(pick, Softmax, isa, log, from, to)
}

/// See [`super::softmax_grad`].
pub fn softmax_grad_on(isa: Isa, log: bool, from: DType, to: DType) -> Option<SoftmaxGradFn> {
    table!(pick_grad, SoftmaxGrad, isa, log, from, to)
}
