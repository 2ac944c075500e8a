//! Folding a run into one accumulator, and rows into a vector of accumulators.

use std::marker::PhantomData;

use tnrs_types::{DType, ReduceKind};

use super::op::{
    Add, CAdd, CMul, IntAdd, IntAnd, IntMax, IntMin, IntMul, IntOr, IntXor, Max, Min, Mul, Reduction,
};
use crate::isa::{entry, Isa};
use crate::math::complex::{C128, C64};
use crate::math::elem::Elem;
use crate::math::half::{Bf16, F16};
use crate::math::int::Int;

/// Folds `n` contiguous elements into one accumulator.
///
/// # Safety
/// `src` must be valid for `n` elements, `acc` for one accumulator.
pub type InnerFn = unsafe fn(src: *const u8, n: usize, acc: *mut u8);

/// Folds element `i` into accumulator `i`.
///
/// # Safety
/// `acc` must be valid for `n` accumulators and `src` for `n` elements; they must not overlap.
pub type OuterFn = unsafe fn(acc: *mut u8, src: *const u8, n: usize);

entry!(InnerBody, pick_inner, InnerFn, (src: *const u8, n: usize, acc: *mut u8));
entry!(OuterBody, pick_outer, OuterFn, (acc: *mut u8, src: *const u8, n: usize));

/// Accumulators kept side by side, so that additions do not wait for each other.
const LANES: usize = 64;
/// Elements added into each lane before the lanes are combined.
const DEPTH: usize = 64;

struct Inner<O, T>(PhantomData<(O, T)>);
impl<O: Reduction<T>, T: Copy> InnerBody for Inner<O, T> {
    #[inline(always)]
    unsafe fn run(src: *const u8, n: usize, acc: *mut u8) {
        // SAFETY: the contract of `InnerFn`.
        let src = unsafe { std::slice::from_raw_parts(src.cast::<T>(), n) };
        if O::NEUTRAL_SHOWS && n < LANES {
            // SAFETY: the contract of `InnerFn`.
            let acc = unsafe { &mut *acc.cast::<O::Acc>() };
            src.iter().for_each(|&x| *acc = O::join(*acc, O::lift(x)));
            return;
        }
        // Partial results of 2^l blocks, as in binary addition: equal sizes combine.
        let mut levels = [O::NEUTRAL; 48];
        let mut blocks = 0u64;
        for block in src.chunks(LANES * DEPTH) {
            let mut lanes = [O::NEUTRAL; LANES];
            let mut parts = block.chunks_exact(LANES);
            for part in parts.by_ref() {
                for j in 0..LANES {
                    lanes[j] = O::join(lanes[j], O::lift(part[j]));
                }
            }
            for (lane, &x) in lanes.iter_mut().zip(parts.remainder()) {
                *lane = O::join(*lane, O::lift(x));
            }
            let mut width = LANES / 2;
            while width > 0 {
                for j in 0..width {
                    lanes[j] = O::join(lanes[j], lanes[j + width]);
                }
                width /= 2;
            }
            let mut sum = lanes[0];
            let mut level = 0;
            while blocks >> level & 1 != 0 {
                sum = O::join(levels[level], sum);
                level += 1;
            }
            levels[level] = sum;
            blocks += 1;
        }
        let mut total = O::NEUTRAL;
        for (level, &part) in levels.iter().enumerate() {
            if blocks >> level & 1 != 0 {
                total = O::join(part, total);
            }
        }
        // SAFETY: the contract of `InnerFn`.
        unsafe {
            let acc = acc.cast::<O::Acc>();
            acc.write(O::join(acc.read(), total));
        }
    }
}

struct Outer<O, T>(PhantomData<(O, T)>);
impl<O: Reduction<T>, T: Copy> OuterBody for Outer<O, T> {
    #[inline(always)]
    unsafe fn run(acc: *mut u8, src: *const u8, n: usize) {
        // SAFETY: the contract of `OuterFn`.
        let (acc, src) = unsafe {
            (
                std::slice::from_raw_parts_mut(acc.cast::<O::Acc>(), n),
                std::slice::from_raw_parts(src.cast::<T>(), n),
            )
        };
        for (a, &x) in acc.iter_mut().zip(src) {
            *a = O::join(*a, O::lift(x));
        }
    }
}

/// Something that can be made of a reduction on a type: a fold of either direction.
trait Shape {
    type Fn;
    fn of<O: Reduction<T>, T: Copy>(isa: Isa) -> Self::Fn;
}
struct ToOne;
struct ToRow;
impl Shape for ToOne {
    type Fn = InnerFn;
    fn of<O: Reduction<T>, T: Copy>(isa: Isa) -> InnerFn {
        pick_inner::<Inner<O, T>>(isa)
    }
}
impl Shape for ToRow {
    type Fn = OuterFn;
    fn of<O: Reduction<T>, T: Copy>(isa: Isa) -> OuterFn {
        pick_outer::<Outer<O, T>>(isa)
    }
}

/// See [`super::inner`].
pub fn inner_on(isa: Isa, kind: ReduceKind, dtype: DType) -> Option<InnerFn> {
    table::<ToOne>(isa, kind, dtype)
}

/// See [`super::outer`].
pub fn outer_on(isa: Isa, kind: ReduceKind, dtype: DType) -> Option<OuterFn> {
    table::<ToRow>(isa, kind, dtype)
}

fn table<S: Shape>(isa: Isa, kind: ReduceKind, dtype: DType) -> Option<S::Fn> {
    match dtype {
        DType::F32 => float::<S, f32>(isa, kind),
        DType::F64 => float::<S, f64>(isa, kind),
        DType::BF16 => float::<S, Bf16>(isa, kind),
        DType::F16 => float::<S, F16>(isa, kind),
        DType::C64 => match kind {
            ReduceKind::Add => Some(S::of::<CAdd, C64>(isa)),
            ReduceKind::Multiply => Some(S::of::<CMul, C64>(isa)),
            _ => None,
        },
        DType::C128 => match kind {
            ReduceKind::Add => Some(S::of::<CAdd, C128>(isa)),
            ReduceKind::Multiply => Some(S::of::<CMul, C128>(isa)),
            _ => None,
        },
        DType::Bool => Some(match kind {
            ReduceKind::Add | ReduceKind::Or | ReduceKind::Maximum => S::of::<IntOr, u8>(isa),
            ReduceKind::Multiply | ReduceKind::And | ReduceKind::Minimum => S::of::<IntAnd, u8>(isa),
            ReduceKind::Xor => S::of::<IntXor, u8>(isa),
        }),
        DType::U8 => int::<S, u8, u8>(isa, kind),
        DType::I8 => int::<S, u8, i8>(isa, kind),
        DType::U16 => int::<S, u16, u16>(isa, kind),
        DType::I16 => int::<S, u16, i16>(isa, kind),
        DType::U32 => int::<S, u32, u32>(isa, kind),
        DType::I32 => int::<S, u32, i32>(isa, kind),
        DType::U64 => int::<S, u64, u64>(isa, kind),
        DType::I64 => int::<S, u64, i64>(isa, kind),
        _ => None,
    }
}

fn float<S: Shape, T: Elem>(isa: Isa, kind: ReduceKind) -> Option<S::Fn> {
    Some(match kind {
        ReduceKind::Add => S::of::<Add, T>(isa),
        ReduceKind::Multiply => S::of::<Mul, T>(isa),
        ReduceKind::Maximum => S::of::<Max, T>(isa),
        ReduceKind::Minimum => S::of::<Min, T>(isa),
        _ => return None,
    })
}

/// `U` is the unsigned type of the size of `T`, which serves the reductions that do not see the sign.
fn int<S: Shape, U: Int, T: Int>(isa: Isa, kind: ReduceKind) -> Option<S::Fn> {
    Some(match kind {
        ReduceKind::Add => S::of::<IntAdd, U>(isa),
        ReduceKind::Multiply => S::of::<IntMul, U>(isa),
        ReduceKind::And => S::of::<IntAnd, U>(isa),
        ReduceKind::Or => S::of::<IntOr, U>(isa),
        ReduceKind::Xor => S::of::<IntXor, U>(isa),
        ReduceKind::Maximum => S::of::<IntMax, T>(isa),
        ReduceKind::Minimum => S::of::<IntMin, T>(isa),
    })
}
