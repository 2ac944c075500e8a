//! The backward: scores are computed again from q, k and lse, block by block, and every gradient is a product whose
//! right operand is a block of weights or of their gradients, used as the panel it already is.
//!
//! One thread owns a key head with all its query heads, so that every sum has one order.

use super::context::{head, Context};
use super::desc::{BackwardDesc, BackwardPtrs, Strides4};
use super::scores::Gradient;
use crate::gemm::driver::Operand;
use crate::gemm::epilogue::Epilogue;
use crate::gemm::float::{Bf16, Elem, F16};
use crate::gemm::kernel::Core;
use crate::gemm::scratch::Scratch;
use crate::pool::Pool;
use tnrs_types::DType;

/// Queries of a block. A multiple of 2 and of every [`Core::nr`].
const QUERIES: usize = 128;
/// Panels of keys that are gone through before the gradient of q is advanced.
const KEY_PANELS: usize = 4;

/// [`backward`](super::backward) by inner kernels.
///
/// # Safety
/// As [`backward`](super::backward).
pub(super) unsafe fn run(pool: &Pool, core: &Core, desc: &BackwardDesc, ptrs: &BackwardPtrs) {
    let d = &desc.forward;
    let call = Call { context: Context::new(core, d, &ptrs.forward), desc, ptrs: *ptrs };
    let chunk = |i: usize, _: usize| {
        // SAFETY: the contract is the caller's; chunks own different heads of k and v and their query heads.
        unsafe { group(&call, i / d.kv_heads, i % d.kv_heads) }
    };
    pool.run(d.batch * d.kv_heads, &chunk);
}

struct Call<'a> {
    context: Context<'a>,
    desc: &'a BackwardDesc,
    ptrs: BackwardPtrs,
}

// SAFETY: operands are only read, and every thread writes its own parts of the results.
unsafe impl Sync for Call<'_> {}

/// Packed keys and values of one key head, and the sums of their gradients.
struct KeySide {
    /// Panels of nr keys along d.
    k: *const u32,
    /// Panels of nr keys along dv.
    v: *const u32,
    /// For each block of keys, panels of mr elements of d along keys.
    kd: *const u32,
    /// For each panel of nr keys, `[d][nr]`.
    dk: *mut f32,
    /// For each panel of nr keys, `[dv][nr]`.
    dv: *mut f32,
}

/// One key head.
///
/// # Safety
/// As [`run`].
unsafe fn group(call: &Call, b: usize, kv: usize) {
    let c = &call.context;
    let d = c.desc;
    let core = c.core;
    let (mr, nr) = (core.mr, core.nr);
    let (dim, value) = (d.head_dim, d.value_dim);
    let panels = d.keys.div_ceil(nr);
    let block = KEY_PANELS * nr;
    let (dim_units, value_units) = (core.units(dim), core.units(value));
    let kd_block = core.units(block) * dim.next_multiple_of(mr);
    let k = c.rows(c.ptrs.k, &d.k, b, kv);
    let v = c.rows(c.ptrs.v, &d.v, b, kv);
    let packed_k = Scratch::words(panels * nr * dim_units);
    let packed_v = Scratch::words(panels * nr * value_units);
    let packed_kd = Scratch::words(d.keys.div_ceil(block) * kd_block);
    let dk = Scratch::words(panels * nr * dim);
    let dv = Scratch::words(panels * nr * value);
    let side =
        KeySide { k: packed_k.ptr(), v: packed_v.ptr(), kd: packed_kd.ptr(), dk: dk.ptr(), dv: dv.ptr() };
    // SAFETY: the scratch sizes are those of the panels; the rest is the caller's contract.
    unsafe {
        core.pack(nr, k.ptr, (k.lane, k.depth), d.keys, dim, packed_k.ptr());
        core.pack(nr, v.ptr, (v.lane, v.depth), d.keys, value, packed_v.ptr());
        for (i, k0) in (0..d.keys).step_by(block).enumerate() {
            let n = block.min(d.keys - k0);
            let from = k.at(k0, 0, d.dtype.size());
            let to = packed_kd.ptr::<u32>().add(i * kd_block);
            core.pack(mr, from, (k.depth, k.lane), dim, n, to);
        }
        std::ptr::write_bytes(side.dk, 0, panels * nr * dim);
        std::ptr::write_bytes(side.dv, 0, panels * nr * value);
        let heads = d.heads / d.kv_heads;
        for h in kv * heads..(kv + 1) * heads {
            query_head(call, &side, b, h);
        }
        let scale = vec![d.scale as f32; nr];
        for p in 0..panels {
            let lanes = nr.min(d.keys - p * nr);
            let (dk, dv) = (side.dk.add(p * nr * dim), side.dv.add(p * nr * value));
            (c.loops.rescale)(dk, dim, scale.as_ptr());
            let to = (call.ptrs.dk, &call.desc.dk);
            c.store_panel(dk, dim, lanes, p * nr, to, (b, kv));
            let to = (call.ptrs.dv, &call.desc.dv);
            c.store_panel(dv, value, lanes, p * nr, to, (b, kv));
        }
    }
}

/// Packs of one block of queries and the blocks computed from them.
struct QuerySide {
    /// Panels of mr queries along d.
    q: Scratch,
    /// Panels of mr queries along dv.
    dout: Scratch,
    /// Panels of mr elements of d along queries.
    qd: Scratch,
    /// Panels of mr elements of dv along queries.
    doutd: Scratch,
    /// Scores and weights, `[query][nr]`.
    s: Scratch,
    /// Gradients, `[query][nr]`.
    dp: Scratch,
    /// For each panel of nr queries, gradients `[key][nr]` of a block of keys.
    turned: Scratch,
    /// For each panel of nr queries, `[d][nr]`.
    dq: Scratch,
    /// Biases and random words of a panel of keys.
    extra: Scratch,
    /// lse and Σ dout·out of the block.
    rows: Scratch,
}

/// One query head: its gradient of q, its share of those of k and v.
///
/// # Safety
/// As [`run`].
unsafe fn query_head(call: &Call, side: &KeySide, b: usize, h: usize) {
    let c = &call.context;
    let d = c.desc;
    let core = c.core;
    let (mr, nr) = (core.mr, core.nr);
    let (dim, value) = (d.head_dim, d.value_dim);
    let (dim_units, value_units) = (core.units(dim), core.units(value));
    let rows = QUERIES.next_multiple_of(mr);
    let depth = core.units(QUERIES);
    let mem = QuerySide {
        q: Scratch::words(rows * dim_units),
        dout: Scratch::words(rows * value_units),
        qd: Scratch::words(dim.next_multiple_of(mr) * depth),
        doutd: Scratch::words(value.next_multiple_of(mr) * depth),
        s: Scratch::words(rows * nr),
        dp: Scratch::words(rows * nr),
        turned: Scratch::words(QUERIES * KEY_PANELS * nr),
        dq: Scratch::words(QUERIES * dim),
        extra: Scratch::words(2 * rows * nr),
        rows: Scratch::words(2 * QUERIES),
    };
    let q = c.rows(c.ptrs.q, &d.q, b, h);
    let dout = c.rows(call.ptrs.dout, &call.desc.dout, b, h);
    let es = d.dtype.size();
    let lse = c.ptrs.lse.cast::<f32>().wrapping_add((b * d.heads + h) * d.queries);
    for q0 in (0..d.queries).step_by(QUERIES) {
        let n = QUERIES.min(d.queries - q0);
        let (lse_block, delta) = (mem.rows.ptr::<f32>(), mem.rows.ptr::<f32>().wrapping_add(QUERIES));
        // SAFETY: the block's rows are inside the operands; scratch sizes are those of the packs.
        unsafe {
            let (from, dfrom) = (q.at(q0, 0, es), dout.at(q0, 0, es));
            core.pack(mr, from, (q.lane, q.depth), n, dim, mem.q.ptr());
            core.pack(mr, dfrom, (dout.lane, dout.depth), n, value, mem.dout.ptr());
            core.pack(mr, from, (q.depth, q.lane), dim, n, mem.qd.ptr());
            core.pack(mr, dfrom, (dout.depth, dout.lane), value, n, mem.doutd.ptr());
            for i in 0..n {
                *lse_block.add(i) = *lse.add(q0 + i);
                *delta.add(i) = inner(call, b, h, q0 + i);
            }
            std::ptr::write_bytes(mem.dq.ptr::<f32>(), 0, QUERIES * dim);
            keys(call, side, &mem, (b, h), (q0, n));
            let scale = vec![d.scale as f32; nr];
            for p in 0..n.div_ceil(nr) {
                let panel = mem.dq.ptr::<f32>().add(p * nr * dim);
                (c.loops.rescale)(panel, dim, scale.as_ptr());
                let to = (call.ptrs.dq, &call.desc.dq);
                c.store_panel(panel, dim, nr.min(n - p * nr), q0 + p * nr, to, (b, h));
            }
        }
    }
}

/// All keys against one block of queries `(first, count)`.
///
/// # Safety
/// As [`run`]; `mem` holds the block.
unsafe fn keys(
    call: &Call,
    side: &KeySide,
    mem: &QuerySide,
    (b, h): (usize, usize),
    (q0, n): (usize, usize),
) {
    let c = &call.context;
    let d = c.desc;
    let core = c.core;
    let (mr, nr) = (core.mr, core.nr);
    let (dim, value) = (d.head_dim, d.value_dim);
    let (dim_units, value_units) = (core.units(dim), core.units(value));
    let depth = core.units(n);
    let block = KEY_PANELS * nr;
    let (s, dp) = (mem.s.ptr::<f32>(), mem.dp.ptr::<f32>());
    let (lse, delta) = (mem.rows.ptr::<f32>(), mem.rows.ptr::<f32>().wrapping_add(QUERIES));
    let limit = if d.causal { d.keys.min(q0 + n) } else { d.keys };
    let turned_panel = block * nr;
    let kd_block = core.units(block) * dim.next_multiple_of(mr);
    for (kb, k0) in (0..limit).step_by(block).enumerate() {
        let block_keys = block.min(d.keys - k0);
        let used = block.min(limit - k0);
        for j in (0..used).step_by(nr) {
            let key = k0 + j;
            let lanes = nr.min(d.keys - key);
            let panel = key / nr;
            // Earlier queries see none of these keys; whole panels of them are left out.
            let skip = if d.causal { key.saturating_sub(q0) / mr * mr } else { 0 };
            let live = n - skip;
            // SAFETY: rows skip..n and the panel are inside the packs and blocks.
            unsafe {
                let (kp, vp) = (side.k.add(panel * nr * dim_units), side.v.add(panel * nr * value_units));
                for r in (skip..n).step_by(mr) {
                    let h = mr.min(n - r);
                    let a = mem.q.ptr::<u32>().add(r * dim_units);
                    (core.tile)(h, nr, dim_units, a, kp, s.add(r * nr), nr, false);
                    let a = mem.dout.ptr::<u32>().add(r * value_units);
                    (core.tile)(h, nr, value_units, a, vp, dp.add(r * nr), nr, false);
                }
                let (at, queries) = ((b, h), (q0 + skip, live));
                let (bias, words) = (mem.extra.ptr::<f32>(), mem.extra.ptr::<u32>().add(QUERIES * nr));
                let x = Gradient {
                    s: s.add(skip * nr),
                    dp: dp.add(skip * nr),
                    queries: live,
                    keys: lanes,
                    causal: d.causal.then(|| (q0 + skip) as isize - key as isize),
                    scale: d.scale as f32,
                    bias: c.bias(at, (key, lanes), queries, false, bias),
                    words: c.words(at, queries, (key, lanes), false, words, words),
                    keep: c.keep(),
                    lse: lse.add(skip),
                    delta: delta.add(skip),
                };
                (c.loops.gradient)(&x);
                store_bias(call, at, (q0, n, skip), (key, lanes), dp);
                // Gradients of k are taken from rows, those of q from columns of the same block.
                for p in 0..n.div_ceil(nr) {
                    let to = mem.turned.ptr::<f32>().add(p * turned_panel + j * nr);
                    let (first, end) = (p * nr, (p * nr + nr).min(n));
                    if first < skip {
                        std::ptr::write_bytes(to, 0, nr * nr);
                    }
                    let from = first.max(skip);
                    if from < end {
                        crate::copy::transpose::transpose(
                            core.isa,
                            4,
                            nr,
                            end - from,
                            to.add(from - first).cast(),
                            nr as isize,
                            dp.add(from * nr).cast(),
                            nr as isize,
                        );
                    }
                }
                if core.per_unit == 2 {
                    (c.loops.pair)(s.add(skip * nr), live);
                    (c.loops.pair)(dp.add(skip * nr), live);
                }
                let (first, units) = (skip / core.per_unit, core.units(live));
                for r in (0..value).step_by(mr) {
                    let a = mem.doutd.ptr::<u32>().add(r * depth + first * mr);
                    let to = side.dv.add((panel * value + r) * nr);
                    (core.tile)(mr.min(value - r), nr, units, a, s.add(skip * nr).cast(), to, nr, true);
                }
                for r in (0..dim).step_by(mr) {
                    let a = mem.qd.ptr::<u32>().add(r * depth + first * mr);
                    let to = side.dk.add((panel * dim + r) * nr);
                    (core.tile)(mr.min(dim - r), nr, units, a, dp.add(skip * nr).cast(), to, nr, true);
                }
            }
        }
        let units = core.units(used);
        let stride = core.units(block_keys) * mr;
        for p in 0..n.div_ceil(nr) {
            // SAFETY: as above.
            unsafe {
                let ds = mem.turned.ptr::<f32>().add(p * turned_panel);
                if core.per_unit == 2 {
                    (c.loops.pair)(ds, used);
                }
                for r in (0..dim).step_by(mr) {
                    let a = side.kd.add(kb * kd_block + r / mr * stride);
                    let to = mem.dq.ptr::<f32>().add((p * dim + r) * nr);
                    (core.tile)(mr.min(dim - r), nr, units, a, ds.cast(), to, nr, true);
                }
            }
        }
    }
    // SAFETY: masked places of the bias's gradient inside this block of queries.
    unsafe { clear_bias(call, (b, h), (q0, n), limit) }
}

/// The store of a bias gradient, if one is wanted.
fn bias_store(call: &Call, (b, h): (usize, usize)) -> Option<Epilogue> {
    let (dtype, s): (DType, &Strides4) = match &call.desc.dbias {
        Some((dtype, s)) => (*dtype, s),
        None => return None,
    };
    let p = head(call.ptrs.dbias, dtype, s, b, h).cast_mut();
    Some(Epilogue::store(call.context.core.isa, p, dtype, s.r, s.d))
}

/// Writes the bias gradient of a panel of keys; rows before `skip` of the block are zero.
///
/// # Safety
/// As [`run`]; `dp` holds the block.
unsafe fn store_bias(
    call: &Call,
    at: (usize, usize),
    (q0, n, skip): (usize, usize, usize),
    (key, lanes): (usize, usize),
    dp: *mut f32,
) {
    let nr = call.context.core.nr;
    if let Some(store) = bias_store(call, at) {
        // SAFETY: the block has n rows; its place in the gradient is this thread's.
        unsafe {
            std::ptr::write_bytes(dp, 0, skip * nr);
            store.finish(dp, nr, (q0, key), (n, lanes));
        }
    }
}

/// Zeroes the bias gradient of keys that no query of the block sees.
///
/// # Safety
/// As [`run`].
unsafe fn clear_bias(call: &Call, at: (usize, usize), (q0, n): (usize, usize), limit: usize) {
    let c = &call.context;
    let Some(store) = bias_store(call, at) else {
        return;
    };
    let zeros = [0f32; 64];
    let first = limit.next_multiple_of(c.core.nr);
    for i in 0..n {
        for j in (first..c.desc.keys).step_by(64) {
            let width = 64.min(c.desc.keys - j);
            // SAFETY: inside the gradient.
            unsafe { store.finish(zeros.as_ptr(), 64, (q0 + i, j), (1, width)) }
        }
    }
}

/// Σ dout·out of one query.
///
/// # Safety
/// The row must be one of the head's.
unsafe fn inner(call: &Call, b: usize, h: usize, row: usize) -> f32 {
    let d = &call.desc.forward;
    let x = call.context.rows(call.ptrs.forward.out, &d.out, b, h);
    let y = call.context.rows(call.ptrs.dout, &call.desc.dout, b, h);
    // SAFETY: the contract is the caller's.
    unsafe {
        match d.dtype {
            DType::BF16 => dot::<Bf16>(x, y, row, d.value_dim),
            DType::F16 => dot::<F16>(x, y, row, d.value_dim),
            _ => dot::<f32>(x, y, row, d.value_dim),
        }
    }
}

/// The inner product of row `row` of two operands of type `T`.
///
/// # Safety
/// Both rows must be readable for `n` elements.
unsafe fn dot<T: Elem>(x: Operand, y: Operand, row: usize, n: usize) -> f32 {
    let (p, q) = (x.at(row, 0, size_of::<T>()).cast::<T>(), y.at(row, 0, size_of::<T>()).cast::<T>());
    // Several partial sums, so that additions need not wait for each other.
    let mut sums = [0f32; 8];
    for i in 0..n {
        // SAFETY: element i is inside both rows.
        unsafe {
            let a = (*p.offset(i as isize * x.depth)).get();
            sums[i % 8] += a * (*q.offset(i as isize * y.depth)).get();
        }
    }
    sums.iter().sum()
}
