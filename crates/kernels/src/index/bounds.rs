//! The check that indices are in range.

use tnrs_types::DType;

use crate::isa::{self, entry};

/// Index `i` of a dense run; u64 above `i64::MAX` saturates.
///
/// # Safety
/// `p` is valid for `i + 1` elements of integer type `dtype`.
pub unsafe fn index_at(p: *const u8, dtype: DType, i: usize) -> i64 {
    macro_rules! read {
        ($t:ty) => {
            // SAFETY: the caller's promise.
            unsafe { p.cast::<$t>().add(i).read_unaligned() }
        };
    }
    match dtype {
        DType::I8 => read!(i8).into(),
        DType::U8 | DType::Bool => read!(u8).into(),
        DType::I16 => read!(i16).into(),
        DType::U16 => read!(u16).into(),
        DType::I32 => read!(i32).into(),
        DType::U32 => read!(u32).into(),
        DType::I64 => read!(i64),
        _ => i64::try_from(read!(u64)).unwrap_or(i64::MAX),
    }
}

/// Whether any of `n` 64-bit indices is outside `[lo, hi)`.
type AnyFn = unsafe fn(p: *const i64, n: usize, lo: i64, hi: i64, any: &mut bool);
entry!(AnyBody, any_on, AnyFn, (p: *const i64, n: usize, lo: i64, hi: i64, any: &mut bool));

struct Any64;

impl AnyBody for Any64 {
    #[inline(always)]
    unsafe fn run(p: *const i64, n: usize, lo: i64, hi: i64, any: &mut bool) {
        let (mut least, mut most) = (lo, lo);
        for i in 0..n {
            // SAFETY: the contract is the caller's.
            let v = unsafe { p.add(i).read() };
            least = least.min(v);
            most = most.max(v);
        }
        *any = n > 0 && (least < lo || most >= hi);
    }
}

/// The first of `n` indices outside `[lo, hi)`.
///
/// # Safety
/// `p` is valid for `n` elements of integer type `dtype`.
pub unsafe fn outside(p: *const u8, dtype: DType, n: usize, lo: i64, hi: i64) -> Option<i64> {
    // Blocks without an early exit vectorise.
    const BLOCK: usize = 512;
    let any64 = any_on::<Any64>(isa::current());
    let mut from = 0;
    while from < n {
        let to = (from + BLOCK).min(n);
        let mut bad = false;
        if dtype == DType::I64 && lo < hi {
            // SAFETY: the caller's promise.
            unsafe { any64(p.cast::<i64>().add(from), to - from, lo, hi, &mut bad) };
        } else {
            for i in from..to {
                // SAFETY: the caller's promise; `i < n`.
                let v = unsafe { index_at(p, dtype, i) };
                bad |= v < lo || v >= hi;
            }
        }
        if bad {
            return (from..to)
                // SAFETY: the caller's promise; `i < n`.
                .map(|i| unsafe { index_at(p, dtype, i) })
                .find(|&v| v < lo || v >= hi);
        }
        from = to;
    }
    None
}
