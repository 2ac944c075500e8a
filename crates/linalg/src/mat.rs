//! Column-major scratch, and vector loops over its columns.

use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::{MatMut, MatRef};

use crate::num::{zero, Num};

/// A column-major matrix.
#[derive(Clone)]
pub(crate) struct Mat<T> {
    data: Vec<T>,
    pub m: usize,
    pub n: usize,
    /// Elements from one column to the next.
    ld: usize,
}

/// Columns a power of two apart share few cache sets, so long ones are set apart.
fn stride(m: usize) -> usize {
    if m.is_multiple_of(64) && m > 0 {
        m + 16
    } else {
        m.max(1)
    }
}

impl<T: Num> Mat<T> {
    /// All zeros.
    pub fn zeros(m: usize, n: usize) -> Mat<T> {
        let ld = stride(m);
        Mat { data: vec![zero(); ld * n], m, n, ld }
    }
    /// All the same.
    pub fn filled(m: usize, n: usize, value: T) -> Mat<T> {
        let mut a = Mat::zeros(m, n);
        a.data.fill(value);
        a
    }
    /// Ones on the diagonal.
    pub fn eye(m: usize, n: usize) -> Mat<T> {
        let mut a = Mat::zeros(m, n);
        for i in 0..m.min(n) {
            a.col_mut(i)[i] = crate::num::one();
        }
        a
    }
    /// An m×n matrix from row-major elements.
    pub fn load(a: &[T], m: usize, n: usize) -> Mat<T> {
        let mut x = Mat::zeros(m, n);
        // Squares of eight keep both sides in a few cache lines.
        for i0 in (0..m).step_by(8) {
            for j0 in (0..n).step_by(8) {
                for j in j0..n.min(j0 + 8) {
                    for i in i0..m.min(i0 + 8) {
                        x.data[j * x.ld + i] = a[i * n + j];
                    }
                }
            }
        }
        x
    }
    /// An n×n matrix from row-major elements, with rows and columns in reverse order.
    pub fn load_reversed(a: &[T], n: usize) -> Mat<T> {
        let mut x = Mat::zeros(n, n);
        for (k, row) in a.chunks_exact(n.max(1)).rev().enumerate() {
            row.iter().rev().enumerate().for_each(|(j, v)| *x.at_mut(k, j) = *v);
        }
        x
    }
    /// The conjugate transpose (n×m) of an m×n matrix of row-major elements.
    pub fn load_adjoint(a: &[T], m: usize, n: usize) -> Mat<T> {
        let mut x = Mat::zeros(n, m);
        for i in 0..m {
            for (to, from) in x.col_mut(i).iter_mut().zip(&a[i * n..]) {
                *to = from.bar();
            }
        }
        x
    }
    /// Writes the first rows and columns that `out` (row-major, with `n` columns) has.
    pub fn store(&self, out: &mut [T], n: usize) {
        let m = out.len().checked_div(n).unwrap_or(0);
        for i0 in (0..m).step_by(8) {
            for j0 in (0..n).step_by(8) {
                for i in i0..m.min(i0 + 8) {
                    for j in j0..n.min(j0 + 8) {
                        out[i * n + j] = self.data[j * self.ld + i];
                    }
                }
            }
        }
    }
    /// Writes the conjugate transpose of the first columns, as many as `out` (row-major) has rows, and of the first
    /// `rows` rows.
    pub fn store_adjoint(&self, out: &mut [T], rows: usize) {
        if rows == 0 {
            return;
        }
        for (j, row) in out.chunks_exact_mut(rows).enumerate() {
            for (to, from) in row.iter_mut().zip(self.col(j)) {
                *to = from.bar();
            }
        }
    }
    /// A column.
    pub fn col(&self, j: usize) -> &[T] {
        &self.data[j * self.ld..][..self.m]
    }
    /// A column.
    pub fn col_mut(&mut self, j: usize) -> &mut [T] {
        &mut self.data[j * self.ld..][..self.m]
    }
    /// Columns j and j + 1.
    pub fn two_columns(&mut self, j: usize) -> (&mut [T], &mut [T]) {
        let (x, y) = self.data[j * self.ld..].split_at_mut(self.ld);
        (&mut x[..self.m], &mut y[..self.m])
    }
    /// Exchanges two columns.
    pub fn swap_columns(&mut self, a: usize, b: usize) {
        (0..self.m).for_each(|i| self.swap((i, a), (i, b)));
    }
    /// An element.
    pub fn at(&self, i: usize, j: usize) -> T {
        self.data[j * self.ld + i]
    }
    /// An element.
    pub fn at_mut(&mut self, i: usize, j: usize) -> &mut T {
        &mut self.data[j * self.ld + i]
    }
    /// Exchanges two elements.
    pub fn swap(&mut self, a: (usize, usize), b: (usize, usize)) {
        self.data.swap(a.1 * self.ld + a.0, b.1 * self.ld + b.0);
    }
    /// Exchanges two rows.
    pub fn swap_rows(&mut self, a: usize, b: usize) {
        if a != b {
            (0..self.n).for_each(|j| self.swap((a, j), (b, j)));
        }
    }
    /// Reads as the library's matrix.
    pub fn view(&self) -> MatRef<'_, T> {
        MatRef::from_column_major_slice_with_stride(&self.data, self.m, self.n, self.ld)
    }
    /// Writes as the library's matrix.
    pub fn view_mut(&mut self) -> MatMut<'_, T> {
        MatMut::from_column_major_slice_with_stride_mut(&mut self.data, self.m, self.n, self.ld)
    }
}

/// A column of the library's column-major matrix.
#[inline(always)]
pub(crate) fn column<'a, T: Num>(a: MatMut<'a, T>, j: usize) -> &'a mut [T] {
    a.col_mut(j).try_as_col_major_mut().expect("scratch is column-major").as_slice_mut()
}

/// Runs a loop with the widest vectors of this CPU.
#[inline(always)]
pub(crate) fn wide<R>(f: impl FnOnce() -> R) -> R {
    struct With<F>(F);
    impl<R, F: FnOnce() -> R> pulp::NullaryFnOnce for With<F> {
        type Output = R;
        #[inline(always)]
        fn call(self) -> R {
            (self.0)()
        }
    }
    pulp::Arch::new().dispatch(With(f))
}

/// y += a·x.
#[inline(always)]
pub(crate) fn axpy<T: Num>(a: T, x: &[T], y: &mut [T]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += a * *x;
    }
}

/// Σ conj(x)·y, in eight partial sums.
#[inline(always)]
pub(crate) fn dot<T: Num>(x: &[T], y: &[T]) -> T {
    let mut sums = [zero::<T>(); 8];
    let (xs, ys) = (x.chunks_exact(8), y.chunks_exact(8));
    let rest = xs.remainder().iter().zip(ys.remainder()).fold(zero::<T>(), |s, (x, y)| s + x.bar() * *y);
    for (x, y) in xs.zip(ys) {
        for k in 0..8 {
            sums[k] += x[k].bar() * y[k];
        }
    }
    sums.iter().fold(rest, |s, v| s + *v)
}

/// Scratch of the library's size.
pub(crate) fn with_scratch<R>(req: StackReq, f: impl FnOnce(&mut MemStack) -> R) -> R {
    let mut buffer = MemBuffer::new(req);
    f(MemStack::new(&mut buffer))
}
