//! Gather: boxes of the operand are copied to consecutive places of the result.

use super::desc::GatherDesc;
use super::geometry::{by_index, offsets, Component, Geometry, Index};
use super::line::{clamped, take, Line};
use crate::gemm::driver::Shared;
use crate::isa;
use crate::pool::Pool;

/// Bytes of one chunk.
const CHUNK: usize = 64 << 10;
/// Bytes of address that a far access costs, for sizing chunks of small boxes.
const ACCESS: usize = 16;

/// A gather whose path is chosen once.
pub struct Gather {
    elem: usize,
    geometry: Geometry,
    path: Path,
}

/// How a box is copied.
#[derive(Clone, Copy, Debug)]
enum Path {
    /// One element.
    One,
    /// One element, by an index of one number.
    Single(Component),
    /// Rows of a box by an index of one number, for positions on one line.
    Along(Component),
    /// So many contiguous bytes.
    Row(usize),
    /// Anything.
    Box,
}

impl Gather {
    /// Analyses `desc`.
    pub fn new(desc: GatherDesc) -> Gather {
        let geometry = Geometry::new(
            (&desc.result, &desc.result_strides),
            &desc.offset_dims,
            (&desc.operand, &desc.operand_strides),
            &desc.collapsed_slice_dims,
            (&desc.indices, &desc.index_strides),
            desc.index_vector_dim,
            &desc.start_index_map,
            desc.index_dtype,
        );
        let path = match (geometry.window.as_slice(), geometry.single()) {
            ([], Some(c)) => Path::Single(c),
            ([], None) => Path::One,
            ([d], _) if d.near == 1 && d.far == 1 => Path::Row(d.n * desc.elem),
            (_, Some(c)) if geometry.positions.len() <= 1 => Path::Along(c),
            _ => Path::Box,
        };
        Gather { elem: desc.elem, geometry, path }
    }

    /// Runs the gather.
    ///
    /// # Safety
    /// Every pointer must be valid for the elements its sizes and strides reach; `result` must not overlap the others.
    pub unsafe fn run(&self, pool: &Pool, operand: *const u8, indices: *const u8, result: *mut u8) {
        // SAFETY: the contract is the caller's.
        unsafe { by_index!(self.geometry.index_dtype, typed, self, pool, operand, indices, result) }
    }
}

/// # Safety
/// As [`Gather::run`]; the indices are of type `I`.
unsafe fn typed<I: Index>(g: &Gather, pool: &Pool, operand: *const u8, indices: *const u8, result: *mut u8) {
    let count = g.geometry.count();
    let len = g.geometry.window_len();
    if count == 0 || len == 0 {
        return;
    }
    if let Path::Along(c) = g.path {
        // SAFETY: the contract is the caller's.
        return unsafe { along::<I>(g, &c, pool, operand, indices.cast(), result) };
    }
    let each = (len * g.elem).max(ACCESS);
    let per_chunk = CHUNK.div_ceil(each);
    let chunks = count.div_ceil(per_chunk);
    let (operand, indices, result) =
        (Shared(operand.cast_mut()), Shared(indices.cast::<I>().cast_mut()), Shared(result));
    let chunk = |c: usize, _: usize| {
        let range = c * per_chunk..((c + 1) * per_chunk).min(count);
        let (operand, indices) = (operand.ptr().cast_const(), indices.ptr().cast_const());
        // SAFETY: positions are inside result and indices, and clamped boxes inside the operand.
        unsafe {
            match (g.path, g.elem) {
                (Path::One, 1) => run::<I>(g, range, indices, result.ptr(), operand, |d, s| one::<u8>(d, s)),
                (Path::One, 2) => run::<I>(g, range, indices, result.ptr(), operand, |d, s| one::<u16>(d, s)),
                (Path::One, 4) => run::<I>(g, range, indices, result.ptr(), operand, |d, s| one::<u32>(d, s)),
                (Path::One, 8) => run::<I>(g, range, indices, result.ptr(), operand, |d, s| one::<u64>(d, s)),
                (Path::One, _) => {
                    run::<I>(g, range, indices, result.ptr(), operand, |d, s| one::<[u64; 2]>(d, s))
                }
                (Path::Single(c), _) => single::<I>(g, &c, range, indices, result.ptr(), operand),
                (Path::Row(n), _) => run::<I>(g, range, indices, result.ptr(), operand, |d, s| {
                    std::ptr::copy_nonoverlapping(s, d, n)
                }),
                (Path::Box | Path::Along(_), _) => {
                    run::<I>(g, range, indices, result.ptr(), operand, |d, s| copy_box(g, d, s))
                }
            }
        }
    };
    // A few chunks are not worth another thread.
    if chunks < 4 {
        (0..chunks).for_each(|c| chunk(c, 0));
    } else {
        pool.run(chunks, &chunk);
    }
}

/// Copies the elements of a range of positions.
///
/// # Safety
/// Positions must be inside result and indices.
unsafe fn single<I: Index>(
    g: &Gather,
    c: &Component,
    range: std::ops::Range<usize>,
    indices: *const I,
    result: *mut u8,
    operand: *const u8,
) {
    const PART: usize = 512;
    let mut places = [0isize; PART];
    g.geometry.lines(range, PART, |line, near, far| {
        let dst = result.wrapping_offset(near * g.elem as isize);
        // SAFETY: the line is inside result and indices; clamped offsets are inside the operand.
        unsafe {
            clamped(c, line.n, indices.wrapping_offset(far), line.far, places.as_mut_ptr());
            take(g.elem, dst, line.near, operand, &places[..line.n]);
        }
    });
}

/// Gathers along one dim: the offsets of its positions serve every row of the box.
///
/// # Safety
/// As [`Gather::run`].
unsafe fn along<I: Index>(
    g: &Gather,
    c: &Component,
    pool: &Pool,
    operand: *const u8,
    indices: *const I,
    result: *mut u8,
) {
    let line = g.geometry.line();
    let elem = g.elem as isize;
    let (outer, run) = g.geometry.rows();
    let mut places = vec![0isize; line.n];
    // SAFETY: the positions are inside the indices.
    unsafe { clamped(c, line.n, indices, line.far, places.as_mut_ptr()) };
    let rows: usize = outer.iter().map(|d| d.n).product();
    let bytes = (line.n * run * g.elem).max(1);
    let per_chunk = CHUNK.div_ceil(bytes);
    let (result, operand) = (Shared(result), Shared(operand.cast_mut()));
    let share = |f: &(dyn Fn(*mut u8, *const u8) + Sync)| {
        let chunk = |chunk: usize, _: usize| {
            for row in chunk * per_chunk..((chunk + 1) * per_chunk).min(rows) {
                let (near, far) = offsets(outer, row);
                f(
                    result.ptr().wrapping_offset(near * elem),
                    operand.ptr().cast_const().wrapping_offset(far * elem),
                );
            }
        };
        let chunks = rows.div_ceil(per_chunk);
        if chunks < 4 {
            (0..chunks).for_each(|c| chunk(c, 0));
        } else {
            pool.run(chunks, &chunk);
        }
    };
    if run > 1 {
        share(&|dst, src| {
            for (i, &at) in places.iter().enumerate() {
                let to = dst.wrapping_offset(i as isize * line.near * elem);
                // SAFETY: rows of the box are inside result and operand.
                unsafe { std::ptr::copy_nonoverlapping(src.wrapping_offset(at * elem), to, run * g.elem) }
            }
        });
    } else {
        let size = if c.stride == 1 { c.size as usize } else { 0 };
        let line = Line::new(isa::current(), g.elem, line.near, places, size);
        // SAFETY: the line is inside the result, its places inside the operand's.
        share(&|dst, src| unsafe { line.gather(dst, src) });
    }
}

/// Copies one element.
///
/// # Safety
/// Both must be valid for a `T`.
#[inline(always)]
unsafe fn one<T: Copy>(dst: *mut u8, src: *const u8) {
    // SAFETY: the contract is the caller's.
    unsafe { *dst.cast::<T>() = *src.cast::<T>() }
}

/// Copies a box row by row.
///
/// # Safety
/// The box must be valid at both addresses.
unsafe fn copy_box(g: &Gather, dst: *mut u8, src: *const u8) {
    let (outer, inner) = g.geometry.window.split_at(g.geometry.window.len() - 1);
    let inner = inner[0];
    let elem = g.elem as isize;
    for row in 0..outer.iter().map(|d| d.n).product() {
        let (near, far) = offsets(outer, row);
        let (d, s) = (dst.wrapping_offset(near * elem), src.wrapping_offset(far * elem));
        // SAFETY: the row is part of the box.
        unsafe {
            if inner.near == 1 && inner.far == 1 {
                std::ptr::copy_nonoverlapping(s, d, inner.n * g.elem);
                continue;
            }
            for i in 0..inner.n as isize {
                let to = d.wrapping_offset(i * inner.near * elem);
                let from = s.wrapping_offset(i * inner.far * elem);
                std::ptr::copy_nonoverlapping(from, to, g.elem);
            }
        }
    }
}

/// Copies the boxes of a range of positions.
///
/// # Safety
/// Positions must be inside result and indices; `copy` must be right for the box.
#[inline(always)]
unsafe fn run<I: Index>(
    g: &Gather,
    range: std::ops::Range<usize>,
    indices: *const I,
    result: *mut u8,
    operand: *const u8,
    copy: impl Fn(*mut u8, *const u8),
) {
    let elem = g.elem as isize;
    g.geometry.each(range, |near, far| {
        let mut at = 0;
        for c in &g.geometry.components {
            // SAFETY: the component is inside the indices.
            let i = unsafe { *indices.wrapping_offset(far + c.offset) }.value();
            at += i.clamp(0, (c.size - c.window).max(0)) as isize * c.stride;
        }
        copy(result.wrapping_offset(near * elem), operand.wrapping_offset(at * elem));
    });
}
