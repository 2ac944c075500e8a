//! Convolution by inner kernels: kernel rows are A, output positions the columns of B.

use tnrs_types::Dims;

use super::desc::{ConvDesc, ConvPtrs};
use super::pack::{pack, Order};
use super::window::Table;
use crate::copy::copy;
use crate::copy::transpose::transpose;
use crate::gemm::driver::Shared;
use crate::gemm::epilogue::{activation, Epilogue};
use crate::gemm::kernel::Core;
use crate::gemm::scratch::Scratch;
use crate::pool::Pool;

/// Units of k in one pass over a tile.
const KC: usize = 256;
/// Most panels of output positions in a chunk: the packed kernel is read once for all of them.
const PANELS: usize = 16;
/// Words of a chunk's sums, which stay in the second-level cache.
const SUMS: usize = 1 << 17;

/// Numbers of one call.
struct Call<'a> {
    core: &'a Core,
    desc: &'a ConvDesc,
    ptrs: ConvPtrs,
    order: Order,
    /// Output features of a group.
    rows: usize,
    groups: usize,
    /// Output positions, all batches.
    columns: usize,
    /// Output positions that follow each other at one stride.
    run: usize,
    /// Units of k of one block, and blocks.
    kc: usize,
    /// Packed kernel: `[group][k block]` panels of mr rows.
    kernel: *const u32,
    /// Words of a group's packed kernel.
    group_words: usize,
}

// SAFETY: operands are only read, and every thread writes its own output positions.
unsafe impl Sync for Call<'_> {}

/// [`conv`](super::conv) by inner kernels.
///
/// # Safety
/// As [`conv`](super::conv).
pub(super) unsafe fn run(pool: &Pool, core: &Core, desc: &ConvDesc, ptrs: &ConvPtrs) {
    let groups = desc.feature_groups * desc.batch_groups;
    let out_batch = desc.batch / desc.batch_groups;
    let features = desc.in_features / desc.feature_groups;
    let table = Table::new(desc, core.nr);
    let order = Order {
        features,
        taps: table.taps.len(),
        features_last: desc.input_strides[1] == 1 && features > 1,
        stride: desc.input_strides[1] as isize,
    };
    let space = desc.output.iter().product::<i64>() as usize;
    let rows = desc.out_features / groups;
    let k = order.len();
    let units = core.units(k);
    let kc = units.div_ceil(units.div_ceil(KC).max(1)).next_multiple_of(4).max(4);
    let group_words = rows.next_multiple_of(core.mr) * units;
    let packed = Scratch::words(groups * group_words);
    // SAFETY: the contract is the caller's; `packed` holds every group.
    unsafe { pack_kernel(pool, core, desc, ptrs, &table, &order, core.mr, kc, packed.ptr()) };
    let call = Call {
        core,
        desc,
        ptrs: *ptrs,
        order,
        rows,
        groups,
        columns: out_batch * space,
        run: run_length(desc),
        kc,
        kernel: packed.ptr(),
        group_words,
    };
    if call.columns == 0 || rows == 0 {
        return;
    }
    let panels = call.columns.div_ceil(core.nr);
    let share = if pool.threads() == 1 { panels } else { panels.div_ceil(4 * pool.threads()) };
    let most = (SUMS / (rows * core.nr)).clamp(4, PANELS).min(share);
    let step = panels.div_ceil(panels.div_ceil(most)) * core.nr;
    pool.run(call.columns.div_ceil(step), &|c, _| {
        let first = c * step;
        // SAFETY: the contract is the caller's; chunks own different output positions.
        unsafe { columns(&call, first, step.min(call.columns - first)) }
    });
}

/// How many output positions of one image follow each other at the last spatial stride.
fn run_length(desc: &ConvDesc) -> usize {
    let mut run = 1;
    let strides = &desc.output_strides[2..];
    let Some(&last) = strides.last() else {
        return 1;
    };
    for (&n, &s) in desc.output.iter().zip(strides).rev() {
        if n != 1 && s != run * last {
            break;
        }
        run *= n;
    }
    run as usize
}

/// Packs the kernel of every group into panels of `width` rows, [`Core::mr`] or [`Core::nr`].
///
/// # Safety
/// As [`run`]; `to` must hold every group.
pub(super) unsafe fn pack_kernel(
    pool: &Pool,
    core: &Core,
    desc: &ConvDesc,
    ptrs: &ConvPtrs,
    table: &Table,
    order: &Order,
    width: usize,
    kc: usize,
    to: *mut u32,
) {
    let rows = desc.out_features / (desc.feature_groups * desc.batch_groups);
    let k = order.len();
    let es = desc.dtype.size();
    let outs = desc.out_features;
    let (row_stride, feature_stride) = (desc.kernel_strides[0], desc.kernel_strides[1]);
    // The kernel may already lie in the order of k.
    let taps = table.taps.len();
    let even =
        |inner: &dyn Fn(usize) -> isize, n: usize, step: isize| (0..n).all(|i| inner(i) == i as isize * step);
    let tap = |t: usize| table.taps[t];
    let single = if order.features_last {
        let step = if order.features > 1 { feature_stride as isize } else { 1 };
        even(&tap, taps, step * order.features as isize).then_some(step)
    } else {
        let step = if taps > 1 { table.taps[1] } else { feature_stride as isize };
        let follows = order.features == 1 || feature_stride as isize == step * taps as isize;
        (follows && even(&tap, taps, step)).then_some(step)
    };
    let dense;
    let (from, lane, depth) = match single {
        Some(step) => (ptrs.kernel, row_stride as isize, step),
        None => {
            dense = Scratch::new(outs * k * es);
            let (f, t) = if order.features_last { (1, order.features as i64) } else { (taps as i64, 1) };
            for (i, &element) in table.taps.iter().enumerate() {
                let dims = Dims::from_slice(&[outs as i64, order.features as i64]);
                let dst = dense.ptr::<u8>().wrapping_add(i * t as usize * es);
                let src = ptrs.kernel.wrapping_offset(element * es as isize);
                // SAFETY: one tap of every row and feature.
                unsafe {
                    let strides = [row_stride, feature_stride];
                    copy(pool, es, &dims, dst, &[k as i64, f], src, &strides);
                }
            }
            (dense.ptr::<u8>().cast_const(), k as isize, 1)
        }
    };
    let units = core.units(k);
    let panels = rows.next_multiple_of(width);
    let (shared, source) = (Shared(to), Shared(from.cast_mut()));
    pool.run(outs / rows.max(1), &|g, _| {
        for u in (0..units).step_by(kc) {
            let depth_units = kc.min(units - u);
            let d = u * core.per_unit;
            let n = (depth_units * core.per_unit).min(k - d);
            let at = (g * rows) as isize * lane + d as isize * depth;
            let src = source.ptr().wrapping_offset(at * es as isize);
            // SAFETY: rows and depth are inside the kernel, panels inside the destination.
            unsafe {
                let dst = shared.ptr().add(g * panels * units + u * panels);
                core.pack(width, src, (lane, depth), rows, n, dst);
            }
        }
    });
}

/// Output positions `first..first + count`, all features.
///
/// # Safety
/// As [`run`]; no other thread may write these positions.
unsafe fn columns(call: &Call, first: usize, count: usize) {
    let (core, desc) = (call.core, call.desc);
    let (mr, nr) = (core.mr, core.nr);
    let panels = count.div_ceil(nr);
    let k = call.order.len();
    let units = core.units(k);
    let es = desc.dtype.size() as isize;
    let mut tables: Vec<Table> = Vec::with_capacity(panels);
    for p in 0..panels {
        let mut table = Table::new(desc, nr);
        table.fill(desc, first + p * nr, nr.min(count - p * nr));
        tables.push(table);
    }
    // One panel is used up before the next is packed.
    let b = Scratch::words(nr * call.kc);
    let bp = b.ptr::<u32>();
    // Rows a power of two apart would compete for few places in the cache.
    let ld = panels * nr + 16;
    let sums = Scratch::words(call.rows * ld);
    let padded = call.rows.next_multiple_of(mr);
    let out_batch = desc.batch / desc.batch_groups;
    for g in 0..call.groups {
        let shift = if desc.batch_groups > 1 {
            (g * out_batch) as i64 * desc.input_strides[0]
        } else {
            (g * call.order.features) as i64 * desc.input_strides[1]
        };
        let input = call.ptrs.input.wrapping_offset(shift as isize * es);
        for u in (0..units.max(1)).step_by(call.kc) {
            let depth = call.kc.min(units - u);
            let range = (u * core.per_unit, ((u + depth) * core.per_unit).min(k));
            for (p, table) in tables.iter().enumerate() {
                // SAFETY: the panel's elements are inside the input; packs and sums have room for the block.
                unsafe {
                    pack(core, table, &call.order, input, range, bp);
                    for r in (0..call.rows).step_by(mr) {
                        let a = call.kernel.add(g * call.group_words + u * padded + r * depth);
                        let c = sums.ptr::<f32>().add(r * ld + p * nr);
                        (core.tile)(mr.min(call.rows - r), nr, depth, a, bp, c, ld, u > 0);
                    }
                }
            }
        }
        // SAFETY: the sums hold the positions; the output's are this thread's.
        unsafe { store(call, g, sums.ptr(), ld, first, count) }
    }
}

/// Bias, activation and store of one group's sums `[feature][position]`.
///
/// # Safety
/// As [`columns`].
unsafe fn store(call: &Call, g: usize, sums: *const f32, ld: usize, first: usize, count: usize) {
    let (core, desc) = (call.core, call.desc);
    let size = desc.out.size() as isize;
    let rows = call.rows;
    let strides = &desc.output_strides;
    let step = strides[2..].last().copied().unwrap_or(0) as isize;
    let feature = strides[1] as isize;
    let act = activation(core.isa, desc.activation);
    let turn = feature == 1 && step != 1 && rows > 1;
    let turned = Scratch::words(if turn { rows * count } else { 1 });
    if turn {
        // SAFETY: the scratch holds count × rows.
        unsafe {
            let to = turned.ptr::<u8>();
            transpose(core.isa, 4, count, rows, to, rows as isize, sums.cast(), ld as isize);
        }
    }
    let mut j = first;
    while j < first + count {
        let n = (call.run - j % call.run).min(first + count - j);
        let mut rest = (j / call.run * call.run) as i64;
        let mut at = g as isize * rows as isize * feature;
        for d in (0..desc.output.len()).rev() {
            at += (rest % desc.output[d] * strides[2 + d]) as isize;
            rest /= desc.output[d];
        }
        at += (rest * strides[0]) as isize + (j % call.run) as isize * step;
        let out = call.ptrs.output.wrapping_offset(at * size);
        let bias = call.ptrs.bias.wrapping_offset((g * rows) as isize * size);
        let mut e = Epilogue::store(core.isa, out, desc.out, feature, step);
        if desc.bias {
            e = e.with_bias_rows(bias);
        }
        e = e.with_activation(act);
        // SAFETY: n positions of every feature, at one stride.
        unsafe {
            if turn {
                let from = turned.ptr::<f32>().add((j - first) * rows);
                e.transposed().finish(from, rows, (0, 0), (n, rows));
            } else {
                e.finish(sums.add(j - first), ld, (0, 0), (rows, n));
            }
        }
        j += n;
    }
}
