//! Times compiling one-instruction functions and running them on one element, and a chain over several sizes.

use std::time::Instant;

use tnrs_hal::Arg;
use tnrs_hlo::{Builder, Composite, Func, TensorType};
use tnrs_softcore::{compile, CompileSpec};
use tnrs_types::DType;

fn add(dims: &[i64]) -> Func {
    let mut b = Builder::new("add");
    let ty = TensorType::new(DType::F32, dims);
    let (x, y) = (b.param(ty.clone()), b.param(ty));
    let z = b.add(x, y).expect("equal types");
    b.finish(&[z])
}

/// gelu(x * w + b) + r.
fn chain(dims: &[i64]) -> Func {
    let mut b = Builder::new("chain");
    let ty = TensorType::new(DType::F32, dims);
    let p: Vec<_> = (0..4).map(|_| b.param(ty.clone())).collect();
    let m = b.mul(p[0], p[1]).expect("equal types");
    let a = b.add(m, p[2]).expect("equal types");
    let g = b.composite(Composite::Gelu { tanh: false }, &[a], &[ty]).expect("a float")[0];
    let r = b.add(g, p[3]).expect("equal types");
    b.finish(&[r])
}

fn reduce(dims: &[i64]) -> Func {
    let mut b = Builder::new("sum");
    let x = b.param(TensorType::new(DType::F32, dims));
    let s = b.reduce(tnrs_hlo::ReduceKind::Add, x, &[0]).expect("a dim");
    b.finish(&[s])
}

/// Best nanoseconds per call over several rounds.
fn best(calls: usize, mut f: impl FnMut()) -> f64 {
    (0..7)
        .map(|_| {
            let t = Instant::now();
            (0..calls).for_each(|_| f());
            t.elapsed().as_nanos() as f64 / calls as f64
        })
        .fold(f64::INFINITY, f64::min)
}

fn main() {
    for (name, f) in [
        ("add [1]", add(&[1])),
        ("add [64,64]", add(&[64, 64])),
        ("chain [64,64]", chain(&[64, 64])),
        ("sum [64,64]", reduce(&[64, 64])),
    ] {
        let spec = CompileSpec::dense(&f);
        let ns = best(2000, || {
            std::hint::black_box(compile(&f, &spec).expect("supported"));
        });
        println!("compile {name:<16} {ns:>10.0} ns");
    }
    for (name, f, n) in [
        ("add [1]", add(&[1]), 1usize),
        ("chain [1]", chain(&[1]), 1),
        ("chain [10000]", chain(&[10_000]), 10_000),
        ("chain [1000000]", chain(&[1_000_000]), 1_000_000),
        ("chain [10000000]", chain(&[10_000_000]), 10_000_000),
        ("sum [1000,1000]", reduce(&[1000, 1000]), 1_000_000),
    ] {
        let exe = compile(&f, &CompileSpec::dense(&f)).expect("supported");
        let mut memory: Vec<Vec<f32>> = (0..=f.params.len()).map(|_| vec![0.5; n]).collect();
        let args: Vec<Arg> = memory.iter_mut().map(|m| Arg::Memory(m.as_mut_ptr().cast())).collect();
        let mut workspace = vec![0u128; exe.workspace_bytes() / 16 + 4];
        let w: *mut u8 = workspace.as_mut_ptr().cast();
        let w = w.wrapping_add(w.align_offset(64));
        let ns = best((20_000_000 / (n + 200)).clamp(3, 100_000), || {
            // SAFETY: every argument has the elements that the function's types say.
            unsafe { exe.run(&args, w) }.expect("no fault");
        });
        println!("run {name:<20} {ns:>12.1} ns (estimate {})", exe.cost_ns());
    }
}
