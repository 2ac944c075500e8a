//! Identities that define each factorisation, on random matrices of every type.

use num_traits::{Float, ToPrimitive};

use crate::*;

const SIZES: [usize; 6] = [0, 1, 2, 3, 17, 64];

/// Numbers in (−1, 1) from a fixed sequence.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
    fn matrix<T: Num>(&mut self, m: usize, n: usize) -> Vec<T> {
        (0..m * n).map(|_| T::of(T::lit(self.next()).re(), T::lit(self.next()).re())).collect()
    }
}

fn mul<T: Num>(a: &[T], b: &[T], m: usize, k: usize, n: usize) -> Vec<T> {
    let mut c = vec![T::lit(0.0); m * n];
    for i in 0..m {
        for l in 0..k {
            for j in 0..n {
                c[i * n + j] += a[i * k + l] * b[l * n + j];
            }
        }
    }
    c
}

fn adjoint<T: Num>(a: &[T], m: usize, n: usize) -> Vec<T> {
    (0..m * n).map(|i| a[(i % m) * n + i / m].bar()).collect()
}

fn eye<T: Num>(n: usize) -> Vec<T> {
    (0..n * n).map(|i| T::lit(f64::from(i / n == i % n))).collect()
}

/// Largest difference, in roundings of the type times the matrix size and its largest element.
fn close<T: Num>(got: &[T], want: &[T], size: usize, what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    let f = |x: T::Part| x.to_f64().unwrap();
    let scale = want.iter().map(|x| f(x.magnitude())).fold(1.0, f64::max);
    let eps = f(<T::Part as Float>::epsilon());
    for (g, w) in got.iter().zip(want) {
        let error = f((*g - *w).magnitude());
        assert!(error <= 30.0 * eps * scale * size.max(1) as f64, "{what}: error {error:e}, scale {scale}");
    }
}

fn triangle<T: Num>(a: &[T], m: usize, n: usize, keep: impl Fn(usize, usize) -> bool) -> Vec<T> {
    (0..m * n).map(|i| if keep(i / n, i % n) { a[i] } else { T::lit(0.0) }).collect()
}

macro_rules! each_type {
    ($f:ident) => {
        $f::<f32>();
        $f::<f64>();
        $f::<Complex<f32>>();
        $f::<Complex<f64>>();
    };
}

fn lu_of<T: Num>() {
    let mut r = Random(1);
    for m in SIZES {
        for n in SIZES {
            let a = r.matrix::<T>(m, n);
            let k = m.min(n);
            let (mut f, mut p) = (a.clone(), vec![0; k]);
            assert_eq!(lu(&a, m, n, true, &mut f, &mut p), 0);
            let mut l = triangle(&f, m, n, |i, j| i > j);
            (0..k).for_each(|i| l[i * n + i] = T::lit(1.0));
            let l: Vec<T> = (0..m * k).map(|i| l[i / k * n + i % k]).collect();
            let u = triangle(&f[..k * n], k, n, |i, j| i <= j);
            let mut order = vec![0; m];
            row_order(&p, &mut order);
            let permuted: Vec<T> = (0..m * n).map(|i| a[order[i / n] as usize * n + i % n]).collect();
            close(&mul(&l, &u, m, k, n), &permuted, n, "LU");
            // A pivot is greatest in |re| + |im|, of which a quotient of complex numbers can have twice that of its parts.
            let bound = if T::COMPLEX { 2.0 } else { 1.0 } * (1.0 + 1e-5);
            assert!(l.iter().all(|x| x.abs1().to_f64().unwrap() <= bound), "pivots bound L");
            if m == n {
                for op in [Op::None, Op::Adjoint] {
                    let b = r.matrix::<T>(n, 5);
                    let mut x = b.clone();
                    lu_solve(&f, &p, &b, n, 5, op, &mut x);
                    let at = if op == Op::None { a.clone() } else { adjoint(&a, n, n) };
                    // The residual of a stable solve is small against |A|·|x|.
                    let size = x.iter().fold(1.0, |s: f64, v| s.max(v.magnitude().to_f64().unwrap()));
                    let scale = T::lit(1.0 / size);
                    let rescaled = |v: Vec<T>| v.into_iter().map(|x| x * scale).collect::<Vec<T>>();
                    close(&rescaled(mul(&at, &x, n, n, 5)), &rescaled(b), n, "solve");
                }
            }
        }
    }
}

#[test]
fn lu_reconstructs() {
    each_type!(lu_of);
}

#[test]
fn lu_of_singular_matrices() {
    let a = [1.0, 2.0, 2.0, 4.0];
    let (mut f, mut p) = ([0.0; 4], [0; 2]);
    assert_eq!(lu(&a, 2, 2, true, &mut f, &mut p), 2);
    assert_eq!((f, p), ([2.0, 4.0, 0.5, 0.0], [2, 2]));
    let zeros = vec![0f32; 64 * 64];
    let (mut f, mut p) = (zeros.clone(), vec![0; 64]);
    assert_eq!(lu(&zeros, 64, 64, true, &mut f, &mut p), 1);
    assert!(f.iter().all(|x| *x == 0.0));
    let (mut f, mut p) = ([0.0; 4], [0; 2]);
    assert_eq!(lu(&[0.0, 1.0, 1.0, 0.0], 2, 2, false, &mut f, &mut p), 1);
}

fn positive<T: Num>(r: &mut Random, n: usize) -> Vec<T> {
    let x = r.matrix::<T>(n, n);
    let mut a = mul(&x, &adjoint(&x, n, n), n, n, n);
    (0..n).for_each(|i| a[i * n + i] = T::real_of((a[i * n + i] + T::lit(1.0)).re()));
    a
}

fn cholesky_of<T: Num>() {
    let mut r = Random(2);
    for n in SIZES {
        let a = positive::<T>(&mut r, n);
        let mut l = a.clone();
        assert_eq!(cholesky(&triangle(&a, n, n, |i, j| i >= j), n, false, &mut l), 0);
        close(&mul(&l, &adjoint(&l, n, n), n, n, n), &a, n, "L·Lᴴ");
        let mut u = a.clone();
        assert_eq!(cholesky(&triangle(&a, n, n, |i, j| i <= j), n, true, &mut u), 0);
        close(&u, &adjoint(&l, n, n), n, "upper");
        for k in 0..n {
            let mut bad = a.clone();
            bad[k * n + k] = T::lit(-1.0);
            assert_eq!(cholesky(&bad, n, false, &mut u), k as i32 + 1);
        }
    }
}

#[test]
fn cholesky_reconstructs() {
    each_type!(cholesky_of);
}

fn triangular_of<T: Num>() {
    let mut r = Random(3);
    for n in SIZES {
        let mut a = r.matrix::<T>(n, n);
        (0..n).for_each(|i| a[i * n + i] += T::lit(n as f64));
        for upper in [false, true] {
            for unit in [false, true] {
                for op in [Op::None, Op::Transpose, Op::Adjoint] {
                    let a: Vec<T> =
                        if unit { a.iter().map(|x| *x / T::lit(n as f64)).collect() } else { a.clone() };
                    let mut t = triangle(&a, n, n, |i, j| if upper { i <= j } else { i >= j });
                    if unit {
                        (0..n).for_each(|i| t[i * n + i] = T::lit(1.0));
                    }
                    let t = match op {
                        Op::None => t,
                        Op::Adjoint => adjoint(&t, n, n),
                        Op::Transpose => adjoint(&t, n, n).iter().map(|x| x.bar()).collect(),
                    };
                    let b = r.matrix::<T>(n, 4);
                    let mut x = b.clone();
                    let how = Triangle { upper, unit, op };
                    solve_triangular(&a, &b, n, 4, how, true, &mut x);
                    close(&mul(&t, &x, n, n, 4), &b, n, "T·X");
                    let b = r.matrix::<T>(4, n);
                    solve_triangular(&a, &b, n, 4, how, false, &mut x);
                    close(&mul(&x, &t, 4, n, n), &b, n, "X·T");
                }
            }
        }
    }
}

#[test]
fn triangular_solves() {
    each_type!(triangular_of);
}

fn qr_of<T: Num>() {
    let mut r = Random(4);
    for m in SIZES {
        for n in SIZES {
            let a = r.matrix::<T>(m, n);
            let k = m.min(n);
            let (mut f, mut tau) = (a.clone(), vec![T::lit(0.0); k]);
            geqrf(&a, m, n, &mut f, &mut tau);
            let mut q = vec![T::lit(0.0); m * m];
            form_q(&f, &tau, m, n, m, &mut q);
            close(&mul(&adjoint(&q, m, m), &q, m, m, m), &eye(m), m, "Qᴴ·Q");
            let upper = triangle(&f, m, n, |i, j| i <= j);
            assert!((0..k).all(|i| upper[i * n + i].im() == T::lit(0.0).re()), "R's diagonal");
            close(&mul(&q, &upper, m, m, n), &a, m, "Q·R");
            if n <= m {
                let mut thin = vec![T::lit(0.0); m * n];
                householder_product(&f, &tau, m, n, &mut thin);
                let want: Vec<T> = (0..m * n).map(|i| q[i / n * m + i % n]).collect();
                close(&thin, &want, m, "first columns of Q");
            }
            for op in [Op::None, Op::Adjoint] {
                let qop = if op == Op::None { q.clone() } else { adjoint(&q, m, m) };
                let c = r.matrix::<T>(m, 3);
                let mut out = c.clone();
                ormqr(&f, n, &tau, &c, (m, 3), true, op, &mut out);
                close(&out, &mul(&qop, &c, m, m, 3), m, "Q·C");
                let c = r.matrix::<T>(3, m);
                ormqr(&f, n, &tau, &c, (3, m), false, op, &mut out);
                close(&out, &mul(&c, &qop, 3, m, m), m, "C·Q");
            }
        }
    }
}

#[test]
fn qr_reconstructs() {
    each_type!(qr_of);
}

#[test]
fn qr_of_extreme_columns() {
    for scale in [1e-200, 1e200] {
        let a = [3.0 * scale, 1.0, 4.0 * scale, 1.0];
        let (mut f, mut tau) = ([0.0; 4], [0.0; 2]);
        geqrf(&a, 2, 2, &mut f, &mut tau);
        assert!((f[0] / scale + 5.0).abs() < 1e-12, "{}", f[0]);
    }
}

fn spread<T: Num>(s: &[T::Part], m: usize, n: usize) -> Vec<T> {
    (0..m * n).map(|i| if i / n == i % n { T::real_of(s[i % n]) } else { T::lit(0.0) }).collect()
}

fn svd_of<T: Num>() {
    let mut r = Random(5);
    for m in SIZES {
        for n in SIZES {
            let k = m.min(n);
            let rank = k.div_ceil(2);
            for a in [r.matrix::<T>(m, n), mul(&r.matrix::<T>(m, rank), &r.matrix(rank, n), m, rank, n)] {
                let zero = T::lit(0.0);
                let mut s = vec![zero.re(); k];
                let (mut u, mut vh) = (vec![zero; m * m], vec![zero; n * n]);
                assert_eq!(svd(&a, (m, n), Vectors::Full, &mut u, &mut s, &mut vh), 0);
                close(&mul(&adjoint(&u, m, m), &u, m, m, m), &eye(m), m, "Uᴴ·U");
                close(&mul(&vh, &adjoint(&vh, n, n), n, n, n), &eye(n), n, "Vᴴ·V");
                let us = mul(&u, &spread::<T>(&s, m, n), m, m, n);
                close(&mul(&us, &vh, m, n, n), &a, m.max(n), "U·S·Vᴴ");
                assert!(s.windows(2).all(|w| w[0] >= w[1]) && s.iter().all(|x| *x >= zero.re()));
                let (mut thin, mut thin_vh, mut same) = (vec![zero; m * k], vec![zero; k * n], s.clone());
                svd(&a, (m, n), Vectors::Thin, &mut thin, &mut same, &mut thin_vh);
                let us = mul(&thin, &spread::<T>(&same, k, k), m, k, k);
                close(&mul(&us, &thin_vh, m, k, n), &a, m.max(n), "thin");
                svd(&a, (m, n), Vectors::No, &mut [], &mut same, &mut []);
                close(&same, &s, m.max(n), "values");
            }
        }
    }
}

#[test]
fn svd_reconstructs() {
    each_type!(svd_of);
}

fn eigh_of<T: Num>() {
    let mut r = Random(6);
    for n in SIZES {
        let x = r.matrix::<T>(n, n);
        let a: Vec<T> = x.iter().zip(adjoint(&x, n, n)).map(|(x, y)| *x + y).collect();
        for upper in [false, true] {
            let mut w = vec![T::lit(0.0).re(); n];
            let mut v = a.clone();
            let half = triangle(&a, n, n, |i, j| if upper { i <= j } else { i >= j });
            assert_eq!(eigh(&half, n, upper, &mut w, &mut v), 0);
            let vw = mul(&v, &spread::<T>(&w, n, n), n, n, n);
            close(&mul(&vw, &adjoint(&v, n, n), n, n, n), &a, n, "V·W·Vᴴ");
            close(&mul(&adjoint(&v, n, n), &v, n, n, n), &eye(n), n, "Vᴴ·V");
            assert!(w.windows(2).all(|w| w[0] <= w[1]));
            let mut only = w.clone();
            eigh(&half, n, upper, &mut only, &mut []);
            close(&only, &w, n, "values");
        }
    }
}

#[test]
fn eigh_reconstructs() {
    each_type!(eigh_of);
}

fn eig_of<T: Eigen>()
where
    Complex<T::Part>: Num<Part = T::Part>,
{
    let mut r = Random(7);
    for n in SIZES {
        let a = r.matrix::<T>(n, n);
        let zero = Complex::<T::Part>::lit(0.0);
        let (mut w, mut v) = (vec![zero; n], vec![zero; n * n]);
        assert_eq!(eig(&a, n, &mut w, &mut v), 0);
        let ca: Vec<Complex<T::Part>> = a.iter().map(|x| Complex::of(x.re(), x.im())).collect();
        let d: Vec<_> = (0..n * n).map(|i| if i / n == i % n { w[i % n] } else { zero }).collect();
        close(&mul(&ca, &v, n, n, n), &mul(&v, &d, n, n, n), 4 * n, "A·V");
        for j in 0..n {
            let column: Vec<_> = (0..n).map(|i| v[i * n + j]).collect();
            close(&[Complex::real_of(crate::qr::norm(&column))], &[Complex::lit(1.0)], n, "norm");
            let largest = column.iter().fold(zero, |b, x| if x.magnitude() > b.magnitude() { *x } else { b });
            close(&[Complex::lit(largest.im.to_f64().unwrap())], &[zero], 1, "largest component is real");
        }
    }
}

#[test]
fn eig_satisfies_its_equation() {
    each_type!(eig_of);
}

fn ldl_of<T: Num>() {
    let mut r = Random(8);
    for n in SIZES {
        for hermitian in [false, true] {
            let x = r.matrix::<T>(n, n);
            let flip: Vec<T> =
                adjoint(&x, n, n).iter().map(|v| if hermitian { *v } else { v.bar() }).collect();
            let mut a: Vec<T> = x.iter().zip(flip).map(|(x, y)| *x + y).collect();
            // A zero diagonal forces blocks of two rows.
            (0..n / 2).for_each(|i| a[i * n + i] = T::lit(0.0));
            let (mut f, mut p) = (a.clone(), vec![0; n]);
            let info = ldl(&triangle(&a, n, n, |i, j| i >= j), n, hermitian, &mut f, &mut p);
            assert_eq!(info, if n == 0 || a.iter().any(|x| x.abs1() > T::lit(0.0).re()) { 0 } else { 1 });
            let b = r.matrix::<T>(n, 3);
            let mut x = b.clone();
            ldl_solve(&f, &p, &b, (n, 3), hermitian, &mut x);
            let size = x.iter().fold(1.0, |s: f64, v| s.max(v.magnitude().to_f64().unwrap()));
            let rescaled = |v: Vec<T>| v.into_iter().map(|x| x * T::lit(1.0 / size)).collect::<Vec<T>>();
            close(&rescaled(mul(&a, &x, n, n, 3)), &rescaled(b), 4 * n, "A·x");
            assert!(n < 17 || p.iter().any(|p| *p < 0), "no block of two rows was tried");
        }
    }
}

#[test]
fn ldl_solves() {
    each_type!(ldl_of);
}

fn lstsq_of<T: Num>() {
    let mut r = Random(9);
    for m in SIZES {
        for n in SIZES {
            let (a, b) = (r.matrix::<T>(m, n), r.matrix::<T>(m, 2));
            let mut x = vec![T::lit(0.0); m.max(n) * 2];
            assert_eq!(full_rank(&a, &b, (m, n, 2), &mut x), 0);
            let x = &x[..n * 2];
            let mut s = vec![T::lit(0.0).re(); m.min(n)];
            let mut y = vec![T::lit(0.0); n * 2];
            let (info, rank) = shortest(&a, &b, (m, n, 2), -1.0, &mut y, &mut s);
            assert_eq!((info, rank), (0, m.min(n) as i64));
            // Both solve the normal equations Aᴴ·(A·x − b) = 0.
            let size = x.iter().fold(1.0, |s: f64, v| s.max(v.magnitude().to_f64().unwrap()));
            for x in [x, &y[..]] {
                let ax = mul(&a, x, m, n, 2);
                let rest: Vec<T> = ax.iter().zip(&b).map(|(x, b)| (*x - *b) * T::lit(1.0 / size)).collect();
                let normal = mul(&adjoint(&a, m, n), &rest, n, m, 2);
                close(&normal, &vec![T::lit(0.0); n * 2], 4 * m.max(n), "normal equations");
            }
        }
    }
}

#[test]
fn least_squares_are_least() {
    each_type!(lstsq_of);
}

fn exp_of<T: Num>() {
    let mut r = Random(10);
    for n in SIZES {
        for scale in [1e-3, 0.1, 1.0, 3.0] {
            let a: Vec<T> =
                r.matrix::<T>(n, n).iter().map(|x| *x * T::lit(scale / n.max(1) as f64)).collect();
            let mut e = a.clone();
            matrix_exp(&a, n, &mut e);
            // The series, whose terms fall below rounding for such norms.
            let (mut sum, mut term) = (eye::<T>(n), eye::<T>(n));
            for k in 1..40 {
                term = mul(&term, &a, n, n, n).iter().map(|x| *x * T::lit(1.0 / k as f64)).collect();
                sum.iter_mut().zip(&term).for_each(|(s, t)| *s += *t);
            }
            close(&e, &sum, n, "series");
            let minus: Vec<T> = a.iter().map(|x| -*x).collect();
            let mut back = a.clone();
            matrix_exp(&minus, n, &mut back);
            close(&mul(&e, &back, n, n, n), &eye(n), 4 * n, "e^A·e^−A");
        }
    }
}

#[test]
fn exponential_is_the_series() {
    each_type!(exp_of);
    let mut e = [0.0];
    matrix_exp(&[40.0], 1, &mut e);
    assert!((e[0] / 40f64.exp() - 1.0).abs() < 1e-12, "scaled and squared");
}

#[test]
fn data_that_are_not_finite_end() {
    for bad in [f64::NAN, f64::INFINITY] {
        let a = vec![bad; 25];
        let (mut s, mut u, mut v) = ([0.0; 5], [0.0; 25], [0.0; 25]);
        // As LAPACK's info: NaN is refused, and with infinities the iteration does not converge.
        let info = svd(&a, (5, 5), Vectors::Full, &mut u, &mut s, &mut v);
        assert!(info == if bad.is_nan() { -1 } else { 4 } && s[0].is_nan());
        assert_eq!(eigh(&a, 5, false, &mut s, &mut v), 4);
        assert!(s[0].is_nan() && v[0].is_nan());
        let mut w = [Complex::new(0.0, 0.0); 5];
        assert!(eig(&a, 5, &mut w, &mut []) > 0);
        matrix_exp(&a, 5, &mut v);
        assert!(cholesky(&a, 5, false, &mut v) > 0 || bad > 0.0);
        let mut p = [0; 5];
        lu(&a, 5, 5, true, &mut v, &mut p);
        ldl(&a, 5, true, &mut v, &mut p);
    }
}
