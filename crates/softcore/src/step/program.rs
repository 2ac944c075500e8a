//! Tile programs: a short list of precompiled loops, run over one tile after another.
//!
//! A program walks a space of `outer` dims (rows) times one `inner` dim. A pointer table has one entry per operand and
//! one per register; operands move with the position, registers stay in a scratch area that fits the first-level
//! cache. `row` instructions run when a row begins (they prepare what does not change along it), `body` instructions
//! for every tile.

use std::mem::MaybeUninit;

use smallvec::SmallVec;
use tnrs_kernels::philox;
use tnrs_kernels::tile::{StridedFn, TileFn};

use super::{Cx, Loc};

/// Most entries of a pointer table.
pub(crate) const MAX_SLOTS: usize = 224;
/// Bytes of the register area.
pub(crate) const SCRATCH: usize = 48 << 10;
/// Most outer dims.
pub(crate) const MAX_OUTER: usize = 12;

/// An entry of the pointer table.
pub(crate) type Slot = u8;

/// Where an operand begins and how it moves.
#[derive(Clone, Debug)]
pub(crate) struct Operand {
    /// First element; for a generator (`virt`) the first index is `loc.off`.
    pub loc: Loc,
    /// The pointer is an index, not an address.
    pub virt: bool,
    /// Bytes (or index steps) per step of each outer dim.
    pub outer: SmallVec<[i64; 4]>,
    /// Bytes (or index steps) per element of the inner dim.
    pub inner: i64,
}

impl Operand {
    /// The pointer (or index) of the first element.
    #[inline(always)]
    pub fn start(&self, cx: &Cx) -> *mut u8 {
        if self.virt {
            std::ptr::without_provenance_mut(self.loc.off as usize)
        } else {
            cx.at(self.loc)
        }
    }
}

/// A strided n-d piece of memory seen as one flat run of elements.
#[derive(Clone, Debug)]
pub(crate) struct Nd {
    pub dims: SmallVec<[i64; 4]>,
    /// Bytes per step of each dim.
    pub strides: SmallVec<[i64; 4]>,
    pub size: usize,
    pub copy: StridedFn,
}

/// One instruction.
#[derive(Clone)]
pub(crate) enum Inst {
    /// A primitive over the tile.
    Call { f: TileFn, dst: Slot, src: [Slot; 3] },
    /// A primitive over one element.
    One { f: TileFn, dst: Slot, src: [Slot; 3] },
    /// A strided run of memory into a register.
    Load {
        f: StridedFn,
        dst: Slot,
        src: Slot,
        /// Bytes.
        stride: isize,
    },
    /// A register into a strided run of memory.
    Store {
        f: StridedFn,
        dst: Slot,
        src: Slot,
        /// Bytes.
        stride: isize,
    },
    /// Several rows of memory into a register (the inner dim is the whole space).
    LoadNd { nd: Box<Nd>, dst: Slot, src: Slot },
    /// A register into several rows of memory.
    StoreNd { nd: Box<Nd>, dst: Slot, src: Slot },
    /// Rising indices from generator `src`; with `one`, only the first.
    Iota { f: TileFn, dst: Slot, src: Slot, one: bool },
    /// Random words; `src` is the linear index, `seed` and `offset` point at u64.
    Philox { dst: Slot, src: Slot, seed: Slot, offset: Slot },
}

/// A compiled tile program.
pub(crate) struct Program {
    pub outer: SmallVec<[i64; 4]>,
    pub inner: i64,
    /// Elements of a full tile.
    pub tile: usize,
    pub operands: Box<[Operand]>,
    /// Offset in the scratch area of each register; register `i` is slot `operands.len() + i`.
    pub regs: Box<[u32]>,
    pub row: Box<[Inst]>,
    pub body: Box<[Inst]>,
}

impl Program {
    pub fn rows(&self) -> i64 {
        self.outer.iter().product()
    }
    pub fn tiles_per_row(&self) -> i64 {
        (self.inner + self.tile as i64 - 1) / self.tile as i64
    }
}

/// The register area of one thread.
#[repr(C, align(64))]
pub(crate) struct Scratch(MaybeUninit<[u8; SCRATCH]>);

impl Scratch {
    #[inline(always)]
    pub fn new() -> Self {
        Scratch(MaybeUninit::uninit())
    }
    pub fn ptr(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

/// A program at a position.
pub(crate) struct Machine<'p> {
    p: &'p Program,
    slots: [MaybeUninit<*mut u8>; MAX_SLOTS],
    /// Pointers at the start of the current row.
    row: [MaybeUninit<*mut u8>; MAX_SLOTS],
    index: [i64; MAX_OUTER],
}

impl<'p> Machine<'p> {
    /// A machine with its registers in `scratch`, at row 0.
    #[inline]
    pub fn new(p: &'p Program, cx: &Cx, scratch: *mut u8) -> Self {
        let mut m = Machine {
            p,
            slots: [MaybeUninit::uninit(); MAX_SLOTS],
            row: [MaybeUninit::uninit(); MAX_SLOTS],
            index: [0; MAX_OUTER],
        };
        m.reset(cx);
        for (i, &off) in p.regs.iter().enumerate() {
            m.slots[p.operands.len() + i] = MaybeUninit::new(scratch.wrapping_add(off as usize));
        }
        m
    }

    /// Moves back to row 0.
    #[inline(always)]
    pub fn reset(&mut self, cx: &Cx) {
        for (k, o) in self.p.operands.iter().enumerate() {
            let ptr =
                if o.virt { std::ptr::without_provenance_mut(o.loc.off as usize) } else { cx.at(o.loc) };
            self.row[k] = MaybeUninit::new(ptr);
            self.slots[k] = MaybeUninit::new(ptr);
        }
    }

    /// Moves from row 0 to `row`.
    pub fn seek(&mut self, mut row: i64) {
        for d in (0..self.p.outer.len()).rev() {
            let size = self.p.outer[d];
            self.index[d] = row % size;
            row /= size;
            for (k, o) in self.p.operands.iter().enumerate() {
                self.shift(k, o.outer[d] * self.index[d]);
            }
        }
    }

    /// Moves to the next row.
    #[inline]
    pub fn next_row(&mut self) {
        for d in (0..self.p.outer.len()).rev() {
            self.index[d] += 1;
            if self.index[d] < self.p.outer[d] {
                for (k, o) in self.p.operands.iter().enumerate() {
                    self.shift(k, o.outer[d]);
                }
                return;
            }
            for (k, o) in self.p.operands.iter().enumerate() {
                self.shift(k, -o.outer[d] * (self.p.outer[d] - 1));
            }
            self.index[d] = 0;
        }
    }

    #[inline(always)]
    fn shift(&mut self, k: usize, by: i64) {
        // SAFETY: `new` initialised the row pointer of every operand.
        let p = unsafe { self.row[k].assume_init() };
        self.row[k] = MaybeUninit::new(p.wrapping_offset(by as isize));
    }

    /// Prepares the current row. `n` is the length of its longest tile.
    ///
    /// # Safety
    /// As [`super::Step::run`], for the operands at the current row.
    #[inline]
    pub unsafe fn begin_row(&mut self, n: usize) {
        if self.p.row.is_empty() {
            return;
        }
        self.place(0);
        // SAFETY: the caller's promise.
        unsafe { exec(&self.slots, &self.p.row, 0, n) };
    }

    /// Runs the body on the tile of `n` elements from `start` of the current row.
    ///
    /// # Safety
    /// As [`super::Step::run`], for the operands at this tile.
    #[inline]
    pub unsafe fn tile(&mut self, start: i64, n: usize) {
        self.place(start);
        // SAFETY: the caller's promise.
        unsafe { exec(&self.slots, &self.p.body, start, n) };
    }

    #[inline(always)]
    fn place(&mut self, start: i64) {
        for (k, o) in self.p.operands.iter().enumerate() {
            // SAFETY: `new` initialised the row pointer of every operand.
            let p = unsafe { self.row[k].assume_init() };
            self.slots[k] = MaybeUninit::new(p.wrapping_offset((o.inner * start) as isize));
        }
    }

    /// The pointer in a slot, for what reads a tile after [`Machine::tile`].
    #[inline(always)]
    pub fn slot(&self, s: Slot) -> *mut u8 {
        debug_assert!((s as usize) < self.p.operands.len() + self.p.regs.len());
        // SAFETY: `new` initialised one entry per operand and register, and programs name no other.
        unsafe { self.slots[s as usize].assume_init() }
    }

    /// The pointer of operand `s` at the start of the current row.
    pub fn row_slot(&self, s: Slot) -> *mut u8 {
        self.tile_slot(s, 0)
    }

    /// The pointer of operand `s` at element `start` of the current row.
    pub fn tile_slot(&self, s: Slot, start: i64) -> *mut u8 {
        let o = &self.p.operands[s as usize];
        // SAFETY: `new` initialised the row pointer of every operand.
        let p = unsafe { self.row[s as usize].assume_init() };
        p.wrapping_offset((o.inner * start) as isize)
    }
}

/// The pointer in a slot.
///
/// # Safety
/// The slot was filled.
#[inline(always)]
unsafe fn at(slots: &[MaybeUninit<*mut u8>], s: Slot) -> *mut u8 {
    debug_assert!((s as usize) < slots.len());
    // SAFETY: the caller's promise.
    unsafe { slots[s as usize].assume_init() }
}

/// Runs instructions on the tile of `n` elements from `start` of the row.
///
/// # Safety
/// Every slot that the instructions name was filled, for this tile, as [`super::Step::run`] promises.
#[inline(always)]
pub(crate) unsafe fn exec(slots: &[MaybeUninit<*mut u8>], insts: &[Inst], start: i64, n: usize) {
    for inst in insts {
        // SAFETY: operand pointers are valid for the tile by the caller's promise; registers hold a full tile of
        // the widest type the builder put there; the builder paired each primitive with slots of its types.
        unsafe {
            match inst {
                Inst::Call { f, dst, src } => f(at(slots, *dst), &sources(slots, src), n),
                Inst::One { f, dst, src } => f(at(slots, *dst), &sources(slots, src), 1),
                Inst::Load { f, dst, src, stride } => f(at(slots, *dst), at(slots, *src), n, *stride),
                Inst::Store { f, dst, src, stride } => f(at(slots, *dst), at(slots, *src), n, *stride),
                Inst::LoadNd { nd, dst, src } => {
                    let (dst, src) = (at(slots, *dst), at(slots, *src));
                    nd.runs(start, n, |done, off, stride, len| {
                        let from = src.wrapping_offset(off);
                        (nd.copy)(dst.add(done * nd.size), from, len, stride)
                    })
                }
                Inst::StoreNd { nd, dst, src } => {
                    let (dst, src) = (at(slots, *dst), at(slots, *src));
                    nd.runs(start, n, |done, off, stride, len| {
                        let to = dst.wrapping_offset(off);
                        (nd.copy)(to, src.add(done * nd.size), len, stride)
                    })
                }
                Inst::Iota { f, dst, src, one } => {
                    let first = at(slots, *src).addr() as i64;
                    let none = std::ptr::null();
                    let n = if *one { 1 } else { n };
                    f(at(slots, *dst), &[(&raw const first).cast(), none, none], n)
                }
                Inst::Philox { dst, src, seed, offset } => philox::fill(
                    at(slots, *dst).cast(),
                    at(slots, *seed).cast::<u64>().read_unaligned(),
                    at(slots, *offset).cast::<u64>().read_unaligned(),
                    at(slots, *src).addr() as u64,
                    n,
                ),
            }
        }
    }
}

/// # Safety
/// The slots were filled.
#[inline(always)]
unsafe fn sources(slots: &[MaybeUninit<*mut u8>], src: &[Slot; 3]) -> [*const u8; 3] {
    // SAFETY: the caller's promise.
    unsafe { [at(slots, src[0]), at(slots, src[1]), at(slots, src[2])].map(|p| p.cast_const()) }
}

impl Nd {
    /// Calls `f(done, offset, stride, len)` for each straight run of the flat range `[start, start + n)`: `done`
    /// elements come before it, it begins `offset` bytes from the first one.
    #[inline]
    fn runs(&self, start: i64, n: usize, mut f: impl FnMut(usize, isize, isize, usize)) {
        let rank = self.dims.len();
        let mut index = [0i64; MAX_OUTER + 1];
        let (mut at, mut rest) = (0, start);
        for d in (0..rank).rev() {
            index[d] = rest % self.dims[d];
            rest /= self.dims[d];
            at += index[d] * self.strides[d];
        }
        let last = rank - 1;
        let mut done = 0;
        loop {
            let len = (n - done).min((self.dims[last] - index[last]) as usize);
            f(done, at as isize, self.strides[last] as isize, len);
            done += len;
            if done == n {
                return;
            }
            at -= index[last] * self.strides[last];
            index[last] = 0;
            for d in (0..last).rev() {
                index[d] += 1;
                at += self.strides[d];
                if index[d] < self.dims[d] {
                    break;
                }
                at -= index[d] * self.strides[d];
                index[d] = 0;
            }
        }
    }
}
