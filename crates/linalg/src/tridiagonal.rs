//! Hermitian matrices by reduction to a tridiagonal one and its implicit QL or QR iteration (G. H. Golub and
//! C. F. Van Loan, Matrix Computations, 8.3), with the choices of LAPACK that decide the signs of the vectors.

use num_traits::Float;

use crate::mat::{axpy, dot, Mat};
use crate::num::{one, zero, Num, Real};
use crate::rotation::{rescale, rotate, rotation_of_larger, sign, Reflections};

/// Sweeps per eigenvalue before the iteration gives up.
const SWEEPS: usize = 30;

/// Decomposes the matrix whose lower triangle is in `x`. `flipped` says that rows and columns are in reverse order,
/// which is how an upper triangle comes here. The error is the number of off-diagonals that did not vanish.
pub(crate) fn decompose<T: Num>(mut x: Mat<T>, flipped: bool) -> Result<(Vec<T::Part>, Mat<T>), i32> {
    let n = x.n;
    if n == 1 {
        return Ok((vec![x.at(0, 0).re()], Mat::eye(1, 1)));
    }
    let back = rescale(&mut x);
    for j in 0..n {
        for i in 0..j {
            *x.at_mut(i, j) = x.at(j, i).bar();
        }
    }
    let (mut d, mut e, q) = reduce(&mut x);
    if flipped {
        d.reverse();
        e.reverse();
    }
    let mut z = Mat::eye(n, n);
    iterate(&mut d, &mut e, &mut z)?;
    sort(&mut d, &mut z);
    if let Some(by) = back {
        d.iter_mut().for_each(|d| *d *= by);
    }
    let mut v = Mat::zeros(n, n);
    let flip = |v: &mut Mat<T>| (0..if flipped { n } else { 0 }).for_each(|j| v.col_mut(j).reverse());
    for j in 0..n {
        v.col_mut(j).iter_mut().zip(z.col(j)).for_each(|(v, z)| *v = T::real_of(*z));
    }
    flip(&mut v);
    q.apply(&mut v);
    flip(&mut v);
    Ok((d, v))
}

/// A = Q·T·Qᴴ: diagonal and off-diagonal of T, and Q.
fn reduce<T: Num>(a: &mut Mat<T>) -> (Vec<T::Part>, Vec<T::Part>, Reflections<T>) {
    let n = a.n;
    let mut q = Reflections::new(n, n.saturating_sub(1), 1);
    let mut e = Vec::with_capacity(n);
    for i in 0..n.saturating_sub(1) {
        e.push(q.push(a.col(i)[i + 1..].iter().copied()));
        let (v, tau) = q.last();
        if tau == zero() {
            continue;
        }
        let mut w = vec![zero::<T>(); v.len()];
        for (j, v) in v.iter().enumerate() {
            axpy(tau * *v, &a.col(i + 1 + j)[i + 1..], &mut w);
        }
        let half = T::lit(-0.5) * tau * dot(&w, v);
        axpy(half, v, &mut w);
        for (j, (vj, wj)) in v.iter().zip(&w).enumerate() {
            let c = &mut a.col_mut(i + 1 + j)[i + 1..];
            axpy(-wj.bar(), v, c);
            axpy(-vj.bar(), &w, c);
        }
    }
    ((0..n).map(|i| a.at(i, i).re()).collect(), e, q)
}

/// Eigenvalues of [a b; b c], the larger in magnitude first, and the rotation (c, s) to its vector.
fn two<R: Real>(a: R, b: R, c: R) -> (R, R, R, R) {
    let half = R::lit(0.5);
    let (sum, difference, twice) = (a + c, a - c, b + b);
    let (adf, ab) = (Float::abs(difference), Float::abs(twice));
    let (more, less) = if Float::abs(a) > Float::abs(c) { (a, c) } else { (c, a) };
    let root = if adf > ab {
        adf * Float::sqrt(one::<R>() + (ab / adf) * (ab / adf))
    } else if adf < ab {
        ab * Float::sqrt(one::<R>() + (adf / ab) * (adf / ab))
    } else {
        ab * Float::sqrt(R::lit(2.0))
    };
    let smaller = |larger: R| (more / larger) * less - (b / larger) * b;
    let (first, second, negative) = if sum < zero() {
        let first = half * (sum - root);
        (first, smaller(first), true)
    } else if sum > zero() {
        let first = half * (sum + root);
        (first, smaller(first), false)
    } else {
        (half * root, -(half * root), false)
    };
    let falls = !(difference >= zero());
    let cs = if falls { difference - root } else { difference + root };
    let (c, s) = if Float::abs(cs) > ab {
        let ct = -twice / cs;
        let s = one::<R>() / Float::sqrt(one::<R>() + ct * ct);
        (ct * s, s)
    } else if ab == zero() {
        (one(), zero())
    } else {
        let tn = -cs / twice;
        let c = one::<R>() / Float::sqrt(one::<R>() + tn * tn);
        (c, tn * c)
    };
    if negative == falls {
        (first, second, -s, c)
    } else {
        (first, second, c, s)
    }
}

/// Makes `d` the eigenvalues of the tridiagonal matrix, and multiplies `z` by the vectors.
fn iterate<R: Real>(d: &mut [R], e: &mut [R], z: &mut Mat<R>) -> Result<(), i32> {
    let n = d.len();
    // Half of the distance from 1 to the next number.
    let eps = <R as Float>::epsilon() * R::lit(0.5);
    let mut sweeps = SWEEPS * n;
    let mut start = 0;
    while start < n {
        if start > 0 {
            e[start - 1] = zero();
        }
        // A block that does not split.
        let mut end = start;
        while end + 1 < n {
            let small = Float::sqrt(Float::abs(d[end])) * Float::sqrt(Float::abs(d[end + 1])) * eps;
            if e[end] == zero() || Float::abs(e[end]) <= small {
                e[end] = zero();
                break;
            }
            end += 1;
        }
        let (from, to) = (start, end);
        start = end + 1;
        if from == to {
            continue;
        }
        // Towards the smaller end: QL from the top or QR from the bottom.
        let up = Float::abs(d[to]) < Float::abs(d[from]);
        if !block(d, e, z, (from, to), up, &mut sweeps) {
            return Err(e.iter().filter(|e| **e != zero()).count() as i32);
        }
    }
    Ok(())
}

/// Finds the eigenvalues of rows `from..=to`, from the top down or (`up`) from the bottom up. False when no sweeps are
/// left.
fn block<R: Real>(
    d: &mut [R],
    e: &mut [R],
    z: &mut Mat<R>,
    (from, to): (usize, usize),
    up: bool,
    sweeps: &mut usize,
) -> bool {
    let eps = <R as Float>::epsilon() * R::lit(0.5);
    let (eps2, tiny) = (eps * eps, <R as Float>::min_positive_value());
    // Position k of the block, counted from where the iteration starts, and the off-diagonal after it.
    let at = |k: usize| if up { to - k } else { from + k };
    let after = |k: usize| if up { to - k - 1 } else { from + k };
    let last = to - from;
    let mut l = 0;
    while l <= last {
        let mut m = l;
        while m < last {
            let off = Float::abs(e[after(m)]);
            if off * off <= (eps2 * Float::abs(d[at(m)])) * Float::abs(d[at(m + 1)]) + tiny {
                e[after(m)] = zero();
                break;
            }
            m += 1;
        }
        let p = d[at(l)];
        if m == l {
            l += 1;
            continue;
        }
        if m == l + 1 {
            let low = at(l).min(at(m));
            let (first, second, c, s) = two(d[low], e[low], d[low + 1]);
            rotate(z, low, c, s);
            (d[low], d[low + 1], e[low]) = (first, second, zero());
            l += 2;
            continue;
        }
        if *sweeps == 0 {
            return false;
        }
        *sweeps -= 1;
        let off = e[after(l)];
        let g = (d[at(l + 1)] - p) / (R::lit(2.0) * off);
        let mut g = d[at(m)] - p + off / (g + sign(Float::hypot(g, one()), g));
        let (mut s, mut c, mut p) = (one::<R>(), one::<R>(), zero::<R>());
        for k in (l..m).rev() {
            let (f, b) = (s * e[after(k)], c * e[after(k)]);
            let t = rotation_of_larger(g, f);
            (c, s) = (t.c, t.s);
            if k + 1 != m {
                e[after(k + 1)] = t.r;
            }
            g = d[at(k + 1)] - p;
            let r = (d[at(k)] - g) * s + R::lit(2.0) * c * b;
            p = s * r;
            d[at(k + 1)] = g + p;
            g = c * r - b;
            rotate(z, after(k), c, if up { s } else { -s });
        }
        d[at(l)] -= p;
        e[after(l)] = g;
    }
    true
}

/// Ascending, by selection.
fn sort<R: Real>(d: &mut [R], z: &mut Mat<R>) {
    for i in 0..d.len() {
        let mut k = i;
        for j in i + 1..d.len() {
            if d[j] < d[k] {
                k = j;
            }
        }
        if k != i {
            d.swap(i, k);
            z.swap_columns(i, k);
        }
    }
}
