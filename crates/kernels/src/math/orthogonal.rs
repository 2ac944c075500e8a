//! Orthogonal polynomials of integer degree, by their three-term recurrences (Abramowitz & Stegun, table 22.7), in the
//! element type's own arithmetic.
//!
//! A degree below 0 gives 0. Within |x| < 1 (or its image for the shifted families) higher degrees of the Chebyshev
//! polynomials come from their trigonometric definitions, which cost the same for every degree.

/// A degree given as a floating-point number: truncated; what no `i64` holds counts as negative.
fn degree(n: f64) -> i64 {
    if n.abs() < 9.2e18 {
        n as i64
    } else {
        i64::MIN
    }
}

/// The greatest degree above which PyTorch defines Hermite polynomials as NaN, for f32 and f64.
const HERMITE_LIMIT: [i64; 2] = [128, 512];

macro_rules! family {
    ($(#[$doc:meta])* $t:ident, $limit:expr) => {
        $(#[$doc])*
        pub mod $t {
            use super::degree;

            type T = $t;

            fn sign(n: i64) -> T {
                if n % 2 == 0 {
                    1.0
                } else {
                    -1.0
                }
            }

            /// P₀ = 1, P₁ = `first`, then `next(k, Pₖ, Pₖ₋₁)` = Pₖ₊₁ up to degree `n`; ends early at NaN.
            fn recur(n: i64, first: T, next: impl Fn(T, T, T) -> T) -> T {
                if n == 0 {
                    return 1.0;
                }
                let (mut p, mut q) = (1.0, first);
                let mut k = 1;
                while k < n && !q.is_nan() {
                    (p, q) = (q, next(k as T, q, p));
                    k += 1;
                }
                q
            }

            /// A Chebyshev polynomial at `y`, the argument in [−1, 1]: `at_one` and `at_minus_one` are its values
            /// there, `trig(θ)` its value at cos θ, used for degrees above `small`, and `first` its degree 1.
            fn chebyshev(
                y: T,
                n: i64,
                small: i64,
                at_one: T,
                at_minus_one: T,
                first: T,
                trig: impl Fn(T) -> T,
            ) -> T {
                if n < 0 {
                    0.0
                } else if y == 1.0 {
                    at_one
                } else if y == -1.0 {
                    at_minus_one
                } else if n > small && y.abs() < 1.0 {
                    trig(y.acos())
                } else {
                    recur(n, first, |_, q, p| (y + y) * q - p)
                }
            }

            fn first_kind(y: T, n: i64) -> T {
                chebyshev(y, n, 6, 1.0, sign(n), y, |a| (n as T * a).cos())
            }

            fn second_kind(y: T, n: i64, small: i64) -> T {
                let m = n as T + 1.0;
                chebyshev(y, n, small, m, sign(n) * m, y + y, |a| (m * a).sin() / a.sin())
            }

            fn third_kind(y: T, n: i64, small: i64) -> T {
                let m = n as T + n as T + 1.0;
                chebyshev(y, n, small, 1.0, sign(n) * m, y + y - 1.0, |a| {
                    ((n as T + 0.5) * a).cos() / (a / 2.0).cos()
                })
            }

            fn fourth_kind(y: T, n: i64, small: i64) -> T {
                let m = n as T + n as T + 1.0;
                chebyshev(y, n, small, m, sign(n), y + y + 1.0, |a| {
                    ((n as T + 0.5) * a).sin() / (a / 2.0).sin()
                })
            }

            /// Chebyshev polynomial of the first kind, Tₙ(x).
            pub fn chebyshev_t(x: T, n: T) -> T {
                first_kind(x, degree(n.into()))
            }
            /// Chebyshev polynomial of the second kind, Uₙ(x).
            pub fn chebyshev_u(x: T, n: T) -> T {
                second_kind(x, degree(n.into()), 8)
            }
            /// Chebyshev polynomial of the third kind, Vₙ(x).
            pub fn chebyshev_v(x: T, n: T) -> T {
                third_kind(x, degree(n.into()), 8)
            }
            /// Chebyshev polynomial of the fourth kind, Wₙ(x).
            pub fn chebyshev_w(x: T, n: T) -> T {
                fourth_kind(x, degree(n.into()), 8)
            }
            /// Tₙ(2x − 1).
            pub fn shifted_chebyshev_t(x: T, n: T) -> T {
                first_kind(x + x - 1.0, degree(n.into()))
            }
            /// Uₙ(2x − 1).
            pub fn shifted_chebyshev_u(x: T, n: T) -> T {
                second_kind(x + x - 1.0, degree(n.into()), 6)
            }
            /// Vₙ(2x − 1).
            pub fn shifted_chebyshev_v(x: T, n: T) -> T {
                third_kind(x + x - 1.0, degree(n.into()), 6)
            }
            /// Wₙ(2x − 1).
            pub fn shifted_chebyshev_w(x: T, n: T) -> T {
                fourth_kind(x + x - 1.0, degree(n.into()), 4)
            }

            fn hermite(n: i64, first: T, next: impl Fn(T, T, T) -> T) -> T {
                match n {
                    ..0 => 0.0,
                    _ if n > $limit => T::NAN,
                    _ => recur(n, first, next),
                }
            }

            /// Physicists' Hermite polynomial Hₙ(x); NaN above degree 128 for f32 and 512 for f64.
            pub fn hermite_h(x: T, n: T) -> T {
                hermite(degree(n.into()), x + x, |k, q, p| (x + x) * q - (k + k) * p)
            }
            /// Probabilists' Hermite polynomial Heₙ(x); NaN above degree 128 for f32 and 512 for f64.
            pub fn hermite_he(x: T, n: T) -> T {
                hermite(degree(n.into()), x, |k, q, p| x * q - k * p)
            }
            /// Laguerre polynomial Lₙ(x).
            pub fn laguerre_l(x: T, n: T) -> T {
                match degree(n.into()) {
                    ..0 => 0.0,
                    _ if x == 0.0 => 1.0,
                    n => recur(n, 1.0 - x, |k, q, p| ((k + k + (1.0 - x)) * q - k * p) / (k + 1.0)),
                }
            }
            /// Legendre polynomial Pₙ(x).
            pub fn legendre_p(x: T, n: T) -> T {
                match degree(n.into()) {
                    ..0 => 0.0,
                    _ if x == 1.0 => 1.0,
                    n if x == -1.0 => sign(n),
                    n => recur(n, x, |k, q, p| ((k + k + 1.0) * x * q - k * p) / (k + 1.0)),
                }
            }
        }
    };
}

family! {
    /// In single precision.
    f32, super::HERMITE_LIMIT[0]
}
family! {
    /// In double precision.
    f64, super::HERMITE_LIMIT[1]
}
