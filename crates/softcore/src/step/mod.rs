//! What a plan is made of: steps that run one after another, and the pointers they run on.

pub(crate) mod call;
pub(crate) mod copy;
pub(crate) mod gemm;
pub(crate) mod moves;
pub(crate) mod program;
pub(crate) mod reduce;
pub(crate) mod region;

use tnrs_hal::Fault;
use tnrs_kernels::pool;

use crate::view::Buf;

/// A byte of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Loc {
    pub buf: Buf,
    pub off: i64,
}

/// The base address of every buffer during one run.
pub(crate) struct Cx<'a> {
    bases: &'a [*mut u8],
}

// SAFETY: the addresses are shared among the threads of one run, each of which writes only what its chunk owns; the
// caller of `Executable::run` promises that nobody else touches the memory.
unsafe impl Sync for Cx<'_> {}

impl<'a> Cx<'a> {
    pub fn new(bases: &'a [*mut u8]) -> Self {
        Cx { bases }
    }

    /// The address of `loc`.
    #[inline(always)]
    pub fn at(&self, loc: Loc) -> *mut u8 {
        self.bases[loc.buf as usize].wrapping_offset(loc.off as isize)
    }
}

/// One step of a plan.
pub(crate) trait Step: Send + Sync {
    /// Runs to completion.
    ///
    /// # Safety
    /// `cx` holds the base address of each buffer the step was built for, valid for the extent of the step's views,
    /// and nobody else writes what the step reads or writes.
    unsafe fn run(&self, cx: &Cx) -> Result<(), Fault>;
    /// Estimated nanoseconds on one core.
    fn cost_ns(&self) -> u64;
}

/// Work below this many nanoseconds runs on the caller: waking a worker costs several microseconds.
pub(crate) const PARALLEL_NS: u64 = 30_000;
/// Work of one chunk, when there is more than one.
const CHUNK_NS: u64 = 15_000;
/// Most chunks of a step.
const MAX_CHUNKS: u64 = 256;

/// Into how many chunks to cut `units` equal units that cost `cost_ns` together. Independent of the thread count.
pub(crate) fn chunks(cost_ns: u64, units: u64) -> u64 {
    if cost_ns < PARALLEL_NS {
        return 1;
    }
    (cost_ns / CHUNK_NS).clamp(2, MAX_CHUNKS).min(units.max(1))
}

/// Runs `f(lo, hi)` on `pieces` equal ranges of `[0, total)`, on the threads there are.
pub(crate) fn share(total: i64, pieces: i64, f: &(dyn Fn(i64, i64) + Sync)) {
    if pieces <= 1 || pool::global().threads() == 1 {
        f(0, total);
        return;
    }
    pool::global().run(pieces as usize, &|c, _| {
        let c = c as i64;
        f(total * c / pieces, total * (c + 1) / pieces);
    });
}
