//! Packing a panel of input positions: each unit of k is a tap and an input feature.

use tnrs_types::DType;

use super::window::Table;
use crate::gemm::float::{Bf16, Elem, F16};
use crate::gemm::kernel::Core;
use crate::isa::Isa;

/// The order of k.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order {
    /// Input features of a group.
    pub(super) features: usize,
    /// Taps.
    pub(super) taps: usize,
    /// Features vary fastest, else taps do.
    pub(super) features_last: bool,
    /// Element stride of input features.
    pub(super) stride: isize,
}

impl Order {
    /// Length of k.
    pub(super) fn len(&self) -> usize {
        self.features * self.taps
    }

    /// Tap and feature of `k`.
    #[inline(always)]
    fn split(&self, k: usize) -> (usize, usize) {
        if self.features_last {
            (k / self.features, k % self.features)
        } else {
            (k % self.taps, k / self.taps)
        }
    }
}

/// Packs units of `k0..k1` of the panel that `table` holds into `[unit][nr]`. `input` is the group's first feature.
///
/// # Safety
/// The table's elements must be readable, and `dst` hold the units.
pub(super) unsafe fn pack(
    core: &Core,
    table: &Table,
    order: &Order,
    input: *const u8,
    (k0, k1): (usize, usize),
    dst: *mut u32,
) {
    // SAFETY: the contract is the caller's; the vector form runs only with AVX-512.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        if core.isa == Isa::Avx512 {
            use crate::gemm::pack512::{Bf16Pairs, Bf16Wide, F16Wide, Raw};
            return match (core.dtype, core.per_unit) {
                (DType::F16, _) => x86::pack::<F16Wide>(table, order, input, (k0, k1), dst),
                (DType::BF16, 2) => x86::pack::<Bf16Pairs>(table, order, input, (k0, k1), dst),
                (DType::BF16, _) => x86::pack::<Bf16Wide>(table, order, input, (k0, k1), dst),
                _ => x86::pack::<Raw>(table, order, input, (k0, k1), dst),
            };
        }
        let nr = core.nr;
        match core.dtype {
            DType::F16 => scalar::<F16>(nr, table, order, input, (k0, k1), dst),
            DType::BF16 => scalar::<Bf16>(nr, table, order, input, (k0, k1), dst),
            _ => scalar::<f32>(nr, table, order, input, (k0, k1), dst),
        }
    }
}

/// Element by element, units being f32.
///
/// # Safety
/// As [`pack`].
unsafe fn scalar<T: Elem>(
    nr: usize,
    table: &Table,
    order: &Order,
    input: *const u8,
    (k0, k1): (usize, usize),
    dst: *mut u32,
) {
    for k in k0..k1 {
        let (tap, feature) = order.split(k);
        let from = input.cast::<T>().wrapping_offset(feature as isize * order.stride);
        for l in 0..nr {
            // SAFETY: valid elements are readable; the unit is inside the panel.
            unsafe {
                let x = table.element(tap, l).map_or(0.0, |e| (*from.wrapping_offset(e)).get());
                *dst.add((k - k0) * nr + l) = x.to_bits();
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Order, Table};
    use crate::gemm::pack512::{transpose16, Source};

    const NR: usize = 32;

    /// # Safety
    /// As [`pack`](super::pack), with AVX-512 F, BW and VL.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    pub(super) unsafe fn pack<S: Source>(
        table: &Table,
        order: &Order,
        input: *const u8,
        (k0, k1): (usize, usize),
        dst: *mut u32,
    ) {
        let across = order.features_last
            && order.stride == 1
            && order.features.is_multiple_of(S::PER_UNIT)
            && k0.is_multiple_of(S::PER_UNIT);
        let mut k = k0;
        while k < k1 {
            let (tap, feature) = order.split(k);
            let unit = (k - k0) / S::PER_UNIT;
            if across {
                // Features lie side by side: 16 lanes by 16 units at a time, transposed.
                let left = (order.features - feature).min(k1 - k);
                // SAFETY: the features are inside the input; units inside the panel.
                unsafe { features::<S>(table, tap, input, feature, left, dst.add(unit * NR)) };
                k += left.min(16 * S::PER_UNIT);
                continue;
            }
            for part in 0..NR / 16 {
                // SAFETY: as above.
                unsafe {
                    let mut v = row::<S>(table, order, input, k, part);
                    if S::PER_UNIT == 2 && k + 1 < k1 {
                        let next = row::<S>(table, order, input, k + 1, part);
                        v = _mm512_or_si512(v, _mm512_slli_epi32::<16>(next));
                    }
                    _mm512_storeu_si512(dst.add(unit * NR + part * 16).cast(), v);
                }
            }
            k += S::PER_UNIT;
        }
    }

    /// 16 lanes of one k, each in the low part of its unit.
    ///
    /// # Safety
    /// As [`pack`].
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    unsafe fn row<S: Source>(
        table: &Table,
        order: &Order,
        input: *const u8,
        k: usize,
        part: usize,
    ) -> __m512i {
        let (tap, feature) = order.split(k);
        let shift = feature as isize * order.stride;
        let mut v = _mm512_setzero_si512();
        for s in table.segments(tap, part) {
            let p = input.wrapping_offset((shift + s.base) * S::SIZE as isize);
            // SAFETY: lanes of a segment are valid elements.
            v = _mm512_or_si512(v, unsafe { S::across(p, std::ptr::null(), s.mask) });
        }
        v
    }

    /// Up to 16 units of features of one tap.
    ///
    /// # Safety
    /// As [`pack`]; `count` features from `feature` on exist.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    unsafe fn features<S: Source>(
        table: &Table,
        tap: usize,
        input: *const u8,
        feature: usize,
        count: usize,
        dst: *mut u32,
    ) {
        let units = count.div_ceil(S::PER_UNIT).min(16);
        for part in 0..NR / 16 {
            let mut rows = [_mm512_setzero_si512(); 16];
            for (l, r) in rows.iter_mut().enumerate() {
                if let Some(e) = table.element(tap, part * 16 + l) {
                    let p = input.wrapping_offset((e + feature as isize) * S::SIZE as isize);
                    // SAFETY: a valid element, with `count` features from it on.
                    *r = unsafe { S::along(p, count) };
                }
            }
            for (u, &v) in transpose16(rows).iter().enumerate().take(units) {
                // SAFETY: the unit is inside the panel.
                unsafe { _mm512_storeu_si512(dst.add(u * NR + part * 16).cast(), v) }
            }
        }
    }
}
