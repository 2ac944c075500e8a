//! Eigenvalues of general matrices: A·V = V·diag(w).

use faer::diag::DiagMut;
use faer::linalg::evd::{evd_cplx, evd_real, evd_scratch, ComputeEigenvectors};
use faer::Par;
use num_complex::Complex;
use num_traits::Float;

use crate::mat::{with_scratch, Mat};
use crate::num::{zero, Num, Real};
use crate::qr::norm;
use crate::rotation::{rescale, rotation, rotation_of_larger, SMALL};
use crate::schur;

/// An element type with general eigenvalues.
pub trait Eigen: Num {
    /// Eigenvalues, and vectors (not normalised) if wanted; `None` when the iteration does not converge.
    #[doc(hidden)]
    #[allow(private_interfaces, reason = "called in this module only")]
    fn decompose(a: &Mat<Self>, vectors: bool) -> Option<Pairs<Self::Part>>;
}

type Pairs<R> = (Vec<Complex<R>>, Mat<Complex<R>>);

fn wanted(vectors: bool) -> ComputeEigenvectors {
    if vectors {
        ComputeEigenvectors::Yes
    } else {
        ComputeEigenvectors::No
    }
}

macro_rules! eigen {
    ($($r:ident)*) => { $(
        impl Eigen for $r {
            #[allow(private_interfaces, reason = "called in this module only")]
            fn decompose(a: &Mat<$r>, vectors: bool) -> Option<Pairs<$r>> {
                let n = a.n;
                if vectors && n <= SMALL {
                    return schur::decompose(a.clone());
                }
                let size = if vectors { n } else { 0 };
                let (mut re, mut im) = (vec![0.0; n], vec![0.0; n]);
                let mut u = Mat::<$r>::zeros(size, size);
                let (no, right) = (ComputeEigenvectors::No, wanted(vectors));
                with_scratch(evd_scratch::<$r>(n, no, right, Par::Seq, Default::default()), |stack| {
                    evd_real(
                        a.view(),
                        DiagMut::from_slice_mut(&mut re),
                        DiagMut::from_slice_mut(&mut im),
                        None,
                        vectors.then(|| u.view_mut()),
                        Par::Seq,
                        stack,
                        Default::default(),
                    )
                })
                .ok()?;
                let v = unpack(&u, &im);
                Some((re.iter().zip(&im).map(|(&re, &im)| Complex::new(re, im)).collect(), v))
            }
        }
        impl Eigen for Complex<$r> {
            #[allow(private_interfaces, reason = "called in this module only")]
            fn decompose(a: &Mat<Self>, vectors: bool) -> Option<Pairs<$r>> {
                let n = a.n;
                let size = if vectors { n } else { 0 };
                let mut w = vec![Complex::new(0.0, 0.0); n];
                let mut v = Mat::zeros(size, size);
                let (no, right) = (ComputeEigenvectors::No, wanted(vectors));
                with_scratch(evd_scratch::<Self>(n, no, right, Par::Seq, Default::default()), |stack| {
                    evd_cplx(
                        a.view(),
                        DiagMut::from_slice_mut(&mut w),
                        None,
                        vectors.then(|| v.view_mut()),
                        Par::Seq,
                        stack,
                        Default::default(),
                    )
                })
                .ok()?;
                Some((w, v))
            }
        }
    )* };
}
eigen! { f32 f64 }

/// Complex vectors from real columns: a conjugate pair has the real part of its first vector in one column and the
/// imaginary part in the next.
fn unpack<R: Real>(u: &Mat<R>, im: &[R]) -> Mat<Complex<R>>
where
    Complex<R>: Num<Part = R>,
{
    let n = u.n;
    let mut v = Mat::<Complex<R>>::zeros(n, n);
    let mut j = 0;
    while j < n {
        let pair = im[j] != zero() && j + 1 < n;
        for i in 0..n {
            let (x, y) = (u.at(i, j), if pair { u.at(i, j + 1) } else { zero() });
            *v.at_mut(i, j) = Complex::new(x, y);
            if pair {
                *v.at_mut(i, j + 1) = Complex::new(x, -y);
            }
        }
        j += 1 + usize::from(pair);
    }
    v
}

/// Decomposes an n×n matrix. `w` gets the eigenvalues and `v` (if it is not empty) the vectors as columns, of norm 1
/// and with a real largest component.
///
/// Returns 0, or a positive number when the iteration does not converge, as for data that are not finite; the results
/// are then NaN.
pub fn eig<T: Eigen>(a: &[T], n: usize, w: &mut [Complex<T::Part>], v: &mut [Complex<T::Part>]) -> i32
where
    Complex<T::Part>: Num<Part = T::Part>,
{
    let finite = a.iter().all(|x| Float::is_finite(x.abs1()));
    let mut x = Mat::load(a, n, n);
    let back = if finite { rescale(&mut x) } else { None };
    let result = if finite { T::decompose(&x, !v.is_empty()) } else { None };
    let Some((mut values, mut vectors)) = result else {
        let nan = Complex::new(Float::nan(), Float::nan());
        w.fill(nan);
        v.fill(nan);
        return n as i32;
    };
    if let Some(by) = back {
        values.iter_mut().for_each(|w| *w = *w * Complex::real_of(by));
    }
    w.copy_from_slice(&values);
    for j in 0..vectors.n {
        let c = vectors.col_mut(j);
        let size = norm(c);
        c.iter_mut().for_each(|x| *x = x.unscale(size));
        let mut k = 0;
        for (i, x) in c.iter().enumerate() {
            if x.norm_sqr() > c[k].norm_sqr() {
                k = i;
            }
        }
        let magnitude = c[k].magnitude();
        let turn = if magnitude == zero() {
            Complex::real_of(crate::num::one())
        } else if T::COMPLEX {
            c[k].conj().unscale(magnitude)
        } else {
            // A real vector keeps its sign. The two conventions are those found in the library under the CPU backend.
            let narrow = std::mem::size_of::<T::Part>() == 4;
            let t = if narrow { rotation } else { rotation_of_larger }(c[k].re, c[k].im);
            Complex::new(t.c, -t.s)
        };
        c.iter_mut().for_each(|x| *x = *x * turn);
        c[k].im = zero();
    }
    if !v.is_empty() {
        vectors.store(v, n);
    }
    0
}
