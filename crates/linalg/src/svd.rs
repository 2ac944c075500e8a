//! A = U·diag(s)·Vᴴ.

use faer::diag::DiagMut;
use faer::linalg::svd::{svd as run, svd_scratch, ComputeSvdVectors};
use faer::Par;

use crate::bidiagonal;
use crate::mat::{with_scratch, Mat};
use crate::num::{zero, Num};
use crate::rotation::{largest, SMALL};

/// Which singular vectors are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vectors {
    /// None.
    No,
    /// The first min(m, n).
    Thin,
    /// All.
    Full,
}

pub(crate) struct Svd<T: Num> {
    /// m×k or m×m.
    pub u: Mat<T>,
    pub s: Vec<T::Part>,
    /// n×k or n×n.
    pub v: Mat<T>,
}

/// The error is LAPACK's info: positive when the iteration does not converge, −1 for NaN. Infinities give NaN, or no
/// convergence where LAPACK's iteration finds none.
pub(crate) fn decompose<T: Num>(a: &Mat<T>, vectors: Vectors) -> Result<Svd<T>, i32> {
    let (m, n) = (a.m, a.n);
    let k = m.min(n);
    let most = largest(a);
    if num_traits::Float::is_nan(most) {
        return Err(-1);
    }
    let finite = num_traits::Float::is_finite(most);
    let wanted = match vectors {
        Vectors::Full => (m, n),
        _ => (k, k),
    };
    if (1..=SMALL).contains(&k) && vectors != Vectors::No {
        let (u, s, v) = bidiagonal::decompose(a.clone(), wanted)?;
        return Ok(Svd { u, s, v });
    }
    if !finite {
        let nan = T::lit(f64::NAN);
        let s = vec![num_traits::Float::nan(); k];
        return Ok(Svd { u: Mat::filled(m, wanted.0, nan), s, v: Mat::filled(n, wanted.1, nan) });
    }
    let (which, p, q) = match vectors {
        Vectors::No => (ComputeSvdVectors::No, 0, 0),
        Vectors::Thin => (ComputeSvdVectors::Thin, k, k),
        Vectors::Full => (ComputeSvdVectors::Full, m, n),
    };
    let (mut u, mut v) = (Mat::zeros(m, p), Mat::zeros(n, q));
    let mut s = vec![zero::<T>(); k];
    let req = svd_scratch::<T>(m, n, which, which, Par::Seq, Default::default());
    let want = vectors != Vectors::No;
    with_scratch(req, |stack| {
        run(
            a.view(),
            DiagMut::from_slice_mut(&mut s),
            want.then(|| u.view_mut()),
            want.then(|| v.view_mut()),
            Par::Seq,
            stack,
            Default::default(),
        )
    })
    .map_err(|_| k as i32)?;
    Ok(Svd { u, s: s.iter().map(|x| x.re()).collect(), v })
}

/// Decomposes an m×n matrix; singular values descend. `u` gets m×k (or m×m) and `vh` k×n (or n×n) elements, where
/// k = min(m, n); both are empty for [`Vectors::No`].
///
/// Returns LAPACK's info: 0, positive when it does not converge, −1 for NaN; the results are then NaN. Infinities give
/// NaN, too.
pub fn svd<T: Num>(
    a: &[T],
    (m, n): (usize, usize),
    vectors: Vectors,
    u: &mut [T],
    s: &mut [T::Part],
    vh: &mut [T],
) -> i32 {
    let d = match decompose(&Mat::load(a, m, n), vectors) {
        Ok(d) => d,
        Err(info) => {
            u.fill(T::lit(f64::NAN));
            s.fill(num_traits::Float::nan());
            vh.fill(T::lit(f64::NAN));
            return info;
        }
    };
    s.copy_from_slice(&d.s);
    d.u.store(u, d.u.n);
    d.v.store_adjoint(vh, n);
    0
}
