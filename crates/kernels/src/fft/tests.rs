use std::f64::consts::TAU;

use tnrs_types::{Dims, FftKind};

use super::{Fft, FftDesc};
use crate::pool::Pool;

type Pair = (f64, f64);

/// The defining sum over the last dim of a dense tensor of one batch dim.
fn oracle(x: &[Pair], batch: usize, n: usize, inverse: bool) -> Vec<Pair> {
    let sign = if inverse { TAU } else { -TAU };
    let mut y = Vec::new();
    for b in 0..batch {
        for k in 0..n {
            let mut sum = (0.0, 0.0);
            for j in 0..n {
                let (re, im) = x[b * n + j];
                let (sin, cos) = (sign * ((j * k) % n) as f64 / n as f64).sin_cos();
                sum = (sum.0 + re * cos - im * sin, sum.1 + re * sin + im * cos);
            }
            y.push(sum);
        }
    }
    y
}

fn numbers(count: usize) -> Vec<f64> {
    let mut state = 1u64;
    (0..count)
        .map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as f64 / (1u64 << 31) as f64 - 0.5
        })
        .collect()
}

fn close(found: &[f64], wanted: impl Iterator<Item = f64>, name: &str) {
    for (i, (f, w)) in found.iter().zip(wanted).enumerate() {
        assert!((f - w).abs() < 1e-9, "{name}: element {i} is {f}, not {w}");
    }
}

/// Runs a transform of f64 with operand and result in the given strides.
fn transform(kind: FftKind, batch: usize, n: usize, x: &[f64], columns: bool, scale: f64) -> Vec<f64> {
    let (half, b) = (n / 2 + 1, batch as i64);
    let (from, to) = match kind {
        FftKind::Rfft => (n, half),
        FftKind::Irfft => (half, n),
        _ => (n, n),
    };
    let strides = |len: usize| if columns { [1, b] } else { [len as i64, 1] };
    let parts = if kind == FftKind::Irfft { 1 } else { 2 };
    let per = if kind == FftKind::Rfft { 1 } else { 2 };
    let mut src = vec![0.0; x.len()];
    let place = |r: usize, c: usize, len: usize| if columns { c * batch + r } else { r * len + c };
    for r in 0..batch {
        for c in 0..from {
            for p in 0..per {
                src[place(r, c, from) * per + p] = x[(r * from + c) * per + p];
            }
        }
    }
    let mut dst = vec![0.0; batch * to * parts];
    let desc = FftDesc {
        kind,
        double: true,
        batch: Dims::from_slice(&[b]),
        length: Dims::from_slice(&[n as i64]),
        input_strides: Dims::from_slice(&strides(from)),
        output_strides: Dims::from_slice(&strides(to)),
        scale,
    };
    // SAFETY: both vectors hold the elements that the strides reach.
    unsafe { Fft::new(&desc).run(&Pool::new(2), src.as_ptr().cast(), dst.as_mut_ptr().cast()) };
    let mut y = vec![0.0; dst.len()];
    for r in 0..batch {
        for c in 0..to {
            for p in 0..parts {
                y[(r * to + c) * parts + p] = dst[place(r, c, to) * parts + p];
            }
        }
    }
    y
}

#[test]
fn rows_and_columns_agree_with_the_defining_sum() {
    for n in [1usize, 2, 3, 8, 17, 30, 64, 97] {
        for batch in [1usize, 3, 37] {
            for columns in [false, true] {
                let x = numbers(2 * n * batch);
                let pairs: Vec<Pair> = x.chunks(2).map(|c| (c[0], c[1])).collect();
                for (kind, inverse) in [(FftKind::Fft, false), (FftKind::Ifft, true)] {
                    let wanted = oracle(&pairs, batch, n, inverse);
                    let found = transform(kind, batch, n, &x, columns, 0.25);
                    close(
                        &found,
                        wanted.iter().flat_map(|z| [z.0 * 0.25, z.1 * 0.25]),
                        &format!("{kind:?} {n}"),
                    );
                }
                let real = numbers(n * batch);
                let pairs: Vec<Pair> = real.iter().map(|&v| (v, 0.0)).collect();
                let whole = oracle(&pairs, batch, n, false);
                let half: Vec<f64> =
                    whole.chunks(n).flat_map(|r| &r[..n / 2 + 1]).flat_map(|z| [z.0, z.1]).collect();
                close(
                    &transform(FftKind::Rfft, batch, n, &real, columns, 1.0),
                    half.iter().copied(),
                    &format!("Rfft {n}"),
                );
                let back = transform(FftKind::Irfft, batch, n, &half, columns, 1.0 / n as f64);
                close(&back, real.into_iter(), &format!("Irfft {n}"));
            }
        }
    }
}

/// Over three dims, with a batch dim between them in memory.
#[test]
fn three_dims_round_trip_in_real_and_complex() {
    let (b, dims) = (5i64, [4i64, 6, 9]);
    let numel = (b * dims.iter().product::<i64>()) as usize;
    let desc = |kind, input: &[i64], output: &[i64], scale| FftDesc {
        kind,
        double: true,
        batch: Dims::from_slice(&[b]),
        length: Dims::from_slice(&dims),
        input_strides: Dims::from_slice(input),
        output_strides: Dims::from_slice(output),
        scale,
    };
    let run = |d: &FftDesc, x: &[f64], len: usize| {
        let mut y = vec![0.0; len];
        // SAFETY: both vectors hold the elements that the strides reach.
        unsafe { Fft::new(d).run(&Pool::new(2), x.as_ptr().cast(), y.as_mut_ptr().cast()) };
        y
    };
    let count: f64 = dims.iter().product::<i64>() as f64;
    // Memory order [4, 5, 6, 9].
    let mixed = [54, 270, 9, 1];
    let x = numbers(numel);
    let half = run(&desc(FftKind::Rfft, &mixed, &[120, 30, 5, 1], 1.0), &x, 2 * 600);
    let back = run(&desc(FftKind::Irfft, &[120, 30, 5, 1], &mixed, 1.0 / count), &half, numel);
    close(&back, x.iter().copied(), "real");
    let z = numbers(2 * numel);
    let there = run(&desc(FftKind::Fft, &mixed, &[216, 54, 9, 1], 1.0), &z, 2 * numel);
    let back = run(&desc(FftKind::Ifft, &[216, 54, 9, 1], &mixed, 1.0 / count), &there, 2 * numel);
    close(&back, z.iter().copied(), "complex");
}
