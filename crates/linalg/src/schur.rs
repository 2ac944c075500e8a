//! Eigenvectors of general real matrices by balancing, reduction to Hessenberg form, double-shift QR and back
//! substitution (G. H. Golub and C. F. Van Loan, Matrix Computations, 7.5 and 7.6), with the choices of LAPACK that
//! decide the signs of the vectors.

use num_complex::Complex;
use num_traits::Float;

use crate::mat::Mat;
use crate::num::{one, zero, Num, Real};
use crate::qr::{norm, reflector};
use crate::rotation::{from_left, from_right, rotate, sign, Reflections};

/// Sweeps per eigenvalue before the iteration gives up.
const SWEEPS: usize = 30;
/// Sweeps without progress before an exceptional shift.
const STALLED: usize = 10;

/// Eigenvalues and vectors (not normalised) of a finite matrix; `None` when the iteration does not converge.
pub(crate) fn decompose<R: Real>(mut a: Mat<R>) -> Option<(Vec<Complex<R>>, Mat<Complex<R>>)>
where
    Complex<R>: Num<Part = R>,
{
    let n = a.n;
    let moves = balance(&mut a);
    let (from, to) = (moves.from, moves.to);
    let mut h = Reflections::new(n, (to - from).saturating_sub(2), from + 1);
    for i in from..to.saturating_sub(2) {
        let beta = h.push(a.col(i)[i + 1..to].iter().copied());
        let (v, tau) = h.last();
        let v = &v[..to - i - 1];
        a.col_mut(i)[i + 1..to].fill(zero());
        *a.at_mut(i + 1, i) = beta;
        from_right(v, tau, &mut a, i + 1, 0..to);
        from_left(v, tau, &mut a, i + 1, i + 1);
    }
    let mut z = Mat::eye(n, n);
    h.apply(&mut z);
    iterate(&mut a, &mut z, from, to)?;
    let (values, mut vectors) = back_substitute(&a, &z);
    moves.undo(&mut vectors);
    Some((values, vectors))
}

/// What balancing did: rows and columns `from..to` are left to the iteration.
struct Moves<R> {
    from: usize,
    to: usize,
    /// Scale of the rows from `from` to `to`.
    scale: Vec<R>,
    /// Exchanges of rows and columns, in their order.
    swaps: Vec<(usize, usize)>,
}

impl<R: Real> Moves<R> {
    fn undo(&self, v: &mut Mat<Complex<R>>)
    where
        Complex<R>: Num<Part = R>,
    {
        for j in 0..v.n {
            for (x, by) in v.col_mut(j)[self.from..].iter_mut().zip(&self.scale) {
                *x = *x * Complex::real_of(*by);
            }
        }
        for (a, b) in self.swaps.iter().rev() {
            v.swap_rows(*a, *b);
        }
    }
}

/// Moves eigenvalues that stand alone to the ends, and scales what is left by powers of two until rows and columns are
/// of similar size (B. N. Parlett and C. Reinsch, 1969).
fn balance<R: Real>(a: &mut Mat<R>) -> Moves<R> {
    let (mut from, mut to) = (0, a.n);
    let mut swaps = Vec::new();
    let mut exchange = |a: &mut Mat<R>, i: usize, k: usize| {
        if i != k {
            a.swap_columns(i, k);
            a.swap_rows(i, k);
        }
        swaps.push((i, k));
    };
    let alone = |a: &Mat<R>, i: usize, (from, to): (usize, usize), row: bool| {
        (from..to).all(|j| j == i || (if row { a.at(i, j) } else { a.at(j, i) }) == zero())
    };
    while let Some(i) = (0..to).rev().find(|&i| alone(a, i, (0, to), true)) {
        exchange(a, i, to - 1);
        to -= 1;
    }
    while let Some(j) = (from..to).find(|&j| alone(a, j, (from, to), false)) {
        exchange(a, j, from);
        from += 1;
    }
    let mut scale = vec![one::<R>(); to - from];
    let (two, limit) = (R::lit(2.0), R::lit(0.95));
    let large = one::<R>() / (<R as Float>::min_positive_value() / <R as Float>::epsilon());
    let mut changed = true;
    while changed {
        changed = false;
        for i in from..to {
            let row: Vec<R> = (from..to).map(|j| a.at(i, j)).collect();
            let (mut c, mut r) = (norm(&a.col(i)[from..to]), norm(&row));
            if c == zero() || r == zero() {
                continue;
            }
            let (sum, mut f) = (c + r, one::<R>());
            while c < r / two && f < large && c < large {
                (f, c, r) = (f * two, c * two, r / two);
            }
            while c / two >= r && r < large && f > one::<R>() / large {
                (f, c, r) = (f / two, c / two, r * two);
            }
            if c + r >= limit * sum {
                continue;
            }
            changed = true;
            scale[i - from] *= f;
            (0..a.n).for_each(|j| *a.at_mut(i, j) /= f);
            a.col_mut(i).iter_mut().for_each(|x| *x *= f);
        }
    }
    Moves { from, to, scale, swaps }
}

/// Makes [a b; c d] upper triangular, or its diagonal equal where its eigenvalues are complex. Returns the elements in
/// this order, and the rotation (c, s).
fn standard<R: Real>([mut a, mut b, mut c, mut d]: [R; 4]) -> ([R; 4], R, R) {
    let (zero, one, half): (R, R, R) = (zero(), one(), R::lit(0.5));
    let (mut cs, mut sn) = (one, zero);
    let apart = sign(one, b) != sign(one, c);
    if c == zero || (b != zero && a - d == zero && apart) {
        return ([a, b, c, d], cs, sn);
    }
    if b == zero {
        return ([d, -c, zero, a], zero, one);
    }
    let difference = a - d;
    let p = half * difference;
    let (more, less) = (Float::max(Float::abs(b), Float::abs(c)), Float::min(Float::abs(b), Float::abs(c)));
    let less = if apart { -less } else { less };
    let scale = Float::max(Float::abs(p), more);
    let z = p / scale * p + more / scale * less;
    if z >= R::lit(4.0) * <R as Float>::epsilon() {
        // Two real eigenvalues.
        let z = p + sign(Float::sqrt(scale) * Float::sqrt(z), p);
        a = d + z;
        d -= (more / z) * less;
        let tau = Float::hypot(c, z);
        return ([a, b - c, zero, d], z / tau, c / tau);
    }
    let sigma = b + c;
    let tau = Float::hypot(sigma, difference);
    cs = Float::sqrt(half * (one + Float::abs(sigma) / tau));
    sn = -(p / (tau * cs)) * sign(one, sigma);
    let (aa, bb) = (a * cs + b * sn, b * cs - a * sn);
    let (cc, dd) = (c * cs + d * sn, d * cs - c * sn);
    (a, b, c, d) = (aa * cs + cc * sn, bb * cs + dd * sn, cc * cs - aa * sn, dd * cs - bb * sn);
    let middle = half * (a + d);
    (a, d) = (middle, middle);
    if c != zero && b == zero {
        (b, c, cs, sn) = (-c, zero, -sn, cs);
    } else if c != zero && sign(one, b) == sign(one, c) {
        // Real after all.
        let (rb, rc) = (Float::sqrt(Float::abs(b)), Float::sqrt(Float::abs(c)));
        let p = sign(rb * rc, c);
        let tau = one / Float::sqrt(Float::abs(b + c));
        (a, d, b, c) = (middle + p, middle - p, b - c, zero);
        let (c1, s1) = (rb * tau, rc * tau);
        (cs, sn) = (cs * c1 - sn * s1, cs * s1 + sn * c1);
    }
    ([a, b, c, d], cs, sn)
}

/// Makes the Hessenberg matrix `h` quasi-triangular and multiplies `z` by the transformations.
fn iterate<R: Real>(h: &mut Mat<R>, z: &mut Mat<R>, from: usize, to: usize) -> Option<()> {
    let size = to - from;
    let ulp = <R as Float>::epsilon();
    let small = <R as Float>::min_positive_value() * (R::lit(size as f64) / ulp);
    let mut end = to;
    while end > from {
        let i = end - 1;
        let mut stalled = 0;
        let mut l;
        loop {
            l = split(h, (from, to), i, small);
            if l > from {
                *h.at_mut(l, l - 1) = zero();
            }
            if l + 1 >= i {
                break;
            }
            if stalled > SWEEPS * size.max(10) {
                return None;
            }
            stalled += 1;
            let (m, v) = start(h, (l, i), shifts(h, (l, i), stalled));
            sweep(h, z, (l, m, i), v);
        }
        if l + 1 == i {
            let (new, c, s) = standard([h.at(l, l), h.at(l, i), h.at(i, l), h.at(i, i)]);
            for j in i + 1..h.n {
                let (x, y) = (h.at(l, j), h.at(i, j));
                (*h.at_mut(l, j), *h.at_mut(i, j)) = (c * x + s * y, c * y - s * x);
            }
            let (x, y) = h.two_columns(l);
            for (x, y) in x[..l].iter_mut().zip(y) {
                (*x, *y) = (c * *x + s * *y, c * *y - s * *x);
            }
            rotate(z, l, c, s);
            for (k, v) in new.into_iter().enumerate() {
                *h.at_mut(l + k / 2, l + k % 2) = v;
            }
        }
        end = l;
    }
    Some(())
}

/// The first row of the block that ends in row i.
fn split<R: Real>(h: &Mat<R>, (from, to): (usize, usize), i: usize, small: R) -> usize {
    let ulp = <R as Float>::epsilon();
    for k in (from + 1..=i).rev() {
        let below = Float::abs(h.at(k, k - 1));
        if below <= small {
            return k;
        }
        let mut around = Float::abs(h.at(k - 1, k - 1)) + Float::abs(h.at(k, k));
        if around == zero() {
            if k >= from + 2 {
                around += Float::abs(h.at(k - 1, k - 2));
            }
            if k + 1 < to {
                around += Float::abs(h.at(k + 1, k));
            }
        }
        if below <= ulp * around {
            let above = Float::abs(h.at(k - 1, k));
            let (ab, ba) = (Float::max(below, above), Float::min(below, above));
            let (d, apart) = (Float::abs(h.at(k, k)), Float::abs(h.at(k - 1, k - 1) - h.at(k, k)));
            let (aa, bb) = (Float::max(d, apart), Float::min(d, apart));
            let s = aa + ab;
            if ba * (ab / s) <= Float::max(small, ulp * (bb * (aa / s))) {
                return k;
            }
        }
    }
    from
}

/// Two shifts as (real part, imaginary part): a conjugate pair, or twice the same.
fn shifts<R: Real>(h: &Mat<R>, (l, i): (usize, usize), stalled: usize) -> [(R, R); 2] {
    let exceptional = |d: R, s: R| [R::lit(0.75) * s + d, R::lit(-0.4375) * s, s, R::lit(0.75) * s + d];
    let [a, b, c, d] = if stalled.is_multiple_of(2 * STALLED) {
        exceptional(h.at(i, i), Float::abs(h.at(i, i - 1)) + Float::abs(h.at(i - 1, i - 2)))
    } else if stalled.is_multiple_of(STALLED) {
        exceptional(h.at(l, l), Float::abs(h.at(l + 1, l)) + Float::abs(h.at(l + 2, l + 1)))
    } else {
        [h.at(i - 1, i - 1), h.at(i - 1, i), h.at(i, i - 1), h.at(i, i)]
    };
    let s = Float::abs(a) + Float::abs(b) + Float::abs(c) + Float::abs(d);
    if s == zero() {
        return [(zero(), zero()); 2];
    }
    let (a, b, c, d) = (a / s, b / s, c / s, d / s);
    let trace = (a + d) / R::lit(2.0);
    let det = (a - trace) * (d - trace) - b * c;
    let root = Float::sqrt(Float::abs(det));
    if det >= zero() {
        return [(trace * s, root * s), (trace * s, -root * s)];
    }
    let (x, y) = (trace + root, trace - root);
    let near = if Float::abs(x - d) <= Float::abs(y - d) { x } else { y };
    [(near * s, zero()); 2]
}

/// Where a sweep starts, and the first column of the shifted product there.
fn start<R: Real>(h: &Mat<R>, (l, i): (usize, usize), [x, y]: [(R, R); 2]) -> (usize, [R; 3]) {
    let ulp = <R as Float>::epsilon();
    let mut m = i - 2;
    loop {
        let d = h.at(m, m);
        let s = Float::abs(d - y.0) + Float::abs(y.1) + Float::abs(h.at(m + 1, m));
        let below = h.at(m + 1, m) / s;
        let v = [
            below * h.at(m, m + 1) + (d - x.0) * ((d - y.0) / s) - x.1 * (y.1 / s),
            below * (d + h.at(m + 1, m + 1) - x.0 - y.0),
            below * h.at(m + 2, m + 1),
        ];
        let s = Float::abs(v[0]) + Float::abs(v[1]) + Float::abs(v[2]);
        let v = v.map(|v| v / s);
        if m == l {
            return (m, v);
        }
        let near = Float::abs(h.at(m - 1, m - 1)) + Float::abs(d) + Float::abs(h.at(m + 1, m + 1));
        if Float::abs(h.at(m, m - 1)) * (Float::abs(v[1]) + Float::abs(v[2])) <= ulp * Float::abs(v[0]) * near
        {
            return (m, v);
        }
        m -= 1;
    }
}

/// One double-shift sweep over rows m to i of the block that starts in row l.
fn sweep<R: Real>(h: &mut Mat<R>, z: &mut Mat<R>, (l, m, i): (usize, usize, usize), mut v: [R; 3]) {
    for k in m..i {
        let rows = 3.min(i - k + 1);
        if k > m {
            v[..rows].copy_from_slice(&h.col(k - 1)[k..k + rows]);
        }
        let v = &mut v[..rows];
        let tau = reflector(v);
        if k > m {
            h.col_mut(k - 1)[k..k + rows].fill(zero());
            *h.at_mut(k, k - 1) = v[0];
        } else if m > l {
            *h.at_mut(k, k - 1) *= one::<R>() - tau;
        }
        v[0] = one();
        from_left(v, tau, h, k, k);
        from_right(v, tau, h, k, 0..(k + 4).min(i + 1));
        let n = z.m;
        from_right(v, tau, z, k, 0..n);
    }
}

/// Eigenvalues and vectors of the quasi-triangular matrix `t`, the vectors multiplied by `q`.
fn back_substitute<R: Real>(t: &Mat<R>, q: &Mat<R>) -> (Vec<Complex<R>>, Mat<Complex<R>>)
where
    Complex<R>: Num<Part = R>,
{
    let n = t.n;
    let (real, imaginary) = (|x| Complex::new(x, zero()), |x| Complex::new(zero(), x));
    let mut values = vec![real(zero()); n];
    let mut vectors = Mat::zeros(n, n);
    let mut end = n;
    while end > 0 {
        let j = end - 1;
        let pair = j > 0 && t.at(j, j - 1) != zero();
        let first = j - usize::from(pair);
        let mut x = vec![real(zero()); n];
        let mut value = real(t.at(j, j));
        x[j] = real(one());
        if pair {
            let (b, c) = (t.at(first, j), t.at(j, first));
            value.im = Float::sqrt(Float::abs(b)) * Float::sqrt(Float::abs(c));
            (x[first], x[j]) = if Float::abs(b) >= Float::abs(c) {
                (real(one()), imaginary(value.im / b))
            } else {
                (real(-value.im / c), imaginary(one()))
            };
        }
        for k in first..=j {
            subtract(&mut x, t, k, first);
        }
        solve(t, value, &mut x, first);
        for (k, x) in x[..=j].iter().enumerate() {
            for (to, q) in vectors.col_mut(first).iter_mut().zip(q.col(k)) {
                *to += *x * real(*q);
            }
        }
        values[first] = value;
        if pair {
            values[j] = value.conj();
            let c: Vec<_> = vectors.col(first).iter().map(|v: &Complex<R>| v.conj()).collect();
            vectors.col_mut(j).copy_from_slice(&c);
        }
        end = first;
    }
    (values, vectors)
}

/// x(..rows) −= T(..rows, k)·x(k).
fn subtract<R: Real>(x: &mut [Complex<R>], t: &Mat<R>, k: usize, rows: usize)
where
    Complex<R>: Num<Part = R>,
{
    let by = x[k];
    for (x, t) in x[..rows].iter_mut().zip(t.col(k)) {
        *x = *x - by * Complex::real_of(*t);
    }
}

/// Solves (T − value)·x = x for the first `rows` rows. A pivot that is almost 0 is replaced by a small number, and what
/// becomes too large is scaled with all the rest.
fn solve<R: Real>(t: &Mat<R>, value: Complex<R>, x: &mut [Complex<R>], rows: usize)
where
    Complex<R>: Num<Part = R>,
{
    let small = <R as Float>::min_positive_value() * (R::lit(t.n as f64) / <R as Float>::epsilon());
    let least = Float::max(<R as Float>::epsilon() * value.abs1(), small);
    let pivot = |p: Complex<R>| if p.abs1() < least { Complex::real_of(least) } else { p };
    // A small divisor's square would vanish.
    let over = |x: Complex<R>, p: Complex<R>| {
        let by = p.abs1();
        x.unscale(by) / p.unscale(by)
    };
    let fit = |x: &mut [Complex<R>], p: Complex<R>, size: R| {
        if size * small >= p.abs1() {
            x.iter_mut().for_each(|x| *x = x.unscale(size));
        }
    };
    let mut end = rows;
    while end > 0 {
        let k = end - 1;
        if k > 0 && t.at(k, k - 1) != zero() {
            let i = k - 1;
            // Elimination with the larger element of the first column as the pivot.
            let (d, below) = (Complex::real_of(t.at(i, i)) - value, Complex::real_of(t.at(k, i)));
            let (above, last) = (Complex::real_of(t.at(i, k)), Complex::real_of(t.at(k, k)) - value);
            let (top, bottom) = ((d, above), (below, last));
            let swap = bottom.0.abs1() > top.0.abs1();
            let (top, bottom) = if swap { (bottom, top) } else { (top, bottom) };
            let p = pivot(top.0);
            let factor = over(bottom.0, p);
            let second = pivot(bottom.1 - factor * top.1);
            let size = Float::max(x[i].abs1(), x[k].abs1());
            fit(x, if second.abs1() < p.abs1() { second } else { p }, size);
            let (f, g) = if swap { (x[k], x[i]) } else { (x[i], x[k]) };
            x[k] = over(g - factor * f, second);
            x[i] = over(f - top.1 * x[k], p);
            subtract(x, t, i, i);
            subtract(x, t, k, i);
            end = i;
        } else {
            let p = pivot(Complex::real_of(t.at(k, k)) - value);
            let size = x[k].abs1();
            fit(x, p, size);
            x[k] = over(x[k], p);
            subtract(x, t, k, k);
            end = k;
        }
    }
}
