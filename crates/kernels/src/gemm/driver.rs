//! The blocked multiplication: B is packed for a stretch of columns, then blocks of rows run through it.

use super::epilogue::Epilogue;
use super::kernel::Core;
use super::scratch::Scratch;
use crate::pool::Pool;

/// Units of k in one pass over a tile: a panel of B of this depth fills most of the first-level cache.
const KC: usize = 256;
/// Rows of A in one block: with its sums it stays in the second-level cache.
const MC: usize = 96;
/// Bytes of packed B, which stay in the last-level cache.
const B_BYTES: usize = 8 << 20;
/// Columns whose sums are kept per block of rows when C cannot hold them.
const NC_SUMS: usize = 1024;
/// Units of k beyond which sums pass through memory between stretches of k.
const K_STRETCH: usize = 1 << 15;
/// Multiply-adds below which a second thread costs more than it gives.
const SERIAL: usize = 1 << 20;

/// One operand: base pointer and element strides along its lanes (rows of A, columns of B) and along k.
#[derive(Clone, Copy)]
pub(crate) struct Operand {
    /// Element (0, 0).
    pub(crate) ptr: *const u8,
    /// Stride between lanes.
    pub(crate) lane: isize,
    /// Stride along k.
    pub(crate) depth: isize,
}

// SAFETY: an operand is only read.
unsafe impl Send for Operand {}
// SAFETY: as above.
unsafe impl Sync for Operand {}

impl Operand {
    /// The address of an element of `size` bytes.
    pub(crate) fn at(&self, lane: usize, depth: usize, size: usize) -> *const u8 {
        let elements = lane as isize * self.lane + depth as isize * self.depth;
        self.ptr.wrapping_offset(elements * size as isize)
    }
}

/// A pointer that threads share; each writes its own part.
#[derive(Clone, Copy)]
pub(crate) struct Shared<T>(pub(crate) *mut T);

// SAFETY: users write disjoint parts and read what was written before the job began.
unsafe impl<T> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// The pointer (a method, so that closures capture the whole wrapper).
    pub(crate) fn ptr(self) -> *mut T {
        self.0
    }
}

/// The sizes of one multiplication.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) m: usize,
    pub(crate) n: usize,
    pub(crate) k: usize,
}

/// `epilogue(A·B)`.
///
/// # Safety
/// Operands and every place the epilogue reaches must be valid for `size`.
pub(crate) unsafe fn multiply(
    pool: &Pool,
    core: &Core,
    size: Size,
    a: Operand,
    b: Operand,
    epilogue: &Epilogue,
) {
    let stretch = K_STRETCH * core.per_unit;
    if size.k <= stretch {
        // SAFETY: the contract is the caller's.
        return unsafe { pass(pool, core, size, a, b, epilogue, None, true) };
    }
    let sums = Scratch::words(size.m * size.n);
    for k in (0..size.k).step_by(stretch) {
        let part = Size { k: stretch.min(size.k - k), ..size };
        let es = core.dtype.size();
        let move_to = |o: Operand| Operand { ptr: o.at(0, k, es), ..o };
        let carried = Some(Carried { sums: Shared(sums.ptr()), first: k == 0 });
        let last = k + part.k == size.k;
        // SAFETY: the parts of the operands are inside them; sums hold m·n elements.
        unsafe {
            pass(pool, core, part, move_to(a), move_to(b), epilogue, carried, last);
        }
    }
}

/// Sums of the whole C that pass from one stretch of k to the next.
#[derive(Clone, Copy)]
struct Carried {
    sums: Shared<f32>,
    first: bool,
}

/// Where a block's sums are kept while k advances.
#[derive(Clone, Copy)]
struct Sums {
    /// Element (0, 0) of the block.
    ptr: *mut f32,
    ld: usize,
    /// They already are the result.
    is_result: bool,
}

/// One stretch of k; the epilogue runs when it is the last.
///
/// # Safety
/// As [`multiply`].
unsafe fn pass(
    pool: &Pool,
    core: &Core,
    size: Size,
    a: Operand,
    b: Operand,
    epilogue: &Epilogue,
    carried: Option<Carried>,
    last: bool,
) {
    let Size { m, n, k } = size;
    let (mr, nr) = (core.mr, core.nr);
    let units = core.units(k);
    let es = core.dtype.size();
    let direct = epilogue.accumulator().filter(|_| carried.is_none());
    let direct = direct.map(|(ptr, ld)| (Shared(ptr), ld));
    // Blocks of k of equal depth, in units.
    let k_blocks = units.div_ceil(KC).max(1);
    let kc = units.div_ceil(k_blocks).next_multiple_of(4).max(4);
    let mut nc = (B_BYTES / 4 / units.max(1)).max(4 * nr) / nr * nr;
    if direct.is_none() && carried.is_none() && k_blocks > 1 {
        nc = nc.min(NC_SUMS);
    }
    let nc = n.div_ceil(n.div_ceil(nc)).next_multiple_of(nr);
    let threads = if m * n * k.max(1) < SERIAL { 1 } else { pool.threads() };
    let packed = Scratch::words(nc * units);
    let packed = Shared(packed.ptr::<u32>());
    for jc in (0..n).step_by(nc) {
        let nc = nc.min(n - jc);
        let panels = nc.div_ceil(nr);
        // Panels are packed in groups, so that each row of B is read in longer pieces.
        let group = if threads == 1 { 8 } else { panels.div_ceil(threads * 2).clamp(1, 8) };
        let pack = |g: usize, _: usize| {
            let (p0, p1) = (g * group, ((g + 1) * group).min(panels));
            const SLAB: usize = 64;
            for u in (0..units).step_by(SLAB) {
                let d = u * core.per_unit;
                let depth = (SLAB * core.per_unit).min(k - d);
                for p in p0..p1 {
                    let j = jc + p * nr;
                    // SAFETY: the panel's columns and depth are inside B; the slab's place in the panel is its own.
                    unsafe {
                        let dst = packed.ptr().add(p * nr * units + u * nr);
                        let width = nr.min(jc + nc - j);
                        (core.pack_b)(b.at(j, d, es), b.lane, b.depth, width, depth, dst);
                    }
                }
            }
        };
        let groups = panels.div_ceil(group);
        if threads == 1 {
            (0..groups).for_each(|g| pack(g, 0));
        } else {
            pool.run(groups, &pack);
        }
        // Blocks of rows, and of columns too when rows alone do not feed every thread.
        let row_panels = m.div_ceil(mr);
        let wanted = if threads == 1 { 1 } else { threads * 4 };
        let mc = (row_panels.div_ceil(wanted)).clamp(1, MC / mr).max(1) * mr;
        let mc = if threads == 1 { MC / mr * mr } else { mc.max(2 * mr).min(MC / mr * mr) };
        let row_blocks = m.div_ceil(mc);
        let col_blocks = wanted.div_ceil(row_blocks).min(panels.div_ceil(4)).max(1);
        let per_block = panels.div_ceil(col_blocks);
        let block = |i: usize, _: usize| {
            let (ib, jb) = (i % row_blocks, i / row_blocks);
            let (ic, p0) = (ib * mc, jb * per_block);
            let mc = mc.min(m - ic);
            let p1 = (p0 + per_block).min(panels);
            if p0 >= p1 {
                return;
            }
            let a_block = Scratch::words(mc.next_multiple_of(mr) * kc);
            let local;
            let j0 = jc + p0 * nr;
            let sums = if let Some(c) = carried {
                Sums { ptr: c.sums.ptr().wrapping_add(ic * n + j0), ld: n, is_result: false }
            } else if let Some((ptr, ld)) = direct {
                Sums { ptr: ptr.ptr().wrapping_add(ic * ld + j0), ld, is_result: epilogue.is_store() }
            } else {
                // With one block of k a tile is finished at once, and each may use the same place.
                let ld = if k_blocks > 1 { (p1 - p0) * nr } else { 0 };
                local = Scratch::words(mc.next_multiple_of(mr) * ld.max(nr));
                Sums { ptr: local.ptr(), ld, is_result: false }
            };
            for u in (0..units.max(1)).step_by(kc) {
                let depth_units = kc.min(units - u);
                let d = u * core.per_unit;
                let depth = (depth_units * core.per_unit).min(k - d);
                let a_panels = a_block.ptr::<u32>();
                let accumulate = u > 0 || carried.is_some_and(|c| !c.first);
                let finish = last && u + depth_units == units && !sums.is_result;
                // SAFETY: the block's rows, columns and depth are inside the operands, packed panels and sums.
                unsafe {
                    let lanes = Operand { ptr: a.at(ic, d, es), ..a };
                    core.pack(mr, lanes.ptr, (a.lane, a.depth), mc, depth, a_panels);
                    for p in p0..p1 {
                        let bp = packed.ptr().add(p * nr * units + u * nr);
                        let j = jc + p * nr;
                        let w = nr.min(jc + nc - j);
                        for r in (0..mc).step_by(mr) {
                            let h = mr.min(mc - r);
                            let ap = a_panels.add(r * depth_units);
                            let (c, ld) = if sums.ld == 0 {
                                (sums.ptr, nr)
                            } else {
                                (sums.ptr.wrapping_add(r * sums.ld + (p - p0) * nr), sums.ld)
                            };
                            (core.tile)(h, w, depth_units, ap, bp, c, ld, accumulate);
                            if finish {
                                epilogue.finish(c, ld, (ic + r, j), (h, w));
                            }
                        }
                    }
                }
            }
        };
        let blocks = row_blocks * col_blocks;
        if threads == 1 {
            (0..blocks).for_each(|i| block(i, 0));
        } else {
            pool.run(blocks, &block);
        }
    }
}
