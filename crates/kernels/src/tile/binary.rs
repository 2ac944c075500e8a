//! The tables of binary functions and comparisons.

use std::marker::PhantomData;
use std::mem::size_of;

use tnrs_types::{BinaryKind, CompareDir, DType};

use super::map::{map2, pick, Map1, MapScalar, Op1, Op2, Spread, TileBody};
use super::{Mode, TileFn};
use crate::isa::Isa;
use crate::math::complex::{Complex, C128, C64};
use crate::math::int::Int;
use crate::math::real::Real;

macro_rules! ops {
    ($bound:ident: $($op:ident = |$x:ident, $y:ident| $e:expr;)*) => {$(
        struct $op;
        impl<T: $bound> Op2<T> for $op {
            type Out = T;
            #[inline(always)]
            fn f($x: T, $y: T) -> T { $e }
        }
    )*};
}

ops! { Real:
    Add = |x, y| x + y;
    Sub = |x, y| x - y;
    Mul = |x, y| x * y;
    Div = |x, y| x / y;
    Max = |x, y| x.max(y);
    Min = |x, y| x.min(y);
    Pow = |x, y| x.pow(y);
    Atan2 = |x, y| x.atan2(y);
}

/// Powers of one base; those of 2 have a function of their own.
struct PowOf<T>(PhantomData<T>);
impl<T: Real> TileBody for PowOf<T> {
    #[inline(always)]
    unsafe fn run(dst: *mut u8, src: &[*const u8; 3], n: usize) {
        // SAFETY: the contract of `TileFn`.
        unsafe {
            if src[0].cast::<T>().read() == T::ONE + T::ONE {
                Map1::<Exp2, T>::run(dst, &[src[1]; 3], n);
            } else {
                MapScalar::<Pow, T, true>::run(dst, src, n);
            }
        }
    }
}

struct Exp2;
impl<T: Real> Op1<T> for Exp2 {
    type Out = T;
    #[inline(always)]
    fn f(x: T) -> T {
        x.exp2()
    }
}

struct Rem;
impl<T: Real> Op2<T> for Rem {
    type Out = T;
    const REPAIRS: bool = true;
    #[inline(always)]
    fn f(x: T, y: T) -> T {
        x.rem(y)
    }
    #[inline(always)]
    fn is_wild(x: T, y: T) -> bool {
        x.is_huge_quotient(y)
    }
    #[inline(always)]
    fn repair(x: T, y: T) -> Option<T> {
        x.is_huge_quotient(y).then(|| x.rem_huge(y))
    }
}

ops! { Int:
    IntAdd = |x, y| x.add(y);
    IntSub = |x, y| x.sub(y);
    IntMul = |x, y| x.mul(y);
    IntDiv = |x, y| x.div(y);
    IntRem = |x, y| x.rem(y);
    IntPow = |x, y| x.pow(y);
    IntMax = |x, y| if x > y { x } else { y };
    IntMin = |x, y| if x < y { x } else { y };
    IntAnd = |x, y| x.and(y);
    IntOr = |x, y| x.or(y);
    IntXor = |x, y| x.xor(y);
    IntShl = |x, y| x.shl(y);
    IntShrLogical = |x, y| x.shr_logical(y);
    IntShrArithmetic = |x, y| x.shr_arithmetic(y);
}

struct Pair;
impl<T: Real> Op2<T> for Pair {
    type Out = Complex<T>;
    #[inline(always)]
    fn f(x: T, y: T) -> Complex<T> {
        Complex { re: x, im: y }
    }
}

macro_rules! complex_ops {
    ($($op:ident = |$x:ident, $y:ident| $e:expr;)*) => {$(
        struct $op;
        impl<T: Real> Op2<Complex<T>> for $op {
            type Out = Complex<T>;
            #[inline(always)]
            fn f($x: Complex<T>, $y: Complex<T>) -> Complex<T> { $e }
        }
    )*};
}

complex_ops! {
    CAdd = |x, y| Complex { re: x.re + y.re, im: x.im + y.im };
    CSub = |x, y| Complex { re: x.re - y.re, im: x.im - y.im };
    CMul = |x, y| Complex { re: x.re * y.re - x.im * y.im, im: x.re * y.im + x.im * y.re };
}

struct CDiv;
struct CPow;
impl Op2<C64> for CDiv {
    type Out = C64;
    #[inline(always)]
    fn f(x: C64, y: C64) -> C64 {
        C64::of(x.wide().quotient(y.wide()))
    }
}
impl Op2<C128> for CDiv {
    type Out = C128;
    #[inline(always)]
    fn f(x: C128, y: C128) -> C128 {
        x.quotient(y)
    }
}
impl Op2<C64> for CPow {
    type Out = C64;
    #[inline(always)]
    fn f(x: C64, y: C64) -> C64 {
        C64::of(x.wide().pow(y.wide()))
    }
}
impl Op2<C128> for CPow {
    type Out = C128;
    #[inline(always)]
    fn f(x: C128, y: C128) -> C128 {
        x.pow(y)
    }
}

macro_rules! compare_ops {
    ($($op:ident = $sym:tt;)*) => {$(
        struct $op;
        impl<T: PartialOrd> Op2<T> for $op {
            type Out = bool;
            #[inline(always)]
            fn f(x: T, y: T) -> bool { x $sym y }
        }
    )*};
}

compare_ops! { Lt = <; Le = <=; Gt = >; Ge = >=; }

struct Eq;
impl<T: PartialEq> Op2<T> for Eq {
    type Out = bool;
    #[inline(always)]
    fn f(x: T, y: T) -> bool {
        x == y
    }
}
struct Ne;
impl<T: PartialEq> Op2<T> for Ne {
    type Out = bool;
    #[inline(always)]
    fn f(x: T, y: T) -> bool {
        x != y
    }
}

/// All three modes with a loop of their own.
fn full<O: Op2<T>, T: Copy>(isa: Isa, mode: Mode) -> TileFn {
    match mode {
        Mode::VV => map2::<O, T>(isa),
        Mode::VS => pick::<MapScalar<O, T, false>>(isa),
        Mode::SV => pick::<MapScalar<O, T, true>>(isa),
    }
}

/// One loop for two tiles; the other modes repeat their element in a buffer.
fn lean<O: Op2<T>, T: Copy>(isa: Isa, mode: Mode) -> TileFn {
    struct Of<O, T, const ISA: u8, const FIRST: bool>(PhantomData<(O, T)>);
    impl<O: Op2<T>, T: Copy, const ISA: u8, const FIRST: bool> Of<O, T, ISA, FIRST> {
        unsafe fn run(dst: *mut u8, src: &[*const u8; 3], n: usize) {
            let isa = [Isa::Avx512, Isa::Avx2, Isa::Portable][ISA as usize];
            // SAFETY: the contract of `TileFn`; `lean` was asked for this instruction set.
            unsafe { Spread::<T, FIRST>::run_with(map2::<O, T>(isa), size_of::<O::Out>(), dst, src, n) }
        }
    }
    match (isa, mode) {
        (_, Mode::VV) => map2::<O, T>(isa),
        (Isa::Avx512, Mode::VS) => Of::<O, T, 0, false>::run,
        (Isa::Avx2, Mode::VS) => Of::<O, T, 1, false>::run,
        (Isa::Portable, Mode::VS) => Of::<O, T, 2, false>::run,
        (Isa::Avx512, Mode::SV) => Of::<O, T, 0, true>::run,
        (Isa::Avx2, Mode::SV) => Of::<O, T, 1, true>::run,
        (Isa::Portable, Mode::SV) => Of::<O, T, 2, true>::run,
    }
}

/// See [`super::binary`].
pub fn binary_on(isa: Isa, kind: BinaryKind, dtype: DType, mode: Mode) -> Option<TileFn> {
    match dtype {
        DType::F32 => real::<f32>(isa, kind, mode),
        DType::F64 => real::<f64>(isa, kind, mode),
        DType::C64 => complex::<f32>(isa, kind, mode),
        DType::C128 => complex::<f64>(isa, kind, mode),
        DType::Bool => boolean(isa, kind, mode),
        DType::U8 => signless::<u8>(isa, kind, mode).or_else(|| signed::<u8>(isa, kind, mode)),
        DType::I8 => signless::<u8>(isa, kind, mode).or_else(|| signed::<i8>(isa, kind, mode)),
        DType::U16 => signless::<u16>(isa, kind, mode).or_else(|| signed::<u16>(isa, kind, mode)),
        DType::I16 => signless::<u16>(isa, kind, mode).or_else(|| signed::<i16>(isa, kind, mode)),
        DType::U32 => signless::<u32>(isa, kind, mode).or_else(|| signed::<u32>(isa, kind, mode)),
        DType::I32 => signless::<u32>(isa, kind, mode).or_else(|| signed::<i32>(isa, kind, mode)),
        DType::U64 => signless::<u64>(isa, kind, mode).or_else(|| signed::<u64>(isa, kind, mode)),
        DType::I64 => signless::<u64>(isa, kind, mode).or_else(|| signed::<i64>(isa, kind, mode)),
        _ => None,
    }
}

fn real<T: Real>(isa: Isa, kind: BinaryKind, mode: Mode) -> Option<TileFn> {
    Some(match kind {
        BinaryKind::Add => full::<Add, T>(isa, mode),
        BinaryKind::Subtract => full::<Sub, T>(isa, mode),
        BinaryKind::Multiply => full::<Mul, T>(isa, mode),
        BinaryKind::Divide => full::<Div, T>(isa, mode),
        BinaryKind::Maximum => full::<Max, T>(isa, mode),
        BinaryKind::Minimum => full::<Min, T>(isa, mode),
        BinaryKind::Power if mode == Mode::SV => pick::<PowOf<T>>(isa),
        BinaryKind::Power => lean::<Pow, T>(isa, mode),
        BinaryKind::Remainder => lean::<Rem, T>(isa, mode),
        BinaryKind::Atan2 => lean::<Atan2, T>(isa, mode),
        BinaryKind::Complex => lean::<Pair, T>(isa, mode),
        _ => return None,
    })
}

/// Functions that do not see the sign of an integer.
fn signless<T: Int>(isa: Isa, kind: BinaryKind, mode: Mode) -> Option<TileFn> {
    Some(match kind {
        BinaryKind::Add => lean::<IntAdd, T>(isa, mode),
        BinaryKind::Subtract => lean::<IntSub, T>(isa, mode),
        BinaryKind::Multiply => lean::<IntMul, T>(isa, mode),
        BinaryKind::And => lean::<IntAnd, T>(isa, mode),
        BinaryKind::Or => lean::<IntOr, T>(isa, mode),
        BinaryKind::Xor => lean::<IntXor, T>(isa, mode),
        BinaryKind::ShiftLeft => lean::<IntShl, T>(isa, mode),
        BinaryKind::ShiftRightLogical => lean::<IntShrLogical, T>(isa, mode),
        BinaryKind::ShiftRightArithmetic => lean::<IntShrArithmetic, T>(isa, mode),
        _ => return None,
    })
}

fn signed<T: Int>(isa: Isa, kind: BinaryKind, mode: Mode) -> Option<TileFn> {
    Some(match kind {
        BinaryKind::Divide => lean::<IntDiv, T>(isa, mode),
        BinaryKind::Remainder => lean::<IntRem, T>(isa, mode),
        BinaryKind::Power => lean::<IntPow, T>(isa, mode),
        BinaryKind::Maximum => lean::<IntMax, T>(isa, mode),
        BinaryKind::Minimum => lean::<IntMin, T>(isa, mode),
        _ => return None,
    })
}

/// Addition is or, multiplication is and, as StableHLO defines them on i1.
fn boolean(isa: Isa, kind: BinaryKind, mode: Mode) -> Option<TileFn> {
    Some(match kind {
        BinaryKind::Add | BinaryKind::Maximum | BinaryKind::Or => lean::<IntOr, u8>(isa, mode),
        BinaryKind::Multiply | BinaryKind::Minimum | BinaryKind::And => lean::<IntAnd, u8>(isa, mode),
        BinaryKind::Xor => lean::<IntXor, u8>(isa, mode),
        _ => return None,
    })
}

fn complex<T: Real>(isa: Isa, kind: BinaryKind, mode: Mode) -> Option<TileFn>
where
    CDiv: Op2<Complex<T>>,
    CPow: Op2<Complex<T>>,
{
    Some(match kind {
        BinaryKind::Add => lean::<CAdd, Complex<T>>(isa, mode),
        BinaryKind::Subtract => lean::<CSub, Complex<T>>(isa, mode),
        BinaryKind::Multiply => lean::<CMul, Complex<T>>(isa, mode),
        BinaryKind::Divide => lean::<CDiv, Complex<T>>(isa, mode),
        BinaryKind::Power => lean::<CPow, Complex<T>>(isa, mode),
        _ => return None,
    })
}

/// See [`super::compare`].
pub fn compare_on(isa: Isa, dir: CompareDir, dtype: DType, mode: Mode) -> Option<TileFn> {
    use CompareDir::{Eq as Equal, Ne as NotEqual};
    match (dtype, dir) {
        (DType::U8 | DType::I8 | DType::Bool, Equal | NotEqual) => equality::<u8>(isa, dir, mode),
        (DType::U16 | DType::I16, Equal | NotEqual) => equality::<u16>(isa, dir, mode),
        (DType::U32 | DType::I32, Equal | NotEqual) => equality::<u32>(isa, dir, mode),
        (DType::U64 | DType::I64, Equal | NotEqual) => equality::<u64>(isa, dir, mode),
        (DType::F32, Equal | NotEqual) => equality::<f32>(isa, dir, mode),
        (DType::F64, Equal | NotEqual) => equality::<f64>(isa, dir, mode),
        (DType::C64, Equal | NotEqual) => equality::<C64>(isa, dir, mode),
        (DType::C128, Equal | NotEqual) => equality::<C128>(isa, dir, mode),
        (DType::U8 | DType::Bool, _) => order::<u8>(isa, dir, mode),
        (DType::I8, _) => order::<i8>(isa, dir, mode),
        (DType::U16, _) => order::<u16>(isa, dir, mode),
        (DType::I16, _) => order::<i16>(isa, dir, mode),
        (DType::U32, _) => order::<u32>(isa, dir, mode),
        (DType::I32, _) => order::<i32>(isa, dir, mode),
        (DType::U64, _) => order::<u64>(isa, dir, mode),
        (DType::I64, _) => order::<i64>(isa, dir, mode),
        (DType::F32, _) => order::<f32>(isa, dir, mode),
        (DType::F64, _) => order::<f64>(isa, dir, mode),
        _ => None,
    }
}

fn equality<T: PartialEq + Copy>(isa: Isa, dir: CompareDir, mode: Mode) -> Option<TileFn> {
    Some(match dir {
        CompareDir::Eq => lean::<Eq, T>(isa, mode),
        _ => lean::<Ne, T>(isa, mode),
    })
}

fn order<T: PartialOrd + Copy>(isa: Isa, dir: CompareDir, mode: Mode) -> Option<TileFn> {
    Some(match dir {
        CompareDir::Lt => lean::<Lt, T>(isa, mode),
        CompareDir::Le => lean::<Le, T>(isa, mode),
        CompareDir::Gt => lean::<Gt, T>(isa, mode),
        CompareDir::Ge => lean::<Ge, T>(isa, mode),
        CompareDir::Eq | CompareDir::Ne => return None,
    })
}
