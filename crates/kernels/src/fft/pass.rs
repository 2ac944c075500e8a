//! One pass: transforms along one dim.

use std::sync::Arc;

use realfft::{ComplexToReal, RealToComplex};
use rustfft::num_complex::Complex;
use rustfft::FftNum;
use tnrs_types::Dims;

use crate::copy::copy;
use crate::gemm::driver::Shared;
use crate::gemm::scratch::Scratch;
use crate::pool::Pool;

/// Rows of a tile take whole cache lines of the memory they are gathered from.
const TILE_BYTES: usize = 128;
/// Bytes of rows that lie one after another and are transformed in one call.
const RUN_BYTES: usize = 16 << 10;
/// Nanoseconds below which a second thread costs more than it gives, and of one chunk.
const SERIAL_NS: u64 = 30_000;
const CHUNK_NS: u64 = 15_000;

/// The routine for one row.
pub(super) enum Work<T: FftNum> {
    Complex(Arc<dyn rustfft::Fft<T>>),
    FromReal(Arc<dyn RealToComplex<T>>),
    ToReal(Arc<dyn ComplexToReal<T>>),
}

/// Sizes (of the real side) and strides of the tensors around a pass.
pub(super) struct Layout<'a> {
    pub dims: &'a Dims,
    pub input: &'a Dims,
    pub output: &'a Dims,
}

/// Rows along one dim of a strided tensor.
pub(super) struct Pass<T: FftNum> {
    work: Work<T>,
    /// Elements of a row of the operand and of the result.
    lens: [usize; 2],
    /// Strides along the row.
    axes: [i64; 2],
    /// The other dims; the innermost is the one along which memory of the operand is closest.
    dims: Dims,
    input: Dims,
    output: Dims,
    scale: Option<T>,
    /// Rows of one step, all along the innermost dim.
    block: usize,
    /// Elements of working memory that the routine asks for.
    scratch: usize,
}

impl<T: FftNum> Pass<T> {
    /// A pass along dim `axis`.
    pub fn new(work: Work<T>, axis: usize, layout: Layout, scale: Option<T>) -> Self {
        let n = layout.dims[axis] as usize;
        let mut others: Vec<usize> =
            (0..layout.dims.len()).filter(|&d| d != axis && layout.dims[d] != 1).collect();
        others.sort_by_key(|&d| std::cmp::Reverse(layout.input[d].abs()));
        let pick = |from: &Dims| others.iter().map(|&d| from[d]).collect::<Dims>();
        let half = n / 2 + 1;
        let (lens, scratch) = match &work {
            Work::Complex(f) => (
                [n, n],
                f.get_inplace_scratch_len()
                    .max(f.get_outofplace_scratch_len())
                    .max(f.get_immutable_scratch_len()),
            ),
            Work::FromReal(f) => ([n, half], f.get_scratch_len()),
            Work::ToReal(f) => ([half, n], f.get_scratch_len()),
        };
        let axes = [layout.input[axis], layout.output[axis]];
        let (dims, input, output) = (pick(layout.dims), pick(layout.input), pick(layout.output));
        let inner = dims.last().map_or(1, |&d| d as usize).max(1);
        let bytes = std::mem::size_of::<Complex<T>>();
        let straight = axes == [1, 1];
        let block = if straight { RUN_BYTES / (n * bytes) } else { TILE_BYTES / bytes };
        Pass { work, lens, axes, dims, input, output, scale, block: block.clamp(1, inner), scratch }
    }

    fn rows(&self) -> usize {
        self.dims.iter().product::<i64>() as usize
    }

    /// Estimated nanoseconds on one core: 5·n·log₂ n operations a row at 6 a nanosecond, and the memory.
    pub fn cost_ns(&self) -> u64 {
        let n = self.lens[0].max(self.lens[1]);
        let log = n.max(2).ilog2() as usize;
        let moved = if self.axes == [1, 1] { 0 } else { n };
        (self.rows() * (n * log + moved + 20)) as u64
    }

    /// Transforms every row.
    ///
    /// # Safety
    /// The addresses must be valid for what the strides reach. They are either one, with equal strides, or the two
    /// sets of bytes do not overlap.
    pub unsafe fn run(&self, pool: &Pool, src: *const u8, dst: *mut u8) {
        let rows = self.rows();
        if rows == 0 {
            return;
        }
        let inner = self.dims.last().map_or(1, |&d| d as usize);
        let blocks = inner.div_ceil(self.block);
        let items = rows / inner * blocks;
        let (src, dst) = (Shared(src.cast_mut()), Shared(dst));
        let chunk = |lo: usize, hi: usize| {
            let memory = Memory::<T>::new(self);
            for item in lo..hi {
                let first = item % blocks * self.block;
                let (mut from, mut to) = self.offsets(item / blocks);
                if let (Some(i), Some(o)) = (self.input.last(), self.output.last()) {
                    from += first as i64 * i;
                    to += first as i64 * o;
                }
                let count = self.block.min(inner - first);
                // SAFETY: the block is part of the tensors, and every block of the result is written once.
                unsafe { self.block(pool, &memory, count, src.ptr(), from as isize, dst.ptr(), to as isize) }
            }
        };
        let cost = self.cost_ns();
        if cost < SERIAL_NS || pool.threads() == 1 {
            return chunk(0, items);
        }
        let chunks = ((cost / CHUNK_NS) as usize).clamp(1, 256).min(items);
        pool.run(chunks, &|c, _| chunk(items * c / chunks, items * (c + 1) / chunks));
    }

    /// Offsets of the first row of an outer index, in elements.
    fn offsets(&self, mut index: usize) -> (i64, i64) {
        let (mut from, mut to) = (0, 0);
        for d in (0..self.dims.len().saturating_sub(1)).rev() {
            let size = self.dims[d] as usize;
            let at = (index % size) as i64;
            index /= size;
            from += at * self.input[d];
            to += at * self.output[d];
        }
        (from, to)
    }

    fn sizes(&self) -> [usize; 2] {
        let (complex, real) = (std::mem::size_of::<Complex<T>>(), std::mem::size_of::<T>());
        match self.work {
            Work::Complex(_) => [complex, complex],
            Work::FromReal(_) => [real, complex],
            Work::ToReal(_) => [complex, real],
        }
    }

    /// Transforms `count` rows along the innermost dim from the given offsets.
    ///
    /// # Safety
    /// As [`Pass::run`], for these rows; nobody else uses the working memory.
    unsafe fn block(
        &self,
        pool: &Pool,
        memory: &Memory<T>,
        count: usize,
        src: *mut u8,
        from: isize,
        dst: *mut u8,
        to: isize,
    ) {
        let [isize_, osize] = self.sizes();
        let in_place = src == dst;
        let src = src.wrapping_offset(from * isize_ as isize);
        let dst = dst.wrapping_offset(to * osize as isize);
        let (di, d_o) = (self.input.last().copied().unwrap_or(0), self.output.last().copied().unwrap_or(0));
        let [tile_in, tile_out] = memory.tiles;
        let pitch = memory.pitch;
        // Real transforms destroy their operand.
        let gathered = self.axes[0] != 1 || !matches!(self.work, Work::Complex(_));
        let scattered = self.axes[1] != 1;
        // SAFETY: rows lie within the tensors or within the tiles, whose pitch holds a row; a tile is no part of a
        // tensor, so that slices do not overlap, and in place there is one slice.
        unsafe {
            if gathered {
                let (sizes, strides) = ([count as i64, self.lens[0] as i64], [di, self.axes[0]]);
                let pitch = pitch * std::mem::size_of::<Complex<T>>() / isize_;
                copy(pool, isize_, &sizes, tile_in.cast(), &[pitch as i64, 1], src, &strides);
            }
            if let (Work::Complex(f), false, false) = (&self.work, gathered, scattered) {
                let n = self.lens[0];
                if di == n as i64 && d_o == di {
                    // One call for rows that follow each other.
                    let y = std::slice::from_raw_parts_mut(dst.cast::<Complex<T>>(), n * count);
                    if in_place {
                        f.process_with_scratch(y, memory.scratch());
                    } else {
                        let x = std::slice::from_raw_parts(src.cast::<Complex<T>>(), n * count);
                        f.process_immutable_with_scratch(x, y, memory.scratch());
                    }
                    return self.multiply(dst, n * count);
                }
            }
            for r in 0..count {
                let x = match gathered {
                    true => tile_in.add(r * pitch).cast::<u8>(),
                    false => src.wrapping_offset(r as isize * di as isize * isize_ as isize),
                };
                let y = match scattered {
                    true => tile_out.add(r * pitch).cast::<u8>(),
                    false => dst.wrapping_offset(r as isize * d_o as isize * osize as isize),
                };
                self.row(memory, x, y, gathered);
            }
            if scattered {
                let (sizes, strides) = ([count as i64, self.lens[1] as i64], [d_o, self.axes[1]]);
                let pitch = pitch * std::mem::size_of::<Complex<T>>() / osize;
                copy(pool, osize, &sizes, dst, &strides, tile_out.cast(), &[pitch as i64, 1]);
            }
        }
    }

    /// Transforms one row of contiguous elements; one that is `mine` may be destroyed.
    ///
    /// # Safety
    /// Both rows are valid, and they are one or do not overlap.
    unsafe fn row(&self, memory: &Memory<T>, x: *mut u8, y: *mut u8, mine: bool) {
        let [n, m] = self.lens;
        let scratch = memory.scratch();
        // SAFETY: the contract is the caller's.
        unsafe {
            match &self.work {
                Work::Complex(f) => {
                    let out = std::slice::from_raw_parts_mut(y.cast::<Complex<T>>(), m);
                    if x == y {
                        f.process_with_scratch(out, scratch);
                    } else if mine {
                        let x = std::slice::from_raw_parts_mut(x.cast::<Complex<T>>(), n);
                        f.process_outofplace_with_scratch(x, out, scratch);
                    } else {
                        let x = std::slice::from_raw_parts(x.cast::<Complex<T>>(), n);
                        f.process_immutable_with_scratch(x, out, scratch);
                    }
                }
                Work::FromReal(f) => {
                    let x = std::slice::from_raw_parts_mut(x.cast::<T>(), n);
                    let out = std::slice::from_raw_parts_mut(y.cast::<Complex<T>>(), m);
                    f.process_with_scratch(x, out, scratch).expect("lengths are the plan's");
                }
                Work::ToReal(f) => {
                    let x = std::slice::from_raw_parts_mut(x.cast::<Complex<T>>(), n);
                    // What symmetry makes zero is not looked at.
                    x[0].im = T::zero();
                    if m % 2 == 0 {
                        x[n - 1].im = T::zero();
                    }
                    let out = std::slice::from_raw_parts_mut(y.cast::<T>(), m);
                    f.process_with_scratch(x, out, scratch).expect("lengths are the plan's");
                }
            }
            self.multiply(y, m);
        }
    }

    /// Multiplies elements of the result.
    ///
    /// # Safety
    /// `y` holds `len` elements of the result.
    unsafe fn multiply(&self, y: *mut u8, len: usize) {
        let Some(scale) = self.scale else { return };
        let parts = if matches!(self.work, Work::ToReal(_)) { len } else { 2 * len };
        // SAFETY: the contract is the caller's; a complex number is two components.
        let y = unsafe { std::slice::from_raw_parts_mut(y.cast::<T>(), parts) };
        y.iter_mut().for_each(|v| *v = *v * scale);
    }
}

/// Working memory of one thread: two tiles of rows, and what the routine asks for.
struct Memory<T> {
    _all: Scratch,
    tiles: [*mut Complex<T>; 2],
    /// Complex elements from row to row of a tile, an odd number of cache lines: powers of two would share sets.
    pitch: usize,
    scratch: *mut Complex<T>,
    scratch_len: usize,
}

impl<T: FftNum> Memory<T> {
    fn new(pass: &Pass<T>) -> Self {
        let line = 64 / std::mem::size_of::<Complex<T>>();
        let pitch = (pass.lens[0].max(pass.lens[1]).div_ceil(line) | 1) * line;
        let tile = pitch * pass.block;
        let scratch_len = pass.scratch;
        let all = Scratch::new((2 * tile + scratch_len) * std::mem::size_of::<Complex<T>>());
        let base: *mut Complex<T> = all.ptr();
        // Untouched memory is no number yet.
        // SAFETY: the allocation has this many bytes, and a component of zero bits is a number.
        unsafe { base.add(2 * tile).write_bytes(0, scratch_len) };
        let tiles = [base, base.wrapping_add(tile)];
        Memory { _all: all, tiles, pitch, scratch: base.wrapping_add(2 * tile), scratch_len }
    }

    #[allow(
        clippy::mut_from_ref,
        reason = "rows are transformed one after another, each with the whole scratch"
    )]
    fn scratch(&self) -> &mut [Complex<T>] {
        // SAFETY: allocated and initialised by `new`; the slice ends before the next row asks for it.
        unsafe { std::slice::from_raw_parts_mut(self.scratch, self.scratch_len) }
    }
}
