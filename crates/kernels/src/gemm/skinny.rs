//! Few rows times a large B, which is read once, in place: bound by memory, so nothing is packed.

use tnrs_types::DType;

use super::driver::{Operand, Shared, Size};
use super::epilogue::Epilogue;
use super::float::{Bf16, Elem, F16};
use super::kernel::Core;
use super::scratch::Scratch;
use crate::isa::{entry, Isa};
use crate::pool::Pool;

/// Rows of one pass over B.
pub(super) const ROWS: usize = 8;
/// Columns whose sums stay in the first-level cache.
const COLUMNS: usize = 512;
/// Elements of B below which a second thread costs more than it gives.
const SERIAL: usize = 1 << 17;

/// One pass: up to [`ROWS`] rows against columns `j0..j1` of B.
pub(super) struct Strip {
    pub(super) rows: usize,
    pub(super) k: usize,
    /// [`Form::Rows`]: panel of A, `[unit][`[`Core::mr`]`]`, or `[unit][8]` f32 for the generic loop.
    /// [`Form::Dots`]: rows of A, contiguous along k, in B's type (the generic loop: f32).
    pub(super) a: *const u8,
    /// First column, row 0.
    pub(super) b: *const u8,
    /// Elements from one row of B (`Rows`) or one column (`Dots`) to the next.
    pub(super) ldb: isize,
    pub(super) columns: usize,
    /// `[row][COLUMNS]`.
    pub(super) sums: *mut f32,
}

/// How B lies.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    /// Rows of B are contiguous.
    Rows,
    /// Columns of B are contiguous.
    Dots,
}

type StripFn = unsafe fn(&Strip);

entry!(StripBody, pick, StripFn, (s: &Strip));

/// Whether [`multiply`] is meant for this product.
pub(super) fn suits(size: Size, b: Operand) -> bool {
    let form = b.lane == 1 || b.depth == 1;
    (1..=2 * ROWS).contains(&size.m) && size.n >= 16 && size.k >= 1 && form
}

/// The loop for a form, and whether it wants A in the packed or raw type rather than f32.
fn strip(core: &Core, form: Form) -> (StripFn, bool) {
    #[cfg(target_arch = "x86_64")]
    if core.isa == Isa::Avx512 {
        use super::skinny512 as x;
        match (core.dtype, form, core.per_unit) {
            (DType::F32, Form::Rows, _) => return (x::rows_f32, true),
            (DType::F32, Form::Dots, _) => return (x::dots_f32, true),
            (DType::BF16, Form::Rows, 2) => return (x::rows_bf16, true),
            (DType::BF16, Form::Dots, 2) => return (x::dots_bf16, true),
            _ => {}
        }
    }
    let f = match (core.dtype, form) {
        (DType::BF16, Form::Rows) => pick::<Rows<Bf16>>(core.isa),
        (DType::F16, Form::Rows) => pick::<Rows<F16>>(core.isa),
        (_, Form::Rows) => pick::<Rows<f32>>(core.isa),
        (DType::BF16, Form::Dots) => pick::<Dots<Bf16>>(core.isa),
        (DType::F16, Form::Dots) => pick::<Dots<F16>>(core.isa),
        (_, Form::Dots) => pick::<Dots<f32>>(core.isa),
    };
    (f, false)
}

/// `epilogue(A·B)` for a product that [`suits`].
///
/// # Safety
/// Operands and every place the epilogue reaches must be valid for `size`.
pub(super) unsafe fn multiply(
    pool: &Pool,
    core: &Core,
    size: Size,
    a: Operand,
    b: Operand,
    epilogue: &Epilogue,
) {
    let Size { m, n, k } = size;
    let form = if b.lane == 1 { Form::Rows } else { Form::Dots };
    let (run, native) = strip(core, form);
    let es = core.dtype.size();
    let units = core.units(k);
    // A in the order in which the loop reads it, one part for each group of rows.
    let (part, a_size) = match (form, native) {
        (Form::Rows, true) => (units * core.mr, 4),
        (Form::Rows, false) => (k * ROWS, 4),
        (Form::Dots, true) => (ROWS * k, es),
        (Form::Dots, false) => (ROWS * k, 4),
    };
    let groups = m.div_ceil(ROWS);
    let copy = Scratch::new(groups * part * a_size);
    let copy = Shared(copy.ptr::<u8>());
    for g in 0..groups {
        let rows = ROWS.min(m - g * ROWS);
        let from = a.at(g * ROWS, 0, es);
        let to = copy.ptr().wrapping_add(g * part * a_size);
        // SAFETY: the group's rows are inside A, and `part` elements are there for it.
        unsafe {
            match (form, native) {
                (Form::Rows, true) => (core.pack_a)(from, a.lane, a.depth, rows, k, to.cast()),
                (Form::Dots, true) => {
                    for i in 0..rows {
                        for d in 0..k {
                            let x = a.at(g * ROWS + i, d, es);
                            std::ptr::copy_nonoverlapping(x, to.add((i * k + d) * es), es);
                        }
                    }
                }
                (_, false) => {
                    let (row, col) = if form == Form::Rows { (1, ROWS) } else { (k, 1) };
                    for i in 0..rows {
                        for d in 0..k {
                            let x = load(core.dtype, a.at(g * ROWS + i, d, es));
                            *to.cast::<f32>().add(i * row + d * col) = x;
                        }
                    }
                }
            }
        }
    }
    let threads = if n * k < SERIAL { 1 } else { pool.threads() };
    let columns = n.div_ceil(threads * 4).next_multiple_of(64).min(COLUMNS);
    let block = |c: usize, _: usize| {
        let j = c * columns;
        let columns = columns.min(n - j);
        let sums = Scratch::words(ROWS * COLUMNS);
        for g in 0..groups {
            let rows = ROWS.min(m - g * ROWS);
            let strip = Strip {
                rows,
                k,
                a: copy.ptr().wrapping_add(g * part * a_size),
                b: b.at(j, 0, es),
                ldb: if form == Form::Rows { b.depth } else { b.lane },
                columns,
                sums: sums.ptr(),
            };
            // SAFETY: the columns are inside B; sums hold ROWS × COLUMNS; C is valid there.
            unsafe {
                run(&strip);
                epilogue.finish(strip.sums, COLUMNS, (g * ROWS, j), (rows, columns));
            }
        }
    };
    let blocks = n.div_ceil(columns);
    if threads == 1 {
        (0..blocks).for_each(|i| block(i, 0));
    } else {
        pool.run(blocks, &block);
    }
}

/// An element as f32.
///
/// # Safety
/// `p` must be readable.
unsafe fn load(dtype: DType, p: *const u8) -> f32 {
    // SAFETY: the contract is the caller's.
    unsafe {
        match dtype {
            DType::BF16 => (*p.cast::<Bf16>()).get(),
            DType::F16 => (*p.cast::<F16>()).get(),
            _ => *p.cast::<f32>(),
        }
    }
}

impl Strip {
    /// Elements from one row of sums to the next.
    pub(super) const LD: usize = COLUMNS;
}

/// Pieces of B are widened to f32 this many elements at a time.
const PIECE: usize = 128;

struct Rows<T>(std::marker::PhantomData<T>);

impl<T: Elem> StripBody for Rows<T> {
    #[inline(always)]
    unsafe fn run(s: &Strip) {
        for j in (0..s.columns).step_by(PIECE) {
            let n = PIECE.min(s.columns - j);
            let mut sums = [[0f32; PIECE]; ROWS];
            for d in 0..s.k {
                let mut row = [0f32; PIECE];
                // SAFETY: row d, columns j..j+n are inside B, and unit d inside A.
                let a = unsafe {
                    let from = s.b.cast::<T>().offset(d as isize * s.ldb).add(j);
                    for (l, x) in row.iter_mut().enumerate().take(n) {
                        *x = (*from.add(l)).get();
                    }
                    &*s.a.cast::<[f32; ROWS]>().add(d)
                };
                for i in 0..s.rows {
                    for l in 0..PIECE {
                        sums[i][l] += a[i] * row[l];
                    }
                }
            }
            for (i, row) in sums.iter().enumerate().take(s.rows) {
                // SAFETY: the sums hold the strip's rows and columns.
                unsafe { std::ptr::copy_nonoverlapping(row.as_ptr(), s.sums.add(i * COLUMNS + j), n) }
            }
        }
    }
}

struct Dots<T>(std::marker::PhantomData<T>);

impl<T: Elem> StripBody for Dots<T> {
    #[inline(always)]
    unsafe fn run(s: &Strip) {
        const LANES: usize = 32;
        for j in 0..s.columns {
            let mut sums = [[0f32; LANES]; ROWS];
            for d in (0..s.k).step_by(PIECE) {
                let n = PIECE.min(s.k - d);
                let mut column = [0f32; PIECE];
                // SAFETY: column j, elements d..d+n are inside B.
                unsafe {
                    let from = s.b.cast::<T>().offset(j as isize * s.ldb).add(d);
                    for (l, x) in column.iter_mut().enumerate().take(n) {
                        *x = (*from.add(l)).get();
                    }
                }
                for (i, sums) in sums.iter_mut().enumerate().take(s.rows) {
                    // SAFETY: elements d..d+n of row i are inside A.
                    let a = unsafe { std::slice::from_raw_parts(s.a.cast::<f32>().add(i * s.k + d), n) };
                    let (pieces, rest) = a.as_chunks::<LANES>();
                    for (p, a) in pieces.iter().enumerate() {
                        for l in 0..LANES {
                            sums[l] += a[l] * column[p * LANES + l];
                        }
                    }
                    for (l, a) in rest.iter().enumerate() {
                        sums[l] += a * column[pieces.len() * LANES + l];
                    }
                }
            }
            for (i, row) in sums.iter().enumerate().take(s.rows) {
                // SAFETY: the sums hold the strip's rows and columns.
                unsafe { *s.sums.add(i * COLUMNS + j) = row.iter().sum() }
            }
        }
    }
}
