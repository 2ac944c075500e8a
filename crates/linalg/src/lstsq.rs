//! Least squares: X minimises ‖A·X − B‖ in each column.

use faer::linalg::matmul::matmul;
use faer::{Accum, Par};
use num_traits::Float;

use crate::mat::Mat;
use crate::num::{one, zero, Num};
use crate::qr::{apply_q, factor};
use crate::svd::{decompose, Vectors};
use crate::triangular::{solve_in_place, Op, Triangle};

/// Solves for A (m×n) of full rank by QR; for m < n the shortest solution. `b` is m×r and `x` max(m, n)×r, whose rows
/// from n on get what determines the residual.
///
/// Returns LAPACK's info: 0, or the position (from 1) of the first zero on R's diagonal. As with LAPACK, a matrix of
/// zeros has the solution 0.
pub fn full_rank<T: Num>(a: &[T], b: &[T], (m, n, r): (usize, usize, usize), x: &mut [T]) -> i32 {
    if a.iter().all(|v| *v == zero()) {
        x.fill(zero());
        return 0;
    }
    let tall = m >= n;
    let mut q = if tall { Mat::load(a, m, n) } else { Mat::load_adjoint(a, m, n) };
    let k = m.min(n);
    let mut tau = vec![zero::<T>(); k];
    factor(&mut q, &mut tau);
    let mut y = Mat::<T>::zeros(m.max(n), r);
    let rhs = Mat::load(b, m, r);
    for j in 0..r {
        y.col_mut(j)[..m].copy_from_slice(rhs.col(j));
    }
    let info = (0..k).find(|&i| q.at(i, i) == zero()).map_or(0, |i| i as i32 + 1);
    let triangle = |op| Triangle { upper: true, unit: false, op };
    let top = q.view().submatrix(0, 0, k, k);
    if tall {
        apply_q(q.view(), &tau, &mut y, true, false);
        solve_in_place(top, triangle(Op::None), y.view_mut().subrows_mut(0, k));
    } else {
        // A = Rᴴ·Qᴴ.
        solve_in_place(top, triangle(Op::Adjoint), y.view_mut().subrows_mut(0, k));
        apply_q(q.view(), &tau, &mut y, false, false);
    }
    y.store(x, r);
    info
}

/// The shortest solution for A (m×n) of any rank. Singular values up to `rcond` times the largest count as 0. `b` is
/// m×r, `x` n×r; `s` (if it is not empty) gets the singular values. Also returns the rank.
///
/// The info is 0, or positive when the iteration does not converge; the results are then NaN.
pub fn shortest<T: Num>(
    a: &[T],
    b: &[T],
    (m, n, r): (usize, usize, usize),
    rcond: f64,
    x: &mut [T],
    s: &mut [T::Part],
) -> (i32, i64) {
    let d = match decompose(&Mat::load(a, m, n), Vectors::Thin) {
        Ok(d) => d,
        Err(info) => {
            x.fill(T::lit(f64::NAN));
            s.fill(Float::nan());
            // Data that are not finite have a solution of NaN.
            return (info.max(0), 0);
        }
    };
    if !s.is_empty() {
        s.copy_from_slice(&d.s);
    }
    let rcond = if rcond < 0.0 { <T::Part as Float>::epsilon() } else { T::lit(rcond).re() };
    let limit = d.s.first().map_or(zero(), |largest| rcond * *largest);
    let rank = d.s.iter().take_while(|v| **v > limit).count();
    let rhs = Mat::load(b, m, r);
    let mut y = Mat::<T>::zeros(d.s.len(), r);
    matmul(y.view_mut(), Accum::Replace, d.u.view().adjoint(), rhs.view(), one(), Par::Seq);
    for j in 0..r {
        for (i, v) in y.col_mut(j).iter_mut().enumerate() {
            *v = if i < rank { *v / T::real_of(d.s[i]) } else { zero() };
        }
    }
    let mut solution = Mat::<T>::zeros(n, r);
    matmul(solution.view_mut(), Accum::Replace, d.v.view(), y.view(), one(), Par::Seq);
    solution.store(x, r);
    (0, rank as i64)
}
