//! Scatter: every element of the result meets its updates in their order, on whichever thread owns the element.

use smallvec::SmallVec;

use super::combine::{combine, Combine, OUTSIDE};
use super::desc::ScatterDesc;
use super::geometry::{by_index, offsets, Component, Dim, Geometry, Index};
use super::line::kept;
use crate::gemm::driver::Shared;
use crate::pool::Pool;

/// Bytes of updates below which a second thread costs more than it gives.
const SERIAL: usize = 128 << 10;
/// Bytes of the narrowest column of a box that a thread owns.
const COLUMN: usize = 256;

/// A scatter whose path is chosen once.
pub struct Scatter {
    elem: usize,
    geometry: Geometry,
    combine: Combine,
}

impl Scatter {
    /// Analyses `desc`. `None` when the element type has no such arithmetic: 8-bit floats other than `Set`, and
    /// maximum and minimum of complex numbers.
    pub fn new(desc: ScatterDesc) -> Option<Scatter> {
        let combine = combine(desc.kind, desc.dtype)?;
        let geometry = Geometry::new(
            (&desc.updates, &desc.update_strides),
            &desc.update_window_dims,
            (&desc.result, &desc.result_strides),
            &desc.inserted_window_dims,
            (&desc.indices, &desc.index_strides),
            desc.index_vector_dim,
            &desc.scatter_dims_to_operand_dims,
            desc.index_dtype,
        );
        Some(Scatter { elem: desc.dtype.size(), geometry, combine })
    }

    /// Runs the scatter into `result`, which holds the operand.
    ///
    /// # Safety
    /// Every pointer must be valid for the elements its sizes and strides reach; `result` must not overlap the others.
    pub unsafe fn run(&self, pool: &Pool, result: *mut u8, indices: *const u8, updates: *const u8) {
        // SAFETY: the contract is the caller's.
        unsafe { by_index!(self.geometry.index_dtype, typed, self, pool, result, indices, updates) }
    }
}

/// # Safety
/// As [`Scatter::run`]; the indices are of type `I`.
unsafe fn typed<I: Index>(s: &Scatter, pool: &Pool, result: *mut u8, indices: *const u8, updates: *const u8) {
    let g = &s.geometry;
    let (count, len) = (g.count(), g.window_len());
    if count == 0 || len == 0 {
        return;
    }
    if let Some(c) = g.single() {
        // SAFETY: the contract is the caller's.
        unsafe {
            if g.window.is_empty() {
                return singles::<I>(s, &c, result, indices.cast(), updates);
            }
            if g.positions.len() <= 1 && g.rows().0.iter().map(|d| d.n).product::<usize>() > 1 {
                return along::<I>(s, &c, pool, result, indices.cast(), updates);
            }
        }
    }
    // A box that is one row of the result is cut into columns, one owner each.
    let inner = g.window.last().copied().unwrap_or(Dim { n: 1, near: 0, far: 0 });
    let most = (inner.n * s.elem / COLUMN).max(1);
    // Boxes that may stick out are not cut.
    let clips = g.components.iter().any(|c| c.window > 1);
    let serial = clips || pool.threads() == 1 || count * len * s.elem < SERIAL;
    let parts = if serial { 1 } else { most.min(pool.threads() * 2) };
    let columns = inner.n.div_ceil(parts);
    let (result, indices, updates) =
        (Shared(result), Shared(indices.cast::<I>().cast_mut()), Shared(updates.cast_mut()));
    let part = |p: usize, _: usize| {
        let range = p * columns..((p + 1) * columns).min(inner.n);
        // SAFETY: the contract is the caller's; parts own different columns of every box, and boxes of one column
        // meet in order.
        unsafe { run::<I>(s, inner, range, result.ptr(), indices.ptr(), updates.ptr()) }
    };
    pool.run(inner.n.div_ceil(columns), &part);
}

/// Applies updates of one element, in order.
///
/// # Safety
/// As [`Scatter::run`].
unsafe fn singles<I: Index>(
    s: &Scatter,
    c: &Component,
    result: *mut u8,
    indices: *const I,
    updates: *const u8,
) {
    const PART: usize = 512;
    let mut places = [0isize; PART];
    s.geometry.lines(0..s.geometry.count(), PART, |line, near, far| {
        let src = updates.wrapping_offset(near * s.elem as isize);
        // SAFETY: the line is inside indices and updates; places are inside the result or OUTSIDE.
        unsafe {
            kept(c, line.n, indices.wrapping_offset(far), line.far, places.as_mut_ptr());
            (s.combine.places)(line.n, result, places.as_ptr(), src, line.near);
        }
    });
}

/// Scatters along one dim: the places of its positions serve every row of the box.
///
/// # Safety
/// As [`Scatter::run`].
unsafe fn along<I: Index>(
    s: &Scatter,
    c: &Component,
    pool: &Pool,
    result: *mut u8,
    indices: *const I,
    updates: *const u8,
) {
    let line = s.geometry.line();
    let elem = s.elem as isize;
    let (outer, run) = s.geometry.rows();
    let mut places = vec![0isize; line.n];
    // SAFETY: the positions are inside the indices.
    unsafe { kept(c, line.n, indices, line.far, places.as_mut_ptr()) };
    let rows: usize = outer.iter().map(|d| d.n).product();
    let per_chunk = SERIAL.div_ceil((line.n * run * s.elem).max(1));
    let (result, updates) = (Shared(result), Shared(updates.cast_mut()));
    pool.run(rows.div_ceil(per_chunk), &|chunk, _| {
        for row in chunk * per_chunk..((chunk + 1) * per_chunk).min(rows) {
            let (near, far) = offsets(outer, row);
            let dst = result.ptr().wrapping_offset(far * elem);
            let src = updates.ptr().cast_const().wrapping_offset(near * elem);
            // SAFETY: rows of the box are inside result and updates, and those of other threads are others.
            unsafe {
                if run == 1 {
                    (s.combine.places)(line.n, dst, places.as_ptr(), src, line.near);
                    continue;
                }
                for (i, &at) in places.iter().enumerate().filter(|(_, &at)| at != OUTSIDE) {
                    let from = src.wrapping_offset(i as isize * line.near * elem);
                    (s.combine.row)(run, dst.wrapping_offset(at * elem), 1, from, 1);
                }
            }
        }
    });
}

/// Applies columns `columns` of every box, in order.
///
/// # Safety
/// As [`Scatter::run`]; no other thread may touch these columns.
unsafe fn run<I: Index>(
    s: &Scatter,
    inner: Dim,
    columns: std::ops::Range<usize>,
    result: *mut u8,
    indices: *const I,
    updates: *const u8,
) {
    let g = &s.geometry;
    let elem = s.elem as isize;
    let outer = &g.window[..g.window.len().saturating_sub(1)];
    let rows: usize = outer.iter().map(|d| d.n).product();
    let first = columns.start as isize;
    let (near0, far0) = (first * inner.near, first * inner.far);
    g.each(0..g.count(), |near, index| {
        let mut at = 0;
        let mut inside = true;
        for c in &g.components {
            // SAFETY: the component is inside the indices.
            let i = unsafe { *indices.wrapping_offset(index + c.offset) }.value();
            inside &= i >= 0 && i <= c.size - c.window;
            at += (i as isize).wrapping_mul(c.stride);
        }
        if !inside {
            // SAFETY: as for the whole scatter; a box that sticks out is never cut into columns.
            return unsafe { clipped(s, result, indices.wrapping_offset(index), updates, near) };
        }
        for row in 0..rows {
            let (n, f) = offsets(outer, row);
            let dst = result.wrapping_offset((at + f + far0) * elem);
            let src = updates.wrapping_offset((near + n + near0) * elem);
            // SAFETY: the box is inside the result, and its updates inside the updates.
            unsafe { (s.combine.row)(columns.len(), dst, inner.far, src, inner.near) }
        }
    });
}

/// Applies the elements of a box that lie inside the result.
///
/// # Safety
/// As [`Scatter::run`], for the box at `near` of the updates whose index vector begins at `vector`.
unsafe fn clipped<I: Index>(s: &Scatter, result: *mut u8, vector: *const I, updates: *const u8, near: isize) {
    let g = &s.geometry;
    let elem = s.elem as isize;
    let len: usize = g.unmerged.iter().map(|(_, d)| d.n).product();
    'elements: for flat in 0..len {
        let mut full: SmallVec<[(i64, isize); 6]> = g.far_sizes.iter().map(|_| (0, 0)).collect();
        for (c, &d) in g.components.iter().zip(&g.index_map) {
            // SAFETY: the component is inside the indices.
            full[d] = (unsafe { *vector.wrapping_offset(c.offset) }.value(), c.stride);
        }
        let (mut rest, mut from) = (flat, near);
        for &(d, dim) in g.unmerged.iter().rev() {
            let i = (rest % dim.n) as isize;
            rest /= dim.n;
            from += i * dim.near;
            full[d] = (full[d].0.saturating_add(i as i64), dim.far);
        }
        let mut to = 0;
        for (&(i, stride), &size) in full.iter().zip(&g.far_sizes) {
            if i < 0 || i >= size {
                continue 'elements;
            }
            to += i as isize * stride;
        }
        let dst = result.wrapping_offset(to * elem);
        let src = updates.wrapping_offset(from * elem);
        // SAFETY: the element is inside the result, and its update inside the updates.
        unsafe { (s.combine.row)(1, dst, 1, src, 1) }
    }
}
