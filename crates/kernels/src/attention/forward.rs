//! The forward: for each panel of queries, scores of a block of keys (transposed: a key is a row), their
//! exponentials, and their product with v, which needs no packing because weights leave the softmax as a panel.

use super::context::Context;
use super::desc::{AttentionDesc, ForwardPtrs};
use super::scores::Softmax;
use crate::gemm::kernel::Core;
use crate::gemm::scratch::Scratch;
use crate::pool::Pool;

/// Keys of a block: its scores stay in the first-level cache. A multiple of every [`Core::mr`], so that blocks begin
/// with whole panels, and of 2.
const KEYS: usize = 252;
/// Queries of a chunk, for which k and v are packed once.
const QUERIES: usize = 512;

/// [`forward`](super::forward) by inner kernels.
///
/// # Safety
/// As [`forward`](super::forward).
pub(super) unsafe fn run(pool: &Pool, core: &Core, desc: &AttentionDesc, ptrs: &ForwardPtrs) {
    let context = Context::new(core, desc, ptrs);
    let queries = if pool.threads() == 1 { QUERIES * 8 } else { QUERIES };
    let per_head = desc.queries.div_ceil(queries);
    let chunk = |c: usize, _: usize| {
        let (bh, part) = (c / per_head, c % per_head);
        let first = part * queries;
        let range = first..(first + queries).min(desc.queries);
        // SAFETY: the contract is the caller's; chunks own different queries.
        unsafe { head(&context, bh / desc.heads, bh % desc.heads, range) }
    };
    pool.run(desc.batch * desc.heads * per_head, &chunk);
}

/// Queries `range` of one head.
///
/// # Safety
/// As [`run`].
unsafe fn head(c: &Context, b: usize, h: usize, range: std::ops::Range<usize>) {
    let d = c.desc;
    let core = c.core;
    let (mr, nr) = (core.mr, core.nr);
    let (dim, value) = (d.head_dim, d.value_dim);
    let limit = if d.causal { d.keys.min(range.end) } else { d.keys };
    let kv = c.kv_head(h);
    let k = c.rows(c.ptrs.k, &d.k, b, kv);
    let v = c.rows(c.ptrs.v, &d.v, b, kv);
    let q = c.rows(c.ptrs.q, &d.q, b, h);
    let es = d.dtype.size();
    let dim_units = core.units(dim);
    let k_panels = Scratch::words(limit.next_multiple_of(mr) * dim_units);
    let v_rows = value.next_multiple_of(mr);
    let v_panels = Scratch::words(limit.next_multiple_of(KEYS) * v_rows);
    let scores = Scratch::words(KEYS.next_multiple_of(mr) * nr);
    let q_panel = Scratch::words(dim_units * nr);
    let sums = Scratch::words(value * nr + 3 * nr);
    let extra = Scratch::words(3 * KEYS * nr);
    let block_units = core.units(KEYS) * v_rows;
    // SAFETY: panels are packed for `limit` keys; the scratch sizes are those the loops below reach.
    unsafe {
        core.pack(mr, k.ptr, (k.lane, k.depth), limit, dim, k_panels.ptr());
        for (i, k0) in (0..limit).step_by(KEYS).enumerate() {
            let n = KEYS.min(limit - k0);
            let to = v_panels.ptr::<u32>().add(i * block_units);
            core.pack(mr, v.at(k0, 0, es), (v.depth, v.lane), value, n, to);
        }
    }
    let (kp, vp) = (k_panels.ptr::<u32>(), v_panels.ptr::<u32>());
    let (s, o) = (scores.ptr::<f32>(), sums.ptr::<f32>());
    let max = o.wrapping_add(value * nr);
    let (sum, correction) = (max.wrapping_add(nr), max.wrapping_add(2 * nr));
    let bias = extra.ptr::<f32>();
    let words = extra.ptr::<u32>().wrapping_add(KEYS * nr);
    let spare = words.wrapping_add(KEYS * nr);
    for q0 in range.step_by(nr) {
        let lanes = nr.min(d.queries - q0);
        let end = if d.causal { limit.min(q0 + lanes) } else { limit };
        // SAFETY: the panel's queries, keys and values are inside the operands, blocks inside the scratch, and the
        // results' rows are this chunk's.
        unsafe {
            (core.pack_b)(q.at(q0, 0, es), q.lane, q.depth, lanes, dim, q_panel.ptr());
            for l in 0..nr {
                *max.add(l) = f32::NEG_INFINITY;
                *sum.add(l) = 0.0;
            }
            for (i, k0) in (0..end).step_by(KEYS).enumerate() {
                let keys = KEYS.min(end - k0);
                for r in (0..keys).step_by(mr) {
                    let a = kp.add((k0 + r) * dim_units);
                    let rows = mr.min(keys - r);
                    (core.tile)(rows, nr, dim_units, a, q_panel.ptr(), s.add(r * nr), nr, false);
                }
                let (at, block) = ((b, h), (k0, keys));
                let x = Softmax {
                    s,
                    keys,
                    causal: (d.causal && k0 + keys > q0).then(|| k0 as isize - q0 as isize),
                    scale: d.scale as f32,
                    bias: c.bias(at, (q0, lanes), block, true, bias),
                    words: c.words(at, (q0, lanes), block, true, words, spare),
                    keep: c.keep(),
                    max,
                    sum,
                    correction,
                    raise: c.loops.scale,
                };
                (c.loops.softmax)(&x);
                if core.per_unit == 2 {
                    (c.loops.pair)(s, keys);
                }
                if i > 0 {
                    (c.loops.rescale)(o, value, correction);
                }
                let units = core.units(keys);
                let stride = core.units(KEYS.min(limit - k0)) * mr;
                for r in (0..value).step_by(mr) {
                    let a = vp.add(i * block_units + r / mr * stride);
                    let rows = mr.min(value - r);
                    (core.tile)(rows, nr, units, a, s.cast(), o.add(r * nr), nr, i > 0);
                }
            }
            let lse = c.ptrs.lse.cast::<f32>().add((b * d.heads + h) * d.queries + q0);
            for l in 0..nr {
                let total = *sum.add(l);
                if l < lanes {
                    *lse.add(l) = *max.add(l) + total.ln();
                }
                *correction.add(l) = if total == 0.0 { 0.0 } else { 1.0 / total };
            }
            if end == 0 {
                std::ptr::write_bytes(o, 0, value * nr);
            }
            (c.loops.rescale)(o, value, correction);
            c.store_panel(o, value, lanes, q0, (c.ptrs.out, &d.out), (b, h));
        }
    }
}
