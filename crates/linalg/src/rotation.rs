//! Plane rotations and reflections one at a time: the steps of the iterations for small matrices, in the order in
//! which LAPACK takes them, so that the signs of the vectors are LAPACK's.

use num_traits::Float;

use crate::mat::{axpy, dot, Mat};
use crate::num::{one, zero, Num, Real};
use crate::qr::reflector;

/// The largest size whose vectors come from these iterations; above it LAPACK divides and conquers, and its signs
/// follow from another order of operations.
pub(crate) const SMALL: usize = 25;

/// |size| with the sign of `of`; a NaN has the sign that is stored.
#[inline(always)]
pub(crate) fn sign<R: Real>(size: R, of: R) -> R {
    Float::copysign(Float::abs(size), of)
}

/// A rotation with c·f + s·g = r and c·g − s·f = 0.
#[derive(Clone, Copy)]
pub(crate) struct Rotation<R> {
    pub c: R,
    pub s: R,
    pub r: R,
}

/// r has the sign of f.
pub(crate) fn rotation<R: Real>(f: R, g: R) -> Rotation<R> {
    if g == zero() {
        return Rotation { c: one(), s: zero(), r: f };
    }
    if f == zero() {
        return Rotation { c: zero(), s: sign(one(), g), r: Float::abs(g) };
    }
    let size = Float::hypot(f, g);
    let r = sign(size, f);
    Rotation { c: Float::abs(f) / size, s: g / r, r }
}

/// r has the sign of f where |f| > |g|, and is positive elsewhere: the older convention, which the iterations for
/// eigenvalues keep.
pub(crate) fn rotation_of_larger<R: Real>(f: R, g: R) -> Rotation<R> {
    let mut t = rotation(f, g);
    if g != zero() && !(Float::abs(f) > Float::abs(g)) && f < zero() {
        t = Rotation { c: -t.c, s: -t.s, r: -t.r };
    }
    t
}

/// Columns j and j + 1: (c·x + s·y, c·y − s·x).
#[inline(always)]
pub(crate) fn rotate<T: Num>(a: &mut Mat<T>, j: usize, c: T::Part, s: T::Part) {
    let (c, s) = (T::real_of(c), T::real_of(s));
    let (x, y) = a.two_columns(j);
    for (x, y) in x.iter_mut().zip(y) {
        (*x, *y) = (c * *x + s * *y, c * *y - s * *x);
    }
}

/// Reflections H(i) = I − τ(i)·v(i)·vᴴ(i), where v(i) has a 1 in row i + `shift` and zeros above it.
pub(crate) struct Reflections<T> {
    v: Mat<T>,
    tau: Vec<T>,
    shift: usize,
}

impl<T: Num> Reflections<T> {
    /// Room for `count` reflections of `m` rows.
    pub fn new(m: usize, count: usize, shift: usize) -> Reflections<T> {
        Reflections { v: Mat::zeros(m, count), tau: Vec::with_capacity(count), shift }
    }
    /// The next reflection, which maps `x`, its part from row i + `shift`, to (β, 0, …); returns β.
    pub fn push(&mut self, x: impl Iterator<Item = T>) -> T::Part {
        let i = self.tau.len();
        let v = &mut self.v.col_mut(i)[i + self.shift..];
        v.iter_mut().zip(x).for_each(|(to, x)| *to = x);
        self.tau.push(reflector(v));
        let beta = v[0].re();
        v[0] = one();
        beta
    }
    /// The vector from its 1 on and the factor of the last reflection.
    pub fn last(&self) -> (&[T], T) {
        let i = self.tau.len() - 1;
        (&self.v.col(i)[i + self.shift..], self.tau[i])
    }
    /// C ← H(0)·H(1)⋯C.
    pub fn apply(&self, c: &mut Mat<T>) {
        for (i, tau) in self.tau.iter().enumerate().rev() {
            let from = i + self.shift;
            from_left(&self.v.col(i)[from..], *tau, c, from, 0);
        }
    }
}

/// C ← H·C, on the rows from `row` and the columns from `column` on.
pub(crate) fn from_left<T: Num>(v: &[T], tau: T, c: &mut Mat<T>, row: usize, column: usize) {
    if tau == zero() {
        return;
    }
    for j in column..c.n {
        let y = &mut c.col_mut(j)[row..row + v.len()];
        axpy(-(tau * dot(v, y)), v, y);
    }
}

/// C ← C·H, on the columns from `column` and the rows of `rows`.
pub(crate) fn from_right<T: Num>(
    v: &[T],
    tau: T,
    c: &mut Mat<T>,
    column: usize,
    rows: std::ops::Range<usize>,
) {
    if tau == zero() {
        return;
    }
    let mut w = vec![zero::<T>(); rows.len()];
    for (k, v) in v.iter().enumerate() {
        axpy(*v, &c.col(column + k)[rows.clone()], &mut w);
    }
    for (k, v) in v.iter().enumerate() {
        axpy(-(tau * v.bar()), &w, &mut c.col_mut(column + k)[rows.clone()]);
    }
}

/// The largest |re| + |im|, NaN if one is.
pub(crate) fn largest<T: Num>(a: &Mat<T>) -> T::Part {
    let mut most = zero::<T::Part>();
    for j in 0..a.n {
        for x in a.col(j) {
            let x = x.abs1();
            if x > most || Float::is_nan(x) {
                most = x;
            }
            if Float::is_nan(most) {
                return most;
            }
        }
    }
    most
}

/// Brings elements so large or small that squares leave the range nearer to 1; returns the factor by which results
/// are to be multiplied. As in LAPACK an infinity becomes NaN, and what is finite beside it 0.
pub(crate) fn rescale<T: Num>(a: &mut Mat<T>) -> Option<T::Part> {
    let most = largest(a);
    let low = Float::sqrt(<T::Part as Float>::min_positive_value() / <T::Part as Float>::epsilon());
    let high = one::<T::Part>() / low;
    let to = match most {
        m if m > zero() && m < low => low,
        m if m > high => high,
        _ => return None,
    };
    let by = to / most;
    for j in 0..a.n {
        a.col_mut(j).iter_mut().for_each(|x| *x = T::of(x.re() * by, x.im() * by));
    }
    Some(most / to)
}
