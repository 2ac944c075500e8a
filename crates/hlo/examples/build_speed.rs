//! Prints the time to build, and to build and verify, a function of five instructions: what an eager cache miss pays.

use std::hint::black_box;
use std::time::Instant;

use tnrs_hlo::{verify, Builder, Func, HloError, ReduceKind, TensorType};
use tnrs_types::DType;

fn build() -> Result<Func, HloError> {
    let mut b = Builder::new("rms");
    let x = b.param(TensorType::new(DType::BF16, &[8, 128, 384]));
    let w = b.param(TensorType::new(DType::F32, &[384]));
    let wide = b.convert(x, DType::F32)?;
    let scaled = b.mul(wide, wide)?;
    let sum = b.reduce(ReduceKind::Add, scaled, &[2])?;
    let spread = b.broadcast_in_dim(sum, &[0, 1], &[8, 128, 384])?;
    let weight = b.broadcast_to(w, &[8, 128, 384])?;
    Ok(b.finish(&[spread, weight]))
}

/// Best of several rounds, in nanoseconds a call.
fn best(mut f: impl FnMut()) -> f64 {
    const CALLS: u32 = 10_000;
    (0..20)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..CALLS {
                f();
            }
            start.elapsed().as_nanos() as f64 / f64::from(CALLS)
        })
        .fold(f64::INFINITY, f64::min)
}

fn main() -> Result<(), HloError> {
    let func = build()?;
    println!("{} instructions", func.instrs.len());
    let built = best(|| {
        black_box(build().is_ok());
    });
    let verified = best(|| {
        let func = build();
        black_box(func.is_ok_and(|f| verify(&f).is_ok()));
    });
    println!("build {built:.0} ns, build and verify {verified:.0} ns");
    Ok(())
}
