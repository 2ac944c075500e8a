//! Convolution without packing its input: f32 with rows along the innermost dim of images.
//!
//! The input features of a block are copied into planes with their padding, one plane per phase of the window's
//! strides. With output position (y, x) numbered `n = y·pitch + x`, the operand of a tap is then the plane from a
//! fixed offset on, for all n at once.
//!
//! Either positions are the columns of a tile, in vectors of 16 consecutive n; those with x past the output's width
//! are computed and thrown away. Or output features are, and a tile has a row's positions as its rows: nothing is
//! thrown away, but the result has to be transposed. Narrow images take the second form.

use smallvec::SmallVec;

use super::desc::{ConvDesc, ConvPtrs};
use super::direct512::{halve, tile, turned, MR, NR, POSITIONS};
use super::driver::pack_kernel;
use super::pack::Order;
use super::window::Table;
use crate::copy::transpose::transpose;
use crate::gemm::epilogue::{activation, Epilogue};
use crate::gemm::kernel::Core;
use crate::gemm::scratch::Scratch;
use crate::isa::Isa;
use crate::pool::Pool;
use tnrs_types::DType;

/// Units of k in one pass over a tile.
const KC: usize = 256;
/// Words of a chunk's sums, which stay in the second-level cache.
const SUMS: usize = 1 << 17;
/// Share of computed values that have to be wanted.
const USEFUL: f64 = 0.6;

/// One plane of a feature: every `stride`-th padded position from a phase on.
type Phase = (usize, usize);

/// Geometry of one image; a spatial dim of size 1 stands in for a missing one.
struct Geometry {
    input: [usize; 2],
    output: [usize; 2],
    stride: [usize; 2],
    low: [usize; 2],
    /// Elements from one input row to the next, and from one output row to the next.
    rows: [isize; 2],
    /// Elements from one row of a plane to the next.
    pitch: usize,
    /// Rows of a plane above the output rows it serves.
    reach: usize,
    phases: SmallVec<[Phase; 4]>,
    /// Phase, row and column of each tap in its plane.
    taps: Vec<(usize, usize, usize)>,
}

impl Geometry {
    /// The geometry, if this form computes the convolution and few positions are computed in vain.
    fn new(desc: &ConvDesc) -> Option<Geometry> {
        let rank = desc.output.len();
        let plain = desc.dtype == DType::F32 && desc.out == DType::F32 && desc.batch_groups == 1;
        if !plain || !(1..=2).contains(&rank) || desc.lhs_dilation.iter().any(|&d| d != 1) {
            return None;
        }
        if desc.padding_low.iter().any(|&p| p < 0) || desc.output.contains(&0) || desc.input.contains(&0) {
            return None;
        }
        let last = desc.input_strides.len() - 1;
        if desc.input_strides[last] != 1 || desc.output_strides[last] != 1 {
            return None;
        }
        let pair = |d: &[i64], missing: i64| -> [usize; 2] {
            if rank == 2 {
                [d[0] as usize, d[1] as usize]
            } else {
                [missing as usize, d[0] as usize]
            }
        };
        let (input, output) = (pair(&desc.input, 1), pair(&desc.output, 1));
        let (stride, low) = (pair(&desc.window_strides, 1), pair(&desc.padding_low, 0));
        let row = |s: &[i64]| if rank == 2 { s[2] as isize } else { 0 };
        let dilated = pair(&desc.rhs_dilation, 1);
        let kernel = pair(&desc.kernel, 1);
        let mut phases: SmallVec<[Phase; 4]> = SmallVec::new();
        let mut taps = Vec::with_capacity(kernel[0] * kernel[1]);
        for ky in 0..kernel[0] {
            for kx in 0..kernel[1] {
                let at = [ky * dilated[0], kx * dilated[1]];
                let phase = (at[0] % stride[0], at[1] % stride[1]);
                let known = phases.iter().position(|&p| p == phase);
                let index = known.unwrap_or_else(|| {
                    phases.push(phase);
                    phases.len() - 1
                });
                taps.push((index, at[0] / stride[0], at[1] / stride[1]));
            }
        }
        let reach = taps.iter().map(|t| t.1).max()?;
        let across = taps.iter().map(|t| t.2).max()?;
        let pitch = if stride[1] == 1 {
            // What a row lacks on the right is what the next one has on its left: zeros.
            let right = (output[1] + across).saturating_sub(low[1] + input[1]);
            (input[1] + low[1].max(right)).max(output[1])
        } else {
            output[1] + across
        };
        let rows = [row(&desc.input_strides), row(&desc.output_strides)];
        Some(Geometry { input, output, stride, low, rows, pitch, reach, phases, taps })
    }

    /// Positions of a tile with features as columns, when that computes less in vain than positions as columns; `None`
    /// for the latter. An error when both waste too much.
    #[allow(clippy::result_unit_err, reason = "there is nothing to say")]
    fn form(&self, rows: usize) -> Result<Option<usize>, ()> {
        let [height, width] = self.output;
        let columns = ((height - 1) * self.pitch + width).next_multiple_of(NR);
        let share = |n: usize, of: usize| n as f64 / of as f64;
        let across = share(height * width, columns) * share(rows, rows.next_multiple_of(MR).max(MR));
        let h = width.div_ceil(width.div_ceil(POSITIONS));
        // Fewer sums than the multiply-adds under way leave the units idle.
        let turned = share(rows, rows.next_multiple_of(16)) * (h as f64 / 5.0).min(1.0) * 0.97;
        match (across.max(turned) >= USEFUL, turned > across) {
            (false, _) => Err(()),
            (true, true) => Ok(Some(h)),
            (true, false) => Ok(None),
        }
    }

    /// Words of a plane that serves so many output rows.
    fn plane(&self, rows: usize) -> usize {
        (rows + self.reach) * self.pitch
    }
}

/// Output rows `first..first + rows` of an image.
#[derive(Clone, Copy)]
struct Unit {
    image: usize,
    first: usize,
    rows: usize,
}

struct Call<'a> {
    core: &'a Core,
    desc: &'a ConvDesc,
    ptrs: ConvPtrs,
    geometry: &'a Geometry,
    /// Output features and input features of a group, and groups.
    rows: usize,
    features: usize,
    groups: usize,
    /// Input features of a block.
    block: usize,
    /// Positions of a tile whose columns are features.
    turned: Option<usize>,
    kernel: *const f32,
    group_words: usize,
}

// SAFETY: operands are only read, and every thread writes its own output positions.
unsafe impl Sync for Call<'_> {}

/// Runs the convolution if this form is made for it; says whether it did.
///
/// # Safety
/// As [`conv`](super::conv).
pub(super) unsafe fn run(pool: &Pool, core: &Core, desc: &ConvDesc, ptrs: &ConvPtrs) -> bool {
    if core.isa != Isa::Avx512 || (core.mr, core.nr, core.per_unit) != (MR, NR, 1) {
        return false;
    }
    let Some(geometry) = Geometry::new(desc) else {
        return false;
    };
    let groups = desc.feature_groups;
    let (features, rows) = (desc.in_features / groups, desc.out_features / groups);
    if rows == 0 || features == 0 || desc.batch == 0 {
        return false;
    }
    let Ok(turned) = geometry.form(rows) else {
        return false;
    };
    let width = if turned.is_some() { NR } else { MR };
    let taps = geometry.taps.len();
    let block = (KC / taps).clamp(1, features);
    let table = Table::new(desc, NR);
    let order = Order { features, taps, features_last: false, stride: desc.input_strides[1] as isize };
    let group_words = rows.next_multiple_of(width) * order.len();
    let packed = Scratch::words(groups * group_words);
    // SAFETY: the contract is the caller's; `packed` holds every group.
    unsafe { pack_kernel(pool, core, desc, ptrs, &table, &order, width, block * taps, packed.ptr()) };
    let call = Call {
        core,
        desc,
        ptrs: *ptrs,
        geometry: &geometry,
        rows,
        features,
        groups,
        block,
        turned,
        kernel: packed.ptr(),
        group_words,
    };
    let [height, _] = geometry.output;
    let threads = pool.threads();
    let most = (SUMS / rows.next_multiple_of(width) / geometry.pitch).max(1);
    let spread = if threads == 1 { height } else { (height * desc.batch).div_ceil(4 * threads).max(1) };
    let bands = height.div_ceil(most.min(spread).min(height));
    let band = height.div_ceil(bands);
    let images = if bands > 1 { 1 } else { (most.min(spread) / height).clamp(1, desc.batch) };
    let chunks = desc.batch.div_ceil(images) * bands;
    pool.run(chunks, &|c, _| {
        let (group, part) = (c / bands, c % bands);
        let first = part * band;
        let units: SmallVec<[Unit; 8]> = (group * images..((group + 1) * images).min(desc.batch))
            .map(|image| Unit { image, first, rows: band.min(height.saturating_sub(first)) })
            .filter(|u| u.rows > 0)
            .collect();
        if !units.is_empty() {
            // SAFETY: the contract is the caller's; chunks own different output rows.
            unsafe { chunk(&call, &units) }
        }
    });
    true
}

/// All features of some output rows; every unit has as many.
///
/// # Safety
/// As [`run`]; no other thread may write these rows.
unsafe fn chunk(call: &Call, units: &[Unit]) {
    let g = call.geometry;
    let taps = g.taps.len();
    let plane = g.plane(units[0].rows);
    let columns = ((units[0].rows - 1) * g.pitch + g.output[1]).next_multiple_of(NR);
    let feature = plane * g.phases.len();
    // Tiles read past the last plane, at most a tile and what a row lacks on its right.
    let unit_words = call.block * feature + NR + g.pitch;
    let planes = Scratch::words(unit_words * units.len());
    let planes = planes.ptr::<f32>();
    let positions = units[0].rows * g.output[1];
    // Rows a power of two apart would compete for few places in the cache.
    let (ld, words, unit_sums, padded) = if call.turned.is_some() {
        let padded = call.rows.next_multiple_of(NR);
        let ld = padded + 16;
        (ld, units.len() * positions * ld, positions * ld, padded)
    } else {
        let ld = units.len() * columns + 16;
        (ld, call.rows * ld, columns, call.rows.next_multiple_of(MR))
    };
    let sums = Scratch::words(words);
    let sums = sums.ptr::<f32>();
    let mut offsets: Vec<i32> = Vec::with_capacity(call.block * taps);
    for f in 0..call.block {
        let at =
            |&(phase, y, x): &(usize, usize, usize)| (f * feature + phase * plane + y * g.pitch + x) as i32;
        offsets.extend(g.taps.iter().map(at));
    }
    for group in 0..call.groups {
        for first in (0..call.features).step_by(call.block) {
            let count = call.block.min(call.features - first);
            let block = Block {
                offsets: &offsets[..count * taps],
                kernel: call.kernel.wrapping_add(group * call.group_words + first * taps * padded),
                accumulate: first > 0,
            };
            for (u, unit) in units.iter().enumerate() {
                let words = planes.wrapping_add(u * unit_words);
                // SAFETY: the planes hold a block of features; sums hold the unit's columns of every row.
                unsafe {
                    fill(call, unit, group * call.features + first, count, words);
                    if call.turned.is_none() {
                        positions_across(call, &block, words, columns, sums.add(u * columns), ld);
                    }
                }
            }
            let Some(h) = call.turned else { continue };
            for r in (0..call.rows).step_by(NR) {
                for (u, unit) in units.iter().enumerate() {
                    let words = planes.wrapping_add(u * unit_words);
                    // SAFETY: as above, with the unit's positions as the rows of its sums.
                    unsafe {
                        features_across(call, &block, (h, r), unit, words, sums.add(u * unit_sums + r), ld)
                    }
                }
            }
        }
        for (u, unit) in units.iter().enumerate() {
            // SAFETY: the sums are complete; the output rows are this thread's.
            unsafe { store(call, group, unit, sums.add(u * unit_sums), ld) }
        }
    }
}

/// A block of input features of a group.
struct Block<'a> {
    /// Where each unit of k begins in a unit's planes.
    offsets: &'a [i32],
    /// Its part of the packed kernel.
    kernel: *const f32,
    /// Whether earlier blocks are in the sums.
    accumulate: bool,
}

/// Adds a block to a unit's sums, positions being columns.
///
/// # Safety
/// `words` are the unit's planes, and `sums` hold `columns` columns of every row.
unsafe fn positions_across(
    call: &Call,
    block: &Block,
    words: *const f32,
    columns: usize,
    sums: *mut f32,
    ld: usize,
) {
    for p in (0..columns).step_by(NR) {
        for r in (0..call.rows).step_by(MR) {
            // SAFETY: the contract is the caller's; the panel is inside the block's kernel.
            unsafe {
                let a = block.kernel.add(r * block.offsets.len());
                let c = sums.add(r * ld + p);
                tile(MR.min(call.rows - r), block.offsets, a, words.add(p), c, ld, block.accumulate);
            }
        }
    }
}

/// Adds a block to a unit's sums for the panel of output features from `r` on, these being columns; `h` positions a tile.
///
/// # Safety
/// As [`positions_across`], with sums of the panel for every position of the unit.
unsafe fn features_across(
    call: &Call,
    block: &Block,
    (h, r): (usize, usize),
    unit: &Unit,
    words: *const f32,
    sums: *mut f32,
    ld: usize,
) {
    let g = call.geometry;
    let v = (call.rows - r).div_ceil(16).min(2);
    for y in 0..unit.rows {
        for x in (0..g.output[1]).step_by(h) {
            let n = h.min(g.output[1] - x);
            // SAFETY: the contract is the caller's; a row's positions follow each other.
            unsafe {
                let a = words.add(y * g.pitch + x);
                let b = block.kernel.add(r * block.offsets.len());
                let c = sums.add((y * g.output[1] + x) * ld);
                turned((n, v), block.offsets, a, b, c, ld, block.accumulate);
            }
        }
    }
}

/// Copies the rows of `count` features that a unit needs, with their padding, into planes.
///
/// # Safety
/// The features are inside the input, and `to` holds their planes and the words behind them.
unsafe fn fill(call: &Call, unit: &Unit, first: usize, count: usize, to: *mut f32) {
    let g = call.geometry;
    let strides = &call.desc.input_strides;
    let image = call.ptrs.input.cast::<f32>().wrapping_offset(unit.image as isize * strides[0] as isize);
    let height = unit.rows + g.reach;
    let mut to = to;
    for f in first..first + count {
        let from = image.wrapping_offset(f as isize * strides[1] as isize);
        for &(py, px) in &g.phases {
            // Columns of a plane that lie inside the input.
            let begin = g.low[1].saturating_sub(px).div_ceil(g.stride[1]).min(g.pitch);
            let end =
                (g.low[1] + g.input[1]).saturating_sub(px).div_ceil(g.stride[1]).min(g.pitch).max(begin);
            for r in 0..height {
                let y = ((unit.first + r) * g.stride[0] + py).wrapping_sub(g.low[0]);
                // SAFETY: `pitch` words of the plane's row; the elements are inside the input.
                unsafe {
                    if y < g.input[0] && begin < end {
                        let x = begin * g.stride[1] + px - g.low[1];
                        let row = from.wrapping_offset(y as isize * g.rows[0]).wrapping_add(x);
                        std::slice::from_raw_parts_mut(to, begin).fill(0.0);
                        let (dst, n) = (to.add(begin), end - begin);
                        match g.stride[1] {
                            1 => std::ptr::copy_nonoverlapping(row, dst, n),
                            2 => halve(row, dst, n),
                            s => (0..n).for_each(|i| *dst.add(i) = *row.add(i * s)),
                        }
                        std::slice::from_raw_parts_mut(to.add(end), g.pitch - end).fill(0.0);
                    } else {
                        std::slice::from_raw_parts_mut(to, g.pitch).fill(0.0);
                    }
                    to = to.add(g.pitch);
                }
            }
        }
    }
    // SAFETY: the words behind the planes.
    unsafe { std::slice::from_raw_parts_mut(to, NR + g.pitch).fill(0.0) }
}

/// Bias, activation and store of one unit's sums.
///
/// # Safety
/// As [`chunk`].
unsafe fn store(call: &Call, group: usize, unit: &Unit, sums: *const f32, ld: usize) {
    let (desc, g) = (call.desc, call.geometry);
    let strides = &desc.output_strides;
    let feature = strides[1] as isize;
    let origin = unit.image as isize * strides[0] as isize + (group * call.rows) as isize * feature;
    let act = activation(call.core.isa, desc.activation);
    let bias = call.ptrs.bias.cast::<f32>().wrapping_add(group * call.rows).cast::<u8>();
    let positions = unit.rows * g.output[1];
    let scratch = Scratch::words(if call.turned.is_some() { positions * call.rows } else { 1 });
    let (sums, ld, pitch) = if call.turned.is_some() {
        let place = call.ptrs.output.cast::<f32>().wrapping_offset(origin + unit.first as isize * g.rows[1]);
        let whole = g.rows[1] == g.output[1] as isize && !desc.bias && act.is_none();
        let (to, step) = if whole { (place, feature) } else { (scratch.ptr(), positions as isize) };
        for (r, p) in (0..call.rows).step_by(NR).flat_map(|r| (0..positions).step_by(64).map(move |p| (r, p)))
        {
            let (rows, cols) = (NR.min(call.rows - r), 64.min(positions - p));
            let to = to.wrapping_offset(r as isize * step + p as isize).cast::<u8>();
            let from = sums.wrapping_add(p * ld + r).cast::<u8>();
            // SAFETY: sums and scratch hold every position of every feature; the output's rows follow each other.
            unsafe { transpose(call.core.isa, 4, rows, cols, to, step, from, ld as isize) };
        }
        if whole {
            return;
        }
        (scratch.ptr::<f32>().cast_const(), positions, g.output[1])
    } else {
        (sums, ld, g.pitch)
    };
    for y in 0..unit.rows {
        let at = origin + (unit.first + y) as isize * g.rows[1];
        let out = call.ptrs.output.cast::<f32>().wrapping_offset(at).cast::<u8>();
        let mut e = Epilogue::store(call.core.isa, out, desc.out, feature, 1).with_activation(act);
        if desc.bias {
            e = e.with_bias_rows(bias);
        }
        // SAFETY: a row of the output of every feature.
        unsafe { e.finish(sums.add(y * pitch), ld, (0, 0), (call.rows, g.output[1])) }
    }
}
