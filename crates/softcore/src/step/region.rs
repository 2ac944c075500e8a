//! A fused elementwise region.

use std::mem::MaybeUninit;

use tnrs_hal::Fault;
use tnrs_kernels::pool;

use super::program::{exec, Machine, Program, Scratch};
use super::{Cx, Step};

/// Operands of a program that runs without the general machine's tables.
const FEW: usize = 8;

/// A tile program that writes its outputs itself.
pub(crate) struct Region {
    pub program: Program,
    pub cost: u64,
    pub chunks: u64,
}

impl Step for Region {
    #[inline]
    unsafe fn run(&self, cx: &Cx) -> Result<(), Fault> {
        let p = &self.program;
        if p.outer.is_empty() && p.inner <= p.tile as i64 && p.operands.len() <= FEW && p.regs.is_empty() {
            let mut slots = [const { MaybeUninit::uninit() }; FEW];
            for (slot, o) in slots.iter_mut().zip(&p.operands) {
                *slot = MaybeUninit::new(o.start(cx));
            }
            // SAFETY: the caller's promise; the one tile covers the region, every operand's slot is filled, and the
            // program has no register.
            unsafe {
                exec(&slots, &p.row, 0, p.inner as usize);
                exec(&slots, &p.body, 0, p.inner as usize);
            }
            return Ok(());
        }
        let units = (p.rows() * p.tiles_per_row()) as u64;
        if self.chunks == 1 || pool::global().threads() == 1 {
            // SAFETY: the caller's promise.
            unsafe { units_of(p, cx, 0, units as i64) };
            return Ok(());
        }
        let chunks = self.chunks;
        pool::global().run(chunks as usize, &|chunk, _| {
            let lo = units * chunk as u64 / chunks;
            let hi = units * (chunk as u64 + 1) / chunks;
            // SAFETY: the caller's promise; chunks are disjoint ranges of tiles, and a tile reads and writes only its
            // own elements.
            unsafe { units_of(p, cx, lo as i64, hi as i64) };
        });
        Ok(())
    }

    fn cost_ns(&self) -> u64 {
        self.cost
    }
}

/// Runs tiles `[lo, hi)`, counted row by row.
///
/// # Safety
/// As [`Step::run`], for these tiles.
#[inline(never)]
unsafe fn units_of(p: &Program, cx: &Cx, lo: i64, hi: i64) {
    let mut scratch = Scratch::new();
    let mut m = Machine::new(p, cx, scratch.ptr());
    let per_row = p.tiles_per_row();
    let tile = p.tile as i64;
    let mut t = lo % per_row;
    let mut left = hi - lo;
    if lo >= per_row {
        m.seek(lo / per_row);
    }
    while left > 0 {
        // SAFETY: the caller's promise.
        unsafe { m.begin_row(tile.min(p.inner) as usize) };
        while t < per_row && left > 0 {
            let start = t * tile;
            // SAFETY: the caller's promise; the tile ends within the row.
            unsafe { m.tile(start, tile.min(p.inner - start) as usize) };
            t += 1;
            left -= 1;
        }
        t = 0;
        if left > 0 {
            m.next_row();
        }
    }
}
