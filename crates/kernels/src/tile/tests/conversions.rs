//! Conversion between every two types.

use tnrs_types::DType;

use crate::testing::{array, get, isas, put, samples, Num};
use crate::tile::convert_on;

/// What the conversion must give: complex drops to its real part, and 64-bit types reach reduced floats by way of f32.
fn oracle(from: DType, to: DType, x: Num) -> Num {
    let x = match (x, to.is_complex() || to == DType::Bool) {
        (Num::Complex(re, _), false) => Num::Float(re),
        (other, _) => other,
    };
    // Integers to a reduced float or single-precision complex pass f32.
    let x = match x {
        Num::Int(i) if to == DType::C64 || to.is_reduced_float() => Num::Float(f64::from(i as f32)),
        Num::Int(i) if to == DType::F64 || to == DType::C128 => Num::Float(i as f64),
        other => other,
    };
    let _ = from;
    get(to, &put(to, x), 0)
}

fn same(a: Num, b: Num) -> bool {
    let eq = |a: f64, b: f64| {
        (a.is_nan() && b.is_nan()) || (a == b && a.is_sign_negative() == b.is_sign_negative())
    };
    match (a, b) {
        (Num::Int(a), Num::Int(b)) => a == b,
        (Num::Float(a), Num::Float(b)) => eq(a, b),
        (Num::Complex(a, b), Num::Complex(c, d)) => eq(a, c) && eq(b, d),
        _ => false,
    }
}

#[test]
fn every_pair_of_types_converts() {
    for isa in isas() {
        for &from in DType::ALL {
            let numbers = samples(from);
            let src = array(from, numbers.iter().copied());
            for &to in DType::ALL {
                let f = convert_on(isa, from, to).unwrap_or_else(|| panic!("{from:?} to {to:?}"));
                let n = numbers.len();
                // u128 gives both sides the alignment of every type.
                let mut a = vec![0u128; n];
                let mut b = vec![0u128; n];
                // SAFETY: 16 bytes an element are enough for every type.
                let out = unsafe {
                    std::ptr::copy_nonoverlapping(src.as_ptr(), a.as_mut_ptr().cast(), src.len());
                    f(b.as_mut_ptr().cast(), &[a.as_ptr().cast(); 3], n);
                    std::slice::from_raw_parts(b.as_ptr().cast::<u8>(), n * to.size())
                };
                for (i, &x) in numbers.iter().enumerate() {
                    let (y, want) = (get(to, out, i), oracle(from, to, x));
                    assert!(same(y, want), "{isa:?} {from:?} {x:?} to {to:?}: {y:?}, want {want:?}");
                }
            }
        }
    }
}

#[test]
fn every_half_and_byte_float_survives_the_round_trip() {
    for isa in isas() {
        for d in DType::ALL.iter().copied().filter(|d| d.is_reduced_float()) {
            let codes: Vec<u16> = (0..=if d.size() == 1 { 0xff } else { 0xffff }).collect();
            let bytes: Vec<u8> = codes.iter().flat_map(|c| c.to_ne_bytes()[..d.size()].to_vec()).collect();
            let n = codes.len();
            let (mut wide, mut back) = (vec![0f32; n], vec![0u8; n * d.size()]);
            // SAFETY: all hold n elements of their types; bytes of u16 types are aligned by the allocator.
            unsafe {
                convert_on(isa, d, DType::F32).unwrap()(wide.as_mut_ptr().cast(), &[bytes.as_ptr(); 3], n);
                convert_on(isa, DType::F32, d).unwrap()(back.as_mut_ptr(), &[wide.as_ptr().cast(); 3], n);
            }
            for (i, &x) in wide.iter().enumerate() {
                let want = get(d, &bytes, i).real();
                assert!(f64::from(x) == want || (x.is_nan() && want.is_nan()), "{d:?} {i:#x}");
                assert!(same(get(d, &back, i), get(d, &bytes, i)), "{isa:?} {d:?} {i:#x}");
            }
        }
    }
}

#[test]
fn rounding_to_reduced_floats_is_to_nearest_even_everywhere() {
    for isa in isas() {
        for d in DType::ALL.iter().copied().filter(|d| d.is_reduced_float()) {
            let x: Vec<f32> = (0..u32::MAX / 500_009).map(|i| f32::from_bits(i * 500_009)).collect();
            let mut y = vec![0u16; x.len()];
            // SAFETY: both hold x.len() elements.
            let y = unsafe {
                convert_on(isa, DType::F32, d).unwrap()(
                    y.as_mut_ptr().cast(),
                    &[x.as_ptr().cast(); 3],
                    x.len(),
                );
                std::slice::from_raw_parts(y.as_ptr().cast::<u8>(), x.len() * d.size())
            };
            for (i, &x) in x.iter().enumerate() {
                let (got, want) = (get(d, y, i), get(d, &put(d, Num::Float(f64::from(x))), 0));
                assert!(same(got, want), "{isa:?} {d:?} {x:e}: {got:?}, want {want:?}");
            }
        }
    }
}
