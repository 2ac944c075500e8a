//! Conversion between every two element types.
//!
//! Bool, integers, f32 and f64 convert into each other directly. A reduced float converts from and to f32, a complex
//! number from and to its part type; any other pair goes through those in a small buffer.

use std::mem::MaybeUninit;

use tnrs_types::{Class, DType};

use super::data::copy_on;
use super::map::{map1, Op1};
use super::TileFn;
use crate::isa::Isa;
use crate::math::complex::{Complex, C128, C64};
use crate::math::fp8::{E4m3fn, E4m3fnuz, E5m2, E5m2fnuz, E8m0fnu};
use crate::math::half::{Bf16, F16};

/// A bool as stored: any non-zero byte is true.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Truth(u8);

trait Cast<To> {
    fn cast(self) -> To;
}

struct Convert<To>(std::marker::PhantomData<To>);
impl<From: Cast<To>, To: Copy> Op1<From> for Convert<To> {
    type Out = To;
    #[inline(always)]
    fn f(x: From) -> To {
        x.cast()
    }
}

macro_rules! numbers {
    (@to $from:ty: $($to:ty),*) => {$(
        impl Cast<$to> for $from {
            #[inline(always)]
            fn cast(self) -> $to { self as $to }
        }
    )*};
    ($($t:ty = $zero:literal),*) => {$(
        impl Cast<Truth> for $t {
            #[inline(always)]
            fn cast(self) -> Truth { Truth(u8::from(self != $zero)) }
        }
        impl Cast<$t> for Truth {
            #[inline(always)]
            fn cast(self) -> $t { u8::from(self.0 != 0) as $t }
        }
    )*};
}
macro_rules! plain {
    ($($t:ty),*) => {$( numbers!(@to $t: u8, i8, u16, i16, u32, i32, u64, i64, f32, f64); )*};
}
plain!(u8, i8, u16, i16, u32, i32, u64, i64);
numbers!(@to f32: f32, f64);
numbers!(@to f64: f32, f64);

macro_rules! float_to_int {
    ($($from:ty, $wide:ty: $($to:ty),*;)*) => {$($(
        impl Cast<$to> for $from {
            /// By way of a signed word, whose least number stands for NaN and what it cannot hold: as processors do.
            #[inline(always)]
            fn cast(self) -> $to {
                const LOW: $from = <$wide>::MIN as $from;
                let x = if (LOW..-LOW).contains(&self) { self } else { LOW };
                // SAFETY: the operand is in the range of the integer type.
                let y: $wide = unsafe { x.to_int_unchecked() };
                y as $to
            }
        }
    )*)*};
}
float_to_int! {
    f32, i32: u8, i8, u16, i16, i32;
    f64, i32: u8, i8, u16, i16, i32;
    f32, i64: u32, i64;
    f64, i64: u32, i64;
}
macro_rules! float_to_u64 {
    ($($from:ty),*) => {$(
        impl Cast<u64> for $from {
            #[inline(always)]
            fn cast(self) -> u64 { self as u64 }
        }
    )*};
}
float_to_u64!(f32, f64);
numbers!(u8 = 0, i8 = 0, u16 = 0, i16 = 0, u32 = 0, i32 = 0, u64 = 0, i64 = 0, f32 = 0.0, f64 = 0.0);

impl Cast<Truth> for Truth {
    #[inline(always)]
    fn cast(self) -> Truth {
        Truth(u8::from(self.0 != 0))
    }
}

macro_rules! reduced {
    ($($t:ty),*) => {$(
        impl Cast<f32> for $t {
            #[inline(always)]
            fn cast(self) -> f32 { self.to_f32() }
        }
        impl Cast<$t> for f32 {
            #[inline(always)]
            fn cast(self) -> $t { <$t>::from_f32(self) }
        }
    )*};
}
reduced!(Bf16, F16, E4m3fn, E5m2, E4m3fnuz, E5m2fnuz, E8m0fnu);

/// A pair of f16 as stored.
type C32 = Complex<F16>;
impl Cast<C64> for C32 {
    #[inline(always)]
    fn cast(self) -> C64 {
        C64 { re: self.re.to_f32(), im: self.im.to_f32() }
    }
}
impl Cast<C32> for C64 {
    #[inline(always)]
    fn cast(self) -> C32 {
        C32 { re: F16::from_f32(self.re), im: F16::from_f32(self.im) }
    }
}
impl Cast<f32> for C32 {
    #[inline(always)]
    fn cast(self) -> f32 {
        self.re.to_f32()
    }
}
impl Cast<C32> for f32 {
    #[inline(always)]
    fn cast(self) -> C32 {
        C32 { re: F16::from_f32(self), im: F16::from_f32(0.0) }
    }
}

macro_rules! complex {
    ($($c:ident: $part:ty;)*) => {$(
        complex!(@part $c, $part, f32);
        complex!(@part $c, $part, f64);
        impl Cast<Truth> for $c {
            #[inline(always)]
            fn cast(self) -> Truth { Truth(u8::from(self.re != 0.0 || self.im != 0.0)) }
        }
        impl Cast<C64> for $c {
            #[inline(always)]
            fn cast(self) -> C64 { C64 { re: self.re as f32, im: self.im as f32 } }
        }
        impl Cast<C128> for $c {
            #[inline(always)]
            fn cast(self) -> C128 { C128 { re: self.re as f64, im: self.im as f64 } }
        }
    )*};
    (@part $c:ident, $part:ty, $real:ty) => {
        impl Cast<$real> for $c {
            #[inline(always)]
            fn cast(self) -> $real { self.re as $real }
        }
        impl Cast<$c> for $real {
            #[inline(always)]
            fn cast(self) -> $c { $c { re: self as $part, im: 0.0 } }
        }
    };
}
complex! {
    C64: f32;
    C128: f64;
}

/// See [`super::convert`].
pub fn convert_on(isa: Isa, from: DType, to: DType) -> Option<TileFn> {
    if from == to {
        return Some(copy_on(isa, from.size()));
    }
    direct(isa, from, to).or_else(|| indirect(isa, from, to))
}

/// The types that convert into each other directly, as (dtype, Rust type) pairs.
macro_rules! with_numbers {
    ($go:ident, $($args:tt)*) => {
        $go!($($args)*; Bool Truth, U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, U64 u64, I64 i64, F32 f32, F64 f64)
    };
}

macro_rules! match_from {
    ($isa:ident, $from:ident, $to:ident; $($d:ident $t:ty),*) => {
        match $from {
            $(DType::$d => number::<$t>($isa, $to),)*
            DType::C32 => from_narrow($isa, $to),
            DType::C64 => from_complex::<C64>($isa, $to),
            DType::C128 => from_complex::<C128>($isa, $to),
            DType::BF16 => from_reduced::<Bf16>($isa, $to),
            DType::F16 => from_reduced::<F16>($isa, $to),
            DType::F8E4M3FN => from_reduced::<E4m3fn>($isa, $to),
            DType::F8E5M2 => from_reduced::<E5m2>($isa, $to),
            DType::F8E4M3FNUZ => from_reduced::<E4m3fnuz>($isa, $to),
            DType::F8E5M2FNUZ => from_reduced::<E5m2fnuz>($isa, $to),
            DType::F8E8M0FNU => from_reduced::<E8m0fnu>($isa, $to),
        }
    };
}

macro_rules! match_to {
    ($isa:ident, $from:ty, $to:ident; $($d:ident $t:ty),*) => {
        match $to {
            $(DType::$d => Some(map1::<Convert<$t>, $from>($isa)),)*
            _ => None,
        }
    };
}

fn direct(isa: Isa, from: DType, to: DType) -> Option<TileFn> {
    match (from, to) {
        (DType::F32, DType::BF16) => Some(map1::<Convert<Bf16>, f32>(isa)),
        (DType::F32, DType::F16) => Some(map1::<Convert<F16>, f32>(isa)),
        (DType::F32, DType::F8E4M3FN) => Some(map1::<Convert<E4m3fn>, f32>(isa)),
        (DType::F32, DType::F8E5M2) => Some(map1::<Convert<E5m2>, f32>(isa)),
        (DType::F32, DType::F8E4M3FNUZ) => Some(map1::<Convert<E4m3fnuz>, f32>(isa)),
        (DType::F32, DType::F8E5M2FNUZ) => Some(map1::<Convert<E5m2fnuz>, f32>(isa)),
        (DType::F32, DType::F8E8M0FNU) => Some(map1::<Convert<E8m0fnu>, f32>(isa)),
        (DType::F32, DType::C32) => Some(map1::<Convert<C32>, f32>(isa)),
        (DType::C64, DType::C32) => Some(map1::<Convert<C32>, C64>(isa)),
        (DType::F32, DType::C64) => Some(map1::<Convert<C64>, f32>(isa)),
        (DType::F32, DType::C128) => Some(map1::<Convert<C128>, f32>(isa)),
        (DType::F64, DType::C64) => Some(map1::<Convert<C64>, f64>(isa)),
        (DType::F64, DType::C128) => Some(map1::<Convert<C128>, f64>(isa)),
        _ => with_numbers!(match_from, isa, from, to),
    }
}

trait FromNumber:
    Copy
    + Cast<Truth>
    + Cast<u8>
    + Cast<i8>
    + Cast<u16>
    + Cast<i16>
    + Cast<u32>
    + Cast<i32>
    + Cast<u64>
    + Cast<i64>
    + Cast<f32>
    + Cast<f64>
{
}
impl<T> FromNumber for T where
    T: Copy
        + Cast<Truth>
        + Cast<u8>
        + Cast<i8>
        + Cast<u16>
        + Cast<i16>
        + Cast<u32>
        + Cast<i32>
        + Cast<u64>
        + Cast<i64>
        + Cast<f32>
        + Cast<f64>
{
}

fn number<T: FromNumber>(isa: Isa, to: DType) -> Option<TileFn> {
    with_numbers!(match_to, isa, T, to)
}

fn from_complex<T>(isa: Isa, to: DType) -> Option<TileFn>
where
    T: Copy + Cast<Truth> + Cast<f32> + Cast<f64> + Cast<C64> + Cast<C128>,
{
    Some(match to {
        DType::Bool => map1::<Convert<Truth>, T>(isa),
        DType::F32 => map1::<Convert<f32>, T>(isa),
        DType::F64 => map1::<Convert<f64>, T>(isa),
        DType::C64 => map1::<Convert<C64>, T>(isa),
        DType::C128 => map1::<Convert<C128>, T>(isa),
        _ => return None,
    })
}

fn from_reduced<T: Copy + Cast<f32>>(isa: Isa, to: DType) -> Option<TileFn> {
    (to == DType::F32).then(|| map1::<Convert<f32>, T>(isa))
}

fn from_narrow(isa: Isa, to: DType) -> Option<TileFn> {
    match to {
        DType::F32 => Some(map1::<Convert<f32>, C32>(isa)),
        DType::C64 => Some(map1::<Convert<C64>, C32>(isa)),
        _ => None,
    }
}

/// The type that a pair without a loop of its own goes through.
const fn middle(from: DType, to: DType) -> DType {
    if from.is_reduced_float() || to.is_reduced_float() {
        return DType::F32;
    }
    if matches!(from, DType::C32) || matches!(to, DType::C32) {
        // Truth is in both parts.
        let both = from.is_complex() && (to.is_complex() || matches!(to, DType::Bool));
        return if both { DType::C64 } else { DType::F32 };
    }
    match (from.class(), to.class()) {
        (Class::Complex, _) => from.real(),
        _ => to.real(),
    }
}

/// Elements of the buffer between two conversions.
const STRETCH: usize = 256;

/// Converts through [`middle`] in two loops.
unsafe fn two_step<const ISA: u8, const FROM: u8, const TO: u8>(
    dst: *mut u8,
    src: &[*const u8; 3],
    n: usize,
) {
    let isa = [Isa::Avx512, Isa::Avx2, Isa::Portable][ISA as usize];
    let (from, to) = (DType::ALL[FROM as usize], DType::ALL[TO as usize]);
    let mid = middle(from, to);
    let (Some(first), Some(second)) = (direct(isa, from, mid), direct(isa, mid, to)) else {
        unreachable!("no conversion from {from:?} through {mid:?} to {to:?}")
    };
    let mut buffer = [MaybeUninit::<u64>::uninit(); STRETCH];
    let buffer = buffer.as_mut_ptr().cast::<u8>();
    let mut i = 0;
    while i < n {
        let count = (n - i).min(STRETCH);
        // SAFETY: the contract of `TileFn`; the middle type has at most 8 bytes.
        unsafe {
            let a = src[0].add(i * from.size());
            first(buffer, &[a; 3], count);
            second(dst.add(i * to.size()), &[buffer.cast_const(); 3], count);
        }
        i += count;
    }
}

/// Every element type, for the matches that turn a pair into constants.
macro_rules! all_types {
    ($go:ident, $($args:tt)*) => {
        $go!($($args)*; Bool U8 I8 U16 I16 U32 I32 U64 I64 F8E4M3FN F8E5M2 F8E4M3FNUZ F8E5M2FNUZ F8E8M0FNU F16 BF16 F32 F64 C32 C64 C128)
    };
}

macro_rules! constant_from {
    ($isa:ident, $from:ident, $to:ident; $($d:ident)*) => {
        match $from {
            $(DType::$d => match $isa {
                Isa::Avx512 => to_constant::<0, { DType::$d as u8 }>($to),
                Isa::Avx2 => to_constant::<1, { DType::$d as u8 }>($to),
                Isa::Portable => to_constant::<2, { DType::$d as u8 }>($to),
            },)*
        }
    };
}

macro_rules! constant_to {
    ($isa:ident, $from:ident, $to:ident; $($d:ident)*) => {
        match $to {
            $(DType::$d => two_step::<$isa, $from, { DType::$d as u8 }>,)*
        }
    };
}

fn to_constant<const ISA: u8, const FROM: u8>(to: DType) -> TileFn {
    all_types!(constant_to, ISA, FROM, to)
}

fn indirect(isa: Isa, from: DType, to: DType) -> Option<TileFn> {
    let mid = middle(from, to);
    direct(isa, from, mid)?;
    direct(isa, mid, to)?;
    Some(all_types!(constant_from, isa, from, to))
}
