//! A = L·D·Lᵀ (or L·D·Lᴴ) with the pivoting of Bunch and Kaufman (1977), stored as LAPACK's `sytrf` does for the lower
//! triangle: D has blocks of one and two rows, and a negative pivot marks the two rows of a block.

use num_traits::Float;

use crate::mat::{axpy, Mat};
use crate::num::{one, zero, Num};

/// Factors an n×n symmetric, or Hermitian, matrix whose lower triangle is read; `ld` gets the lower triangle and zeros
/// above it.
///
/// Returns LAPACK's info: 0, or the position (from 1) of the first zero on D's diagonal.
pub fn ldl<T: Num>(a: &[T], n: usize, hermitian: bool, ld: &mut [T], pivots: &mut [i32]) -> i32 {
    let mut x = Mat::load(a, n, n);
    for j in 0..n {
        x.col_mut(j)[..j].fill(zero());
    }
    let info = factor(&mut x, hermitian && T::COMPLEX, pivots);
    x.store(ld, n);
    info
}

fn conj<T: Num>(x: T, hermitian: bool) -> T {
    if hermitian {
        x.bar()
    } else {
        x
    }
}

fn largest<T: Num>(x: impl Iterator<Item = T>) -> (usize, T::Part) {
    let mut best = (0, zero::<T::Part>());
    for (i, v) in x.enumerate() {
        if v.abs1() > best.1 {
            best = (i, v.abs1());
        }
    }
    best
}

fn factor<T: Num>(a: &mut Mat<T>, hermitian: bool, pivots: &mut [i32]) -> i32 {
    let n = a.n;
    // (1 + √17)/8 bounds the growth of elements.
    let alpha = T::lit((1.0 + 17f64.sqrt()) / 8.0).re();
    let size = |x: T| if hermitian { Float::abs(x.re()) } else { x.abs1() };
    let mut info = 0;
    let mut k = 0;
    while k < n {
        let mut step = 1;
        let mut p = k;
        let diagonal = size(a.at(k, k));
        let (i, column) = largest(a.col(k)[k + 1..].iter().copied());
        let imax = k + 1 + i;
        if Float::max(diagonal, column) == zero() || Float::is_nan(diagonal) {
            if info == 0 {
                info = k as i32 + 1;
            }
            real_diagonal(a, k, hermitian);
            pivots[k] = k as i32 + 1;
            k += 1;
            continue;
        }
        if diagonal < alpha * column {
            let in_row = largest((k..imax).map(|j| a.at(imax, j))).1;
            let below = largest(a.col(imax)[imax + 1..].iter().copied()).1;
            let row = Float::max(in_row, below);
            if diagonal >= alpha * column * (column / row) {
            } else if size(a.at(imax, imax)) >= alpha * row {
                p = imax;
            } else {
                p = imax;
                step = 2;
            }
        }
        let kk = k + step - 1;
        if p != kk {
            exchange(a, k, kk, p, step, hermitian);
        }
        real_diagonal(a, k, hermitian);
        if step == 1 {
            eliminate_one(a, k, hermitian);
            pivots[k] = p as i32 + 1;
        } else {
            real_diagonal(a, k + 1, hermitian);
            eliminate_two(a, k, hermitian);
            pivots[k] = -(p as i32 + 1);
            pivots[k + 1] = pivots[k];
        }
        k += step;
    }
    info
}

fn real_diagonal<T: Num>(a: &mut Mat<T>, k: usize, hermitian: bool) {
    if hermitian {
        *a.at_mut(k, k) = T::real_of(a.at(k, k).re());
    }
}

/// Exchanges rows and columns `kk` and `p` of what is left.
fn exchange<T: Num>(a: &mut Mat<T>, k: usize, kk: usize, p: usize, step: usize, hermitian: bool) {
    for i in p + 1..a.n {
        a.swap((i, kk), (i, p));
    }
    for j in kk + 1..p {
        a.swap((j, kk), (p, j));
        if hermitian {
            *a.at_mut(j, kk) = a.at(j, kk).bar();
            *a.at_mut(p, j) = a.at(p, j).bar();
        }
    }
    if hermitian {
        *a.at_mut(p, kk) = a.at(p, kk).bar();
    }
    a.swap((kk, kk), (p, p));
    real_diagonal(a, p, hermitian);
    if step == 2 {
        a.swap((k + 1, k), (p, k));
    }
}

fn eliminate_one<T: Num>(a: &mut Mat<T>, k: usize, hermitian: bool) {
    let inverse = one::<T>() / a.at(k, k);
    let x = a.col(k).to_vec();
    for j in k + 1..a.n {
        let by = -(inverse * conj(x[j], hermitian));
        axpy(by, &x[j..], &mut a.col_mut(j)[j..]);
        real_diagonal(a, j, hermitian);
    }
    a.col_mut(k)[k + 1..].iter_mut().for_each(|v| *v *= inverse);
}

fn eliminate_two<T: Num>(a: &mut Mat<T>, k: usize, hermitian: bool) {
    // [w, z] = [x, y]·D⁻¹, scaled by the off-diagonal element as LAPACK does.
    let off = a.at(k + 1, k);
    let (x, y) = (a.col(k).to_vec(), a.col(k + 1).to_vec());
    let (mut w, mut z) = (x.clone(), y.clone());
    if hermitian {
        let d = off.magnitude();
        let d11 = T::real_of(a.at(k + 1, k + 1).re() / d);
        let d22 = T::real_of(a.at(k, k).re() / d);
        let t = one::<T>() / (d11 * d22 - one::<T>());
        let d21 = off / T::real_of(d);
        let scale = t / T::real_of(d);
        for j in k + 2..a.n {
            w[j] = scale * (d11 * x[j] - d21 * y[j]);
            z[j] = scale * (d22 * y[j] - d21.bar() * x[j]);
        }
    } else {
        let d11 = a.at(k + 1, k + 1) / off;
        let d22 = a.at(k, k) / off;
        let t = one::<T>() / (d11 * d22 - one::<T>());
        let scale = t / off;
        for j in k + 2..a.n {
            w[j] = scale * (d11 * x[j] - y[j]);
            z[j] = scale * (d22 * y[j] - x[j]);
        }
    }
    for j in k + 2..a.n {
        let c = &mut a.col_mut(j)[j..];
        axpy(-conj(w[j], hermitian), &x[j..], c);
        axpy(-conj(z[j], hermitian), &y[j..], c);
        real_diagonal(a, j, hermitian);
    }
    a.col_mut(k)[k + 2..].copy_from_slice(&w[k + 2..]);
    a.col_mut(k + 1)[k + 2..].copy_from_slice(&z[k + 2..]);
}

/// Solves A·X = B by A's factors from [`ldl`], for n×r row-major B.
pub fn ldl_solve<T: Num>(
    ld: &[T],
    pivots: &[i32],
    b: &[T],
    (n, r): (usize, usize),
    hermitian: bool,
    x: &mut [T],
) {
    let hermitian = hermitian && T::COMPLEX;
    let a = Mat::load(ld, n, n);
    let mut y = Mat::load(b, n, r);
    let row = |k: usize| (pivots[k].unsigned_abs() as usize).clamp(1, n) - 1;
    let double = |k: usize| pivots[k] < 0 && k + 1 < n;
    let mut k = 0;
    while k < n {
        if !double(k) {
            y.swap_rows(k, row(k));
            let d = if hermitian { T::real_of(a.at(k, k).re()) } else { a.at(k, k) };
            for j in 0..r {
                let c = y.col_mut(j);
                let head = c[k];
                axpy(-head, &a.col(k)[k + 1..], &mut c[k + 1..]);
                c[k] /= d;
            }
            k += 1;
            continue;
        }
        y.swap_rows(k + 1, row(k));
        let off = a.at(k + 1, k);
        let (first, second) = (a.at(k, k) / conj(off, hermitian), a.at(k + 1, k + 1) / off);
        let scale = first * second - one::<T>();
        for j in 0..r {
            let c = y.col_mut(j);
            let (u, v) = (c[k], c[k + 1]);
            axpy(-u, &a.col(k)[k + 2..], &mut c[k + 2..]);
            axpy(-v, &a.col(k + 1)[k + 2..], &mut c[k + 2..]);
            let (u, v) = (u / conj(off, hermitian), v / off);
            c[k] = (second * u - v) / scale;
            c[k + 1] = (first * v - u) / scale;
        }
        k += 2;
    }
    let mut k = n;
    while k > 0 {
        k -= 1;
        let pair = pivots[k] < 0 && k > 0;
        for j in 0..r {
            let c = y.col_mut(j);
            for l in if pair { k - 1..k + 1 } else { k..k + 1 } {
                let sum = a.col(l)[k + 1..]
                    .iter()
                    .zip(&c[k + 1..])
                    .fold(zero::<T>(), |s, (l, v)| s + conj(*l, hermitian) * *v);
                c[l] -= sum;
            }
        }
        y.swap_rows(k, row(k));
        k -= usize::from(pair);
    }
    y.store(x, r);
}
