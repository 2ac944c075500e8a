//! The blocked multiplication: B is packed for a stretch of columns, then blocks of rows run through it.

use super::epilogue::Epilogue;
use super::kernel::Core;
use super::scratch::Scratch;
use crate::pool::Pool;

/// Units of k in one pass over a tile: a panel of B of this depth fills most of the first-level cache.
const KC: usize = 256;
/// Rows of A in one block of a single thread: with its columns of B it stays in the second-level cache.
const MC: usize = 192;
/// Rows of A in one block when threads share the work.
const MC_SHARED: usize = 96;
/// Columns of B that are packed at a time.
const NC: usize = 4096;
/// Rows and columns whose sums are kept at a time when C cannot hold them.
const SUM_ROWS: usize = 2048;
/// See [`SUM_ROWS`].
const NC_SUMS: usize = 2048;
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
    let Size { m, n, k } = size;
    let (mr, nr) = (core.mr, core.nr);
    let units = core.units(k);
    // Blocks of k of equal depth, in units.
    let k_blocks = units.div_ceil(KC).max(1);
    let kc = units.div_ceil(k_blocks).next_multiple_of(4).max(4);
    let direct = epilogue.accumulator();
    let summed = direct.is_none() && k_blocks > 1;
    let even =
        |total: usize, most: usize, step: usize| total.div_ceil(total.div_ceil(most)).next_multiple_of(step);
    let nc = even(n, if summed { NC_SUMS } else { NC }, nr);
    let ms = if summed { even(m, SUM_ROWS, mr) } else { m };
    let threads = if m * n * k.max(1) < SERIAL { 1 } else { pool.threads() };
    // Rows a power of two apart would compete for few places in the cache.
    let sums_ld = nc + 16;
    let b_block = Scratch::words(nc * kc);
    let kept = Scratch::words(if summed { ms * sums_ld } else { 0 });
    for i0 in (0..m).step_by(ms) {
        let rows = i0..(i0 + ms).min(m);
        for j0 in (0..n).step_by(nc) {
            let columns = j0..(j0 + nc).min(n);
            let sums = match direct {
                Some((c, ld)) => {
                    Sums { ptr: Shared(c.wrapping_add(i0 * ld + j0)), ld, is_result: epilogue.is_store() }
                }
                None if summed => Sums { ptr: Shared(kept.ptr()), ld: sums_ld, is_result: false },
                None => Sums { ptr: Shared(std::ptr::null_mut()), ld: 0, is_result: false },
            };
            for u in (0..units.max(1)).step_by(kc) {
                let depth = kc.min(units - u);
                let d = u * core.per_unit;
                let block = Block {
                    core,
                    rows: rows.clone(),
                    columns: columns.clone(),
                    depth,
                    k: (depth * core.per_unit).min(k - d),
                    a: Operand { ptr: a.at(i0, d, core.dtype.size()), ..a },
                    b: Operand { ptr: b.at(j0, d, core.dtype.size()), ..b },
                    packed: Shared(b_block.ptr()),
                    sums,
                    accumulate: u > 0,
                    epilogue: (u + depth == units).then_some(epilogue),
                };
                // SAFETY: the block lies inside the operands; the scratch holds its panels and sums.
                unsafe {
                    block.pack_b(pool, threads);
                    block.multiply(pool, threads);
                }
            }
        }
    }
}

/// Where the sums of a block are kept while k advances.
#[derive(Clone, Copy)]
struct Sums {
    /// Element (0, 0) of the block.
    ptr: Shared<f32>,
    /// Elements from row to row; 0 when k has one block only, so that each tile is finished at once.
    ld: usize,
    /// They already are the result.
    is_result: bool,
}

/// The product of a range of rows, columns and k.
struct Block<'a> {
    core: &'a Core,
    rows: std::ops::Range<usize>,
    columns: std::ops::Range<usize>,
    /// Units of k.
    depth: usize,
    /// Elements of k.
    k: usize,
    /// A from the block's first row and k on.
    a: Operand,
    /// B from the block's first column and k on.
    b: Operand,
    /// Panels of B, each of `depth` units.
    packed: Shared<u32>,
    sums: Sums,
    /// Sums hold the products of earlier blocks of k.
    accumulate: bool,
    /// Set in the last block of k.
    epilogue: Option<&'a Epilogue>,
}

/// Runs `f` for each chunk.
fn each(pool: &Pool, threads: usize, chunks: usize, f: &(dyn Fn(usize, usize) + Sync)) {
    if threads == 1 {
        (0..chunks).for_each(|i| f(i, 0));
    } else {
        pool.run(chunks, f);
    }
}

impl Block<'_> {
    /// Packs the columns of B.
    ///
    /// # Safety
    /// The block must lie inside B, and `packed` hold its panels.
    unsafe fn pack_b(&self, pool: &Pool, threads: usize) {
        let core = self.core;
        let (nr, n) = (core.nr, self.columns.len());
        let panels = n.div_ceil(nr);
        // Where rows of B are contiguous, panels are packed in groups, so that a row is read in longer pieces.
        let along = self.b.depth == 1;
        let most = if along { 1 } else { 8 };
        let group = if threads == 1 { most } else { panels.div_ceil(threads * 2).clamp(1, most) };
        let slab = if along { self.depth.max(1) } else { 64 };
        let es = core.dtype.size();
        each(pool, threads, panels.div_ceil(group), &|g, _| {
            for u in (0..self.depth).step_by(slab) {
                let d = u * core.per_unit;
                let depth = (slab * core.per_unit).min(self.k - d);
                for p in g * group..((g + 1) * group).min(panels) {
                    // SAFETY: the panel's columns and depth are inside B; the slab's place in the panel is its own.
                    unsafe {
                        let dst = self.packed.ptr().add((p * self.depth + u) * nr);
                        let from = self.b.at(p * nr, d, es);
                        (core.pack_b)(from, self.b.lane, self.b.depth, nr.min(n - p * nr), depth, dst);
                    }
                }
            }
        });
    }

    /// Multiplies the rows of A with the packed columns.
    ///
    /// # Safety
    /// The block must lie inside A, its sums and what the epilogue reaches.
    unsafe fn multiply(&self, pool: &Pool, threads: usize) {
        let (mr, nr) = (self.core.mr, self.core.nr);
        let row_panels = self.rows.len().div_ceil(mr);
        let panels = self.columns.len().div_ceil(nr);
        // Blocks of rows, and of columns too when rows alone do not feed every thread.
        let wanted = if threads == 1 { 1 } else { threads * 4 };
        let most = if threads == 1 { MC } else { MC_SHARED } / mr;
        let blocks = row_panels.div_ceil(most).max(wanted.min(row_panels.div_ceil(2)));
        let per_block = row_panels.div_ceil(blocks);
        let row_blocks = row_panels.div_ceil(per_block);
        let col_blocks = wanted.div_ceil(row_blocks).min(panels.div_ceil(4)).max(1);
        let wide = panels.div_ceil(col_blocks);
        each(pool, threads, row_blocks * col_blocks, &|i, _| {
            let (r, p) = (i % row_blocks * per_block, i / row_blocks * wide);
            // SAFETY: the contract is the caller's; chunks own different tiles.
            unsafe { self.tiles(r..(r + per_block).min(row_panels), p..(p + wide).min(panels)) }
        });
    }

    /// The tiles of some panels of rows and of columns.
    ///
    /// # Safety
    /// As [`Block::multiply`].
    unsafe fn tiles(&self, row_panels: std::ops::Range<usize>, panels: std::ops::Range<usize>) {
        let core = self.core;
        let (mr, nr) = (core.mr, core.nr);
        let (m, n) = (self.rows.len(), self.columns.len());
        let first = row_panels.start * mr;
        let end = m.min(row_panels.end * mr);
        let a_block = Scratch::words(row_panels.len() * mr * self.depth);
        let local = Scratch::words(mr * nr);
        let a_panels = a_block.ptr::<u32>();
        let narrow = self.core.narrow.zip(self.epilogue.and_then(Epilogue::narrow));
        // SAFETY: the panels lie inside the block, whose pointers are valid.
        unsafe {
            let from = self.a.at(first, 0, core.dtype.size());
            core.pack(mr, from, (self.a.lane, self.a.depth), end - first, self.k, a_panels);
            for p in panels {
                let bp = self.packed.ptr().add(p * nr * self.depth);
                let j = p * nr;
                let w = nr.min(n - j);
                for r in (first..end).step_by(mr) {
                    let h = mr.min(end - r);
                    let ap = a_panels.add((r - first) * self.depth);
                    let (c, ld) = if self.sums.ld == 0 {
                        (local.ptr(), nr)
                    } else {
                        (self.sums.ptr.ptr().wrapping_add(r * self.sums.ld + j), self.sums.ld)
                    };
                    if let Some((tile, (out, ldo))) = narrow {
                        let at = (self.rows.start + r) * ldo + self.columns.start + j;
                        let out = out.wrapping_add(at);
                        tile(h, w, self.depth, ap, bp, c, ld, self.accumulate, out, ldo);
                        continue;
                    }
                    (core.tile)(h, w, self.depth, ap, bp, c, ld, self.accumulate);
                    if let Some(e) = self.epilogue.filter(|_| !self.sums.is_result) {
                        e.finish(c, ld, (self.rows.start + r, self.columns.start + j), (h, w));
                    }
                }
            }
        }
    }
}
