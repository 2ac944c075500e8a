//! The machine's limits: multiply-add rates of one and of all threads, and the bandwidth of a copy.
//!
//!     cargo run --release -p tnrs-kernels --example peak
//!
//! Threads: `TORCH_NEURONX_SOFTCORE_THREADS`, or the process's CPU affinity.

use std::hint::black_box;
use std::time::Instant;

use tnrs_kernels::{isa, pool};

/// Independent chains per thread: enough to fill two pipes of four cycles with room to spare.
const CHAINS: usize = 16;
const ROUNDS: usize = 4_000_000;

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{black_box, CHAINS, ROUNDS};
    use std::arch::x86_64::*;

    #[target_feature(enable = "avx512f")]
    pub fn f32_avx512() -> f64 {
        let (a, b) = (_mm512_set1_ps(black_box(0.999)), _mm512_set1_ps(black_box(1e-3)));
        let mut acc = [_mm512_setzero_ps(); CHAINS];
        for _ in 0..ROUNDS {
            for x in &mut acc {
                *x = _mm512_fmadd_ps(*x, a, b);
            }
        }
        black_box(acc);
        (ROUNDS * CHAINS * 16 * 2) as f64
    }

    #[target_feature(enable = "avx512f,avx512bf16")]
    pub fn bf16_avx512() -> f64 {
        let one = _mm512_cvtne2ps_pbh(_mm512_set1_ps(black_box(1.0)), _mm512_set1_ps(black_box(1.0)));
        let mut acc = [_mm512_setzero_ps(); CHAINS];
        for _ in 0..ROUNDS {
            for x in &mut acc {
                *x = _mm512_dpbf16_ps(*x, one, one);
            }
        }
        black_box(acc);
        (ROUNDS * CHAINS * 32 * 2) as f64
    }

    #[target_feature(enable = "avx2,fma")]
    pub fn f32_avx2() -> f64 {
        let (a, b) = (_mm256_set1_ps(black_box(0.999)), _mm256_set1_ps(black_box(1e-3)));
        let mut acc = [_mm256_setzero_ps(); CHAINS - 4];
        for _ in 0..ROUNDS {
            for x in &mut acc {
                *x = _mm256_fmadd_ps(*x, a, b);
            }
        }
        black_box(acc);
        (ROUNDS * (CHAINS - 4) * 8 * 2) as f64
    }
}

fn f32_portable() -> f64 {
    let (a, b) = (black_box(0.999f32), black_box(1e-3f32));
    let mut acc = [0.0f32; 4 * CHAINS];
    for _ in 0..ROUNDS {
        for x in &mut acc {
            *x = *x * a + b;
        }
    }
    black_box(acc);
    (ROUNDS * 4 * CHAINS * 2) as f64
}

/// Best of five, in units of 1e9 per second: `work` gives the units that one thread did.
fn rate(threads: usize, work: impl Fn() -> f64 + Sync) -> f64 {
    let once = || {
        let start = Instant::now();
        let done: f64 = std::thread::scope(|s| {
            let handles: Vec<_> = (0..threads).map(|_| s.spawn(&work)).collect();
            handles.into_iter().map(|h| h.join().expect("a measuring thread ended")).sum()
        });
        done / start.elapsed().as_secs_f64() / 1e9
    };
    (0..5).map(|_| once()).fold(0.0, f64::max)
}

fn copy() -> f64 {
    const BYTES: usize = 64 << 20;
    let (from, mut to) = (vec![1u8; BYTES], vec![0u8; BYTES]);
    to.copy_from_slice(&from);
    let start = Instant::now();
    for _ in 0..8 {
        black_box(&mut to).copy_from_slice(black_box(&from));
    }
    let seconds = start.elapsed().as_secs_f64();
    (8 * 2 * BYTES) as f64 / seconds / 1e9
}

fn main() {
    let threads = pool::global().threads();
    let report = |name: &str, work: &(dyn Fn() -> f64 + Sync)| {
        println!(
            "peak {name}: {:.0} GFLOP/s on 1 thread, {:.0} on {threads}",
            rate(1, work),
            rate(threads, work)
        );
    };
    match isa::current() {
        #[cfg(target_arch = "x86_64")]
        isa::Isa::Avx512 => {
            // SAFETY: `isa::current` found AVX-512 on this processor.
            report("f32 multiply-add, AVX-512", &|| unsafe { x86::f32_avx512() });
            if isa::has_avx512_bf16() {
                // SAFETY: the processor has AVX512-BF16.
                report("bf16 dot product, AVX-512", &|| unsafe { x86::bf16_avx512() });
            }
        }
        #[cfg(target_arch = "x86_64")]
        isa::Isa::Avx2 => {
            // SAFETY: `isa::current` found AVX2 and FMA on this processor.
            report("f32 multiply-add, AVX2", &|| unsafe { x86::f32_avx2() });
        }
        _ => report("f32 multiply-add", &f32_portable),
    }
    println!("peak copy, 64 MiB, read and write counted: {:.0} GB/s on 1 thread", copy());
}
