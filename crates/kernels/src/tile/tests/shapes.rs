//! Odd sizes, unaligned tiles, in-place use, scalar operands, data movement, complex arithmetic.

use proptest::prelude::*;
use tnrs_types::{BinaryKind, CompareDir, DType, UnaryKind};

use crate::testing::{isas, Bits};
use crate::tile::{
    binary_on, compare_on, iota, load_strided, select_on, splat, store_strided, stream_fence, stream_store,
    unary_on, Mode,
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn binary_in_every_mode_and_place(n in 0usize..700, offset in 0usize..5, place in 0usize..3, seed: u64) {
        let mut bits = Bits(seed);
        let mut make = |len: usize| -> Vec<f32> { (0..len).map(|_| bits.uniform(-9.0, 9.0) as f32).collect() };
        let (a, b) = (make(n + offset), make(n + offset));
        for isa in isas() {
            for mode in [Mode::VV, Mode::VS, Mode::SV] {
                let f = binary_on(isa, BinaryKind::Subtract, DType::F32, mode).unwrap();
                let (mut x, mut y) = (a.clone(), b.clone());
                let mut out = vec![777f32; n + offset + 1];
                // SAFETY: all reach `n` elements past the offset; a scalar needs one.
                unsafe {
                    let (p, q) = (x.as_mut_ptr().add(offset), y.as_mut_ptr().add(offset));
                    let scalar = [2.5f32];
                    let s: *const u8 = scalar.as_ptr().cast();
                    let src = match mode {
                        Mode::VV => [p.cast_const().cast(), q.cast_const().cast(), s],
                        Mode::VS => [p.cast_const().cast(), s, s],
                        Mode::SV => [s, q.cast_const().cast(), s],
                    };
                    let dst = match (place, mode) {
                        (1, Mode::VV | Mode::VS) => p,
                        (2, Mode::VV | Mode::SV) => q,
                        _ => out.as_mut_ptr().add(offset),
                    };
                    f(dst.cast(), &src, n);
                    for i in 0..n {
                        let want = match mode {
                            Mode::VV => a[offset + i] - b[offset + i],
                            Mode::VS => a[offset + i] - 2.5,
                            Mode::SV => 2.5 - b[offset + i],
                        };
                        prop_assert_eq!(*dst.add(i), want);
                    }
                }
                prop_assert_eq!(out[n + offset], 777.0);
            }
        }
    }

    #[test]
    fn lean_modes_repeat_the_scalar(n in 0usize..700, s: i16, seed: u64) {
        let mut bits = Bits(seed);
        let x: Vec<i16> = (0..n).map(|_| bits.next() as i16).collect();
        for isa in isas() {
            for first in [false, true] {
                let mode = if first { Mode::SV } else { Mode::VS };
                let mut y = x.clone();
                let mut z = vec![2u8; n];
                let (p, t): (*const u8, *const u8) = ((&raw const s).cast(), x.as_ptr().cast());
                let src = if first { [p, t, p] } else { [t, p, p] };
                // SAFETY: tiles of n elements and one scalar.
                unsafe {
                    binary_on(isa, BinaryKind::Subtract, DType::I16, mode).unwrap()(y.as_mut_ptr().cast(), &src, n);
                    compare_on(isa, CompareDir::Lt, DType::I16, mode).unwrap()(z.as_mut_ptr(), &src, n);
                }
                for i in 0..n {
                    let (l, r) = if first { (s, x[i]) } else { (x[i], s) };
                    prop_assert_eq!(y[i], l.wrapping_sub(r));
                    prop_assert_eq!(z[i], u8::from(l < r));
                }
            }
        }
    }

    #[test]
    fn unary_in_place_with_repairs(n in 0usize..700, offset in 0usize..5, seed: u64) {
        let mut bits = Bits(seed);
        let x: Vec<f32> = (0..n + offset).map(|i| {
            if i % 97 == 3 { 1e30 * bits.uniform(-1.0, 1.0) as f32 } else { bits.uniform(-50.0, 50.0) as f32 }
        }).collect();
        for isa in isas() {
            let f = unary_on(isa, UnaryKind::Sine, DType::F32).unwrap();
            let mut y = x.clone();
            // SAFETY: `n` elements past the offset.
            unsafe {
                let p = y.as_mut_ptr().add(offset);
                f(p.cast(), &[p.cast_const().cast(); 3], n);
            }
            for i in 0..n + offset {
                let want = if i < offset { x[i] } else { f64::from(x[i]).sin() as f32 };
                prop_assert!((y[i] - want).abs() <= 1e-7, "{isa:?} sin({}) = {}", x[i], y[i]);
            }
        }
    }

    #[test]
    fn select_of_every_size(n in 0usize..600, seed: u64) {
        let mut bits = Bits(seed);
        let p: Vec<u8> = (0..n).map(|_| (bits.next() & 1) as u8).collect();
        let t: Vec<u128> = (0..n).map(|_| u128::from(bits.next())).collect();
        let f: Vec<u128> = (0..n).map(|_| u128::from(bits.next())).collect();
        for isa in isas() {
            for size in [1usize, 2, 4, 8, 16] {
                let mut y = t.clone();
                // SAFETY: 16 bytes an element; in place over the true side.
                let (y, t, f) = unsafe {
                    let y8 = y.as_mut_ptr().cast::<u8>();
                    select_on(isa, size)(y8, &[p.as_ptr(), y8, f.as_ptr().cast()], n);
                    let bytes = |v: *const u128| std::slice::from_raw_parts(v.cast::<u8>(), n * size);
                    (bytes(y.as_ptr()), bytes(t.as_ptr()), bytes(f.as_ptr()))
                };
                for (i, &p) in p.iter().enumerate() {
                    let r = i * size..(i + 1) * size;
                    let want = if p != 0 { &t[r.clone()] } else { &f[r.clone()] };
                    prop_assert_eq!(&y[r], want);
                }
            }
        }
    }

    #[test]
    fn strided_loads_and_stores(n in 0usize..100, stride in 1isize..5, flip: bool) {
        let data: Vec<u32> = (0..500).collect();
        let step = if flip { -stride } else { stride } * 4;
        let mut dense = vec![0u32; n];
        let mut back = vec![u32::MAX; 500];
        let start = if flip { 499 } else { 0 };
        // SAFETY: 100 elements at a stride of up to 4 stay within 500.
        unsafe {
            load_strided(4)(dense.as_mut_ptr().cast(), data.as_ptr().add(start).cast(), n, step);
            store_strided(4)(back.as_mut_ptr().add(start).cast(), dense.as_ptr().cast(), n, step);
        }
        for (i, &x) in dense.iter().enumerate() {
            let at = (start as isize + i as isize * step / 4) as usize;
            prop_assert_eq!(x as usize, at);
            prop_assert_eq!(back[at], x);
        }
        prop_assert_eq!(back.iter().filter(|&&x| x != u32::MAX).count(), n);
    }

    #[test]
    fn streaming_copies_every_byte(bytes in 0usize..2000, offset in 0usize..70) {
        let src: Vec<u8> = (0..bytes).map(|i| i as u8 ^ 0x5a).collect();
        let mut dst = vec![1u8; bytes + offset + 64];
        // SAFETY: `bytes` bytes past the offset.
        unsafe { stream_store(dst.as_mut_ptr().add(offset), src.as_ptr(), bytes) };
        stream_fence();
        prop_assert_eq!(&dst[offset..offset + bytes], &src[..]);
        prop_assert!(dst[offset + bytes..].iter().chain(&dst[..offset]).all(|&b| b == 1));
    }
}

#[test]
fn splat_and_iota() {
    let mut y = vec![0u16; 37];
    let mut z = vec![0f32; 37];
    let (x, first) = (0xabcdu16, -3i64);
    // SAFETY: 37 elements each.
    unsafe {
        splat(2)(y.as_mut_ptr().cast(), &[(&raw const x).cast(); 3], 37);
        iota(DType::F32).unwrap()(z.as_mut_ptr().cast(), &[(&raw const first).cast(); 3], 37);
    }
    assert!(y.iter().all(|&v| v == x));
    assert!(z.iter().enumerate().all(|(i, &v)| v == i as f32 - 3.0));
}

#[test]
fn complex_arithmetic() {
    let x = [[1.0f32, 2.0], [0.0, 0.0], [-3.0, 0.5], [1e30, 1e30]];
    let y = [[3.0f32, -1.0], [1.0, 1.0], [2.0, 0.0], [1e30, -1e30]];
    let want: [(BinaryKind, [[f32; 2]; 4]); 3] = [
        (BinaryKind::Add, [[4.0, 1.0], [1.0, 1.0], [-1.0, 0.5], [2e30, 0.0]]),
        (BinaryKind::Multiply, [[5.0, 5.0], [0.0, 0.0], [-6.0, 1.0], [f32::INFINITY, f32::NAN]]),
        (BinaryKind::Divide, [[0.1, 0.7], [0.0, 0.0], [-1.5, 0.25], [0.0, 1.0]]),
    ];
    for isa in isas() {
        for (kind, want) in want {
            let mut z = [[0f32; 2]; 4];
            // SAFETY: four complex numbers each.
            unsafe {
                let src = [x.as_ptr().cast(), y.as_ptr().cast(), x.as_ptr().cast()];
                binary_on(isa, kind, DType::C64, Mode::VV).unwrap()(z.as_mut_ptr().cast(), &src, 4);
            }
            for i in 0..4 {
                for p in 0..2 {
                    let (got, want) = (z[i][p], want[i][p]);
                    let close = (got - want).abs() <= 1e-6 * want.abs() || got == want;
                    assert!(
                        close || want.is_nan() || !got.is_finite(),
                        "{kind:?} {:?} {:?}: {:?}",
                        x[i],
                        y[i],
                        z[i]
                    );
                }
            }
        }
        // e^{iπ} = −1, √−4 = 2i, |3 + 4i| = 5.
        let z = [[0.0f64, std::f64::consts::PI], [-4.0, 0.0], [3.0, 4.0]];
        let mut e = [[0f64; 2]; 3];
        let mut m = [0f64; 3];
        // SAFETY: three complex numbers each.
        unsafe {
            let src = [z.as_ptr().cast(); 3];
            unary_on(isa, UnaryKind::Exponential, DType::C128).unwrap()(e.as_mut_ptr().cast(), &src, 3);
            assert!((e[0][0] + 1.0).abs() < 1e-15 && e[0][1].abs() < 1e-15);
            unary_on(isa, UnaryKind::Sqrt, DType::C128).unwrap()(e.as_mut_ptr().cast(), &src, 3);
            assert!(e[1][0].abs() < 1e-15 && (e[1][1] - 2.0).abs() < 1e-15);
            unary_on(isa, UnaryKind::Abs, DType::C128).unwrap()(m.as_mut_ptr().cast(), &src, 3);
            assert_eq!(m[2], 5.0);
        }
    }
}
