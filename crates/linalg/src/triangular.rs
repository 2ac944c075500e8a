//! Triangular systems.

use faer::linalg::triangular_solve as ts;
use faer::{MatMut, MatRef, Par};

use crate::mat::Mat;
use crate::num::Num;

/// How the matrix of a system is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// A.
    None,
    /// Aᵀ.
    Transpose,
    /// Aᴴ.
    Adjoint,
}

/// A triangle of a square matrix; the other triangle is not read.
#[derive(Clone, Copy, Debug)]
pub struct Triangle {
    /// The upper one.
    pub upper: bool,
    /// Its diagonal is taken as ones.
    pub unit: bool,
    /// How it is taken.
    pub op: Op,
}

/// Solves op(A)·X = B for n×k row-major B, or X·op(A) = B for k×n B when `left` is false. `x` gets X.
///
/// A zero on the diagonal gives infinities and NaN.
pub fn solve_triangular<T: Num>(a: &[T], b: &[T], n: usize, k: usize, t: Triangle, left: bool, x: &mut [T]) {
    // The row-major matrix is read where it lies.
    let a = MatRef::from_row_major_slice(a, n, n);
    if left {
        let mut y = Mat::load(b, n, k);
        solve_in_place(a, t, y.view_mut());
        y.store(x, k);
        return;
    }
    // (X·op(A))ᵀ = op(A)ᵀ·Xᵀ, and the transpose of row-major B is B read by columns.
    x.copy_from_slice(b);
    let y = MatMut::from_column_major_slice_mut(x, n, k);
    match t.op {
        Op::None => solve_in_place(a, Triangle { op: Op::Transpose, ..t }, y),
        Op::Transpose => solve_in_place(a, Triangle { op: Op::None, ..t }, y),
        // (Aᴴ)ᵀ = conj(A).
        Op::Adjoint => raw(a.conjugate(), t.upper, t.unit, y),
    }
}

fn raw<T: Num, L: faer::traits::Conjugate<Canonical = T>>(
    a: MatRef<'_, L>,
    upper: bool,
    unit: bool,
    x: MatMut<'_, T>,
) {
    match (upper, unit) {
        (false, false) => ts::solve_lower_triangular_in_place(a, x, Par::Seq),
        (false, true) => ts::solve_unit_lower_triangular_in_place(a, x, Par::Seq),
        (true, false) => ts::solve_upper_triangular_in_place(a, x, Par::Seq),
        (true, true) => ts::solve_unit_upper_triangular_in_place(a, x, Par::Seq),
    }
}

/// Overwrites X with op(A)⁻¹·X.
pub(crate) fn solve_in_place<T: Num>(a: MatRef<'_, T>, t: Triangle, x: MatMut<'_, T>) {
    match t.op {
        Op::None => raw(a, t.upper, t.unit, x),
        Op::Transpose => raw(a.transpose(), !t.upper, t.unit, x),
        Op::Adjoint => raw(a.adjoint(), !t.upper, t.unit, x),
    }
}

/// Solves op(A)·X = B by A's factors from [`crate::lu()`], for n×k B. `op` is `None` or `Adjoint`.
pub fn lu_solve<T: Num>(lu: &[T], pivots: &[i32], b: &[T], n: usize, k: usize, op: Op, x: &mut [T]) {
    let mut y = Mat::load(b, n, k);
    lu_solve_in_place(MatRef::from_row_major_slice(lu, n, n), pivots, op, &mut y);
    y.store(x, k);
}

pub(crate) fn lu_solve_in_place<T: Num>(lu: MatRef<'_, T>, pivots: &[i32], op: Op, y: &mut Mat<T>) {
    let n = y.m;
    let exchange = |y: &mut Mat<T>, back: bool| {
        for j in 0..y.n {
            let c = y.col_mut(j);
            let mut swap = |i: usize| {
                let p = pivots[i] as usize;
                if p >= 1 && p <= n {
                    c.swap(i, p - 1);
                }
            };
            if back {
                (0..n).rev().for_each(&mut swap);
            } else {
                (0..n).for_each(&mut swap);
            }
        }
    };
    let (lower, upper) =
        (Triangle { upper: false, unit: true, op }, Triangle { upper: true, unit: false, op });
    if op == Op::None {
        exchange(y, false);
        solve_in_place(lu, lower, y.view_mut());
        solve_in_place(lu, upper, y.view_mut());
    } else {
        solve_in_place(lu, upper, y.view_mut());
        solve_in_place(lu, lower, y.view_mut());
        exchange(y, true);
    }
}
