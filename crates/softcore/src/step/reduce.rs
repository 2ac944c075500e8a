//! A reduction, with the elementwise work that feeds it.
//!
//! The program's rows are counted in row-major order: first the dims that stay, then those that go. In `Along` form
//! the inner loop runs along a dim that goes and `per_output` rows make one output; in `Across` form it runs along a
//! dim that stays and the rows of one position of the others are added tile by tile. Work is cut into pieces whose
//! size depends on the shape only, and the partial results of pieces are combined in order, so a result never depends
//! on the number of threads.

use tnrs_hal::Fault;
use tnrs_kernels::reduce::{InnerFn, OuterFn};
use tnrs_kernels::tile::{StridedFn, TileFn};

use super::program::{Machine, Program, Scratch, Slot};
use super::{share, Cx, Loc, Step};

/// Which way the inner loop runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Form {
    Along,
    Across,
}

/// How accumulators begin, combine and end.
pub(crate) struct Combine {
    pub inner: InnerFn,
    pub outer: OuterFn,
    /// The neutral element, of `size` bytes.
    pub init: [u8; 16],
    pub splat: TileFn,
    /// Bytes of an accumulator.
    pub size: usize,
    /// From accumulator to result type.
    pub finish: TileFn,
    /// Bytes of a result.
    pub out_size: usize,
    /// Result stride of the inner dim in bytes (`Across`), and the loop that stores at it.
    pub out_stride: isize,
    pub store: StridedFn,
}

/// A reduction.
pub(crate) struct Reduce {
    pub program: Program,
    pub form: Form,
    pub sink: Slot,
    pub out: Slot,
    /// Rows of one output (`Along`) or of one output tile (`Across`).
    pub per_output: i64,
    /// Pieces of one output, and how many tiles (`Along`) or rows (`Across`) each has.
    pub pieces: i64,
    pub piece: i64,
    /// Accumulators of pieces; unused when `pieces` is 1.
    pub partials: Loc,
    pub combine: Combine,
    pub cost: u64,
    pub chunks: u64,
}

/// Rows that one accumulator tile takes before it is folded into the next: bounds the rounding error of long sums.
const FOLD: i64 = 128;
/// Bytes of an accumulator tile.
pub(crate) const ACC_BYTES: usize = 8 << 10;

#[repr(C, align(64))]
struct Accumulators([[u8; ACC_BYTES]; 2]);

impl Reduce {
    /// Outputs (`Along`) or output tiles (`Across`).
    fn outputs(&self) -> i64 {
        let rows = self.program.rows() / self.per_output;
        match self.form {
            Form::Along => rows,
            Form::Across => rows * self.program.tiles_per_row(),
        }
    }

    /// Number of jobs: an output and a piece of its work each.
    fn jobs(&self) -> i64 {
        self.outputs() * self.pieces
    }

    unsafe fn run_jobs(&self, cx: &Cx, lo: i64, hi: i64) {
        let mut scratch = Scratch::new();
        let m = Machine::new(&self.program, cx, scratch.ptr());
        // SAFETY: the caller's promise.
        unsafe {
            match self.form {
                Form::Along => self.along(cx, m, lo, hi),
                Form::Across => self.across(cx, m, lo, hi),
            }
        }
    }

    unsafe fn along(&self, cx: &Cx, mut m: Machine, lo: i64, hi: i64) {
        let p = &self.program;
        let (per_row, tile) = (p.tiles_per_row(), p.tile as i64);
        let units = self.per_output * per_row;
        let mut at = lo / self.pieces * self.per_output;
        m.seek(at);
        for job in lo..hi {
            let (output, piece) = (job / self.pieces, job % self.pieces);
            let mut acc = Number(self.combine.init);
            let first = piece * self.piece;
            let last = (first + self.piece).min(units);
            let mut unit = first;
            while unit < last {
                let row = output * self.per_output + unit / per_row;
                while at < row {
                    m.next_row();
                    at += 1;
                }
                let end = last.min((unit / per_row + 1) * per_row);
                // SAFETY: the caller's promise; tiles end within the row.
                unsafe {
                    m.begin_row(tile.min(p.inner) as usize);
                    while unit < end {
                        let start = unit % per_row * tile;
                        let n = tile.min(p.inner - start) as usize;
                        m.tile(start, n);
                        (self.combine.inner)(m.slot(self.sink), n, acc.0.as_mut_ptr());
                        unit += 1;
                    }
                }
            }
            // SAFETY: the output's pointer is that of the current row, valid by the caller's promise; partials hold an
            // accumulator per job.
            unsafe {
                if self.pieces == 1 {
                    let none = std::ptr::null();
                    let src = [acc.0.as_ptr(), none, none];
                    (self.combine.finish)(m.row_slot(self.out), &src, 1);
                } else {
                    let size = self.combine.size;
                    let to = cx.at(self.partials).add(job as usize * size);
                    std::ptr::copy_nonoverlapping(acc.0.as_ptr(), to, size);
                }
            }
        }
    }

    unsafe fn across(&self, cx: &Cx, mut m: Machine, lo: i64, hi: i64) {
        let p = &self.program;
        let (per_row, tile) = (p.tiles_per_row(), p.tile as i64);
        let mut acc = Accumulators([[0; ACC_BYTES]; 2]);
        let [sum, part] = &mut acc.0;
        let (sum, part) = (sum.as_mut_ptr(), part.as_mut_ptr());
        for job in lo..hi {
            let (output, piece) = (job / self.pieces, job % self.pieces);
            let start = output % per_row * tile;
            let n = tile.min(p.inner - start) as usize;
            let first = piece * self.piece;
            let last = (first + self.piece).min(self.per_output);
            m.reset(cx);
            m.seek(output / per_row * self.per_output + first);
            let mut folded = false;
            let mut in_part = 0;
            // SAFETY: accumulator tiles hold `tile` elements of the accumulator's type; the rest is the caller's
            // promise.
            unsafe {
                self.clear(part, n);
                for row in first..last {
                    if row > first {
                        m.next_row();
                    }
                    m.begin_row(n);
                    m.tile(start, n);
                    (self.combine.outer)(part, m.slot(self.sink), n);
                    in_part += 1;
                    if in_part == FOLD && row + 1 < last {
                        if !folded {
                            std::ptr::copy_nonoverlapping(part, sum, n * self.combine.size);
                        } else {
                            (self.combine.outer)(sum, part, n);
                        }
                        folded = true;
                        self.clear(part, n);
                        in_part = 0;
                    }
                }
                let done = if folded {
                    (self.combine.outer)(sum, part, n);
                    sum
                } else {
                    part
                };
                if self.pieces == 1 {
                    self.write_tile(m.slot(self.out), done, n, if done == sum { part } else { sum });
                } else {
                    let bytes = self.program.tile * self.combine.size;
                    let to = cx.at(self.partials).add(job as usize * bytes);
                    std::ptr::copy_nonoverlapping(done, to, n * self.combine.size);
                }
            }
        }
    }

    /// # Safety
    /// `acc` has room for `n` accumulators.
    unsafe fn clear(&self, acc: *mut u8, n: usize) {
        let none = std::ptr::null();
        // SAFETY: the caller's promise.
        unsafe { (self.combine.splat)(acc, &[self.combine.init.as_ptr(), none, none], n) };
    }

    /// Converts `n` accumulators and stores them at the output's stride. `spare` has room for them.
    ///
    /// # Safety
    /// All three are valid for `n` elements of their types.
    unsafe fn write_tile(&self, out: *mut u8, acc: *const u8, n: usize, spare: *mut u8) {
        let c = &self.combine;
        let src = [acc, std::ptr::null(), std::ptr::null()];
        // SAFETY: the caller's promise.
        unsafe {
            if c.out_stride == c.out_size as isize {
                (c.finish)(out, &src, n);
            } else {
                (c.finish)(spare, &src, n);
                (c.store)(out, spare, n, c.out_stride);
            }
        }
    }

    /// Combines the partial results of outputs `[lo, hi)`, in the order of their pieces.
    unsafe fn combine(&self, cx: &Cx, lo: i64, hi: i64) {
        let p = &self.program;
        let c = &self.combine;
        let mut scratch = Scratch::new();
        let mut m = Machine::new(p, cx, scratch.ptr());
        let none = std::ptr::null();
        let partials = cx.at(self.partials);
        match self.form {
            Form::Along => {
                m.seek(lo * self.per_output);
                for output in lo..hi {
                    let mut acc = Number(c.init);
                    let from = partials.wrapping_add((output * self.pieces) as usize * c.size);
                    // SAFETY: partials hold `pieces` accumulators per output; the output's pointer is that of its row.
                    unsafe {
                        (c.inner)(from, self.pieces as usize, acc.0.as_mut_ptr());
                        (c.finish)(m.row_slot(self.out), &[acc.0.as_ptr(), none, none], 1);
                    }
                    if output + 1 < hi {
                        for _ in 0..self.per_output {
                            m.next_row();
                        }
                    }
                }
            }
            Form::Across => {
                let mut spare = Accumulators([[0; ACC_BYTES]; 2]);
                let spare = spare.0[0].as_mut_ptr();
                let per_row = p.tiles_per_row();
                let bytes = p.tile * c.size;
                for output in lo..hi {
                    let start = output % per_row * p.tile as i64;
                    let n = (p.tile as i64).min(p.inner - start) as usize;
                    let first = partials.wrapping_add((output * self.pieces) as usize * bytes);
                    m.reset(cx);
                    m.seek(output / per_row * self.per_output);
                    // SAFETY: partials hold `pieces` tiles per output tile; the output's pointer is that of its tile.
                    unsafe {
                        for piece in 1..self.pieces as usize {
                            (c.outer)(first, first.add(piece * bytes), n);
                        }
                        self.write_tile(m.tile_slot(self.out, start), first, n, spare);
                    }
                }
            }
        }
    }
}

#[repr(C, align(16))]
struct Number([u8; 16]);

impl Step for Reduce {
    unsafe fn run(&self, cx: &Cx) -> Result<(), Fault> {
        // SAFETY: the caller's promise; jobs are disjoint.
        share(self.jobs(), self.chunks as i64, &|lo, hi| unsafe { self.run_jobs(cx, lo, hi) });
        if self.pieces > 1 {
            let outputs = self.outputs();
            // SAFETY: the caller's promise; outputs are disjoint.
            unsafe { self.combine(cx, 0, outputs) };
        }
        Ok(())
    }

    fn cost_ns(&self) -> u64 {
        self.cost
    }
}
