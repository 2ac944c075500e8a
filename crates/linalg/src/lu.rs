//! A = P·L·U by partial pivoting.

use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve::solve_unit_lower_triangular_in_place;
use faer::prelude::{Reborrow, ReborrowMut};
use faer::{Accum, MatMut, Par};
use num_traits::Float;

use crate::mat::{axpy, column, wide, Mat};
use crate::num::{one, zero, Num};

/// Columns that are factored without blocks.
const PANEL: usize = 8;

/// Factors an m×n matrix. `lu` gets U in its upper triangle and the unit lower L below; `pivots` (min(m, n) of them,
/// counted from 1) says which row each row was exchanged with, in order. Without `pivot` no rows are exchanged.
///
/// Returns LAPACK's info: 0, or the position (from 1) of the first zero on U's diagonal.
pub fn lu<T: Num>(a: &[T], m: usize, n: usize, pivot: bool, lu: &mut [T], pivots: &mut [i32]) -> i32 {
    let mut x = Mat::load(a, m, n);
    let info = factor(&mut x, pivot, pivots);
    x.store(lu, n);
    info
}

/// [`lu`] in place.
pub(crate) fn factor<T: Num>(x: &mut Mat<T>, pivot: bool, pivots: &mut [i32]) -> i32 {
    let mut info = 0;
    recurse(x.view_mut(), pivots, 0, pivot, &mut info);
    info
}

fn recurse<T: Num>(mut a: MatMut<'_, T>, pivots: &mut [i32], offset: usize, pivot: bool, info: &mut i32) {
    let (m, n) = (a.nrows(), a.ncols());
    let k = m.min(n);
    if k <= PANEL {
        return wide(
            #[inline(always)]
            || panel(a, pivots, offset, pivot, info),
        );
    }
    let half = if k >= 4 * PANEL { (k / 2).next_multiple_of(PANEL) } else { k / 2 };
    let (first, rest) = pivots.split_at_mut(half);
    let (mut left, mut right) = a.rb_mut().split_at_col_mut(half);
    recurse(left.rb_mut(), first, offset, pivot, info);
    exchange(right.rb_mut(), first);
    let (l11, mut l21) = left.split_at_row_mut(half);
    let (mut a12, mut a22) = right.split_at_row_mut(half);
    solve_unit_lower_triangular_in_place(l11.rb(), a12.rb_mut(), Par::Seq);
    matmul(a22.rb_mut(), Accum::Add, l21.rb(), a12.rb(), -one::<T>(), Par::Seq);
    recurse(a22, rest, offset + half, pivot, info);
    exchange(l21.rb_mut(), rest);
    rest.iter_mut().for_each(|p| *p += half as i32);
}

/// Exchanges rows as the pivots say, in their order.
fn exchange<T: Num>(mut a: MatMut<'_, T>, pivots: &[i32]) {
    for j in 0..a.ncols() {
        let c = column(a.rb_mut(), j);
        for (i, &p) in pivots.iter().enumerate() {
            c.swap(i, p as usize - 1);
        }
    }
}

#[inline(always)]
fn panel<T: Num>(mut a: MatMut<'_, T>, pivots: &mut [i32], offset: usize, pivot: bool, info: &mut i32) {
    let n = a.ncols();
    for k in 0..pivots.len() {
        let mut p = k;
        let c = column(a.rb_mut(), k);
        if pivot {
            let mut best = c[k].abs1();
            for (i, v) in c.iter().enumerate().skip(k + 1) {
                let size = v.abs1();
                if size > best {
                    (p, best) = (i, size);
                }
            }
        }
        pivots[k] = p as i32 + 1;
        if c[p] == zero() {
            if *info == 0 {
                *info = (offset + k + 1) as i32;
            }
            continue;
        }
        if p != k {
            for j in 0..n {
                column(a.rb_mut(), j).swap(k, p);
            }
        }
        let (mut left, mut right) = a.rb_mut().split_at_col_mut(k + 1);
        let c = column(left.rb_mut(), k);
        let d = c[k];
        if Float::is_normal(d.abs1()) && d.abs1() * <T::Part as Float>::max_value() >= one() {
            let inverse = one::<T>() / d;
            c[k + 1..].iter_mut().for_each(|v| *v *= inverse);
        } else {
            c[k + 1..].iter_mut().for_each(|v| *v /= d);
        }
        for j in 0..right.ncols() {
            let y = column(right.rb_mut(), j);
            let by = -y[k];
            axpy(by, &c[k + 1..], &mut y[k + 1..]);
        }
    }
}

/// Rows of a unit matrix of `rows` rows after the exchanges of `pivots` (counted from 1): row i of L·U is row
/// `order[i]` of the matrix that was factored.
pub fn row_order(pivots: &[i32], order: &mut [i32]) {
    order.iter_mut().enumerate().for_each(|(i, o)| *o = i as i32);
    for (i, &p) in pivots.iter().enumerate() {
        let p = p as usize - 1;
        if i < order.len() && p < order.len() {
            order.swap(i, p);
        }
    }
}
