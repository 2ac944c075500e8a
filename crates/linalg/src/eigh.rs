//! Eigenvalues of Hermitian matrices: A = V·diag(w)·Vᴴ.

use faer::diag::DiagMut;
use faer::linalg::evd::{self_adjoint_evd, self_adjoint_evd_scratch, ComputeEigenvectors};
use faer::Par;
use num_traits::Float;

use crate::mat::{with_scratch, Mat};
use crate::num::{zero, Num};

/// Decomposes an n×n Hermitian matrix of which one triangle is read. `w` gets the eigenvalues, ascending, and `v` (if
/// it is not empty) the vectors as columns.
///
/// Returns 0, or a positive number when the iteration does not converge; the results are then NaN. They are NaN for
/// data that are not finite, too.
pub fn eigh<T: Num>(a: &[T], n: usize, upper: bool, w: &mut [T::Part], v: &mut [T]) -> i32 {
    let mut x = if upper { Mat::load_adjoint(a, n, n) } else { Mat::load(a, n, n) };
    let mut finite = true;
    for j in 0..n {
        let d = x.at(j, j).re();
        *x.at_mut(j, j) = T::real_of(d);
        finite &= x.col(j)[j..].iter().all(|x| Float::is_finite(x.abs1()));
    }
    let want = !v.is_empty();
    let which = if want { ComputeEigenvectors::Yes } else { ComputeEigenvectors::No };
    let mut s = vec![zero::<T>(); n];
    let mut u = Mat::zeros(if want { n } else { 0 }, if want { n } else { 0 });
    let done = finite
        && with_scratch(self_adjoint_evd_scratch::<T>(n, which, Par::Seq, Default::default()), |stack| {
            self_adjoint_evd(
                x.view(),
                DiagMut::from_slice_mut(&mut s),
                want.then(|| u.view_mut()),
                Par::Seq,
                stack,
                Default::default(),
            )
        })
        .is_ok();
    if !done {
        w.fill(Float::nan());
        v.fill(T::lit(f64::NAN));
        return if finite { n as i32 } else { 0 };
    }
    w.iter_mut().zip(&s).for_each(|(w, s)| *w = s.re());
    if want {
        u.store(v, n);
    }
    0
}
