//! Prints the rate of the kernels on this machine: `kernel_bench [filter] [threads]`.
//!
//! Each case runs until its time is steady; the best and the median call are reported.

use std::time::Instant;

use tnrs_kernels::attention::{
    backward, forward, AttentionDesc, BackwardDesc, BackwardPtrs, ForwardPtrs, Strides4,
};
use tnrs_kernels::conv::{conv, ConvDesc, ConvPtrs};
use tnrs_kernels::gemm::Activation;
use tnrs_kernels::gemm::{gemm, GemmDesc, GemmPtrs, MatStrides};
use tnrs_kernels::pool::Pool;
use tnrs_types::DType;

/// Pseudo-random elements in [-1, 1).
fn random(dtype: DType, n: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut bytes = Vec::with_capacity(n * dtype.size());
    for _ in 0..n {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let x = (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0;
        match dtype {
            DType::BF16 => bytes.extend(half::bf16::from_f32(x).to_ne_bytes()),
            DType::F16 => bytes.extend(half::f16::from_f32(x).to_ne_bytes()),
            DType::F64 => bytes.extend(f64::from(x).to_ne_bytes()),
            _ => bytes.extend(x.to_ne_bytes()),
        }
    }
    bytes
}

/// Seconds: of this thread's own running when the pool has one thread, so that other programs do not count; else of
/// the clock.
fn now(cpu: bool) -> f64 {
    let clock = if cpu { libc::CLOCK_THREAD_CPUTIME_ID } else { libc::CLOCK_MONOTONIC };
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a valid clock and a valid place for the time.
    unsafe { libc::clock_gettime(clock, &mut t) };
    t.tv_sec as f64 + t.tv_nsec as f64 * 1e-9
}

/// Times `f` and prints a line; `work` is in units of 1e9 per call (flops or bytes).
fn report(pool: &Pool, name: &str, work: f64, unit: &str, mut f: impl FnMut()) {
    f();
    let start = Instant::now();
    let mut times = Vec::new();
    while times.len() < 5 || (start.elapsed().as_secs_f64() < 1.0 && times.len() < 2000) {
        let t = now(pool.threads() == 1);
        f();
        times.push(now(pool.threads() == 1) - t);
    }
    times.sort_by(f64::total_cmp);
    let (best, median) = (times[0], times[times.len() / 2]);
    println!(
        "{name:40} best {:9.3} ms  median {:9.3} ms   {:8.1} / {:8.1} {unit}",
        best * 1e3,
        median * 1e3,
        work / best,
        work / median
    );
}

fn matrices(pool: &Pool, filter: &str) {
    for dtype in [DType::F32, DType::BF16, DType::F16, DType::F64] {
        for (m, n, k) in [
            (256, 256, 256),
            (512, 512, 512),
            (1024, 1024, 1024),
            (2048, 2048, 2048),
            (8, 4096, 4096),
            (1, 4096, 4096),
            (64, 4096, 4096),
            (384, 1536, 2048),
        ] {
            for form in ["nn", "nt", "tn"] {
                let name = format!("gemm {dtype:?} {m}x{n}x{k} {form}");
                if !name.contains(filter) {
                    continue;
                }
                let (a, b) = (random(dtype, m * k), random(dtype, k * n));
                let mut c = vec![0u8; m * n * dtype.size()];
                let mut desc = GemmDesc::dense(dtype, m, n, k);
                let turned = |rows: usize| MatStrides { row: 1, col: rows as isize, ..Default::default() };
                match form {
                    "nt" => desc.b = turned(k),
                    "tn" => desc.a = turned(m),
                    _ => {}
                }
                let ptrs = GemmPtrs::new(a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
                let flops = 2e-9 * (m * n * k) as f64;
                // SAFETY: dense buffers of these sizes.
                report(pool, &name, flops, "GF/s", || unsafe { gemm(pool, &desc, &ptrs) });
            }
        }
    }
}

/// Causal attention over (4, 12, 512, 64) in (B, T, H, D) memory.
fn attention(pool: &Pool, filter: &str) {
    let (batch, heads, rows, dim) = (4, 12, 512, 64);
    let n = batch * heads * rows * dim;
    for dtype in [DType::F32, DType::BF16] {
        let strides =
            Strides4 { b: (rows * heads * dim) as isize, h: dim as isize, r: (heads * dim) as isize, d: 1 };
        let desc = AttentionDesc {
            dtype,
            batch,
            heads,
            kv_heads: heads,
            queries: rows,
            keys: rows,
            head_dim: dim,
            value_dim: dim,
            q: strides,
            k: strides,
            v: strides,
            out: strides,
            scale: 0.125,
            causal: true,
            bias: None,
            dropout: 0.0,
        };
        let [q, k, v, dout] = [0; 4].map(|_| random(dtype, n));
        let [mut out, mut dq, mut dk, mut dv] = [0; 4].map(|_| vec![0u8; n * dtype.size()]);
        let mut lse = vec![0u8; batch * heads * rows * 4];
        let ptrs = ForwardPtrs {
            q: q.as_ptr(),
            k: k.as_ptr(),
            v: v.as_ptr(),
            bias: std::ptr::null(),
            out: out.as_mut_ptr(),
            lse: lse.as_mut_ptr(),
            seed: 0,
            offset: 0,
        };
        let flops = 2e-9 * (batch * heads * rows * rows * dim * 2) as f64 / 2.0;
        let name = format!("sdpa {dtype:?} causal forward");
        if name.contains(filter) {
            // SAFETY: buffers of the sizes that the strides reach.
            report(pool, &name, flops, "GF/s", || unsafe { forward(pool, &desc, &ptrs) });
        }
        let full = BackwardDesc {
            dout: strides,
            dq: strides,
            dk: strides,
            dv: strides,
            dbias: None,
            forward: desc.clone(),
        };
        let back = BackwardPtrs {
            forward: ptrs,
            dout: dout.as_ptr(),
            dq: dq.as_mut_ptr(),
            dk: dk.as_mut_ptr(),
            dv: dv.as_mut_ptr(),
            dbias: std::ptr::null_mut(),
        };
        let name = format!("sdpa {dtype:?} causal backward");
        if name.contains(filter) {
            // SAFETY: as above.
            report(pool, &name, flops * 2.5, "GF/s", || unsafe { backward(pool, &full, &back) });
        }
    }
}

/// 3×3 convolutions of ResNet sizes.
fn convolutions(pool: &Pool, filter: &str) {
    for (dtype, batch, features, side) in [
        (DType::F32, 1usize, 64usize, 56i64),
        (DType::F32, 8, 128, 28),
        (DType::F32, 8, 512, 7),
        (DType::BF16, 8, 128, 28),
    ] {
        for last in [false, true] {
            let points = (side * side) as usize;
            let f = features as i64;
            let image = |side: i64| -> tnrs_types::Dims {
                if last {
                    [f * side * side, 1, f * side, f].into_iter().collect()
                } else {
                    [f * side * side, side * side, side, 1].into_iter().collect()
                }
            };
            let pair = |x: i64| tnrs_types::Dims::from_elem(x, 2);
            let desc = ConvDesc {
                dtype,
                out: dtype,
                batch,
                in_features: features,
                out_features: features,
                input: pair(side),
                kernel: pair(3),
                output: pair(side),
                input_strides: image(side),
                kernel_strides: image(3),
                output_strides: image(side),
                window_strides: pair(1),
                padding_low: pair(1),
                lhs_dilation: pair(1),
                rhs_dilation: pair(1),
                window_reversal: vec![false; 2],
                feature_groups: 1,
                batch_groups: 1,
                bias: false,
                activation: Activation::None,
            };
            let layout = if last { "nhwc" } else { "nchw" };
            let name = format!("conv {dtype:?} {batch}x{features}x{side} {layout}");
            if !name.contains(filter) {
                continue;
            }
            let x = random(dtype, batch * features * points);
            let w = random(dtype, features * features * 9);
            let mut y = vec![0u8; x.len()];
            let ptrs = ConvPtrs {
                input: x.as_ptr(),
                kernel: w.as_ptr(),
                bias: std::ptr::null(),
                output: y.as_mut_ptr(),
            };
            let flops = 2e-9 * (batch * points * features * features * 9) as f64;
            // SAFETY: buffers of the sizes that the strides reach.
            report(pool, &name, flops, "GF/s", || unsafe { conv(pool, &desc, &ptrs) });
        }
    }
}

fn main() {
    let mut args = std::env::args().skip(1);
    let filter = args.next().unwrap_or_default();
    let threads = args.next().and_then(|t| t.parse().ok()).unwrap_or(1);
    let pool = Pool::new(threads);
    matrices(&pool, &filter);
    attention(&pool, &filter);
    convolutions(&pool, &filter);
}
