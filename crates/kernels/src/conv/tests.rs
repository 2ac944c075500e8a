//! Against the definition: every output element is a sum over features and taps.

use crate::testing::{decode, encode};
use proptest::prelude::*;
use tnrs_types::{DType, Dims};

use super::{driver, plain, ConvDesc, ConvPtrs};
use crate::gemm::kernel::Core;
use crate::gemm::Activation;
use crate::isa::Isa;
use crate::pool::Pool;

/// Error allowed per unit of the sum of magnitudes.
fn tolerance(out: DType) -> f64 {
    match out {
        DType::F64 => 1e-13,
        DType::F32 => 2e-6,
        DType::F16 => 1e-3,
        _ => 8e-3,
    }
}

fn random(dtype: DType, n: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let x: Vec<f64> = (0..n)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f64 / (1u64 << 23) as f64 - 1.0
        })
        .collect();
    decode(dtype, &encode(dtype, &x))
}

/// Dense strides of (outer, feature, space…), features last in memory when `last`.
fn strides(outer: usize, features: usize, space: &[i64], last: bool) -> (Dims, usize) {
    let points: i64 = space.iter().product();
    let unit = if last { features as i64 } else { 1 };
    let mut s = Dims::from_slice(&[features as i64 * points, if last { 1 } else { points }]);
    for d in 0..space.len() {
        s.push(unit * space[d + 1..].iter().product::<i64>());
    }
    (s, outer * features * points as usize)
}

/// A convolution with its output sizes derived from padding `(low, high)`.
#[allow(clippy::type_complexity)]
fn describe(
    dtype: DType,
    out: DType,
    (batch, features, outs): (usize, usize, usize),
    groups: (usize, usize),
    dims: &[(i64, i64, i64, i64, i64, i64, i64, bool)],
    last: (bool, bool, bool),
) -> Option<ConvDesc> {
    let pick =
        |f: fn(&(i64, i64, i64, i64, i64, i64, i64, bool)) -> i64| -> Dims { dims.iter().map(f).collect() };
    let output: Dims = dims
        .iter()
        .map(|&(n, k, stride, low, high, lhs, rhs, _)| {
            let padded = (n - 1) * lhs + 1 + low + high;
            let window = (k - 1) * rhs + 1;
            if padded < window {
                0
            } else {
                (padded - window) / stride + 1
            }
        })
        .collect();
    if output.contains(&0) {
        return None;
    }
    let (input, kernel) = (pick(|d| d.0), pick(|d| d.1));
    Some(ConvDesc {
        dtype,
        out,
        batch,
        in_features: features,
        out_features: outs,
        input_strides: strides(batch, features, &input, last.0).0,
        kernel_strides: strides(outs, features / groups.0, &kernel, last.1).0,
        output_strides: strides(batch / groups.1, outs, &output, last.2).0,
        input,
        kernel,
        output,
        window_strides: pick(|d| d.2),
        padding_low: pick(|d| d.3),
        lhs_dilation: pick(|d| d.5),
        rhs_dilation: pick(|d| d.6),
        window_reversal: dims.iter().map(|d| d.7).collect(),
        feature_groups: groups.0,
        batch_groups: groups.1,
        bias: false,
        activation: Activation::None,
    })
}

/// Row-major coordinates.
fn unravel(dims: &[i64], flat: usize) -> Vec<i64> {
    let mut rest = flat as i64;
    let mut at = vec![0; dims.len()];
    for d in (0..dims.len()).rev() {
        at[d] = rest % dims[d];
        rest /= dims[d];
    }
    at
}

fn dot(at: impl IntoIterator<Item = i64>, strides: &[i64]) -> usize {
    at.into_iter().zip(strides).map(|(a, s)| a * s).sum::<i64>() as usize
}

fn check(pool: &Pool, core: Option<&Core>, d: &ConvDesc) {
    let points = |dims: &[i64]| dims.iter().product::<i64>() as usize;
    let group_features = d.in_features / d.feature_groups;
    let out_batch = d.batch / d.batch_groups;
    let x = random(d.dtype, d.batch * d.in_features * points(&d.input), 1);
    let w = random(d.dtype, d.out_features * group_features * points(&d.kernel), 2);
    let bias = random(d.out, d.out_features, 3);
    let (xb, wb, bb) = (encode(d.dtype, &x), encode(d.dtype, &w), encode(d.out, &bias));
    let mut yb = encode(d.out, &vec![f64::NAN; out_batch * d.out_features * points(&d.output)]);
    let ptrs =
        ConvPtrs { input: xb.as_ptr(), kernel: wb.as_ptr(), bias: bb.as_ptr(), output: yb.as_mut_ptr() };
    let mut direct = Vec::new();
    // SAFETY: dense buffers of the description's sizes.
    unsafe {
        match core {
            Some(core) => {
                #[cfg(target_arch = "x86_64")]
                {
                    direct = yb.clone();
                    let to = ConvPtrs { output: direct.as_mut_ptr(), ..ptrs };
                    if !super::correlate::run(pool, core, d, &to)
                        && !super::direct::run(pool, core, d, &to)
                        && !super::rows::run(pool, core.isa, d, &to)
                        && !super::rows::gradient(pool, core.isa, d, &to)
                    {
                        direct.clear();
                    }
                }
                driver::run(pool, core, d, &ptrs);
            }
            None => plain::run::<f64>(pool, d, &ptrs),
        }
    }
    let y = decode(d.out, &yb);
    let direct = decode(d.out, &direct);
    for (n, o, p) in (0..out_batch * d.out_features * points(&d.output)).map(|i| {
        let space = points(&d.output);
        (i / space / d.out_features, i / space % d.out_features, i % space)
    }) {
        let at = unravel(&d.output, p);
        let g = o / (d.out_features / (d.feature_groups * d.batch_groups));
        let image = if d.batch_groups > 1 { g * out_batch + n } else { n };
        let (mut sum, mut size) = (0.0, 0.0);
        for t in 0..points(&d.kernel) {
            let tap = unravel(&d.kernel, t);
            let place: Vec<i64> = (0..at.len())
                .map(|i| at[i] * d.window_strides[i] - d.padding_low[i] + tap[i] * d.rhs_dilation[i])
                .collect();
            let inside = (0..at.len()).all(|i| {
                place[i] >= 0
                    && place[i] % d.lhs_dilation[i] == 0
                    && place[i] / d.lhs_dilation[i] < d.input[i]
            });
            if !inside {
                continue;
            }
            for f in 0..group_features {
                let feature = if d.feature_groups > 1 { g * group_features + f } else { f };
                let from = [image as i64, feature as i64].into_iter();
                let xi =
                    dot(from.chain((0..at.len()).map(|i| place[i] / d.lhs_dilation[i])), &d.input_strides);
                let turned =
                    (0..at.len())
                        .map(|i| if d.window_reversal[i] { d.kernel[i] - 1 - tap[i] } else { tap[i] });
                let wi = dot([o as i64, f as i64].into_iter().chain(turned), &d.kernel_strides);
                sum += x[xi] * w[wi];
                size += (x[xi] * w[wi]).abs();
            }
        }
        if d.bias {
            sum += bias[o];
        }
        if d.activation == Activation::Relu {
            sum = sum.max(0.0);
        }
        let got = y[dot([n as i64, o as i64].into_iter().chain(at), &d.output_strides)];
        let bound = tolerance(d.out) * (sum.abs() + 0.1) + 3e-6 * size;
        assert!((got - sum).abs() <= bound, "{n} {o} {p}: {got} {sum} in {d:?} on {:?}", core.map(|c| c.isa));
        if !direct.is_empty() {
            let got =
                direct[dot([n as i64, o as i64].into_iter().chain(unravel(&d.output, p)), &d.output_strides)];
            assert!((got - sum).abs() <= bound, "{n} {o} {p}: {got} {sum} in {d:?}, directly");
        }
    }
}

fn cores() -> Vec<Core> {
    let mut cores = Vec::new();
    for isa in Isa::available() {
        for dtype in [DType::F32, DType::BF16, DType::F16] {
            cores.push(Core::new(isa, dtype, true));
        }
        cores.push(Core::new(isa, DType::BF16, false));
    }
    cores
}

#[test]
fn images_of_both_layouts() {
    let pool = Pool::new(2);
    let side = (14, 3, 1, 1, 1, 1, 1, false);
    for core in cores() {
        for last in [(false, false, false), (true, true, true), (true, false, true), (false, false, true)] {
            for features in [3, 16, 40] {
                let mut d =
                    describe(core.dtype, core.dtype, (3, features, 29), (1, 1), &[side, side], last).unwrap();
                d.bias = true;
                d.activation = Activation::Relu;
                check(&pool, Some(&core), &d);
            }
        }
    }
}

#[test]
fn depthwise_and_large_k() {
    let pool = Pool::new(2);
    let core = Core::new(crate::isa::current(), DType::F32, true);
    let side = (9, 3, 2, 1, 1, 1, 1, false);
    let d =
        describe(DType::F32, DType::F32, (2, 24, 24), (24, 1), &[side, side], (false, false, false)).unwrap();
    check(&pool, Some(&core), &d);
    // A gradient of a kernel: the window is as large as an image.
    let side = (12, 10, 1, 0, 0, 1, 1, false);
    let d =
        describe(DType::BF16, DType::F32, (4, 9, 13), (1, 1), &[side, side], (false, true, false)).unwrap();
    check(&pool, Some(&Core::new(crate::isa::current(), DType::BF16, true)), &d);
}

#[test]
fn rows_of_groups_and_volumes() {
    let pool = Pool::new(2);
    let core = Core::new(crate::isa::current(), DType::F32, true);
    let last = (false, false, false);
    let f32s =
        |sizes, groups, dims: &[_]| describe(DType::F32, DType::F32, sizes, groups, dims, last).unwrap();
    for (n, k, stride, pad, dilation, reversed) in
        [(40, 3, 1, 1, 1, false), (130, 7, 1, 3, 1, true), (33, 3, 2, 1, 1, false), (36, 3, 1, 2, 2, true)]
    {
        let x = (n, k, stride, pad, pad, 1, dilation, reversed);
        let y = (9, 3, stride, 1, 1, 1, 1, reversed);
        for (sizes, groups) in [((2, 6, 6), (6, 1)), ((2, 6, 12), (3, 1)), ((1, 2, 5), (1, 1))] {
            let mut d = f32s(sizes, groups, &[y, y, x]);
            d.bias = true;
            check(&pool, Some(&core), &d);
            check(&pool, Some(&core), &f32s(sizes, groups, &[x]));
        }
    }
    // Gradients of kernels: the window is an image.
    for (n, k, low, step) in [(40, 40, 1, 1), (33, 31, 0, 1), (70, 66, 2, 3)] {
        let x = (n, k, step, low, low, 1, 1, false);
        let y = (9, 9, 1, 1, 1, 1, 1, false);
        for (sizes, groups) in [((6, 2, 6), (1, 6)), ((4, 2, 3), (1, 1))] {
            check(&pool, Some(&core), &f32s(sizes, groups, &[y, y, x]));
            check(&pool, Some(&core), &f32s(sizes, groups, &[y, x]));
        }
    }
}

#[test]
fn gradients_of_kernels_and_tall_images() {
    let pool = Pool::new(2);
    let core = Core::new(crate::isa::current(), DType::F32, true);
    for (n, k, stride, low, high, rhs) in
        [(12, 10, 1, 0, 0, 1), (14, 14, 1, 1, 1, 1), (15, 7, 1, 1, 1, 2), (40, 20, 2, 1, 1, 2)]
    {
        let side = (n, k, stride, low, high, 1, rhs, false);
        for (features, batch) in [(3, 40), (2, 19)] {
            let sizes = (batch, features, 29);
            let last = (false, false, false);
            let d = describe(DType::F32, DType::F32, sizes, (1, 1), &[side, side], last).unwrap();
            check(&pool, Some(&core), &d);
        }
    }
    // More rows than the sums of one chunk hold, with positions and with features as columns.
    for (height, width, outs, stride) in [(300, 70, 30, 1), (120, 14, 96, 1), (121, 33, 64, 2)] {
        let (y, x) = ((height, 3, stride, 1, 1, 1, 1, false), (width, 3, stride, 1, 1, 1, 1, false));
        let last = (false, false, false);
        let d = describe(DType::F32, DType::F32, (1, 3, outs), (1, 1), &[y, x], last).unwrap();
        check(&pool, Some(&core), &d);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..Default::default() })]
    #[test]
    fn any_convolution(
        which in 0..=cores().len(),
        dims in prop::collection::vec((1i64..9, 1i64..4, 1i64..3, -1i64..3, -1i64..3, 1i64..3, 1i64..3, any::<bool>()), 0..4),
        (batch, features, outs) in (1usize..3, 1usize..5, 1usize..9),
        groups in prop::sample::select(vec![(1usize, 1usize), (2, 1), (1, 2), (3, 1)]),
        last in any::<(bool, bool, bool)>(),
        (bias, relu) in any::<(bool, bool)>(),
        wide in any::<bool>(),
    ) {
        let all = cores();
        let core = all.get(which);
        let dtype = core.map_or(DType::F64, |c| c.dtype);
        let out = if wide && core.is_some() { DType::F32 } else { dtype };
        let product = groups.0 * groups.1;
        let sizes = (batch * groups.1, features * groups.0, outs * product);
        if let Some(mut d) = describe(dtype, out, sizes, groups, &dims, last) {
            d.bias = bias;
            d.activation = if relu { Activation::Relu } else { Activation::None };
            check(&Pool::new(2), core, &d);
        }
    }
}
