//! Convolution with a window as large as the image and few output positions, as the gradient of a kernel is: f32.
//!
//! Here `batch` counts the columns (input features of the layer) and `in_features` its images. The input is laid out
//! as `[row][column][32 batch elements]` with its padding, a band of rows at a time. A window position is then a unit
//! of k that begins at a fixed offset, and an output position moves the base of all of them.

use super::desc::{ConvDesc, ConvPtrs};
use super::direct512::{tile, MR, NR};
use crate::copy::transpose::transpose;
use crate::gemm::kernel::Core;
use crate::gemm::scratch::Scratch;
use crate::gemm::Activation;
use crate::isa::Isa;
use crate::pool::Pool;
use tnrs_types::DType;

/// Window positions of a band.
const KC: usize = 256;
/// Fewer batch elements would leave most lanes empty.
const LEAST: usize = 16;

struct Call<'a> {
    core: &'a Core,
    desc: &'a ConvDesc,
    ptrs: ConvPtrs,
    window: [usize; 2],
    /// Window rows of a band.
    band: usize,
    /// Packed window of every image: `[image][panel of MR features][position][MR]`, by bands.
    packed: *mut f32,
    /// Words of one image's packed window.
    image_words: usize,
}

// SAFETY: operands are only read, and every thread writes its own part of the packed window or of the output.
unsafe impl Sync for Call<'_> {}

fn pair(d: &[i64]) -> [usize; 2] {
    [d[0] as usize, d[1] as usize]
}

fn takes(desc: &ConvDesc) -> bool {
    let rank = desc.output.len();
    rank == 2
        && desc.dtype == DType::F32
        && desc.out == DType::F32
        && (desc.feature_groups, desc.batch_groups) == (1, 1)
        && !desc.bias
        && desc.activation == Activation::None
        && desc.batch >= LEAST
        && desc.output.iter().product::<i64>() * 2 <= desc.kernel.iter().product::<i64>()
        && !desc.window_reversal.contains(&true)
        && desc.lhs_dilation.iter().all(|&d| d == 1)
        && desc.padding_low.iter().all(|&p| p >= 0)
        && !desc.output.contains(&0)
        && desc.input_strides[3] == 1
        && desc.kernel_strides[3] == 1
        && desc.kernel_strides[2] == desc.kernel[1]
}

/// Runs the convolution if this form is made for it; says whether it did.
///
/// # Safety
/// As [`conv`](super::conv).
pub(super) unsafe fn run(pool: &Pool, core: &Core, desc: &ConvDesc, ptrs: &ConvPtrs) -> bool {
    let shape = (core.mr, core.nr, core.per_unit);
    if core.isa != Isa::Avx512 || shape != (MR, NR, 1) || !takes(desc) {
        return false;
    }
    let window = pair(&desc.kernel);
    let features = desc.out_features.next_multiple_of(MR);
    let image_words = features * window[0] * window[1];
    let packed = Scratch::words(image_words * desc.in_features.max(1));
    let band = (KC / window[1]).clamp(1, window[0]);
    let call = Call { core, desc, ptrs: *ptrs, window, band, packed: packed.ptr(), image_words };
    pool.run(desc.in_features, &|image, _| {
        // SAFETY: the contract is the caller's; every image has its own part of the packed window.
        unsafe { pack(&call, image) }
    });
    let blocks = desc.batch.div_ceil(NR);
    let panels = desc.out_features.div_ceil(MR);
    let cuts = if pool.threads() == 1 { 1 } else { (4 * pool.threads()).div_ceil(blocks).clamp(1, panels) };
    let each = panels.div_ceil(cuts);
    pool.run(blocks * cuts, &|t, _| {
        let (block, cut) = (t / cuts, t % cuts);
        let rows = (cut * each * MR).min(desc.out_features)..((cut + 1) * each * MR).min(desc.out_features);
        if !rows.is_empty() {
            // SAFETY: the contract is the caller's; tasks own different outputs.
            unsafe { block_of(&call, block * NR, rows) }
        }
    });
    true
}

/// Packs an image's window, band by band.
///
/// # Safety
/// As [`run`].
unsafe fn pack(call: &Call, image: usize) {
    let (desc, [height, width]) = (call.desc, call.window);
    let strides = &desc.kernel_strides;
    let features = desc.out_features.next_multiple_of(MR);
    for first in (0..height).step_by(call.band) {
        let rows = call.band.min(height - first);
        let at = image as i64 * strides[1] + first as i64 * strides[2];
        let src = call.ptrs.kernel.cast::<f32>().wrapping_offset(at as isize).cast::<u8>();
        let dst = call.packed.wrapping_add(image * call.image_words + features * first * width);
        let lanes = (strides[0] as isize, 1);
        // SAFETY: rows of the window follow each other; the packed window holds every panel.
        unsafe { call.core.pack(MR, src, lanes, desc.out_features, rows * width, dst.cast()) }
    }
}

/// Outputs of the batch elements from `first` on, at most [`NR`], and some features.
///
/// # Safety
/// As [`run`]; no other thread may write these outputs.
unsafe fn block_of(call: &Call, first: usize, features: std::ops::Range<usize>) {
    let desc = call.desc;
    let [height, width] = call.window;
    let (taps, step) = (pair(&desc.output), pair(&desc.window_strides));
    let spread = pair(&desc.rhs_dilation);
    let pitch = (width - 1) * spread[1] + (taps[1] - 1) * step[1] + 1;
    let reach = (taps[0] - 1) * step[0] + 1;
    let rows = (call.band - 1) * spread[0] + reach;
    let turned = Scratch::words(rows * pitch * NR);
    let turned = turned.ptr::<f32>();
    let count = taps[0] * taps[1];
    let sums = Scratch::words(features.len() * count * NR);
    let sums = sums.ptr::<f32>();
    let ld = count * NR;
    let mut offsets: Vec<i32> = Vec::with_capacity(call.band * width);
    for y in 0..call.band {
        offsets.extend((0..width).map(|x| ((y * spread[0] * pitch + x * spread[1]) * NR) as i32));
    }
    let padded = desc.out_features.next_multiple_of(MR);
    for image in 0..desc.in_features {
        for top in (0..height).step_by(call.band) {
            let band = call.band.min(height - top);
            let offsets = &offsets[..band * width];
            let begin = call.image_words * image + padded * top * width;
            // SAFETY: the band's elements are inside the input or zeros; sums hold every feature and tap.
            unsafe {
                fill(call, image, first, top * spread[0], (band - 1) * spread[0] + reach, pitch, turned);
                for r in features.clone().step_by(MR) {
                    let a = call.packed.add(begin + r * offsets.len());
                    let h = MR.min(features.end - r);
                    for t in 0..count {
                        let (ty, tx) = (t / taps[1] * step[0], t % taps[1] * step[1]);
                        let b = turned.add((ty * pitch + tx) * NR);
                        let c = sums.add((r - features.start) * ld + t * NR);
                        tile(h, offsets, a, b, c, ld, image + top > 0);
                    }
                }
            }
        }
    }
    let s = &desc.output_strides;
    let lanes = NR.min(desc.batch - first);
    for f in features.clone() {
        let from = sums.wrapping_add((f - features.start) * ld);
        let to = call.ptrs.output.cast::<f32>();
        let to = to.wrapping_offset((first as i64 * s[0] + f as i64 * s[1]) as isize);
        for t in 0..count {
            let place = (t / taps[1]) as i64 * s[2] + (t % taps[1]) as i64 * s[3];
            for l in 0..lanes {
                // SAFETY: an output of this task.
                unsafe { *to.offset((place + l as i64 * s[0]) as isize) = *from.add(t * NR + l) };
            }
        }
    }
}

/// Lays out `rows` padded rows from row `top` on, `pitch` columns each, for [`NR`] batch elements from `first` on.
///
/// # Safety
/// As [`run`]; `to` holds the rows.
unsafe fn fill(call: &Call, image: usize, first: usize, top: usize, rows: usize, pitch: usize, to: *mut f32) {
    let desc = call.desc;
    let (input, low) = (pair(&desc.input), pair(&desc.padding_low));
    let s = &desc.input_strides;
    let lanes = NR.min(desc.batch - first);
    let begin = low[1].min(pitch);
    let end = (low[1] + input[1]).min(pitch).max(begin);
    for r in 0..rows {
        let row = to.wrapping_add(r * pitch * NR);
        let y = (top + r).wrapping_sub(low[0]);
        let inside = y < input[0] && begin < end;
        // SAFETY: the row's words; the elements are inside the input.
        unsafe {
            let words = std::slice::from_raw_parts_mut(row, pitch * NR);
            if !inside || lanes < NR {
                words.fill(0.0);
            } else {
                words[..begin * NR].fill(0.0);
                words[end * NR..].fill(0.0);
            }
            if inside {
                let at = first as i64 * s[0] + image as i64 * s[1] + y as i64 * s[2];
                let src = call.ptrs.input.cast::<f32>().wrapping_offset(at as isize).cast::<u8>();
                let dst = row.add(begin * NR).cast::<u8>();
                transpose(call.core.isa, 4, end - begin, lanes, dst, NR as isize, src, s[0] as isize);
            }
        }
    }
}
