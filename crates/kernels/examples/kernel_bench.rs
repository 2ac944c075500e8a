//! Prints the rate of the kernels on this machine: `kernel_bench [filter] [threads]`.
//!
//! Each case runs until its time is steady; the best and the median call are reported.

use std::time::Instant;

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

/// Times `f` and prints a line; `work` is in units of 1e9 per call (flops or bytes).
fn report(name: &str, work: f64, unit: &str, mut f: impl FnMut()) {
    f();
    let start = Instant::now();
    let mut times = Vec::new();
    while times.len() < 5 || (start.elapsed().as_secs_f64() < 1.0 && times.len() < 2000) {
        let t = Instant::now();
        f();
        times.push(t.elapsed().as_secs_f64());
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
                let turned = |rows: usize| MatStrides {
                    row: 1,
                    col: rows as isize,
                    ..Default::default()
                };
                match form {
                    "nt" => desc.b = turned(k),
                    "tn" => desc.a = turned(m),
                    _ => {}
                }
                let ptrs = GemmPtrs::new(a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
                let flops = 2e-9 * (m * n * k) as f64;
                // SAFETY: dense buffers of these sizes.
                report(&name, flops, "GF/s", || unsafe {
                    gemm(pool, &desc, &ptrs)
                });
            }
        }
    }
}

fn main() {
    let mut args = std::env::args().skip(1);
    let filter = args.next().unwrap_or_default();
    let threads = args.next().and_then(|t| t.parse().ok()).unwrap_or(1);
    let pool = Pool::new(threads);
    matrices(&pool, &filter);
}
