//! Convolution row by row, for groups of few features and for volumes: f32 with rows along the innermost dim.
//!
//! A tile is a few output features by a few vectors of one output row. Every tap reads its input row where that lies;
//! lanes outside the row are masked off, so that padding costs nothing and is never multiplied.

use std::arch::x86_64::*;

use smallvec::SmallVec;
use tnrs_types::DType;

use super::desc::{ConvDesc, ConvPtrs};
use crate::gemm::driver::Shared;
use crate::gemm::scratch::Scratch;
use crate::gemm::Activation;
use crate::isa::Isa;
use crate::pool::Pool;

/// Elements of a vector.
pub(super) const LANES: usize = 16;
/// Output features of a wide tile.
const WIDE: usize = 4;
/// Share of lanes that have to be wanted.
const USEFUL: f64 = 0.5;

/// A spatial list as (depth, height, width).
pub(super) fn triple(d: &[i64], missing: i64) -> [i64; 3] {
    let mut all = [missing; 3];
    all[3 - d.len()..].copy_from_slice(d);
    all
}

/// Whether both sides have f32 rows of which vectors are well filled, with windows that this form computes.
pub(super) fn rows_of_f32(desc: &ConvDesc, width: i64) -> bool {
    (1..=3).contains(&desc.output.len())
        && desc.dtype == DType::F32
        && desc.out == DType::F32
        && desc.activation == Activation::None
        && desc.lhs_dilation.iter().all(|&d| d == 1)
        && !desc.output.contains(&0)
        && !desc.input.contains(&0)
        && !desc.kernel.contains(&0)
        && desc.input_strides.last() == Some(&1)
        && width as f64 >= USEFUL * (width as usize).next_multiple_of(LANES) as f64
}

/// For every tap along a row and every vector of `width` positions: lanes whose element `at·step + tap·spread − low`
/// lies in a row of `size` elements. `[tap][vector]`.
pub(super) fn masks(width: i64, taps: i64, step: i64, spread: i64, low: i64, size: i64) -> Vec<u16> {
    let vectors = (width as usize).div_ceil(LANES) as i64;
    let mut all = Vec::with_capacity((taps * vectors) as usize);
    for tap in 0..taps {
        for v in 0..vectors {
            let inside = |l: i64| {
                let at = v * LANES as i64 + l;
                at < width && (0..size).contains(&(at * step + tap * spread - low))
            };
            all.push((0..LANES as i64).filter(|&l| inside(l)).fold(0, |m, l| m | 1 << l));
        }
    }
    all
}

/// A convolution with its sizes, strides and steps as (depth, height, width).
struct Geometry<'a> {
    desc: &'a ConvDesc,
    ptrs: ConvPtrs,
    input: [i64; 3],
    kernel: [i64; 3],
    output: [i64; 3],
    step: [i64; 3],
    low: [i64; 3],
    spread: [i64; 3],
    input_strides: [i64; 3],
    kernel_strides: [i64; 3],
    output_strides: [i64; 3],
}

impl<'a> Geometry<'a> {
    fn new(desc: &'a ConvDesc, ptrs: &ConvPtrs) -> Self {
        let [input, kernel, output, step, spread] =
            [&desc.input, &desc.kernel, &desc.output, &desc.window_strides, &desc.rhs_dilation]
                .map(|d| triple(d, 1));
        let [input_strides, kernel_strides, output_strides] =
            [&desc.input_strides, &desc.kernel_strides, &desc.output_strides].map(|s| triple(&s[2..], 0));
        let low = triple(&desc.padding_low, 0);
        Geometry {
            desc,
            ptrs: *ptrs,
            input,
            kernel,
            output,
            step,
            low,
            spread,
            input_strides,
            kernel_strides,
            output_strides,
        }
    }
}

/// Numbers of one call.
struct Call<'a> {
    g: Geometry<'a>,
    /// Input and output features of a group.
    features: usize,
    outs: usize,
    masks: Vec<u16>,
    /// Vectors of a row, and whether all lanes of one are wanted by every tap.
    full: Vec<bool>,
    /// `[group][block of output features][input feature][tap][output feature]`.
    weights: *const f32,
}

// SAFETY: operands are only read, and every thread writes its own output rows.
unsafe impl Sync for Call<'_> {}

/// Runs the convolution if this form is made for it; says whether it did.
///
/// # Safety
/// As [`conv`](super::conv).
pub(super) unsafe fn run(pool: &Pool, isa: Isa, desc: &ConvDesc, ptrs: &ConvPtrs) -> bool {
    let width = desc.output.last().copied().unwrap_or(0);
    let takes = isa == Isa::Avx512
        && desc.batch_groups == 1
        && desc.output_strides.last() == Some(&1)
        && rows_of_f32(desc, width);
    let (features, outs) = (desc.in_features / desc.feature_groups, desc.out_features / desc.feature_groups);
    if !takes || features == 0 || outs == 0 || desc.batch == 0 {
        return false;
    }
    let g = Geometry::new(desc, ptrs);
    let masks = masks(g.output[2], g.kernel[2], g.step[2], g.spread[2], g.low[2], g.input[2]);
    let vectors = (g.output[2] as usize).div_ceil(LANES);
    let full = (0..vectors).map(|v| masks[v..].iter().step_by(vectors).all(|&m| m == u16::MAX)).collect();
    let taps = g.kernel.iter().product::<i64>() as usize;
    let weights = Scratch::words(desc.out_features * features * taps);
    // SAFETY: the scratch holds every weight.
    let finite = unsafe {
        arrange(&g, (features, outs), weights.ptr());
        super::are_finite(weights.ptr(), desc.out_features * features * taps, 0x7f80_0000)
    };
    // Rows leave out the padding, which is zero times infinity then.
    if !finite {
        return false;
    }
    let depth = g.output[0] as usize;
    let call = Call { g, features, outs, masks, full, weights: weights.ptr() };
    pool.run(desc.batch * desc.feature_groups * depth, &|unit, _| {
        let (rest, z) = (unit / depth, unit % depth);
        // SAFETY: the contract is the caller's; units own different output rows.
        unsafe { plane(&call, rest / desc.feature_groups, rest % desc.feature_groups, z as i64) }
    });
    true
}

/// Output features of the tiles from feature `o` of a group on.
fn block(o: usize, outs: usize) -> usize {
    if outs - o >= WIDE {
        WIDE
    } else {
        1
    }
}

/// Arranges weights in the order of use.
///
/// # Safety
/// As [`run`]; `to` holds every weight.
unsafe fn arrange(g: &Geometry, (features, outs): (usize, usize), to: *mut f32) {
    let (desc, kernel, strides) = (g.desc, g.kernel, g.kernel_strides);
    let reversed = |d: usize| {
        let missing = 3 - desc.window_reversal.len();
        d >= missing && desc.window_reversal[d - missing]
    };
    let element = |d: usize, i: i64| strides[d] * if reversed(d) { kernel[d] - 1 - i } else { i };
    let source = g.ptrs.kernel.cast::<f32>();
    let mut n = 0;
    for group in 0..desc.feature_groups {
        let mut o = 0;
        while o < outs {
            let wide = block(o, outs);
            for f in 0..features as i64 {
                for tap in 0..kernel.iter().product::<i64>() {
                    let x = tap % kernel[2];
                    let y = tap / kernel[2] % kernel[1];
                    let z = tap / kernel[2] / kernel[1];
                    let at = f * desc.kernel_strides[1] + element(0, z) + element(1, y) + element(2, x);
                    for i in 0..wide {
                        let out = (group * outs + o + i) as i64 * desc.kernel_strides[0];
                        // SAFETY: the element is inside the kernel, its place inside the scratch.
                        unsafe { *to.add(n) = *source.offset((at + out) as isize) };
                        n += 1;
                    }
                }
            }
            o += wide;
        }
    }
}

/// An input row that taps read, and the weights of those.
struct Row {
    /// Elements from the image's group.
    at: isize,
    /// Taps from the first of the block.
    tap: usize,
}

/// All rows of one output plane of a group.
///
/// # Safety
/// As [`run`]; no other thread may write this plane.
unsafe fn plane(call: &Call, image: usize, group: usize, z: i64) {
    let (desc, kernel) = (call.g.desc, call.g.kernel);
    let first = (group * call.features) as i64 * desc.input_strides[1];
    let base = image as i64 * desc.input_strides[0] + first;
    let base = call.g.ptrs.input.cast::<f32>().wrapping_offset(base as isize);
    let taps = kernel.iter().product::<i64>() as usize;
    let mut rows: SmallVec<[Row; 32]> = SmallVec::new();
    for y in 0..call.g.output[1] {
        rows.clear();
        for f in 0..call.features {
            for kz in 0..kernel[0] {
                let iz = z * call.g.step[0] + kz * call.g.spread[0] - call.g.low[0];
                if !(0..call.g.input[0]).contains(&iz) {
                    continue;
                }
                for ky in 0..kernel[1] {
                    let iy = y * call.g.step[1] + ky * call.g.spread[1] - call.g.low[1];
                    if !(0..call.g.input[1]).contains(&iy) {
                        continue;
                    }
                    let at = f as i64 * desc.input_strides[1]
                        + iz * call.g.input_strides[0]
                        + iy * call.g.input_strides[1]
                        - call.g.low[2];
                    rows.push(Row {
                        at: at as isize,
                        tap: f * taps + ((kz * kernel[1] + ky) * kernel[2]) as usize,
                    });
                }
            }
        }
        let to = image as i64 * desc.output_strides[0]
            + z * call.g.output_strides[0]
            + y * call.g.output_strides[1];
        let mut o = 0;
        while o < call.outs {
            let feature = group * call.outs + o;
            let out = to + feature as i64 * desc.output_strides[1];
            let out = call.g.ptrs.output.cast::<f32>().wrapping_offset(out as isize);
            let weights = call.weights.wrapping_add(feature * call.features * taps);
            let bias = desc.bias.then(|| call.g.ptrs.bias.cast::<f32>().wrapping_add(feature));
            let wide = block(o, call.outs);
            // SAFETY: the contract is the caller's; rows are inside the input, the tile's features in the group.
            unsafe {
                if wide == WIDE {
                    row::<WIDE>(call, base, &rows, weights, bias, out)
                } else {
                    row::<1>(call, base, &rows, weights, bias, out)
                }
            }
            o += wide;
        }
    }
}

/// One output row of `F` features.
///
/// # Safety
/// As [`plane`].
unsafe fn row<const F: usize>(
    call: &Call,
    base: *const f32,
    rows: &[Row],
    weights: *const f32,
    bias: Option<*const f32>,
    out: *mut f32,
) {
    let vectors = call.full.len();
    let mut v = 0;
    while v < vectors {
        // Vectors of which every lane is wanted need no masks, unless they are few.
        let alike = call.full[v..].iter().take_while(|&&f| f == call.full[v]).count();
        let most = if vectors >= 6 { alike } else { vectors - v };
        let n = if most >= 4 { 4 } else { most.min(2) };
        let whole = call.full[v..v + n].iter().all(|&f| f) && call.g.step[2] == 1;
        // SAFETY: the contract is the caller's; AVX-512 was asked for.
        unsafe {
            match (n, whole) {
                (4, true) => tile::<F, 4, false>(call, base, rows, weights, bias, out, v),
                (4, false) => tile::<F, 4, true>(call, base, rows, weights, bias, out, v),
                (2, true) => tile::<F, 2, false>(call, base, rows, weights, bias, out, v),
                (2, false) => tile::<F, 2, true>(call, base, rows, weights, bias, out, v),
                (_, true) => tile::<F, 1, false>(call, base, rows, weights, bias, out, v),
                (_, false) => tile::<F, 1, true>(call, base, rows, weights, bias, out, v),
            }
        }
        v += n;
    }
}

/// Vectors `v..v + X` of one output row of `F` features; `M`: some lanes are not wanted.
///
/// # Safety
/// As [`plane`], on a processor with AVX-512F.
#[target_feature(enable = "avx512f")]
unsafe fn tile<const F: usize, const X: usize, const M: bool>(
    call: &Call,
    base: *const f32,
    rows: &[Row],
    weights: *const f32,
    bias: Option<*const f32>,
    out: *mut f32,
    v: usize,
) {
    let vectors = call.full.len();
    let (step, spread) = (call.g.step[2] as isize, call.g.spread[2] as isize);
    let mut acc = [[_mm512_setzero_ps(); X]; F];
    let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let places = _mm512_mullo_epi32(lanes, _mm512_set1_epi32(step as i32));
    for row in rows {
        let from = base.wrapping_offset(row.at + (v * LANES) as isize * step);
        for k in 0..call.g.kernel[2] as usize {
            let src = from.wrapping_offset(k as isize * spread);
            let mut x = [_mm512_setzero_ps(); X];
            let mut mask = [u16::MAX; X];
            for j in 0..X {
                let at = src.wrapping_offset((j * LANES) as isize * step);
                // SAFETY: masks have only lanes whose element is in the row; without masks all of them are.
                unsafe {
                    if !M {
                        x[j] = _mm512_loadu_ps(at);
                        continue;
                    }
                    mask[j] = *call.masks.get_unchecked(k * vectors + v + j);
                    x[j] = if step == 1 {
                        _mm512_maskz_loadu_ps(mask[j], at)
                    } else {
                        _mm512_mask_i32gather_ps::<4>(x[j], mask[j], places, at)
                    };
                }
            }
            for (f, sums) in acc.iter_mut().enumerate() {
                // SAFETY: a weight of the block.
                let w = _mm512_set1_ps(unsafe { *weights.add((row.tap + k) * F + f) });
                for j in 0..X {
                    sums[j] = if M {
                        _mm512_mask3_fmadd_ps(w, x[j], sums[j], mask[j])
                    } else {
                        _mm512_fmadd_ps(w, x[j], sums[j])
                    };
                }
            }
        }
    }
    let width = call.g.output[2] as usize;
    for (f, sums) in acc.iter().enumerate() {
        let to = out.wrapping_offset(f as isize * call.g.desc.output_strides[1] as isize);
        // SAFETY: one bias per output feature.
        let bias = bias.map_or(0.0, |b| unsafe { *b.add(f) });
        for (j, &sum) in sums.iter().enumerate() {
            let first = (v + j) * LANES;
            let n = (width - first).min(LANES);
            let mask = if n == LANES { u16::MAX } else { (1 << n) - 1 };
            // SAFETY: elements of the output row.
            unsafe { _mm512_mask_storeu_ps(to.add(first), mask, _mm512_add_ps(sum, _mm512_set1_ps(bias))) }
        }
    }
}

/// A gradient of a kernel row by row; see [`gradient`]. The window is as large as the image, the output a few taps.
struct Gradient<'a> {
    g: Geometry<'a>,
    masks: Vec<u16>,
    vectors: usize,
}

// SAFETY: operands are only read, and every thread writes its own outputs.
unsafe impl Sync for Gradient<'_> {}

/// Most taps along a row of [`gradient`].
const TAPS: i64 = 8;

/// The convolution whose window is as large as the image, as the gradient of a kernel of few features is: `batch`
/// counts the input features of the layer, `in_features` its images. Says whether this form is made for it.
///
/// # Safety
/// As [`conv`](super::conv).
pub(super) unsafe fn gradient(pool: &Pool, isa: Isa, desc: &ConvDesc, ptrs: &ConvPtrs) -> bool {
    let width = desc.kernel.last().copied().unwrap_or(0);
    let takes = isa == Isa::Avx512
        && desc.feature_groups == 1
        && !desc.bias
        && desc.kernel_strides.last() == Some(&1)
        && desc.rhs_dilation.last() == Some(&1)
        && !desc.window_reversal.contains(&true)
        && desc.output.last().is_some_and(|&n| n <= TAPS)
        && desc.output.iter().product::<i64>() * 4 <= desc.kernel.iter().product::<i64>()
        && rows_of_f32(desc, width);
    if !takes {
        return false;
    }
    let g = Geometry::new(desc, ptrs);
    let masks = masks(g.kernel[2], g.output[2], 1, g.step[2], g.low[2], g.input[2]);
    let vectors = (g.kernel[2] as usize).div_ceil(LANES);
    let call = Gradient { g, masks, vectors };
    let (batch, rows) = (desc.batch / desc.batch_groups, desc.out_features / desc.batch_groups);
    let call = &call;
    let output = Shared(ptrs.output.cast::<f32>());
    pool.run(desc.out_features * batch, &move |pair, _| {
        let (o, b) = (pair / batch, pair % batch);
        let image = o / rows * batch + b;
        for z in 0..call.g.output[0] {
            for y in 0..call.g.output[1] {
                let at = b as i64 * desc.output_strides[0]
                    + o as i64 * desc.output_strides[1]
                    + z * call.g.output_strides[0]
                    + y * call.g.output_strides[1];
                let to = output.ptr().wrapping_offset(at as isize);
                macro_rules! sums {
                    ($($k:literal)*) => { match call.g.output[2] {
                        // SAFETY: the contract is the caller's; pairs own different outputs.
                        $($k => unsafe { sums::<$k>(call, (image, o), (z, y), to) },)*
                        _ => {}
                    } };
                }
                sums!(1 2 3 4 5 6 7 8)
            }
        }
    });
    true
}

/// A row of `K` taps.
///
/// # Safety
/// As [`gradient`], on a processor with AVX-512F.
#[target_feature(enable = "avx512f")]
unsafe fn sums<const K: usize>(
    call: &Gradient,
    (image, out): (usize, usize),
    (tz, ty): (i64, i64),
    to: *mut f32,
) {
    let desc = call.g.desc;
    let mut acc = [_mm512_setzero_ps(); K];
    let tail = call.g.kernel[2] as usize % LANES;
    for n in 0..desc.in_features as i64 {
        let x = image as i64 * desc.input_strides[0] + n * desc.input_strides[1] - call.g.low[2];
        let w = out as i64 * desc.kernel_strides[0] + n * desc.kernel_strides[1];
        for z in 0..call.g.kernel[0] {
            let iz = z * call.g.spread[0] + tz * call.g.step[0] - call.g.low[0];
            if !(0..call.g.input[0]).contains(&iz) {
                continue;
            }
            for y in 0..call.g.kernel[1] {
                let iy = y * call.g.spread[1] + ty * call.g.step[1] - call.g.low[1];
                if !(0..call.g.input[1]).contains(&iy) {
                    continue;
                }
                let x = x + iz * call.g.input_strides[0] + iy * call.g.input_strides[1];
                let w = w + z * call.g.kernel_strides[0] + y * call.g.kernel_strides[1];
                let x = call.g.ptrs.input.cast::<f32>().wrapping_offset(x as isize);
                let w = call.g.ptrs.kernel.cast::<f32>().wrapping_offset(w as isize);
                for v in 0..call.vectors {
                    let lanes = if tail > 0 && v + 1 == call.vectors { (1 << tail) - 1 } else { u16::MAX };
                    // SAFETY: masks have only lanes whose elements are in both rows.
                    unsafe {
                        let d = _mm512_maskz_loadu_ps(lanes, w.add(v * LANES));
                        for (k, sum) in acc.iter_mut().enumerate() {
                            let mask = *call.masks.get_unchecked(k * call.vectors + v);
                            let at = x
                                .wrapping_offset((v * LANES) as isize + k as isize * call.g.step[2] as isize);
                            let e = _mm512_maskz_loadu_ps(mask, at);
                            *sum = _mm512_mask3_fmadd_ps(d, e, *sum, mask);
                        }
                    }
                }
            }
        }
    }
    for (k, &sum) in acc.iter().enumerate() {
        let at = to.wrapping_offset(k as isize * call.g.output_strides[2] as isize);
        // SAFETY: an output of this pair.
        unsafe { *at = _mm512_reduce_add_ps(sum) };
    }
}
