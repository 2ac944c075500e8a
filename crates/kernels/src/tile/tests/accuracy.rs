//! Functions of f32 against double precision, in units of the last place.

use tnrs_types::{BinaryKind, DType, UnaryKind};

use crate::math::special;
use crate::testing::{isas, ulp32, Bits};
use crate::tile::{binary_on, fused_on, unary_on, Act, Fused, Mode};

extern "C" {
    fn asinh(x: f64) -> f64;
    fn acosh(x: f64) -> f64;
    fn atanh(x: f64) -> f64;
}

/// Function, largest error in ulp, oracle.
type Row = (UnaryKind, f64, fn(f64) -> f64);

const TABLE: &[Row] = &[
    (UnaryKind::Abs, 0.0, f64::abs),
    (UnaryKind::Negate, 0.0, |x| -x),
    (UnaryKind::Ceil, 0.0, f64::ceil),
    (UnaryKind::Floor, 0.0, f64::floor),
    (UnaryKind::Trunc, 0.0, f64::trunc),
    (UnaryKind::RoundNearestAfz, 0.0, f64::round),
    (UnaryKind::RoundNearestEven, 0.0, f64::round_ties_even),
    (UnaryKind::Sqrt, 0.501, f64::sqrt),
    (UnaryKind::Rsqrt, 1.5, |x| 1.0 / x.sqrt()),
    (UnaryKind::Exponential, 1.0, f64::exp),
    (UnaryKind::ExponentialMinusOne, 1.5, f64::exp_m1),
    (UnaryKind::Log, 1.0, f64::ln),
    (UnaryKind::LogPlusOne, 0.501, f64::ln_1p),
    (
        UnaryKind::Logistic,
        2.0,
        |x| if x < 0.0 { x.exp() / (1.0 + x.exp()) } else { 1.0 / (1.0 + (-x).exp()) },
    ),
    (UnaryKind::Tanh, 1.5, f64::tanh),
    (UnaryKind::Erf, 1.5, special::error_function),
    (UnaryKind::Erfc, 0.501, special::error_function_complement),
    (UnaryKind::ErfInv, 0.501, special::erf_inv),
    (UnaryKind::Sine, 1.5, f64::sin),
    (UnaryKind::Cosine, 1.5, f64::cos),
    (UnaryKind::Tan, 0.501, f64::tan),
    (UnaryKind::Sinh, 0.501, f64::sinh),
    (UnaryKind::Cosh, 0.501, f64::cosh),
    (UnaryKind::Asin, 0.501, f64::asin),
    (UnaryKind::Acos, 0.501, f64::acos),
    (UnaryKind::Atan, 0.501, f64::atan),
    // SAFETY: pure functions of the C library.
    (UnaryKind::Asinh, 0.501, |x| unsafe { asinh(x) }),
    // SAFETY: as above.
    (UnaryKind::Acosh, 0.501, |x| unsafe { acosh(x) }),
    // SAFETY: as above.
    (UnaryKind::Atanh, 0.501, |x| unsafe { atanh(x) }),
    (UnaryKind::Cbrt, 0.501, f64::cbrt),
];

/// Every `step`-th f32, starting with the special values.
fn every(step: u32) -> Vec<f32> {
    let special =
        [0.0, -0.0, 1.0, -1.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MAX, f32::MIN, 1e-45, -1e-45];
    special.into_iter().chain((0..u32::MAX / step).map(|i| f32::from_bits(i * step))).collect()
}

#[test]
fn unary_functions_are_accurate_over_all_of_f32() {
    for (which, isa) in isas().into_iter().enumerate() {
        let x = every(if which == 0 { 4_001 } else { 60_013 });
        let mut y = vec![0f32; x.len()];
        for &(kind, bound, oracle) in TABLE {
            let f = unary_on(isa, kind, DType::F32).unwrap();
            // SAFETY: both hold x.len() elements.
            unsafe { f(y.as_mut_ptr().cast(), &[x.as_ptr().cast(); 3], x.len()) };
            for (&x, &y) in x.iter().zip(&y) {
                let exact = oracle(f64::from(x));
                let error = ulp32(y, exact);
                assert!(error <= bound, "{isa:?} {kind:?}({x:e}) = {y:e}, want {exact:e}: {error} ulp");
            }
        }
    }
}

#[test]
fn powers_and_angles_are_accurate() {
    let mut bits = Bits(7);
    let special = [
        0.0f32,
        -0.0,
        1.0,
        -1.0,
        2.0,
        -2.0,
        3.0,
        -3.0,
        0.5,
        -0.5,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
    ];
    let (mut x, mut y) = (vec![], vec![]);
    for a in special {
        for b in special {
            x.push(a);
            y.push(b);
        }
    }
    for _ in 0..100_000 {
        x.push(f32::from_bits(bits.next() as u32));
        y.push(f32::from_bits(bits.next() as u32));
        x.push(bits.uniform(0.0, 30.0) as f32);
        y.push(bits.uniform(-30.0, 30.0) as f32);
    }
    type Oracle = fn(f64, f64) -> f64;
    let table: [(BinaryKind, f64, Oracle); 5] = [
        (BinaryKind::Power, 0.51, f64::powf),
        (BinaryKind::Atan2, 0.51, f64::atan2),
        (BinaryKind::Remainder, 0.0, |a, b| a % b),
        (BinaryKind::Maximum, 0.0, |a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }),
        (BinaryKind::Minimum, 0.0, |a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.min(b) }),
    ];
    for isa in isas() {
        let mut z = vec![0f32; x.len()];
        for (kind, bound, oracle) in table {
            let f = binary_on(isa, kind, DType::F32, Mode::VV).unwrap();
            // SAFETY: all hold x.len() elements.
            unsafe {
                f(z.as_mut_ptr().cast(), &[x.as_ptr().cast(), y.as_ptr().cast(), x.as_ptr().cast()], x.len())
            };
            for i in 0..x.len() {
                let exact = oracle(f64::from(x[i]), f64::from(y[i]));
                let zeros =
                    exact == 0.0 && z[i] == 0.0 && matches!(kind, BinaryKind::Maximum | BinaryKind::Minimum);
                let error = if zeros { 0.0 } else { ulp32(z[i], exact) };
                assert!(
                    error <= bound,
                    "{isa:?} {kind:?}({:e}, {:e}) = {:e}, want {exact:e}",
                    x[i],
                    y[i],
                    z[i]
                );
            }
        }
    }
}

/// Activations in double precision, with their derivatives by central differences.
fn activation(act: Act, x: f64) -> f64 {
    match act {
        Act::Relu => x.max(0.0),
        Act::Gelu => 0.5 * x * special::error_function_complement(-x / 2f64.sqrt()),
        Act::GeluTanh => {
            let u = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3));
            0.5 * x * (1.0 + u.tanh())
        }
        Act::Silu => x / (1.0 + (-x).exp()),
        Act::Logistic => 1.0 / (1.0 + (-x).exp()),
        Act::Tanh => x.tanh(),
        Act::Exp => x.exp(),
    }
}

const ACTS: [Act; 7] = [Act::Relu, Act::Gelu, Act::GeluTanh, Act::Silu, Act::Logistic, Act::Tanh, Act::Exp];

#[test]
fn superinstructions_match_their_definitions() {
    let mut bits = Bits(3);
    let n = 1003;
    let [a, b, c]: [Vec<f32>; 3] =
        std::array::from_fn(|_| (0..n).map(|_| bits.uniform(-4.0, 4.0) as f32).collect());
    let src = [a.as_ptr().cast(), b.as_ptr().cast(), c.as_ptr().cast()];
    for isa in isas() {
        for act in ACTS {
            type Oracle = fn(Act, f64, f64, f64) -> f64;
            let mut cases: Vec<(Fused, Oracle)> = vec![
                (Fused::Act(act), |f, a, _, _| activation(f, a)),
                (Fused::AddAct(act), |f, a, b, _| activation(f, f64::from((a + b) as f32))),
                (Fused::ActAdd(act), |f, a, b, _| activation(f, a) + b),
                (Fused::ActMul(act), |f, a, b, _| activation(f, a) * b),
                (Fused::MulAddAct(act), |f, a, b, c| activation(f, f64::from(a.mul_add(b, c) as f32))),
                (Fused::MulAdd, |_, a, b, c| a.mul_add(b, c)),
            ];
            if matches!(act, Act::Gelu | Act::GeluTanh | Act::Silu) {
                cases.push((Fused::ActGrad(act), |f, a, b, _| {
                    let h = 1e-5;
                    a * (activation(f, b + h) - activation(f, b - h)) / (2.0 * h)
                }));
            }
            for (fused, oracle) in cases {
                let f = fused_on(isa, fused, DType::F32).unwrap();
                let mut y = vec![0f32; n];
                // SAFETY: all hold n elements.
                unsafe { f(y.as_mut_ptr().cast(), &src, n) };
                let d = fused_on(isa, fused, DType::F64).unwrap();
                let wide: [Vec<f64>; 3] = [&a, &b, &c].map(|v| v.iter().map(|&x| f64::from(x)).collect());
                let mut z = vec![0f64; n];
                // SAFETY: all hold n elements.
                unsafe { d(z.as_mut_ptr().cast(), &[0, 1, 2].map(|i: usize| wide[i].as_ptr().cast()), n) };
                for i in 0..n {
                    let exact = oracle(act, wide[0][i], wide[1][i], wide[2][i]);
                    let close = 1e-6 * (1.0 + exact.abs());
                    assert!(
                        (f64::from(y[i]) - exact).abs() <= close,
                        "{isa:?} {fused:?}: {} want {exact}",
                        y[i]
                    );
                    assert!((z[i] - exact).abs() <= close, "{isa:?} {fused:?} f64: {} want {exact}", z[i]);
                }
            }
        }
    }
}

#[test]
fn special_functions_in_double_precision() {
    // Values from the functions' tables (Abramowitz and Stegun, chapters 6 and 7).
    let cases: [(UnaryKind, f64, f64); 9] = [
        (UnaryKind::Digamma, 1.0, -0.577_215_664_901_532_9),
        (UnaryKind::Digamma, 0.5, -1.963_510_026_021_423_5),
        (UnaryKind::Digamma, -0.5, 0.036_489_973_978_576_52),
        (UnaryKind::Digamma, -1.0, f64::NAN),
        (UnaryKind::Lgamma, 0.5, 0.572_364_942_924_700_1),
        (UnaryKind::Lgamma, 5.0, 3.178_053_830_347_945_8),
        (UnaryKind::Lgamma, 0.0, f64::INFINITY),
        (UnaryKind::ErfInv, 0.5, 0.476_936_276_204_469_9),
        (UnaryKind::ErfInv, 1.0, f64::INFINITY),
    ];
    for isa in isas() {
        for (kind, x, want) in cases {
            let f = unary_on(isa, kind, DType::F64).unwrap();
            let mut y = 0f64;
            // SAFETY: one element each.
            unsafe { f((&raw mut y).cast(), &[(&raw const x).cast(); 3], 1) };
            let same = y == want || (y.is_nan() && want.is_nan());
            assert!(same || (y / want - 1.0).abs() < 1e-14, "{kind:?}({x}) = {y}, want {want}");
        }
    }
    // erf is the inverse of erf_inv, also in the tails.
    for x in [1e-300, 1e-8, 0.1, 0.7, 0.99, 1.0 - 1e-10, -0.3, -1.0 + 1e-15] {
        let back = special::error_function(special::erf_inv(x));
        assert!((back / x - 1.0).abs() < 1e-14, "erf(erf_inv({x})) = {back}");
    }
}
