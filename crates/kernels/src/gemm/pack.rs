//! Packing for instruction sets without a form of their own; the compiler vectorises the contiguous cases.

use tnrs_types::DType;

use super::float::{Bf16, Elem, F16};
use super::kernel::PackFn;
use crate::isa::{entry, Isa};

entry!(
    PackBody,
    pick,
    PackFn,
    (src: *const u8, lane: isize, depth: isize, width: usize, k: usize, dst: *mut u32)
);

/// The packing function of an element type for panels of `lanes` lanes (4, 6, 8 or 16).
pub(super) fn panel(isa: Isa, dtype: DType, lanes: usize) -> PackFn {
    match lanes {
        4 => typed::<4>(isa, dtype),
        6 => typed::<6>(isa, dtype),
        8 => typed::<8>(isa, dtype),
        _ => typed::<16>(isa, dtype),
    }
}

fn typed<const W: usize>(isa: Isa, dtype: DType) -> PackFn {
    match dtype {
        DType::BF16 => pick::<Widen<Bf16, W>>(isa),
        DType::F16 => pick::<Widen<F16, W>>(isa),
        _ => pick::<Widen<f32, W>>(isa),
    }
}

/// Units are elements widened to f32.
struct Widen<T, const W: usize>(std::marker::PhantomData<T>);

impl<T: Elem, const W: usize> PackBody for Widen<T, W> {
    #[inline(always)]
    unsafe fn run(src: *const u8, lane: isize, depth: isize, width: usize, k: usize, dst: *mut u32) {
        let src = src.cast::<T>();
        for d in 0..k {
            let from = src.wrapping_offset(d as isize * depth);
            // SAFETY: the panel holds k units of W lanes; lanes below the width are readable.
            unsafe {
                let to = &mut *dst.add(d * W).cast::<[f32; W]>();
                if lane == 1 && width == W {
                    let from = &*from.cast::<[T; W]>();
                    for l in 0..W {
                        to[l] = from[l].get();
                    }
                } else {
                    for (l, t) in to.iter_mut().enumerate() {
                        *t = if l < width { (*from.wrapping_offset(l as isize * lane)).get() } else { 0.0 };
                    }
                }
            }
        }
    }
}
