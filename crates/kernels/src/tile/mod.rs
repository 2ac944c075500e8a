//! Elementwise primitives over dense tiles.
//!
//! A tile is a short run of contiguous elements (256 to 1024 is best) that lives in the first-level cache. Each
//! primitive is one precompiled loop; a fused program is a list of them. `dst` may be equal to one of the sources, or
//! disjoint from it; it may not overlap it in another way. Pointers need only the alignment of their element type.
//!
//! Reduced floats (bf16, f16, fp8) have no arithmetic here: convert to f32, compute, convert back.

mod binary;
mod convert;
mod data;
mod fused;
mod map;
mod unary;

pub use binary::{binary_on, compare_on};
pub use convert::convert_on;
pub use data::{
    clamp_on, copy_on, iota, load_strided, prefetch, select, select_on, splat, store_strided, stream_fence,
    stream_store, StridedFn,
};
pub use fused::fused_on;
pub use unary::unary_on;

pub use crate::philox::fill as philox_fill;

use tnrs_types::{BinaryKind, CompareDir, DType, UnaryKind};

use crate::isa;

/// An elementwise loop: `n` elements from up to three sources into `dst`. Sources that the function does not have
/// are ignored and may be dangling.
///
/// # Safety
/// `dst` and every source must be valid for `n` elements of their types (a scalar source: for one), and each source
/// must equal `dst` or be disjoint from it.
pub type TileFn = unsafe fn(dst: *mut u8, src: &[*const u8; 3], n: usize);

/// Which operands of a binary function are tiles (V) and which is a pointer to one element (S).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Two tiles.
    VV,
    /// A tile and one element.
    VS,
    /// One element and a tile.
    SV,
}

/// Activation functions that superinstructions can contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Act {
    /// max(x, 0), NaN stays NaN.
    Relu,
    /// x·Φ(x) by erf.
    Gelu,
    /// gelu by the tanh approximation.
    GeluTanh,
    /// x·σ(x).
    Silu,
    /// σ(x).
    Logistic,
    /// tanh(x).
    Tanh,
    /// exp(x).
    Exp,
}

/// Several functions in one pass over a tile. Operands are tiles `a`, `b`, `c` in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fused {
    /// act(a).
    Act(Act),
    /// act'(b) · a: `a` is the gradient, `b` the forward's operand (gelu, gelu_tanh, silu only).
    ActGrad(Act),
    /// a·b + c, rounded once.
    MulAdd,
    /// a·b + c, rounded once, where b and c are one element each.
    Affine,
    /// act(a·b + c).
    MulAddAct(Act),
    /// act(a + b).
    AddAct(Act),
    /// act(a) + b.
    ActAdd(Act),
    /// act(a) · b.
    ActMul(Act),
}

/// The loop of a unary function on `dtype`, or `None` when the type has no such function. The result has the type of
/// the operand, except that IsFinite, IsInf and IsNan give bool, and Real, Imag and Abs of complex give the part type.
pub fn unary(kind: UnaryKind, dtype: DType) -> Option<TileFn> {
    unary_on(isa::current(), kind, dtype)
}

/// The loop of a binary function of two operands of type `dtype`; `Complex` pairs two reals into a complex result.
pub fn binary(kind: BinaryKind, dtype: DType, mode: Mode) -> Option<TileFn> {
    binary_on(isa::current(), kind, dtype, mode)
}

/// The loop of a comparison of two operands of type `dtype` into a bool tile.
pub fn compare(dir: CompareDir, dtype: DType, mode: Mode) -> Option<TileFn> {
    compare_on(isa::current(), dir, dtype, mode)
}

/// The loop of `clamp`: `src` is the lower bound, the operand and the upper bound. NaN in any gives NaN; where the
/// bounds cross, the upper wins.
pub fn clamp(dtype: DType) -> Option<TileFn> {
    clamp_on(isa::current(), dtype)
}

/// The loop that converts elements; every pair of types has one.
///
/// Float to integer truncates by way of a signed word (32 bits; 64 for `ui32` and `i64`) and keeps the low bits; what the
/// word cannot hold, and NaN, is its least number; `ui64` saturates. Anything to bool is `!= 0`; complex to real drops the
/// imaginary part; f64 and integers reach reduced floats through f32, as PyTorch's casts do.
pub fn convert(from: DType, to: DType) -> Option<TileFn> {
    convert_on(isa::current(), from, to)
}

/// The loop of a superinstruction on f32 or f64.
pub fn fused(fused: Fused, dtype: DType) -> Option<TileFn> {
    fused_on(isa::current(), fused, dtype)
}

#[cfg(test)]
mod tests;
