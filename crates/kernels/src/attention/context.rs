//! What forward and backward share: kernels, addresses, biases and random words of a block.

use tnrs_types::DType;

use super::desc::{AttentionDesc, ForwardPtrs, Strides4};
use super::scores::Loops;
use crate::copy::transpose::transpose;
use crate::gemm::driver::Operand;
use crate::gemm::epilogue::Epilogue;
use crate::gemm::kernel::Core;
use crate::gemm::scratch::Scratch;
use crate::philox;

/// One call, seen from any thread.
pub(super) struct Context<'a> {
    pub(super) core: &'a Core,
    pub(super) desc: &'a AttentionDesc,
    pub(super) ptrs: ForwardPtrs,
    pub(super) loops: Loops,
    bias_core: Option<Core>,
}

// SAFETY: operands are only read, and every thread writes its own rows of the results.
unsafe impl Sync for Context<'_> {}

/// The address of (b, h, row 0).
pub(super) fn head(p: *const u8, dtype: DType, s: &Strides4, b: usize, h: usize) -> *const u8 {
    p.wrapping_offset((b as isize * s.b + h as isize * s.h) * dtype.size() as isize)
}

impl<'a> Context<'a> {
    pub(super) fn new(core: &'a Core, desc: &'a AttentionDesc, ptrs: &ForwardPtrs) -> Context<'a> {
        Context {
            core,
            desc,
            ptrs: *ptrs,
            loops: Loops::new(core.isa, core.nr),
            bias_core: desc.bias.map(|(dtype, _)| Core::new(core.isa, dtype, false)),
        }
    }

    /// The key head of a query head.
    pub(super) fn kv_head(&self, h: usize) -> usize {
        h / (self.desc.heads / self.desc.kv_heads)
    }

    /// An operand whose lanes are rows of a (b, h) matrix and whose depth runs along them.
    pub(super) fn rows(&self, p: *const u8, s: &Strides4, b: usize, h: usize) -> Operand {
        Operand { ptr: head(p, self.desc.dtype, s, b, h), lane: s.r, depth: s.d }
    }

    /// Writes biases of lanes `lanes` (first, count) and rows `rows` into `[row][nr]`; null without bias. `turned`:
    /// lanes are queries, else keys.
    ///
    /// # Safety
    /// The range must lie in the bias, and `to` hold the rows.
    pub(super) unsafe fn bias(
        &self,
        (b, h): (usize, usize),
        lanes: (usize, usize),
        rows: (usize, usize),
        turned: bool,
        to: *mut f32,
    ) -> *const f32 {
        let (Some((dtype, s)), Some(core)) = (&self.desc.bias, &self.bias_core) else {
            return std::ptr::null();
        };
        let (lane, depth) = if turned { (s.r, s.d) } else { (s.d, s.r) };
        let o = Operand { ptr: head(self.ptrs.bias, *dtype, s, b, h), lane, depth };
        let from = o.at(lanes.0, rows.0, dtype.size());
        // SAFETY: the contract is the caller's.
        unsafe { (core.pack_b)(from, lane, depth, lanes.1, rows.1, to.cast()) };
        to
    }

    /// Writes the dropout words of a block as [`Context::bias`] does biases; null without dropout. `spare` holds
    /// as many words as `to`.
    ///
    /// # Safety
    /// Both must hold the larger of rows·nr and lanes·rows words.
    pub(super) unsafe fn words(
        &self,
        (b, h): (usize, usize),
        queries: (usize, usize),
        keys: (usize, usize),
        turned: bool,
        to: *mut u32,
        spare: *mut u32,
    ) -> *const u32 {
        let d = self.desc;
        if d.dropout == 0.0 {
            return std::ptr::null();
        }
        let nr = self.core.nr;
        let base = ((b * d.heads + h) * d.queries + queries.0) * d.keys + keys.0;
        for i in 0..queries.1 {
            // In the turned form query i is a row here and becomes a lane below.
            let (row, width) = if turned { (spare, keys.1) } else { (to, nr) };
            let first = (base + i * d.keys) as u64;
            // SAFETY: the contract is the caller's.
            unsafe {
                philox::fill(row.add(i * width), self.ptrs.seed, self.ptrs.offset, first, keys.1);
            }
        }
        if turned {
            // SAFETY: `spare` holds queries × keys words, `to` keys rows of nr.
            unsafe {
                transpose(
                    self.core.isa,
                    4,
                    keys.1,
                    queries.1,
                    to.cast(),
                    nr as isize,
                    spare.cast(),
                    keys.1 as isize,
                );
            }
        }
        to
    }

    /// Probability of keeping a weight.
    pub(super) fn keep(&self) -> f32 {
        (1.0 - self.desc.dropout) as f32
    }

    /// Stores a panel `[d][nr]`, lanes being rows, into rows `first..first + lanes` of a (b, h) matrix.
    ///
    /// # Safety
    /// The panel must hold `dims` rows of nr; the place must be writable.
    pub(super) unsafe fn store_panel(
        &self,
        panel: *const f32,
        dims: usize,
        lanes: usize,
        first: usize,
        to: (*mut u8, &Strides4),
        (b, h): (usize, usize),
    ) {
        let nr = self.core.nr;
        let turned = Scratch::words(nr * dims);
        let p = head(to.0, self.desc.dtype, to.1, b, h).cast_mut();
        let store = Epilogue::store(self.core.isa, p, self.desc.dtype, to.1.r, to.1.d);
        // SAFETY: the scratch holds nr rows of `dims`; the rest is the caller's contract.
        unsafe {
            let t = turned.ptr::<f32>();
            transpose(self.core.isa, 4, lanes, dims, t.cast(), dims as isize, panel.cast(), nr as isize);
            store.finish(t, dims, (first, 0), (lanes, dims));
        }
    }
}
