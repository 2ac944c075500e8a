//! The table of unary functions.

use tnrs_types::{DType, UnaryKind};

use super::map::{map1, Op1};
use super::TileFn;
use crate::isa::Isa;
use crate::math::complex::{Complex, C128, C64};
use crate::math::int::Int;
use crate::math::real::Real;

macro_rules! real_ops {
    ($($op:ident = $f:ident;)*) => {$(
        struct $op;
        impl<T: Real> Op1<T> for $op {
            type Out = T;
            #[inline(always)]
            fn f(x: T) -> T { x.$f() }
        }
    )*};
}

real_ops! {
    Abs = abs; Cbrt = cbrt; Ceil = ceil; Exp = exp; ExpM1 = exp_m1; Floor = floor; Ln = ln; Ln1p = ln_1p;
    Logistic = logistic; Negate = neg; RoundAway = round_away; RoundEven = round_even; Rsqrt = rsqrt; Sign = sign;
    Sqrt = sqrt; Tanh = tanh; Acos = acos; Acosh = acosh; Asin = asin; Asinh = asinh; Atan = atan; Atanh = atanh;
    Cosh = cosh; Digamma = digamma; Erf = erf; Erfc = erfc; ErfInv = erf_inv; Lgamma = lgamma; Sinh = sinh;
    Trunc = trunc;
}

macro_rules! angle_ops {
    ($($op:ident = $f:ident, $huge:ident;)*) => {$(
        struct $op;
        impl<T: Real> Op1<T> for $op {
            type Out = T;
            const REPAIRS: bool = true;
            #[inline(always)]
            fn f(x: T) -> T { x.$f() }
            #[inline(always)]
            fn is_wild(x: T) -> bool { x.is_huge_angle() }
            #[inline(always)]
            fn repair(x: T) -> Option<T> { x.is_huge_angle().then(|| x.$huge()) }
        }
    )*};
}

angle_ops! {
    Sin = sin, sin_huge; Cos = cos, cos_huge; Tan = tan, tan_huge;
}

macro_rules! int_ops {
    ($($op:ident = $f:ident;)*) => {$(
        struct $op;
        impl<T: Int> Op1<T> for $op {
            type Out = T;
            #[inline(always)]
            fn f(x: T) -> T { x.$f() }
        }
    )*};
}

int_ops! {
    IntAbs = abs; IntNeg = neg; IntSign = sign; IntNot = not; IntPopcnt = popcnt; IntClz = clz;
}

struct BoolNot;
impl Op1<u8> for BoolNot {
    type Out = u8;
    #[inline(always)]
    fn f(x: u8) -> u8 {
        u8::from(x == 0)
    }
}

macro_rules! test_ops {
    ($($op:ident = |$x:ident| $e:expr;)*) => {$(
        struct $op;
        impl<T: Real> Op1<T> for $op {
            type Out = bool;
            #[inline(always)]
            fn f($x: T) -> bool { $e }
        }
    )*};
}

test_ops! {
    IsFinite = |x| x.abs() < T::INF;
    IsInf = |x| x.abs() == T::INF;
    IsNan = |x| x.nan();
}

macro_rules! complex_ops {
    ($($op:ident = $f:ident;)*) => {$(
        struct $op;
        impl Op1<C64> for $op {
            type Out = C64;
            #[inline(always)]
            fn f(x: C64) -> C64 { C64::of(x.wide().$f()) }
        }
        impl Op1<C128> for $op {
            type Out = C128;
            #[inline(always)]
            fn f(x: C128) -> C128 { x.$f() }
        }
    )*};
}

complex_ops! {
    CExp = exp; CExpM1 = exp_m1; CLn = ln; CLn1p = ln_1p; CLogistic = logistic; CRsqrt = rsqrt; CSign = sign;
    CSin = sin; CCos = cos; CTan = tan; CSqrt = sqrt; CTanh = tanh; CAcos = acos; CAcosh = acosh; CAsin = asin;
    CAsinh = asinh; CAtan = atan; CAtanh = atanh; CCosh = cosh; CSinh = sinh;
}

macro_rules! part_ops {
    ($($op:ident, $out:ty = |$x:ident| $e:expr;)*) => {$(
        struct $op;
        impl<T: Real> Op1<Complex<T>> for $op {
            type Out = $out;
            #[inline(always)]
            fn f($x: Complex<T>) -> $out { $e }
        }
    )*};
}

part_ops! {
    CRe, T = |x| x.re;
    CIm, T = |x| x.im;
    CNeg, Complex<T> = |x| Complex { re: -x.re, im: -x.im };
    CConj, Complex<T> = |x| Complex { re: x.re, im: -x.im };
    CFinite, bool = |x| x.re.abs() < T::INF && x.im.abs() < T::INF;
    CInf, bool = |x| x.re.abs() == T::INF || x.im.abs() == T::INF;
    CNan, bool = |x| x.re.nan() || x.im.nan();
}

struct CAbs;
impl Op1<C64> for CAbs {
    type Out = f32;
    #[inline(always)]
    fn f(x: C64) -> f32 {
        let z = x.wide();
        let m = z.re.mul_add(z.re, z.im * z.im).sqrt() as f32;
        // An infinite part makes the magnitude infinite even beside NaN.
        if x.re.abs() == f32::INFINITY || x.im.abs() == f32::INFINITY {
            f32::INFINITY
        } else {
            m
        }
    }
}
impl Op1<C128> for CAbs {
    type Out = f64;
    #[inline(always)]
    fn f(x: C128) -> f64 {
        x.abs()
    }
}

/// See [`super::unary`].
pub fn unary_on(isa: Isa, kind: UnaryKind, dtype: DType) -> Option<TileFn> {
    match dtype {
        DType::F32 => real::<f32>(isa, kind),
        DType::F64 => real::<f64>(isa, kind),
        DType::C64 => complex(isa, kind).or_else(|| complex_parts::<f32>(isa, kind)),
        DType::C128 => complex_double(isa, kind).or_else(|| complex_parts::<f64>(isa, kind)),
        DType::Bool => (kind == UnaryKind::Not).then(|| map1::<BoolNot, u8>(isa)),
        DType::U8 => int::<u8>(isa, kind),
        DType::I8 => int::<i8>(isa, kind),
        DType::U16 => int::<u16>(isa, kind),
        DType::I16 => int::<i16>(isa, kind),
        DType::U32 => int::<u32>(isa, kind),
        DType::I32 => int::<i32>(isa, kind),
        DType::U64 => int::<u64>(isa, kind),
        DType::I64 => int::<i64>(isa, kind),
        _ => None,
    }
}

fn int<T: Int>(isa: Isa, kind: UnaryKind) -> Option<TileFn> {
    Some(match kind {
        UnaryKind::Abs => map1::<IntAbs, T>(isa),
        UnaryKind::Negate => map1::<IntNeg, T>(isa),
        UnaryKind::Sign => map1::<IntSign, T>(isa),
        UnaryKind::Not => map1::<IntNot, T>(isa),
        UnaryKind::Popcnt => map1::<IntPopcnt, T>(isa),
        UnaryKind::CountLeadingZeros => map1::<IntClz, T>(isa),
        _ => return None,
    })
}

macro_rules! table {
    ($isa:ident, $kind:ident, $t:ty, $($k:ident => $op:ident,)*) => {
        match $kind {
            $(UnaryKind::$k => Some(map1::<$op, $t>($isa)),)*
            _ => None,
        }
    };
}

fn real<T: Real>(isa: Isa, kind: UnaryKind) -> Option<TileFn> {
    table!(isa, kind, T,
        Abs => Abs, Cbrt => Cbrt, Ceil => Ceil, Cosine => Cos, Exponential => Exp, ExponentialMinusOne => ExpM1,
        Floor => Floor, IsFinite => IsFinite, IsInf => IsInf, IsNan => IsNan, Log => Ln, LogPlusOne => Ln1p,
        Logistic => Logistic, Negate => Negate, RoundNearestAfz => RoundAway, RoundNearestEven => RoundEven,
        Rsqrt => Rsqrt, Sign => Sign, Sine => Sin, Sqrt => Sqrt, Tan => Tan, Tanh => Tanh, Acos => Acos,
        Acosh => Acosh, Asin => Asin, Asinh => Asinh, Atan => Atan, Atanh => Atanh, Cosh => Cosh, Digamma => Digamma,
        Erf => Erf, Erfc => Erfc, ErfInv => ErfInv, Lgamma => Lgamma, Sinh => Sinh, Trunc => Trunc,
    )
}

macro_rules! complex_table {
    ($name:ident, $t:ty) => {
        fn $name(isa: Isa, kind: UnaryKind) -> Option<TileFn> {
            table!(isa, kind, $t,
                Abs => CAbs, Exponential => CExp, ExponentialMinusOne => CExpM1, Log => CLn, LogPlusOne => CLn1p,
                Logistic => CLogistic, Rsqrt => CRsqrt, Sign => CSign, Sine => CSin, Cosine => CCos, Tan => CTan,
                Sqrt => CSqrt, Tanh => CTanh, Acos => CAcos, Acosh => CAcosh, Asin => CAsin, Asinh => CAsinh,
                Atan => CAtan, Atanh => CAtanh, Cosh => CCosh, Sinh => CSinh,
            )
        }
    };
}
complex_table!(complex, C64);
complex_table!(complex_double, C128);

fn complex_parts<T: Real>(isa: Isa, kind: UnaryKind) -> Option<TileFn> {
    table!(isa, kind, Complex<T>,
        Real => CRe, Imag => CIm, Negate => CNeg, Conj => CConj, IsFinite => CFinite, IsInf => CInf, IsNan => CNan,
    )
}
