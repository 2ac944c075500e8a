//! Eigenvalues of Hermitian matrices: A = V·diag(w)·Vᴴ.

use faer::diag::DiagMut;
use faer::linalg::evd::{self_adjoint_evd, self_adjoint_evd_scratch, ComputeEigenvectors};
use faer::Par;
use num_traits::Float;

use crate::mat::{with_scratch, Mat};
use crate::num::{zero, Num};
use crate::rotation::SMALL;
use crate::tridiagonal;

/// Decomposes an n×n Hermitian matrix of which one triangle is read. `w` gets the eigenvalues, ascending, and `v` (if
/// it is not empty) the vectors as columns.
///
/// Returns LAPACK's info: 0, or a positive number when the iteration does not converge, as for most data that are not
/// finite; the results are then NaN.
pub fn eigh<T: Num>(a: &[T], n: usize, upper: bool, w: &mut [T::Part], v: &mut [T]) -> i32 {
    // An upper triangle in reverse order is a lower one.
    let mut x = if upper { Mat::load_reversed(a, n) } else { Mat::load(a, n, n) };
    let mut finite = true;
    for j in 0..n {
        let d = x.at(j, j).re();
        *x.at_mut(j, j) = T::real_of(d);
        finite &= x.col(j)[j..].iter().all(|x| Float::is_finite(x.abs1()));
    }
    let want = !v.is_empty();
    let result = match n {
        0 => Ok((vec![], x)),
        1..=SMALL if want || !finite => tridiagonal::decompose(x, upper),
        _ if finite => large(&x, want, upper),
        _ => Ok((vec![Float::nan(); n], Mat::filled(n, n, T::lit(f64::NAN)))),
    };
    match result {
        Ok((values, vectors)) => {
            w.copy_from_slice(&values);
            if want {
                vectors.store(v, n);
            }
            0
        }
        Err(left) => {
            w.fill(Float::nan());
            v.fill(T::lit(f64::NAN));
            // The iteration for values alone does not count the last one.
            left - i32::from(!want)
        }
    }
}

/// By the library, from the lower triangle; `flipped` as in [`tridiagonal::decompose`].
fn large<T: Num>(x: &Mat<T>, want: bool, flipped: bool) -> Result<(Vec<T::Part>, Mat<T>), i32> {
    let n = x.n;
    let which = if want { ComputeEigenvectors::Yes } else { ComputeEigenvectors::No };
    let mut s = vec![zero::<T>(); n];
    let mut u = Mat::zeros(if want { n } else { 0 }, if want { n } else { 0 });
    with_scratch(self_adjoint_evd_scratch::<T>(n, which, Par::Seq, Default::default()), |stack| {
        self_adjoint_evd(
            x.view(),
            DiagMut::from_slice_mut(&mut s),
            want.then(|| u.view_mut()),
            Par::Seq,
            stack,
            Default::default(),
        )
    })
    .map_err(|_| n as i32)?;
    if flipped {
        (0..u.n).for_each(|j| u.col_mut(j).reverse());
    }
    Ok((s.iter().map(|s| s.re()).collect(), u))
}
