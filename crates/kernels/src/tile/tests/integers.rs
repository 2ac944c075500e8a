//! Integer functions against 128-bit arithmetic.

use tnrs_types::{BinaryKind, CompareDir, DType, UnaryKind};

use crate::testing::{array, get, isas, put, samples, Num};
use crate::tile::{binary_on, clamp_on, compare_on, unary_on, Mode};

fn int(x: Num) -> i128 {
    match x {
        Num::Int(i) => i,
        other => panic!("{other:?} is not an integer"),
    }
}

fn binary_oracle(kind: BinaryKind, d: DType, a: i128, b: i128) -> i128 {
    let bits = 8 * d.size() as u32;
    let mask = (1i128 << bits) - 1;
    let (ua, ub) = (a & mask, b & mask);
    match kind {
        BinaryKind::Add => a + b,
        BinaryKind::Subtract => a - b,
        BinaryKind::Multiply => a.wrapping_mul(b),
        BinaryKind::Divide if b == 0 => -1,
        BinaryKind::Divide => a / b,
        BinaryKind::Remainder if b == 0 => a,
        BinaryKind::Remainder => a % b,
        BinaryKind::Maximum => a.max(b),
        BinaryKind::Minimum => a.min(b),
        BinaryKind::And => a & b,
        BinaryKind::Or => a | b,
        BinaryKind::Xor => a ^ b,
        BinaryKind::ShiftLeft if ub >= i128::from(bits) => 0,
        BinaryKind::ShiftLeft => ua << ub,
        BinaryKind::ShiftRightLogical if ub >= i128::from(bits) => 0,
        BinaryKind::ShiftRightLogical => ua >> ub,
        BinaryKind::ShiftRightArithmetic => {
            let signed = if ua >> (bits - 1) & 1 == 1 { ua - (mask + 1) } else { ua };
            signed >> ub.min(126)
        }
        BinaryKind::Power if b < 0 => match a {
            1 => 1,
            -1 => 1 - 2 * (b & 1),
            _ => 0,
        },
        BinaryKind::Power => {
            let mut r = 1i128;
            let mut base = a & mask;
            let mut e = b;
            while e > 0 {
                if e & 1 == 1 {
                    r = r.wrapping_mul(base) & mask;
                }
                base = base.wrapping_mul(base) & mask;
                e >>= 1;
            }
            r
        }
        BinaryKind::Atan2 | BinaryKind::Complex => unreachable!(),
    }
}

const KINDS: [BinaryKind; 14] = [
    BinaryKind::Add,
    BinaryKind::Subtract,
    BinaryKind::Multiply,
    BinaryKind::Divide,
    BinaryKind::Remainder,
    BinaryKind::Maximum,
    BinaryKind::Minimum,
    BinaryKind::And,
    BinaryKind::Or,
    BinaryKind::Xor,
    BinaryKind::ShiftLeft,
    BinaryKind::ShiftRightLogical,
    BinaryKind::ShiftRightArithmetic,
    BinaryKind::Power,
];

/// All pairs of samples of a type, as two aligned arrays with the numbers.
fn pairs(d: DType) -> (Vec<(i128, i128)>, Vec<u128>, Vec<u128>) {
    let s = samples(d);
    let all: Vec<(Num, Num)> = s.iter().flat_map(|&a| s.iter().map(move |&b| (a, b))).collect();
    let pack = |bytes: Vec<u8>| {
        let mut v = vec![0u128; bytes.len() / 16 + 1];
        // SAFETY: the array is longer than the bytes.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), v.as_mut_ptr().cast(), bytes.len()) };
        v
    };
    let a = pack(array(d, all.iter().map(|p| p.0)));
    let b = pack(array(d, all.iter().map(|p| p.1)));
    (all.into_iter().map(|(a, b)| (int(a), int(b))).collect(), a, b)
}

#[test]
fn binary_functions_wrap_and_never_trap() {
    for isa in isas() {
        for d in DType::ALL.iter().copied().filter(|d| d.is_int()) {
            let (numbers, a, b) = pairs(d);
            let n = numbers.len();
            for kind in KINDS {
                let mut y = vec![0u128; n];
                // SAFETY: all hold n elements.
                let y = unsafe {
                    let f = binary_on(isa, kind, d, Mode::VV).unwrap();
                    f(y.as_mut_ptr().cast(), &[a.as_ptr().cast(), b.as_ptr().cast(), a.as_ptr().cast()], n);
                    std::slice::from_raw_parts(y.as_ptr().cast::<u8>(), n * d.size())
                };
                for (i, &(p, q)) in numbers.iter().enumerate() {
                    let want = get(d, &put(d, Num::Int(binary_oracle(kind, d, p, q))), 0);
                    assert_eq!(get(d, y, i), want, "{isa:?} {d:?} {kind:?}({p}, {q})");
                }
            }
        }
    }
}

#[test]
fn comparisons_and_clamps() {
    for isa in isas() {
        for d in DType::ALL.iter().copied().filter(|d| d.is_int() || *d == DType::Bool) {
            let (numbers, a, b) = pairs(d);
            let n = numbers.len();
            let src = [a.as_ptr().cast(), b.as_ptr().cast(), a.as_ptr().cast()];
            for dir in [
                CompareDir::Eq,
                CompareDir::Ne,
                CompareDir::Lt,
                CompareDir::Le,
                CompareDir::Gt,
                CompareDir::Ge,
            ] {
                let mut y = vec![9u8; n];
                // SAFETY: all hold n elements.
                unsafe { compare_on(isa, dir, d, Mode::VV).unwrap()(y.as_mut_ptr(), &src, n) };
                for (i, (p, q)) in numbers.iter().enumerate() {
                    let want = match dir {
                        CompareDir::Eq => p == q,
                        CompareDir::Ne => p != q,
                        CompareDir::Lt => p < q,
                        CompareDir::Le => p <= q,
                        CompareDir::Gt => p > q,
                        CompareDir::Ge => p >= q,
                    };
                    assert_eq!(y[i], u8::from(want), "{isa:?} {d:?} {dir:?}({p}, {q})");
                }
            }
            // Bounds p and p, so the result is p; and bounds p, q with operand p.
            let mut y = vec![0u128; n];
            // SAFETY: all hold n elements.
            let y = unsafe {
                let s = [a.as_ptr().cast(), a.as_ptr().cast(), b.as_ptr().cast()];
                clamp_on(isa, d).unwrap()(y.as_mut_ptr().cast(), &s, n);
                std::slice::from_raw_parts(y.as_ptr().cast::<u8>(), n * d.size())
            };
            for (i, &(p, q)) in numbers.iter().enumerate() {
                assert_eq!(int(get(d, y, i)), p.min(q), "{isa:?} {d:?} clamp({p}, {p}, {q})");
            }
        }
    }
}

#[test]
fn unary_functions_of_integers() {
    type Oracle = fn(i128, u32) -> i128;
    let table: [(UnaryKind, Oracle); 6] = [
        (UnaryKind::Abs, |x, _| x.abs()),
        (UnaryKind::Negate, |x, _| -x),
        (UnaryKind::Sign, |x, _| x.signum()),
        (UnaryKind::Not, |x, _| !x),
        (UnaryKind::Popcnt, |x, bits| i128::from((x & ((1 << bits) - 1)).count_ones())),
        (UnaryKind::CountLeadingZeros, |x, bits| {
            i128::from((x & ((1 << bits) - 1)).leading_zeros()) - i128::from(128 - bits)
        }),
    ];
    for isa in isas() {
        for d in DType::ALL.iter().copied().filter(|d| d.is_int()) {
            let (numbers, a, _) = pairs(d);
            let n = numbers.len();
            for (kind, oracle) in table {
                let mut y = vec![0u128; n];
                // SAFETY: both hold n elements.
                let y = unsafe {
                    unary_on(isa, kind, d).unwrap()(y.as_mut_ptr().cast(), &[a.as_ptr().cast(); 3], n);
                    std::slice::from_raw_parts(y.as_ptr().cast::<u8>(), n * d.size())
                };
                for (i, &(p, _)) in numbers.iter().enumerate() {
                    let want = get(d, &put(d, Num::Int(oracle(p, 8 * d.size() as u32))), 0);
                    assert_eq!(get(d, y, i), want, "{isa:?} {d:?} {kind:?}({p})");
                }
            }
        }
    }
}
