//! Householder reflections as LAPACK stores them: H(j) = I − τ(j)·v·vᴴ with v(j) = 1, v(i < j) = 0 and the rest of v
//! below the diagonal. R's diagonal is real.

use faer::linalg::matmul::matmul;
use faer::prelude::{Reborrow, ReborrowMut};
use faer::{Accum, MatMut, MatRef, Par};
use num_traits::Float;

use crate::mat::{axpy, column, dot, wide, Mat};
use crate::num::{one, zero, Num};
use crate::triangular::Op;

/// Reflections that are applied together.
const BLOCK: usize = 32;

/// Factors an m×n matrix as Q·R: `out` gets R and below it the reflections, `tau` (min(m, n)) their factors.
pub fn geqrf<T: Num>(a: &[T], m: usize, n: usize, out: &mut [T], tau: &mut [T]) {
    let mut x = Mat::load(a, m, n);
    factor(&mut x, tau);
    x.store(out, n);
}

/// [`geqrf`] in place.
pub(crate) fn factor<T: Num>(x: &mut Mat<T>, tau: &mut [T]) {
    let k = tau.len();
    let mut start = 0;
    while start < k {
        let width = BLOCK.min(k - start);
        let (m, n) = (x.m - start, x.n - start);
        let taus = &mut tau[start..start + width];
        let mut rest = x.view_mut().submatrix_mut(start, start, m, n);
        // A narrow matrix is one panel; splitting would only cost.
        let columns = if n <= 2 * BLOCK && k <= BLOCK { n } else { width };
        wide(
            #[inline(always)]
            || panel(rest.rb_mut().subcols_mut(0, columns), taus),
        );
        if columns < n {
            let (v, c) = rest.split_at_col_mut(columns);
            Block::new(v.rb(), taus).apply(c, true);
        }
        start += width;
    }
}

#[inline(always)]
fn panel<T: Num>(mut a: MatMut<'_, T>, tau: &mut [T]) {
    for (j, t) in tau.iter_mut().enumerate() {
        let (mut left, mut right) = a.rb_mut().split_at_col_mut(j + 1);
        let c = &mut column(left.rb_mut(), j)[j..];
        *t = reflector(c);
        if *t == zero() {
            continue;
        }
        let head = std::mem::replace(&mut c[0], one());
        for i in 0..right.ncols() {
            let y = &mut column(right.rb_mut(), i)[j..];
            axpy(-(t.bar() * dot(c, y)), c, y);
        }
        c[0] = head;
    }
}

/// Makes the reflection that maps `x` to (β, 0, …): β replaces x(0), v the rest; returns τ. Hᴴ·x = β·e₁ with β real.
#[inline(always)]
pub(crate) fn reflector<T: Num>(x: &mut [T]) -> T {
    let alpha = x[0];
    let tail = norm(&x[1..]);
    if tail == zero() && alpha.im() == zero() {
        return zero();
    }
    let size = Float::hypot(Float::hypot(alpha.re(), alpha.im()), tail);
    let beta = if alpha.re() >= zero() { -size } else { size };
    let tau = T::of((beta - alpha.re()) / beta, -alpha.im() / beta);
    let scale = one::<T>() / (alpha - T::real_of(beta));
    x[1..].iter_mut().for_each(|v| *v *= scale);
    x[0] = T::real_of(beta);
    tau
}

/// Euclidean norm, scaled where the plain sum of squares leaves the range.
#[inline(always)]
pub(crate) fn norm<T: Num>(x: &[T]) -> T::Part {
    let plain = Float::sqrt(dot(x, x).re());
    let small = Float::sqrt(<T::Part as Float>::min_positive_value() / <T::Part as Float>::epsilon());
    if (plain > small && Float::is_finite(plain)) || x.is_empty() {
        return plain;
    }
    let largest = x.iter().fold(zero::<T::Part>(), |m, v| Float::max(m, v.abs1()));
    if largest == zero() || !Float::is_finite(largest) {
        return if largest == zero() { plain } else { largest };
    }
    let sum = x.iter().fold(zero::<T::Part>(), |s, v| {
        let (re, im) = (v.re() / largest, v.im() / largest);
        s + re * re + im * im
    });
    largest * Float::sqrt(sum)
}

/// Several reflections as I − V·T·Vᴴ, T upper triangular.
struct Block<T> {
    v: Mat<T>,
    t: Mat<T>,
}

impl<T: Num> Block<T> {
    /// From the columns below the diagonal of `a`.
    fn new(a: MatRef<'_, T>, tau: &[T]) -> Block<T> {
        let (m, k) = (a.nrows(), tau.len());
        let mut v = Mat::zeros(m, k);
        for j in 0..k {
            let c = v.col_mut(j);
            c[j] = one();
            for i in j + 1..m {
                c[i] = a[(i, j)];
            }
        }
        let mut products = Mat::zeros(k, k);
        matmul(products.view_mut(), Accum::Replace, v.view().adjoint(), v.view(), one(), Par::Seq);
        // T(0..j, j) = −τ(j)·T(0..j, 0..j)·V(:, 0..j)ᴴ·v(j).
        let mut t = Mat::<T>::zeros(k, k);
        for (j, &tau) in tau.iter().enumerate().take(k) {
            for i in 0..j {
                let sum = (i..j).fold(zero::<T>(), |s, l| s + t.at(i, l) * products.at(l, j));
                *t.at_mut(i, j) = -(tau * sum);
            }
            *t.at_mut(j, j) = tau;
        }
        Block { v, t }
    }

    /// C ← H·C, or Hᴴ·C.
    fn apply(&self, mut c: MatMut<'_, T>, adjoint: bool) {
        let (k, n) = (self.v.n, c.ncols());
        let (mut w, mut tw) = (Mat::zeros(k, n), Mat::zeros(k, n));
        matmul(w.view_mut(), Accum::Replace, self.v.view().adjoint(), c.rb(), one(), Par::Seq);
        if adjoint {
            matmul(tw.view_mut(), Accum::Replace, self.t.view().adjoint(), w.view(), one(), Par::Seq);
        } else {
            matmul(tw.view_mut(), Accum::Replace, self.t.view(), w.view(), one(), Par::Seq);
        }
        matmul(c.rb_mut(), Accum::Add, self.v.view(), tw.view(), -one::<T>(), Par::Seq);
    }
}

/// Applies Q = H(0)·H(1)⋯ (or Qᴴ) of the reflections in `a` to `c` from the left. With `unit`, `c` is a unit matrix, of
/// which only the part that changes is computed.
pub(crate) fn apply_q<T: Num>(a: MatRef<'_, T>, tau: &[T], c: &mut Mat<T>, adjoint: bool, unit: bool) {
    let (m, k) = (a.nrows(), tau.len());
    let blocks = k.div_ceil(BLOCK);
    for b in 0..blocks {
        let start = BLOCK * if adjoint { b } else { blocks - 1 - b };
        let width = BLOCK.min(k - start);
        let block = Block::new(a.submatrix(start, start, m - start, width), &tau[start..start + width]);
        let first = if unit { start } else { 0 };
        let columns = c.n - first.min(c.n);
        let part = c.view_mut().submatrix_mut(start, first.min(columns + first), m - start, columns);
        block.apply(part, adjoint);
    }
}

/// The first `n` columns of Q, from the reflections in the m×n matrix `a` and `tau` (at most n).
pub fn householder_product<T: Num>(a: &[T], tau: &[T], m: usize, n: usize, out: &mut [T]) {
    let mut q = Mat::eye(m, n);
    apply_q(Mat::load(a, m, n).view(), tau, &mut q, false, true);
    q.store(out, n);
}

/// The first `columns` columns of Q, from the reflections in the m×n matrix `a`.
pub fn form_q<T: Num>(a: &[T], tau: &[T], m: usize, n: usize, columns: usize, out: &mut [T]) {
    let mut q = Mat::eye(m, columns);
    apply_q(Mat::load(a, m, n).view(), tau, &mut q, false, true);
    q.store(out, columns);
}

/// Q·C, Qᴴ·C (`op` is `Adjoint`), or with `left` false C·Q and C·Qᴴ, for an r×s matrix `c`. The reflections are in the
/// q×n matrix `a`, where q is r or, from the right, s.
pub fn ormqr<T: Num>(
    a: &[T],
    n: usize,
    tau: &[T],
    c: &[T],
    (r, s): (usize, usize),
    left: bool,
    op: Op,
    out: &mut [T],
) {
    let adjoint = op != Op::None;
    if left {
        let mut x = Mat::load(c, r, s);
        apply_q(Mat::load(a, r, n).view(), tau, &mut x, adjoint, false);
        x.store(out, s);
    } else {
        // (C·Q)ᴴ = Qᴴ·Cᴴ.
        let mut x = Mat::load_adjoint(c, r, s);
        apply_q(Mat::load(a, s, n).view(), tau, &mut x, !adjoint, false);
        x.store_adjoint(out, s);
    }
}
