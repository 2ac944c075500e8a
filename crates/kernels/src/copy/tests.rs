//! Copies against an index-by-index loop.

use proptest::prelude::*;

use super::copy_on;
use crate::isa::Isa;
use crate::pool::Pool;

/// Copies and compares every byte of the destination, those between its elements included.
fn check(threads: usize, elem: usize, dims: &[i64], ds: &[i64], ss: &[i64]) {
    let reach = |s: &[i64]| -> (i64, i64) {
        let ends = dims.iter().zip(s).map(|(&n, &s)| (n.max(1) - 1) * s);
        let low: i64 = ends.clone().filter(|&e| e < 0).sum();
        (low, ends.filter(|&e| e > 0).sum::<i64>() + 1 - low)
    };
    let ((d_low, d_len), (s_low, s_len)) = (reach(ds), reach(ss));
    let src: Vec<u8> = (0..s_len as usize * elem).map(|i| (i * 7 + i / 251) as u8).collect();
    let blank = vec![0xaau8; d_len as usize * elem];
    let mut want = blank.clone();
    let count: i64 = dims.iter().product();
    for flat in 0..count {
        let (mut rest, mut d, mut s) = (flat, -d_low, -s_low);
        for i in (0..dims.len()).rev() {
            d += rest % dims[i] * ds[i];
            s += rest % dims[i] * ss[i];
            rest /= dims[i];
        }
        let (d, s) = (d as usize * elem, s as usize * elem);
        want[d..d + elem].copy_from_slice(&src[s..s + elem]);
    }
    for isa in Isa::available() {
        // Aligned for any element type.
        let mut out = vec![[0u64; 2]; blank.len().div_ceil(16)];
        let mut from = vec![[0u64; 2]; src.len().div_ceil(16)];
        let (op, sp) = (out.as_mut_ptr().cast::<u8>(), from.as_mut_ptr().cast::<u8>());
        // SAFETY: both buffers reach from the lowest to the highest element.
        let got = unsafe {
            std::ptr::copy_nonoverlapping(blank.as_ptr(), op, blank.len());
            std::ptr::copy_nonoverlapping(src.as_ptr(), sp, src.len());
            let dst = op.offset(-d_low as isize * elem as isize);
            let src = sp.offset(-s_low as isize * elem as isize);
            copy_on(&Pool::new(threads), isa, elem, dims, (dst, ds), (src, ss));
            std::slice::from_raw_parts(op, blank.len())
        };
        assert!(got == want, "{isa:?} {elem} {dims:?} {ds:?} {ss:?}");
    }
}

/// Strides that lay dims out densely in the order of `perm`, with a gap factor.
fn strides(dims: &[i64], perm: &[usize], gap: i64) -> Vec<i64> {
    let mut strides = vec![0; dims.len()];
    let mut step = gap;
    for &d in perm.iter().rev() {
        strides[d] = step;
        step *= dims[d].max(1);
    }
    strides
}

#[test]
fn large_transposes_on_several_threads() {
    for elem in [1, 2, 4, 8, 16] {
        check(3, elem, &[300, 517], &[517, 1], &[1, 300]);
        check(2, elem, &[3, 129, 70], &[129 * 70, 70, 1], &[129 * 70, 1, 129]);
    }
}

#[test]
fn broadcasts_empties_and_scalars() {
    check(1, 4, &[], &[], &[]);
    check(1, 4, &[0, 3], &[3, 1], &[3, 1]);
    check(2, 4, &[700, 300], &[300, 1], &[0, 1]);
    check(2, 2, &[700, 300], &[300, 1], &[1, 0]);
    check(1, 8, &[5], &[1], &[0]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() })]
    #[test]
    fn any_layout(
        (dims, dst_perm, src_perm) in prop::collection::vec(1i64..24, 0..5).prop_flat_map(|dims| {
            let order: Vec<usize> = (0..dims.len()).collect();
            (Just(dims), Just(order.clone()).prop_shuffle(), Just(order).prop_shuffle())
        }),
        elem in prop::sample::select(vec![1usize, 2, 4, 8, 16]),
        (dst_gap, src_gap) in (1i64..3, 1i64..3),
        (negative, broadcast) in (any::<u8>(), any::<u8>()),
    ) {
        let ds = strides(&dims, &dst_perm, dst_gap);
        let mut ss = strides(&dims, &src_perm, src_gap);
        for (i, s) in ss.iter_mut().enumerate() {
            if negative >> i & 1 == 1 {
                *s = -*s;
            }
            if broadcast >> (2 * i) & 3 == 3 {
                *s = 0;
            }
        }
        check(2, elem, &dims, &ds, &ss);
    }
}
