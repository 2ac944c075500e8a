//! Reductions on every instruction set against naive oracles.

use tnrs_types::{DType, ReduceKind};

use super::{arg_inner_on, arg_outer_on, init, inner_on, outer_on, scan_on};
use crate::testing::{array, get, isas, put, Bits, Num};

const KINDS: [ReduceKind; 7] = [
    ReduceKind::Add,
    ReduceKind::Multiply,
    ReduceKind::Maximum,
    ReduceKind::Minimum,
    ReduceKind::And,
    ReduceKind::Or,
    ReduceKind::Xor,
];

/// Largest relative error of a float reduction of a few thousand elements, by the width of the accumulator.
fn tolerance(d: DType) -> f64 {
    if d.opmath().real() == DType::F64 {
        1e-13
    } else {
        1e-5
    }
}

fn join(kind: ReduceKind, a: Num, b: Num) -> Num {
    match (a, b) {
        (Num::Int(a), Num::Int(b)) => Num::Int(match kind {
            ReduceKind::Add => a + b,
            // Low bits are all that wrapping keeps.
            ReduceKind::Multiply => i128::from((a as u64).wrapping_mul(b as u64)),
            ReduceKind::Maximum => a.max(b),
            ReduceKind::Minimum => a.min(b),
            ReduceKind::And => a & b,
            ReduceKind::Or => a | b,
            ReduceKind::Xor => a ^ b,
        }),
        (Num::Complex(a, b), Num::Complex(c, d)) => match kind {
            ReduceKind::Add => Num::Complex(a + c, b + d),
            _ => Num::Complex(a * c - b * d, a * d + b * c),
        },
        (a, b) => {
            let (a, b) = (a.real(), b.real());
            Num::Float(match kind {
                ReduceKind::Add => a + b,
                ReduceKind::Multiply => a * b,
                _ if a.is_nan() || b.is_nan() => f64::NAN,
                ReduceKind::Maximum => a.max(b),
                _ => a.min(b),
            })
        }
    }
}

fn close(d: DType, got: Num, want: Num) -> bool {
    let near = |a: f64, b: f64| {
        a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= tolerance(d) * (1.0 + b.abs())
    };
    match (got, want) {
        (Num::Int(_), Num::Int(_)) => put(d, got) == put(d, want),
        (Num::Complex(a, b), Num::Complex(c, e)) => near(a, c) && near(b, e),
        (a, b) => near(a.real(), b.real()),
    }
}

/// Elements near 1, so that products stay finite; NaN at `nan` if that is within.
fn elements(d: DType, n: usize, nan: usize) -> (Vec<Num>, Vec<u128>) {
    let mut bits = Bits(n as u64 + 1);
    let numbers: Vec<Num> = (0..n)
        .map(|i| {
            let x = if d.is_float() {
                if i == nan {
                    Num::Float(f64::NAN)
                } else {
                    Num::Float(bits.uniform(0.9, 1.1))
                }
            } else if d.is_complex() {
                Num::Complex(bits.uniform(0.9, 1.0), bits.uniform(-0.01, 0.01))
            } else {
                Num::Int(bits.next() as i128)
            };
            get(d, &put(d, x), 0)
        })
        .collect();
    let bytes = array(d, numbers.iter().copied());
    let mut aligned = vec![0u128; n + 1];
    // SAFETY: 16 bytes an element are enough.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), aligned.as_mut_ptr().cast(), bytes.len()) };
    (numbers, aligned)
}

#[test]
fn inner_and_outer_of_every_type() {
    for isa in isas() {
        for &d in DType::ALL {
            for kind in KINDS {
                let (Some(inner), Some(outer)) = (inner_on(isa, kind, d), outer_on(isa, kind, d)) else {
                    let expected = d.size() == 1 && d.is_float()
                        || d == DType::C32
                        || d.is_complex() && !matches!(kind, ReduceKind::Add | ReduceKind::Multiply)
                        || d.is_float() && matches!(kind, ReduceKind::And | ReduceKind::Or | ReduceKind::Xor);
                    assert!(expected, "{d:?} {kind:?}");
                    continue;
                };
                let acc_type = d.opmath();
                for (n, nan) in [(0, 9), (1, 9), (63, 99), (64, 99), (1000, 5000), (4097, 9999), (700, 650)] {
                    let (numbers, src) = elements(d, n, nan);
                    let start = get(acc_type, &init(kind, d), 0);
                    let want = numbers.iter().fold(start, |a, &x| join(kind, a, x));
                    let mut acc = u128::from_ne_bytes(init(kind, d));
                    // SAFETY: n elements, one accumulator.
                    unsafe { inner(src.as_ptr().cast(), n, (&raw mut acc).cast()) };
                    let got = get(acc_type, &acc.to_ne_bytes(), 0);
                    assert!(
                        close(acc_type, got, want),
                        "{isa:?} {d:?} {kind:?} of {n}: {got:?}, want {want:?}"
                    );

                    let ones: Vec<u8> = init(kind, d)[..acc_type.size()].repeat(n);
                    let mut row = vec![0u128; n + 1];
                    // SAFETY: 16 bytes an accumulator; n elements. Folded twice.
                    let row = unsafe {
                        std::ptr::copy_nonoverlapping(ones.as_ptr(), row.as_mut_ptr().cast(), ones.len());
                        outer(row.as_mut_ptr().cast(), src.as_ptr().cast(), n);
                        outer(row.as_mut_ptr().cast(), src.as_ptr().cast(), n);
                        std::slice::from_raw_parts(row.as_ptr().cast::<u8>(), n * acc_type.size())
                    };
                    for (i, &x) in numbers.iter().enumerate() {
                        let want = join(kind, join(kind, start, x), x);
                        let got = get(acc_type, row, i);
                        assert!(
                            close(acc_type, got, want),
                            "{isa:?} {d:?} {kind:?} outer: {got:?}, want {want:?}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn long_sums_of_f32_keep_their_digits() {
    let mut bits = Bits(5);
    let x: Vec<f32> = (0..10_000_001).map(|_| bits.uniform(0.0, 1.0) as f32).collect();
    let want: f64 = x.iter().map(|&v| f64::from(v)).sum();
    let mut results = vec![];
    for isa in isas() {
        let mut acc = 0f32;
        // SAFETY: x.len() elements, one accumulator.
        unsafe {
            inner_on(isa, ReduceKind::Add, DType::F32).unwrap()(
                x.as_ptr().cast(),
                x.len(),
                (&raw mut acc).cast(),
            );
        }
        assert!((f64::from(acc) / want - 1.0).abs() < 2e-7, "{isa:?}: {acc}, want {want}");
        results.push(acc.to_bits());
    }
    assert!(results.windows(2).all(|w| w[0] == w[1]), "instruction sets disagree: {results:?}");
}

fn arg_oracle(max: bool, xs: &[f64]) -> usize {
    let mut best = 0;
    for (i, &x) in xs.iter().enumerate() {
        let b = xs[best];
        if !b.is_nan() && (x.is_nan() || if max { x > b } else { x < b }) {
            best = i;
        }
    }
    best
}

#[test]
fn arg_reductions_give_the_first_best() {
    let mut bits = Bits(11);
    for isa in isas() {
        for d in
            [DType::F32, DType::F64, DType::BF16, DType::F16, DType::I32, DType::U8, DType::I64, DType::Bool]
        {
            for max in [true, false] {
                for n in [1usize, 2, 31, 33, 511, 512, 513, 2000] {
                    // Few distinct values, so that ties are common; sometimes a NaN.
                    let numbers: Vec<Num> = (0..n)
                        .map(|_| {
                            let v = (bits.next() % 6) as i128;
                            if d.is_float() && bits.next() % 900 < 1 {
                                Num::Float(f64::NAN)
                            } else {
                                Num::Int(v)
                            }
                        })
                        .collect();
                    let bytes = array(d, numbers.iter().copied());
                    let mut src = vec![0u128; n];
                    // SAFETY: 16 bytes an element are enough.
                    unsafe {
                        std::ptr::copy_nonoverlapping(bytes.as_ptr(), src.as_mut_ptr().cast(), bytes.len())
                    };
                    let values: Vec<f64> = (0..n).map(|i| get(d, &bytes, i).real()).collect();
                    let want = arg_oracle(max, &values);
                    // In two parts, to check that a best carries over.
                    let (mut value, mut index) = (0u128, -1i64);
                    let cut = n / 3;
                    // SAFETY: n elements in all.
                    unsafe {
                        let f = arg_inner_on(isa, max, d).unwrap();
                        let p = src.as_ptr().cast::<u8>();
                        f(p, cut, 0, (&raw mut value).cast(), &mut index);
                        f(p.add(cut * d.size()), n - cut, cut as i64, (&raw mut value).cast(), &mut index);
                    }
                    assert_eq!(index, want as i64, "{isa:?} {d:?} max={max} n={n}");
                    assert_eq!(put(d, get(d, &value.to_ne_bytes(), 0)), put(d, numbers[want]));
                    // As one column, and a second one that is constant.
                    let (mut value, mut index) = ([0u128; 2], [-1i64; 2]);
                    // SAFETY: one column.
                    unsafe {
                        let f = arg_outer_on(isa, max, d).unwrap();
                        for i in 0..n {
                            let p = src.as_ptr().cast::<u8>().add(i * d.size());
                            f(value.as_mut_ptr().cast(), index.as_mut_ptr(), p, 1, i as i64);
                        }
                    }
                    assert_eq!(index, [want as i64, -1], "{isa:?} {d:?} max={max} n={n} outer");
                }
            }
        }
    }
}

#[test]
fn scans_of_every_type() {
    for isa in isas() {
        for &d in DType::ALL {
            for kind in &KINDS[..4] {
                let Some(scan) = scan_on(isa, *kind, d) else {
                    assert!(
                        d == DType::Bool || d.size() == 1 && d.is_float() || d.is_complex(),
                        "{d:?} {kind:?}"
                    );
                    continue;
                };
                for n in [0usize, 1, 100] {
                    let (numbers, mut data) = elements(d, n, 70);
                    let p = data.as_mut_ptr().cast::<u8>();
                    // SAFETY: n elements, in place.
                    let out = unsafe {
                        scan(p, p, n);
                        std::slice::from_raw_parts(p, n * d.size())
                    };
                    let mut acc: Option<Num> = None;
                    for (i, &x) in numbers.iter().enumerate() {
                        let a = acc.map_or(x, |a| join(*kind, a, x));
                        acc = Some(a);
                        let (got, want) = (get(d, out, i), get(d, &put(d, a), 0));
                        let loose = d.is_reduced_float();
                        let scale = want.real().abs();
                        let ok =
                            close(d, got, want) || loose && (got.real() - want.real()).abs() <= 0.01 * scale;
                        assert!(ok, "{isa:?} {d:?} {kind:?} at {i}: {got:?}, want {want:?}");
                    }
                }
            }
        }
    }
}
