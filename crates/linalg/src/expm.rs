//! e^A by scaling and squaring with Padé approximants (N. J. Higham, The scaling and squaring method for the matrix
//! exponential revisited, 2005).

use faer::linalg::matmul::matmul;
use faer::{Accum, Par};
use num_traits::Float;

use crate::lu::factor;
use crate::mat::{axpy, Mat};
use crate::num::{one, widened, zero, Num};
use crate::triangular::{lu_solve_in_place, Op};

/// Degree and the largest 1-norm for which it is exact to rounding (table 2.3 there), in f64 and in f32.
const DEGREES: [&[(usize, f64)]; 2] = [
    &[
        (3, 1.495_585_217_958_292e-2),
        (5, 2.539_398_330_063_23e-1),
        (7, 9.504178996162932e-1),
        (9, 2.097847961257068),
        (13, 5.371920351148152),
    ],
    &[(3, 4.258730016922831e-1), (5, 1.880152677804762), (7, 3.925_724_783_138_66)],
];

/// Coefficients of the numerator of the [q/q] approximant, scaled to integers.
fn coefficients(q: usize) -> Vec<f64> {
    // b(j) = (2q − j)! / (j! (q − j)!) · const, built up from b(q) = 1.
    let mut b = vec![1.0; q + 1];
    for j in (0..q).rev() {
        b[j] = b[j + 1] * ((2 * q - j) * (j + 1)) as f64 / (q - j) as f64;
    }
    b
}

fn times<T: Num>(x: &Mat<T>, y: &Mat<T>) -> Mat<T> {
    let mut z = Mat::zeros(x.m, y.n);
    matmul(z.view_mut(), Accum::Replace, x.view(), y.view(), one(), Par::Seq);
    z
}

fn add<T: Num>(to: &mut Mat<T>, by: f64, x: &Mat<T>) {
    for j in 0..to.n {
        axpy(T::lit(by), x.col(j), to.col_mut(j));
    }
}

/// The exponential of an n×n matrix.
pub fn matrix_exp<T: Num>(a: &[T], n: usize, out: &mut [T]) {
    if widened(a, n, out, |a, out| matrix_exp(a, n, out)) {
        return;
    }
    let mut x = Mat::load(a, n, n);
    let norm = (0..n).fold(zero::<T::Part>(), |largest, j| {
        let sum = x.col(j).iter().fold(zero::<T::Part>(), |s, v| s + v.magnitude());
        if sum > largest || Float::is_nan(sum) {
            sum
        } else {
            largest
        }
    });
    let norm = num_traits::ToPrimitive::to_f64(&norm).unwrap_or(f64::NAN);
    if !norm.is_finite() {
        return out.fill(T::lit(f64::NAN));
    }
    let table = DEGREES[usize::from(std::mem::size_of::<T::Part>() == 4)];
    let (degree, limit) = *table.iter().find(|(_, limit)| norm <= *limit).unwrap_or(&table[table.len() - 1]);
    let squarings = if norm > limit { (norm / limit).log2().ceil() as i32 } else { 0 };
    let scale = T::lit(0.5f64.powi(squarings));
    for j in 0..n {
        x.col_mut(j).iter_mut().for_each(|v| *v *= scale);
    }
    let b = coefficients(degree);
    let unit = Mat::<T>::eye(n, n);
    let mut powers = vec![times(&x, &x)];
    // Even and odd part; above degree 9 the high powers are built from A⁶.
    let mut even = Mat::<T>::zeros(n, n);
    let mut odd = Mat::<T>::zeros(n, n);
    if degree == 13 {
        let a4 = times(&powers[0], &powers[0]);
        let a6 = times(&powers[0], &a4);
        powers.extend([a4, a6]);
        for k in 0..3 {
            add(&mut odd, b[9 + 2 * k], &powers[k]);
            add(&mut even, b[8 + 2 * k], &powers[k]);
        }
        odd = times(&powers[2], &odd);
        even = times(&powers[2], &even);
    }
    while powers.len() < (degree.min(9) - 1) / 2 && degree != 13 {
        powers.push(times(&powers[0], &powers[powers.len() - 1]));
    }
    add(&mut odd, b[1], &unit);
    add(&mut even, b[0], &unit);
    for (k, p) in powers.iter().enumerate() {
        add(&mut odd, b[3 + 2 * k], p);
        add(&mut even, b[2 + 2 * k], p);
    }
    let odd = times(&x, &odd);
    // (even − odd)·X = even + odd.
    let mut result = even.clone();
    add(&mut result, 1.0, &odd);
    add(&mut even, -1.0, &odd);
    let mut pivots = vec![0; n];
    factor(&mut even, true, &mut pivots);
    lu_solve_in_place(even.view(), &pivots, Op::None, &mut result);
    for _ in 0..squarings {
        result = times(&result, &result);
    }
    result.store(out, n);
}
