//! Singular values and vectors by reduction to a bidiagonal matrix and its implicit QR iteration (J. Demmel and
//! W. Kahan, Accurate singular values of bidiagonal matrices, 1990), with the choices of LAPACK that decide the signs.

use num_traits::Float;

use crate::mat::Mat;
use crate::num::{one, zero, Num, Real};
use crate::qr::{apply_q, factor};
use crate::rotation::{from_left, from_right, rescale, rotate, rotation, sign, Reflections};

/// Rotations per square of the size before the iteration gives up.
const ROUNDS: usize = 6;

/// U, the singular values, and V as columns.
type Parts<T> = (Mat<T>, Vec<<T as Num>::Part>, Mat<T>);

/// Decomposes a matrix that is not empty. U and V get as many columns as `columns` says, at least min(m, n). The error
/// is the number of off-diagonals that did not vanish.
pub(crate) fn decompose<T: Num>(mut a: Mat<T>, columns: (usize, usize)) -> Result<Parts<T>, i32> {
    let back = rescale(&mut a);
    let (u, mut s, v) = route(a, columns)?;
    if let Some(by) = back {
        s.iter_mut().for_each(|s| *s *= by);
    }
    Ok((u, s, v))
}

/// A tall or wide matrix is reduced to a triangular factor first, from the shapes on where the library under the CPU
/// backend does so (measured there).
fn route<T: Num>(mut a: Mat<T>, (p, q): (usize, usize)) -> Result<Parts<T>, i32> {
    let (m, n) = (a.m, a.n);
    let k = m.min(n);
    let (tall, wide) = if T::COMPLEX { (k * 17 / 9, k * 17 / 9) } else { (k * 3 / 2, k * 20) };
    let mut tau = vec![zero::<T>(); k];
    if m > n && m >= tall {
        factor(&mut a, &mut tau);
        let (u, s, v) = direct(triangle(&a, false), (n, n))?;
        let mut u = widened(&u, m, p, |x| x);
        apply_q(a.view(), &tau, &mut u, false, false);
        return Ok((u, s, v));
    }
    if m < n && n >= wide {
        let mut a = adjoint(&a);
        factor(&mut a, &mut tau);
        let (u, s, v) = direct(triangle(&a, true), (m, m))?;
        let mut v = widened(&v, n, q, |x| x);
        apply_q(a.view(), &tau, &mut v, false, false);
        return Ok((u, s, v));
    }
    direct(a, (p, q))
}

fn adjoint<T: Num>(a: &Mat<T>) -> Mat<T> {
    let mut x = Mat::zeros(a.n, a.m);
    for j in 0..a.n {
        a.col(j).iter().enumerate().for_each(|(i, v)| *x.at_mut(j, i) = v.bar());
    }
    x
}

/// The upper triangle of the first rows of a tall matrix, or its adjoint.
fn triangle<T: Num>(a: &Mat<T>, lower: bool) -> Mat<T> {
    let mut x = Mat::zeros(a.n, a.n);
    for j in 0..a.n {
        for i in 0..=j {
            let (v, at) = if lower { (a.at(i, j).bar(), (j, i)) } else { (a.at(i, j), (i, j)) };
            *x.at_mut(at.0, at.1) = v;
        }
    }
    x
}

/// The matrix in the corner of an m×n unit matrix.
fn widened<S: Num, T: Num>(a: &Mat<S>, m: usize, n: usize, convert: impl Fn(S) -> T) -> Mat<T> {
    let mut x = Mat::eye(m, n);
    for j in 0..a.n {
        x.col_mut(j).iter_mut().zip(a.col(j)).for_each(|(to, v)| *to = convert(*v));
    }
    x
}

/// Clears column `j` below `row`; returns what stays there.
fn eliminate_column<T: Num>(a: &mut Mat<T>, h: &mut Reflections<T>, row: usize, j: usize) -> T::Part {
    let beta = h.push(a.col(j)[row..].iter().copied());
    let (v, tau) = h.last();
    from_left(v, tau.bar(), a, row, j + 1);
    beta
}

/// Clears row `i` after `column`; returns what stays there.
fn eliminate_row<T: Num>(a: &mut Mat<T>, g: &mut Reflections<T>, i: usize, column: usize) -> T::Part {
    let beta = g.push((column..a.n).map(|j| a.at(i, j).bar()));
    let (v, tau) = g.last();
    let m = a.m;
    from_right(v, tau, a, column, i + 1..m);
    beta
}

/// By reflections from both sides alone.
fn direct<T: Num>(mut a: Mat<T>, (p, q): (usize, usize)) -> Result<Parts<T>, i32> {
    let (m, n) = (a.m, a.n);
    let k = m.min(n);
    let lower = m < n;
    let (mut d, mut e) = (Vec::with_capacity(k), Vec::with_capacity(k));
    let mut h = Reflections::new(m, if lower { k - 1 } else { k }, usize::from(lower));
    let mut g = Reflections::new(n, if lower { k } else { k - 1 }, usize::from(!lower));
    for i in 0..k {
        if lower {
            d.push(eliminate_row(&mut a, &mut g, i, i));
            if i + 1 < k {
                e.push(eliminate_column(&mut a, &mut h, i + 1, i));
            }
        } else {
            d.push(eliminate_column(&mut a, &mut h, i, i));
            if i + 1 < k {
                e.push(eliminate_row(&mut a, &mut g, i, i + 1));
            }
        }
    }
    let (mut u, mut v) = (Mat::eye(k, k), Mat::eye(k, k));
    // Rotations from the left make a lower bidiagonal matrix an upper one.
    let mut turns = Vec::new();
    if lower {
        for i in 0..k - 1 {
            let t = rotation(d[i], e[i]);
            (d[i], e[i], d[i + 1]) = (t.r, t.s * d[i + 1], t.c * d[i + 1]);
            turns.push(t);
        }
    }
    iterate(&mut d, &mut e, &mut u, &mut v)?;
    for (j, t) in turns.iter().enumerate().rev() {
        for i in 0..k {
            let (x, y) = (u.at(j, i), u.at(j + 1, i));
            (*u.at_mut(j, i), *u.at_mut(j + 1, i)) = (t.c * x - t.s * y, t.c * y + t.s * x);
        }
    }
    let (mut u, mut v) = (widened(&u, m, p, T::real_of), widened(&v, n, q, T::real_of));
    h.apply(&mut u);
    g.apply(&mut v);
    Ok((u, d, v))
}

/// The smaller and the larger singular value of [f g; 0 h].
fn values_of_two<R: Real>(f: R, g: R, h: R) -> (R, R) {
    let one: R = one();
    let (fa, ga, ha) = (Float::abs(f), Float::abs(g), Float::abs(h));
    let (least, most) = (Float::min(fa, ha), Float::max(fa, ha));
    if least == zero() {
        return (zero(), Float::hypot(most, ga));
    }
    let (a, t) = (one + least / most, (most - least) / most);
    if ga < most {
        let u = (ga / most) * (ga / most);
        let c = R::lit(2.0) / (Float::sqrt(a * a + u) + Float::sqrt(t * t + u));
        return (least * c, most / c);
    }
    let u = most / ga;
    if u == zero() {
        return (least * most / ga, ga);
    }
    let c = one / (Float::sqrt(one + (a * u) * (a * u)) + Float::sqrt(one + (t * u) * (t * u)));
    let small = least * c * u;
    (small + small, ga / (c + c))
}

/// The decomposition of [f g; 0 h]: singular values with signs, the smaller first, and the rotations (c, s) of the
/// right and of the left side.
fn two<R: Real>(f: R, g: R, h: R) -> ([R; 2], (R, R), (R, R)) {
    let (zero, one): (R, R) = (zero(), one());
    let swapped = Float::abs(h) > Float::abs(f);
    let (ft, ht) = if swapped { (h, f) } else { (f, h) };
    let (fa, ha, ga) = (Float::abs(ft), Float::abs(ht), Float::abs(g));
    let mut largest = if swapped { h } else { f };
    let (mut least, mut most, mut left, mut right) = (ha, fa, (one, zero), (one, zero));
    if ga != zero {
        if ga > fa {
            largest = g;
        }
        if ga > fa && fa / ga < <R as Float>::epsilon() * R::lit(0.5) {
            most = ga;
            least = if ha > one { fa / (ga / ha) } else { (fa / ga) * ha };
            (left, right) = ((one, ht / g), (ft / g, one));
        } else {
            let d = fa - ha;
            let l = if d == fa { one } else { d / fa };
            let m = g / ft;
            let t = R::lit(2.0) - l;
            let (mm, tt) = (m * m, t * t);
            let s = Float::sqrt(tt + mm);
            let r = if l == zero { Float::abs(m) } else { Float::sqrt(l * l + mm) };
            let a = R::lit(0.5) * (s + r);
            least = ha / a;
            most = fa * a;
            let t = if mm != zero {
                (m / (s + t) + m / (r + l)) * (one + a)
            } else if l == zero {
                sign(R::lit(2.0), ft) * sign(one, g)
            } else {
                g / sign(d, ft) + m / t
            };
            let l = Float::hypot(t, R::lit(2.0));
            right = (R::lit(2.0) / l, t / l);
            left = ((right.0 + right.1 * m) / a, (ht / ft) * right.1 / a);
        }
    }
    if swapped {
        (left, right) = ((right.1, right.0), (left.1, left.0));
    }
    let sides = if ga > fa {
        sign(one, right.1) * sign(one, left.0)
    } else if swapped {
        sign(one, right.1) * sign(one, left.1)
    } else {
        sign(one, right.0) * sign(one, left.0)
    };
    let turn = sides * sign(one, largest);
    ([sign(least, turn * sign(one, f) * sign(one, h)), sign(most, turn)], right, left)
}

/// Makes `d` the singular values, descending, of the upper bidiagonal matrix, and multiplies `u` and `v` by its vectors.
fn iterate<R: Real>(d: &mut [R], e: &mut [R], u: &mut Mat<R>, v: &mut Mat<R>) -> Result<(), i32> {
    let n = d.len();
    if n == 1 {
        *u.at_mut(0, 0) = sign(one(), d[0]);
        d[0] = Float::abs(d[0]);
        return Ok(());
    }
    sweeps(d, e, u, v)?;
    for (i, d) in d.iter_mut().enumerate() {
        if *d < zero() {
            *d = -*d;
            v.col_mut(i).iter_mut().for_each(|x| *x = -*x);
        }
    }
    for last in (1..n).rev() {
        let k = (1..=last).fold(0, |k, j| if d[j] <= d[k] { j } else { k });
        if k != last {
            d.swap(k, last);
            u.swap_columns(k, last);
            v.swap_columns(k, last);
        }
    }
    Ok(())
}

fn sweeps<R: Real>(d: &mut [R], e: &mut [R], u: &mut Mat<R>, v: &mut Mat<R>) -> Result<(), i32> {
    let n = d.len();
    let size = R::lit(n as f64);
    let eps = <R as Float>::epsilon() * R::lit(0.5);
    let power = Float::powf(eps, R::lit(-0.125));
    let tol = Float::max(R::lit(10.0), Float::min(R::lit(100.0), power)) * eps;
    // A lower bound of the smallest singular value.
    let mut least = Float::abs(d[0]);
    let mut mu = least;
    for i in 1..n {
        if least == zero() {
            break;
        }
        mu = Float::abs(d[i]) * (mu / (mu + Float::abs(e[i - 1])));
        least = Float::min(least, mu);
    }
    let rounds = ROUNDS * n * n;
    let floor = R::lit(rounds as f64) * <R as Float>::min_positive_value();
    let small = Float::max(tol * least / Float::sqrt(size), floor);
    let (mut done, mut m, mut down, mut old) = (0, n - 1, true, None);
    while m > 0 {
        if done > rounds {
            return Err(e.iter().filter(|e| **e != zero()).count() as i32);
        }
        // The block l..=m does not split.
        let mut largest = Float::abs(d[m]);
        let mut l = m;
        while l > 0 {
            if Float::abs(e[l - 1]) <= small {
                e[l - 1] = zero();
                break;
            }
            l -= 1;
            largest = Float::max(largest, Float::max(Float::abs(d[l]), Float::abs(e[l])));
        }
        if l == m {
            m -= 1;
            continue;
        }
        if l + 1 == m {
            let ([least, most], right, left) = two(d[l], e[l], d[m]);
            (d[l], e[l], d[m]) = (most, zero(), least);
            rotate(v, l, right.0, right.1);
            rotate(u, l, left.0, left.1);
            m = l.saturating_sub(1);
            if l == 0 {
                break;
            }
            continue;
        }
        if old.is_none_or(|(ol, om)| l > om || m < ol) {
            down = Float::abs(d[l]) >= Float::abs(d[m]);
        }
        let Some(least) = converged(d, e, (l, m), down, tol) else {
            continue;
        };
        old = Some((l, m));
        done += m - l;
        let shift =
            shift(d, e, (l, m), down, size * tol * (least / largest) <= Float::max(eps, R::lit(0.01) * tol));
        chase(d, e, (u, v), (l, m), down, shift);
        let end = if down { m - 1 } else { l };
        if Float::abs(e[end]) <= small {
            e[end] = zero();
        }
    }
    Ok(())
}

/// Tests the off-diagonals of a block in the direction of the chase. `None` when one could be set to 0, otherwise a
/// lower bound of the block's singular values.
fn converged<R: Real>(d: &[R], e: &mut [R], (l, m): (usize, usize), down: bool, tol: R) -> Option<R> {
    let (last, first) = if down { (m, l) } else { (l, m) };
    let end = if down { m - 1 } else { l };
    if Float::abs(e[end]) <= tol * Float::abs(d[last]) {
        e[end] = zero();
        return None;
    }
    let mut mu = Float::abs(d[first]);
    let mut least = mu;
    for k in 0..m - l {
        let (off, next) = if down { (l + k, l + k + 1) } else { (m - k - 1, m - k - 1) };
        if Float::abs(e[off]) <= tol * mu {
            e[off] = zero();
            return None;
        }
        mu = Float::abs(d[next]) * (mu / (mu + Float::abs(e[off])));
        least = Float::min(least, mu);
    }
    Some(least)
}

/// The shift, 0 where one would cost the small values their accuracy.
fn shift<R: Real>(d: &[R], e: &[R], (l, m): (usize, usize), down: bool, inaccurate: bool) -> R {
    if inaccurate {
        return zero();
    }
    let (start, at) = if down { (d[l], m - 1) } else { (d[m], l) };
    let (shift, _) = values_of_two(d[at], e[at], d[at + 1]);
    let part = shift / Float::abs(start);
    if start != zero() && part * part < <R as Float>::epsilon() * R::lit(0.5) {
        return zero();
    }
    shift
}

/// One sweep over a block. In terms of position k from where it starts: `d(at(k))`, and `e(off(k))` between k and k + 1.
fn chase<R: Real>(
    d: &mut [R],
    e: &mut [R],
    (u, v): (&mut Mat<R>, &mut Mat<R>),
    (l, m): (usize, usize),
    down: bool,
    shift: R,
) {
    let at = |k: usize| if down { l + k } else { m - k };
    let off = |k: usize| if down { l + k } else { m - k - 1 };
    let last = m - l;
    // Upwards the sides change places, and rotations run backwards.
    let (first, second, flip) = if down { (v, u, one::<R>()) } else { (u, v, -one::<R>()) };
    if shift == zero() {
        let (mut cs, mut before) = (one::<R>(), (one::<R>(), zero::<R>()));
        for k in 0..last {
            let t = rotation(d[at(k)] * cs, e[off(k)]);
            if k > 0 {
                e[off(k - 1)] = before.1 * t.r;
            }
            let w = rotation(before.0 * t.r, d[at(k + 1)] * t.s);
            d[at(k)] = w.r;
            (cs, before) = (t.c, (w.c, w.s));
            rotate(first, off(k), t.c, flip * t.s);
            rotate(second, off(k), w.c, flip * w.s);
        }
        let h = d[at(last)] * cs;
        d[at(last)] = h * before.0;
        e[off(last - 1)] = h * before.1;
        return;
    }
    let start = d[at(0)];
    let mut f = (Float::abs(start) - shift) * (sign(one(), start) + shift / start);
    let mut g = e[off(0)];
    for k in 0..last {
        let (i, j) = (at(k), at(k + 1));
        let t = rotation(f, g);
        if k > 0 {
            e[off(k - 1)] = t.r;
        }
        f = t.c * d[i] + t.s * e[off(k)];
        e[off(k)] = t.c * e[off(k)] - t.s * d[i];
        g = t.s * d[j];
        d[j] *= t.c;
        let w = rotation(f, g);
        d[i] = w.r;
        f = w.c * e[off(k)] + w.s * d[j];
        d[j] = w.c * d[j] - w.s * e[off(k)];
        if k + 1 < last {
            g = w.s * e[off(k + 1)];
            e[off(k + 1)] *= w.c;
        }
        rotate(first, off(k), t.c, flip * t.s);
        rotate(second, off(k), w.c, flip * w.s);
    }
    e[off(last - 1)] = f;
}
