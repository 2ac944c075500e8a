//! A = L·Lᴴ.

use faer::linalg::cholesky::llt::factor::{
    cholesky_in_place, cholesky_in_place_scratch, LltError, LltRegularization,
};
use faer::Par;

use crate::mat::{with_scratch, Mat};
use crate::num::{zero, Num};

/// Factors an n×n Hermitian positive definite matrix, of which one triangle is read. `out` gets L, or Lᴴ with `upper`,
/// and zeros in the other triangle.
///
/// Returns LAPACK's info: 0, or the order of the first leading minor that is not positive definite; `out` is then only
/// partly factored.
pub fn cholesky<T: Num>(a: &[T], n: usize, upper: bool, out: &mut [T]) -> i32 {
    let mut x = if upper { Mat::load_adjoint(a, n, n) } else { Mat::load(a, n, n) };
    let info = with_scratch(cholesky_in_place_scratch::<T>(n, Par::Seq, Default::default()), |stack| {
        let none = LltRegularization {
            dynamic_regularization_delta: zero::<T::Part>(),
            dynamic_regularization_epsilon: zero::<T::Part>(),
        };
        cholesky_in_place(x.view_mut(), none, Par::Seq, stack, Default::default())
    });
    for j in 0..n {
        x.col_mut(j)[..j].fill(zero());
    }
    if upper {
        x.store_adjoint(out, n);
    } else {
        x.store(out, n);
    }
    match info {
        Ok(_) => 0,
        Err(LltError::NonPositivePivot { index }) => index as i32 + 1,
    }
}
