//! What happens to a finished f32 tile: scale, bias, activation, residual, conversion, store.

use tnrs_types::DType;

use super::desc::{Activation, GemmDesc, GemmPtrs};
use super::float::{Bf16, Elem, F16};
use crate::isa::{entry, Isa};
use crate::tile;

/// Columns that are processed at a time; tiles are at most this wide or cut into such pieces.
const LANES: usize = 64;

/// A strided f32, bf16 or f16 source.
#[derive(Clone, Copy)]
pub(super) struct Operand {
    pub(super) ptr: *const u8,
    pub(super) dtype: DType,
    pub(super) row: isize,
    pub(super) col: isize,
}

/// The epilogue of one matrix: everything but the tile.
#[derive(Clone, Copy)]
pub(crate) struct Epilogue {
    pub(super) alpha: f32,
    pub(super) bias_cols: Option<Operand>,
    pub(super) bias_rows: Option<Operand>,
    pub(super) activation: Option<tile::TileFn>,
    pub(super) residual: Option<(Operand, f32)>,
    pub(super) c: *mut u8,
    pub(super) out: DType,
    pub(super) row: isize,
    pub(super) col: isize,
    run: Run,
    /// The form for contiguous rows, where there is one.
    contiguous: Option<Run>,
}

// SAFETY: the pointers are used only for elements of C that one thread owns, and for shared reads.
unsafe impl Send for Epilogue {}
// SAFETY: as above.
unsafe impl Sync for Epilogue {}

type Run = unsafe fn(e: &Epilogue, src: *const f32, ld: usize, origin: (usize, usize), size: (usize, usize));

entry!(
    EpilogueBody,
    pick,
    Run,
    (e: &Epilogue, src: *const f32, ld: usize, origin: (usize, usize), size: (usize, usize))
);

/// The loop function of an activation over f32 on an instruction set.
pub(crate) fn activation(isa: Isa, activation: Activation) -> Option<tile::TileFn> {
    let act = match activation {
        Activation::None => return None,
        Activation::Relu => tile::Act::Relu,
        Activation::Gelu => tile::Act::Gelu,
        Activation::GeluTanh => tile::Act::GeluTanh,
        Activation::Silu => tile::Act::Silu,
    };
    tile::fused_on(isa, tile::Fused::Act(act), DType::F32)
}

impl Epilogue {
    /// A plain store into C.
    pub(crate) fn store(isa: Isa, c: *mut u8, out: DType, row: isize, col: isize) -> Epilogue {
        Epilogue {
            alpha: 1.0,
            bias_cols: None,
            bias_rows: None,
            activation: None,
            residual: None,
            c,
            out,
            row,
            col,
            run: pick::<Body>(isa),
            contiguous: contiguous(isa),
        }
    }

    /// The epilogue of the first matrix of a batch.
    pub(crate) fn new(isa: Isa, desc: &GemmDesc, ptrs: &GemmPtrs) -> Epilogue {
        let residual = desc.residual.as_ref().filter(|r| r.beta != 0.0);
        Epilogue {
            alpha: desc.alpha as f32,
            bias_cols: desc.bias_cols.map(|b| Operand {
                ptr: ptrs.bias_cols,
                dtype: b.dtype,
                row: 0,
                col: b.stride,
            }),
            bias_rows: desc.bias_rows.map(|b| Operand {
                ptr: ptrs.bias_rows,
                dtype: b.dtype,
                row: b.stride,
                col: 0,
            }),
            activation: activation(isa, desc.activation),
            residual: residual.map(|r| {
                let operand =
                    Operand { ptr: ptrs.residual, dtype: r.dtype, row: r.strides.row, col: r.strides.col };
                (operand, r.beta as f32)
            }),
            ..Epilogue::store(isa, ptrs.c, desc.out, desc.c.row, desc.c.col)
        }
    }

    /// Adds a bias of C's type per row.
    pub(crate) fn with_bias_rows(mut self, bias: *const u8) -> Epilogue {
        self.bias_rows = Some(Operand { ptr: bias, dtype: self.out, row: 1, col: 0 });
        self
    }

    /// Applies an activation.
    pub(crate) fn with_activation(mut self, activation: Option<tile::TileFn>) -> Epilogue {
        self.activation = activation;
        self
    }

    /// The same with C and the residual moved by so many elements.
    pub(crate) fn shifted(&self, c: isize, residual: isize) -> Epilogue {
        let mut e = *self;
        e.c = e.c.wrapping_offset(c * e.out.size() as isize);
        if let Some((r, _)) = &mut e.residual {
            r.ptr = r.ptr.wrapping_offset(residual * r.dtype.size() as isize);
        }
        e
    }

    /// Roles of rows and columns exchanged.
    pub(crate) fn transposed(&self) -> Epilogue {
        let turn = |o: Operand| Operand { row: o.col, col: o.row, ..o };
        Epilogue {
            bias_cols: self.bias_rows.map(turn),
            bias_rows: self.bias_cols.map(turn),
            residual: self.residual.map(|(o, beta)| (turn(o), beta)),
            row: self.col,
            col: self.row,
            ..*self
        }
    }

    /// C, when sums may be kept there: dense f32 rows that no residual reads.
    pub(crate) fn accumulator(&self) -> Option<(*mut f32, usize)> {
        let fits = self.out == DType::F32 && self.col == 1 && self.row >= 0;
        (fits && self.residual.is_none()).then_some((self.c.cast(), self.row as usize))
    }

    /// C, when it takes the sums as they are in bf16, in contiguous rows.
    pub(crate) fn narrow(&self) -> Option<(*mut u16, usize)> {
        let fits = self.out == DType::BF16 && self.col == 1 && self.row >= 0;
        (fits && self.is_store()).then_some((self.c.cast(), self.row as usize))
    }

    /// Whether sums kept in C are the result.
    pub(crate) fn is_store(&self) -> bool {
        self.alpha == 1.0
            && self.bias_cols.is_none()
            && self.bias_rows.is_none()
            && self.activation.is_none()
            && self.residual.is_none()
    }

    /// Finishes a tile of `size` (rows, columns) at `origin` of C; `src` may be C itself.
    ///
    /// # Safety
    /// The tile must be readable with rows `ld` apart, and its place in C and in every operand valid.
    pub(crate) unsafe fn finish(
        &self,
        src: *const f32,
        ld: usize,
        origin: (usize, usize),
        size: (usize, usize),
    ) {
        let even = |o: &Operand| o.col == 0 || o.col == 1;
        let operands = [&self.bias_cols, &self.bias_rows].into_iter().flatten();
        let mut operands = operands.chain(self.residual.as_ref().map(|(o, _)| o));
        let run = match self.contiguous {
            Some(run) if self.col == 1 && operands.all(even) => run,
            _ => self.run,
        };
        // SAFETY: the contract is the caller's.
        unsafe { run(self, src, ld, origin, size) }
    }
}

/// The epilogue for contiguous rows on an instruction set.
fn contiguous(isa: Isa) -> Option<Run> {
    #[cfg(target_arch = "x86_64")]
    if isa == Isa::Avx512 && crate::isa::has_avx512_bf16() {
        return Some(super::epilogue512::finish);
    }
    let _ = isa;
    None
}

/// Adds `factor ·` the elements of one row, from column `col` on, to `v`.
///
/// # Safety
/// The elements must be readable.
#[inline(always)]
unsafe fn add(v: &mut [f32], factor: f32, o: &Operand, row: usize, col: usize) {
    #[inline(always)]
    unsafe fn typed<T: Elem>(v: &mut [f32], factor: f32, p: *const T, step: isize) {
        // SAFETY: the contract is the caller's.
        unsafe {
            if step == 1 {
                for (i, v) in v.iter_mut().enumerate() {
                    *v += factor * (*p.add(i)).get();
                }
            } else {
                for (i, v) in v.iter_mut().enumerate() {
                    *v += factor * (*p.offset(i as isize * step)).get();
                }
            }
        }
    }
    let at = row as isize * o.row + col as isize * o.col;
    let p = o.ptr.wrapping_offset(at * o.dtype.size() as isize);
    // SAFETY: the contract is the caller's.
    unsafe {
        match o.dtype {
            DType::BF16 => typed::<Bf16>(v, factor, p.cast(), o.col),
            DType::F16 => typed::<F16>(v, factor, p.cast(), o.col),
            _ => typed::<f32>(v, factor, p.cast(), o.col),
        }
    }
}

/// Writes a row, rounded to the type of C.
///
/// # Safety
/// The elements must be writable.
#[inline(always)]
unsafe fn put<T: Elem>(v: &[f32], p: *mut T, step: isize) {
    // SAFETY: the contract is the caller's.
    unsafe {
        if step == 1 {
            for (i, &v) in v.iter().enumerate() {
                *p.add(i) = T::put(v);
            }
        } else {
            for (i, &v) in v.iter().enumerate() {
                *p.offset(i as isize * step) = T::put(v);
            }
        }
    }
}

struct Body;

impl EpilogueBody for Body {
    #[inline(always)]
    unsafe fn run(e: &Epilogue, src: *const f32, ld: usize, origin: (usize, usize), size: (usize, usize)) {
        if e.is_store() {
            for i in 0..size.0 {
                let at = (origin.0 + i) as isize * e.row + origin.1 as isize * e.col;
                let p = e.c.wrapping_offset(at * e.out.size() as isize);
                // SAFETY: row i of the tile is readable and its place in C writable; a tile that lies in C is not
                // stored into C.
                unsafe {
                    let v = std::slice::from_raw_parts(src.add(i * ld), size.1);
                    match e.out {
                        DType::BF16 => put::<Bf16>(v, p.cast(), e.col),
                        DType::F16 => put::<F16>(v, p.cast(), e.col),
                        _ => put::<f32>(v, p.cast(), e.col),
                    }
                }
            }
            return;
        }
        let mut buffer = [0f32; LANES];
        for i in 0..size.0 {
            for j in (0..size.1).step_by(LANES) {
                let n = LANES.min(size.1 - j);
                let v = &mut buffer[..n];
                let (row, col) = (origin.0 + i, origin.1 + j);
                // SAFETY: row i, columns j..j+n of the tile are readable, their place in C writable, and the operands
                // readable there.
                unsafe {
                    let from = src.add(i * ld + j);
                    for (l, v) in v.iter_mut().enumerate() {
                        *v = e.alpha * *from.add(l);
                    }
                    if let Some(b) = &e.bias_cols {
                        add(v, 1.0, b, row, col);
                    }
                    if let Some(b) = &e.bias_rows {
                        add(v, 1.0, b, row, col);
                    }
                    if let Some(f) = e.activation {
                        let p = v.as_mut_ptr().cast::<u8>();
                        f(p, &[p.cast_const(); 3], n);
                    }
                    if let Some((r, beta)) = &e.residual {
                        add(v, *beta, r, row, col);
                    }
                    let at = row as isize * e.row + col as isize * e.col;
                    let p = e.c.wrapping_offset(at * e.out.size() as isize);
                    match e.out {
                        DType::BF16 => put::<Bf16>(v, p.cast(), e.col),
                        DType::F16 => put::<F16>(v, p.cast(), e.col),
                        _ => put::<f32>(v, p.cast(), e.col),
                    }
                }
            }
        }
    }
}
