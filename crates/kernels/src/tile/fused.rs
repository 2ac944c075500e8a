//! Superinstructions: an activation with the arithmetic around it in one pass over the tile.

use tnrs_types::DType;

use super::map::{map1, map2, map3, map_scalars, Op1, Op2, Op3};
use super::{Act, Fused, TileFn};
use crate::isa::Isa;
use crate::math::real::Real;

/// An activation function by type.
trait Activation {
    fn f<T: Real>(x: T) -> T;
}

macro_rules! activations {
    ($($name:ident = |$x:ident| $e:expr;)*) => {$(
        struct $name;
        impl Activation for $name {
            #[inline(always)]
            fn f<T: Real>($x: T) -> T { $e }
        }
    )*};
}

activations! {
    Relu = |x| x.max(T::ZERO);
    Gelu = |x| x.gelu();
    GeluTanh = |x| x.gelu_tanh();
    Silu = |x| x.silu();
    Logistic = |x| x.logistic();
    Tanh = |x| x.tanh();
    Exp = |x| x.exp();
    GeluD = |x| x.gelu_d();
    GeluTanhD = |x| x.gelu_tanh_d();
    SiluD = |x| x.silu_d();
}

struct Only<A>(A);
impl<A: Activation, T: Real> Op1<T> for Only<A> {
    type Out = T;
    #[inline(always)]
    fn f(x: T) -> T {
        A::f(x)
    }
}

macro_rules! shapes2 {
    ($($name:ident = |$a:ident, $b:ident| $e:expr;)*) => {$(
        struct $name<A>(A);
        impl<A: Activation, T: Real> Op2<T> for $name<A> {
            type Out = T;
            #[inline(always)]
            fn f($a: T, $b: T) -> T { $e }
        }
    )*};
}

shapes2! {
    Grad = |a, b| A::f(b) * a;
    AddThen = |a, b| A::f(a + b);
    ThenAdd = |a, b| A::f(a) + b;
    ThenMul = |a, b| A::f(a) * b;
}

struct MulAdd;
impl<T: Real> Op3<T> for MulAdd {
    #[inline(always)]
    fn f(a: T, b: T, c: T) -> T {
        a.fma(b, c)
    }
}

struct MulAddThen<A>(A);
impl<A: Activation, T: Real> Op3<T> for MulAddThen<A> {
    #[inline(always)]
    fn f(a: T, b: T, c: T) -> T {
        A::f(a.fma(b, c))
    }
}

/// See [`super::fused`].
pub fn fused_on(isa: Isa, fused: Fused, dtype: DType) -> Option<TileFn> {
    match dtype {
        DType::F32 => of::<f32>(isa, fused),
        DType::F64 => of::<f64>(isa, fused),
        _ => None,
    }
}

fn of<T: Real>(isa: Isa, fused: Fused) -> Option<TileFn> {
    match fused {
        Fused::MulAdd => Some(map3::<MulAdd, T>(isa)),
        Fused::Affine => Some(map_scalars::<MulAdd, T>(isa)),
        Fused::ActGrad(act) => match act {
            Act::Gelu => Some(map2::<Grad<GeluD>, T>(isa)),
            Act::GeluTanh => Some(map2::<Grad<GeluTanhD>, T>(isa)),
            Act::Silu => Some(map2::<Grad<SiluD>, T>(isa)),
            _ => None,
        },
        Fused::Act(act)
        | Fused::MulAddAct(act)
        | Fused::AddAct(act)
        | Fused::ActAdd(act)
        | Fused::ActMul(act) => Some(match act {
            Act::Relu => with::<Relu, T>(isa, fused),
            Act::Gelu => with::<Gelu, T>(isa, fused),
            Act::GeluTanh => with::<GeluTanh, T>(isa, fused),
            Act::Silu => with::<Silu, T>(isa, fused),
            Act::Logistic => with::<Logistic, T>(isa, fused),
            Act::Tanh => with::<Tanh, T>(isa, fused),
            Act::Exp => with::<Exp, T>(isa, fused),
        }),
    }
}

fn with<A: Activation, T: Real>(isa: Isa, fused: Fused) -> TileFn {
    match fused {
        Fused::MulAddAct(_) => map3::<MulAddThen<A>, T>(isa),
        Fused::AddAct(_) => map2::<AddThen<A>, T>(isa),
        Fused::ActAdd(_) => map2::<ThenAdd<A>, T>(isa),
        Fused::ActMul(_) => map2::<ThenMul<A>, T>(isa),
        _ => map1::<Only<A>, T>(isa),
    }
}
