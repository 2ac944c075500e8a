//! Element types as memory holds them and the type that arithmetic on them uses.

use super::half::{Bf16, F16};
use super::real::Real;

/// A float as stored, with its type for arithmetic: f32 for reduced floats, itself otherwise.
pub trait Elem: Copy + 'static {
    /// Type for arithmetic.
    type Math: Real;
    /// Whether the stored type is narrower than the type for arithmetic.
    const REDUCED: bool;
    /// The element as a number.
    fn load(self) -> Self::Math;
    /// The number rounded to the element type.
    fn store(x: Self::Math) -> Self;
}

macro_rules! same {
    ($($t:ty),*) => {$(
        impl Elem for $t {
            type Math = $t;
            const REDUCED: bool = false;
            #[inline(always)]
            fn load(self) -> $t { self }
            #[inline(always)]
            fn store(x: $t) -> $t { x }
        }
    )*};
}
same!(f32, f64);

macro_rules! reduced {
    ($($t:ty),*) => {$(
        impl Elem for $t {
            type Math = f32;
            const REDUCED: bool = true;
            #[inline(always)]
            fn load(self) -> f32 { self.to_f32() }
            #[inline(always)]
            fn store(x: f32) -> $t { <$t>::from_f32(x) }
        }
    )*};
}
reduced!(Bf16, F16);
