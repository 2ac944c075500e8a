//! Reductions: one contiguous run to one value, row by row into a vector, arg-reductions and scans.
//!
//! The accumulator has the operand's [`DType::opmath`] type: f32 for bf16 and f16, the type itself otherwise. A run is
//! summed in 64 lanes, in blocks that are combined pairwise, so the error grows with the logarithm of the length and
//! the result does not depend on the instruction set. To keep that accuracy, give [`inner`] long runs, write each
//! part's result to an array, and reduce that array by [`inner`] again.

mod arg;
mod fold;
mod op;
mod scan;

use tnrs_types::{DType, ReduceKind};

use crate::isa;

pub use arg::{arg_inner_on, arg_outer_on, ArgInnerFn, ArgOuterFn};
pub use fold::{inner_on, outer_on, InnerFn, OuterFn};
pub use scan::{scan_on, ScanFn};

/// `acc = acc ∘ src[0] ∘ … ∘ src[n-1]` for one accumulator. Max and min propagate NaN.
pub fn inner(kind: ReduceKind, dtype: DType) -> Option<InnerFn> {
    inner_on(isa::current(), kind, dtype)
}

/// `acc[i] = acc[i] ∘ src[i]` for `n` accumulators.
pub fn outer(kind: ReduceKind, dtype: DType) -> Option<OuterFn> {
    outer_on(isa::current(), kind, dtype)
}

/// Greatest (`max`) or least element of a run with its index: ties give the first index, NaN wins.
pub fn arg_inner(max: bool, dtype: DType) -> Option<ArgInnerFn> {
    arg_inner_on(isa::current(), max, dtype)
}

/// [`arg_inner`] for `n` columns, one row of elements at a time.
pub fn arg_outer(max: bool, dtype: DType) -> Option<ArgOuterFn> {
    arg_outer_on(isa::current(), max, dtype)
}

/// Inclusive scan of one contiguous run. Sums and products of f32 run in f64, those of reduced floats in f32.
pub fn scan(kind: ReduceKind, dtype: DType) -> Option<ScanFn> {
    scan_on(isa::current(), kind, dtype)
}

/// The neutral element of a reduction as bytes of the accumulator's type; bytes beyond its size are 0.
pub fn init(kind: ReduceKind, dtype: DType) -> [u8; 16] {
    let mut out = [0u8; 16];
    macro_rules! put {
        ($v:expr) => {{
            let b = $v.to_ne_bytes();
            out[..b.len()].copy_from_slice(&b);
        }};
    }
    macro_rules! int {
        ($t:ty) => {
            put!(match kind {
                ReduceKind::Add | ReduceKind::Or | ReduceKind::Xor => 0 as $t,
                ReduceKind::Multiply => 1,
                ReduceKind::And => !0,
                ReduceKind::Maximum => <$t>::MIN,
                ReduceKind::Minimum => <$t>::MAX,
            })
        };
    }
    macro_rules! float {
        ($t:ty) => {
            put!(match kind {
                ReduceKind::Multiply => 1.0 as $t,
                ReduceKind::Maximum => <$t>::NEG_INFINITY,
                ReduceKind::Minimum => <$t>::INFINITY,
                _ => 0.0,
            })
        };
    }
    match dtype.opmath() {
        DType::Bool => {
            put!(u8::from(matches!(kind, ReduceKind::Multiply | ReduceKind::And | ReduceKind::Minimum)))
        }
        DType::U8 => int!(u8),
        DType::I8 => int!(i8),
        DType::U16 => int!(u16),
        DType::I16 => int!(i16),
        DType::U32 => int!(u32),
        DType::I32 => int!(i32),
        DType::U64 => int!(u64),
        DType::I64 => int!(i64),
        DType::F64 | DType::C128 => float!(f64),
        _ => float!(f32),
    }
    out
}

#[cfg(test)]
mod tests;
