//! Counts: Poisson and binomial variates.
//!
//! From means of 10 on by the transformed rejection methods PTRS and BTRS (Hörmann, "The transformed rejection method
//! for generating Poisson random variables" and "The generation of binomial random variates", 1993).

use super::Stream;
use crate::math::special::ln_gamma;

/// Mean from which the rejection methods apply.
const LARGE: f64 = 10.0;

/// A draw from the Poisson distribution; NaN for a rate that is negative or NaN.
pub fn poisson(rate: f64, stream: &mut Stream) -> f64 {
    if rate.is_nan() || rate < 0.0 {
        return f64::NAN;
    }
    if rate == 0.0 || rate.is_infinite() {
        return rate;
    }
    if rate >= LARGE {
        return poisson_by_rejection(rate, stream);
    }
    let bound = (-rate).exp();
    let (mut product, mut k) = (stream.uniform(), 0.0);
    while product > bound {
        product *= stream.uniform();
        k += 1.0;
    }
    k
}

fn poisson_by_rejection(rate: f64, stream: &mut Stream) -> f64 {
    let b = 0.931 + 2.53 * rate.sqrt();
    let a = -0.059 + 0.02483 * b;
    let inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    let accept_at = 0.9277 - 3.6224 / (b - 2.0);
    loop {
        let u = stream.uniform() - 0.5;
        let v = stream.uniform();
        let us = 0.5 - u.abs();
        let k = ((2.0 * a / us + b) * u + rate + 0.43).floor();
        if us >= 0.07 && v <= accept_at {
            return k;
        }
        if k < 0.0 || (us < 0.013 && v > us) {
            continue;
        }
        let left = (v * inverse_alpha / (a / (us * us) + b)).ln();
        if left <= k * rate.ln() - rate - ln_gamma(k + 1.0) {
            return k;
        }
    }
}

/// A draw of the number of successes in `count` trials (rounded down) of probability `p`: 0 where either is not
/// positive, the count for p ≥ 1, NaN where either is NaN.
pub fn binomial(count: f64, p: f64, stream: &mut Stream) -> f64 {
    if count.is_nan() || p.is_nan() {
        return f64::NAN;
    }
    let n = count.floor();
    if n <= 0.0 || p <= 0.0 {
        return 0.0;
    }
    if p >= 1.0 {
        return n;
    }
    if p > 0.5 {
        return n - binomial(n, 1.0 - p, stream);
    }
    if n * p >= LARGE {
        return binomial_by_rejection(n, p, stream);
    }
    // Gaps between successes are geometric.
    let fail = (-p).ln_1p();
    let (mut at, mut successes) = (0.0, 0.0);
    loop {
        at += (stream.uniform().ln() / fail).ceil();
        if at > n {
            return successes;
        }
        successes += 1.0;
    }
}

fn binomial_by_rejection(n: f64, p: f64, stream: &mut Stream) -> f64 {
    let spread = (n * p * (1.0 - p)).sqrt();
    let b = 1.15 + 2.53 * spread;
    let a = -0.0873 + 0.0248 * b + 0.01 * p;
    let centre = n * p + 0.5;
    let accept_at = 0.92 - 4.2 / b;
    let alpha = (2.83 + 5.1 / b) * spread;
    let mode = ((n + 1.0) * p).floor();
    let odds = (p / (1.0 - p)).ln();
    let ln_ways = |k: f64| ln_gamma(k + 1.0) + ln_gamma(n - k + 1.0);
    loop {
        let u = stream.uniform() - 0.5;
        let v = stream.uniform();
        let us = 0.5 - u.abs();
        let k = ((2.0 * a / us + b) * u + centre).floor();
        if us >= 0.07 && v <= accept_at {
            return k;
        }
        if k < 0.0 || k > n {
            continue;
        }
        let left = (v * alpha / (a / (us * us) + b)).ln();
        if left <= ln_ways(mode) - ln_ways(k) + (k - mode) * odds {
            return k;
        }
    }
}
