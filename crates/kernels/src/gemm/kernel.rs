//! The inner kernels of one instruction set and operand type: how operands are packed and how a tile is multiplied.
//!
//! A packed panel holds `lanes` rows of A (or columns of B) side by side: `[unit][lane]`, a unit being 32 bits, which
//! is one f32 or, where the processor multiplies bf16 directly, two bf16 neighbours along k.

use tnrs_types::DType;

use super::{generic, pack};
use crate::isa::{has_avx512_bf16, Isa};

/// `c[0..h][0..w] = A·B` (`+=` with `accumulate`) for a panel of A (`h <= mr` rows) and one of B (`w <= nr` columns)
/// of `units` units each; `ldc` is in elements.
pub(crate) type TileFn = unsafe fn(
    h: usize,
    w: usize,
    units: usize,
    a: *const u32,
    b: *const u32,
    c: *mut f32,
    ldc: usize,
    accumulate: bool,
);

/// A [`TileFn`] that leaves its sums alone and stores them, rounded to bf16, into `out` (rows `ldo` elements apart).
/// Denormal results become zero.
pub(crate) type NarrowFn = unsafe fn(
    h: usize,
    w: usize,
    units: usize,
    a: *const u32,
    b: *const u32,
    sums: *mut f32,
    ld: usize,
    accumulate: bool,
    out: *mut u16,
    ldo: usize,
);

/// Packs one panel: `k` elements of each of `width` lanes; further lanes up to the panel's width become zero.
/// Strides are in elements: `lane` between lanes, `depth` along k.
pub(crate) type PackFn =
    unsafe fn(src: *const u8, lane: isize, depth: isize, width: usize, k: usize, dst: *mut u32);

/// Inner kernels for one operand type.
#[derive(Clone, Copy)]
pub(crate) struct Core {
    /// Instruction set.
    pub(crate) isa: Isa,
    /// Element type of the operands.
    pub(crate) dtype: DType,
    /// Lanes of a panel of A.
    pub(crate) mr: usize,
    /// Lanes of a panel of B.
    pub(crate) nr: usize,
    /// Elements of k in one unit.
    pub(crate) per_unit: usize,
    /// Multiplies panels.
    pub(crate) tile: TileFn,
    /// Multiplies panels into bf16.
    pub(crate) narrow: Option<NarrowFn>,
    /// Packs panels of A.
    pub(crate) pack_a: PackFn,
    /// Packs panels of B.
    pub(crate) pack_b: PackFn,
}

impl Core {
    /// Kernels for F32, BF16 or F16 operands. `direct` allows the processor's own bf16 products.
    pub(crate) fn new(isa: Isa, dtype: DType, direct: bool) -> Core {
        #[cfg(target_arch = "x86_64")]
        if isa == Isa::Avx512 {
            use super::avx512::{tile_bf16, tile_f32, tile_narrow};
            use super::pack512::{pack, Bf16Pairs, Bf16Wide, F16Wide, Raw};
            let pairs = dtype == DType::BF16 && direct && has_avx512_bf16();
            let (pack_a, pack_b): (PackFn, PackFn) = match dtype {
                DType::F16 => (pack::<F16Wide, 12>, pack::<F16Wide, 32>),
                DType::BF16 if pairs => (pack::<Bf16Pairs, 12>, pack::<Bf16Pairs, 32>),
                DType::BF16 => (pack::<Bf16Wide, 12>, pack::<Bf16Wide, 32>),
                _ => (pack::<Raw, 12>, pack::<Raw, 32>),
            };
            return Core {
                isa,
                dtype,
                mr: 12,
                nr: 32,
                per_unit: 1 + usize::from(pairs),
                tile: if pairs { tile_bf16 } else { tile_f32 },
                narrow: pairs.then_some(tile_narrow as NarrowFn),
                pack_a,
                pack_b,
            };
        }
        let _ = direct;
        let (mr, nr, tile) = generic::tile(isa);
        Core {
            isa,
            dtype,
            mr,
            nr,
            per_unit: 1,
            tile,
            narrow: None,
            pack_a: pack::panel(isa, dtype, mr),
            pack_b: pack::panel(isa, dtype, nr),
        }
    }

    /// Units of `k` elements.
    pub(crate) fn units(&self, k: usize) -> usize {
        k.div_ceil(self.per_unit)
    }

    /// Packs lanes `0..lanes` into consecutive panels of `width` lanes ([`Core::mr`] or [`Core::nr`]), each of
    /// `units(k)·width` words.
    ///
    /// # Safety
    /// `src` must be readable at every lane and depth, `dst` writable for the panels.
    pub(crate) unsafe fn pack(
        &self,
        width: usize,
        src: *const u8,
        (lane, depth): (isize, isize),
        lanes: usize,
        k: usize,
        dst: *mut u32,
    ) {
        let pack = if width == self.mr { self.pack_a } else { self.pack_b };
        let panel = self.units(k) * width;
        let size = self.dtype.size() as isize;
        for (i, l) in (0..lanes).step_by(width).enumerate() {
            // SAFETY: the lane is below `lanes`, and panel i lies within the destination.
            unsafe {
                pack(
                    src.offset(l as isize * lane * size),
                    lane,
                    depth,
                    width.min(lanes - l),
                    k,
                    dst.add(i * panel),
                );
            }
        }
    }
}
