//! Random programs on softcore against the reference interpreter.

mod common;
mod generate;

use common::{difference, run, stored, tolerance};
use generate::{arguments, program, specification, Rng};
use tnrs_hlo::{interpret, Func};

/// Allowed error of every value: that of the coarsest type it was computed through.
fn tolerances(f: &Func) -> Vec<f64> {
    let mut all: Vec<f64> = f.types.iter().map(|t| tolerance(t.dtype)).collect();
    for i in &f.instrs {
        let from = i.operands.iter().map(|v| all[v.index()]).fold(0.0, f64::max);
        let coarsest = i.results.iter().map(|v| all[v.index()]).fold(from, f64::max);
        for r in &i.results {
            all[r.index()] = coarsest;
        }
    }
    all
}

fn check(seed: u64, instructions: usize) {
    let mut rng = Rng::new(seed);
    let (func, exact) = program(&mut rng, instructions);
    let args = arguments(&mut rng, &func);
    let spec = specification(&mut rng, &func);
    let args = stored(&spec, &args);
    let wanted = interpret(&func, &args);
    let found = run(&func, &spec, &args).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    let tolerances = tolerances(&func);
    for (i, (f, w)) in found.iter().zip(&wanted).enumerate() {
        let tol = if exact[i] { 0.0 } else { tolerances[func.results[i].index()] };
        if let Some(d) = difference(f, w, tol) {
            panic!("seed {seed}, result {i}: {d}\n{}\n{spec:?}", tnrs_hlo::text::print(&func));
        }
    }
}

#[test]
fn single_instructions() {
    for seed in 0..3000 {
        check(seed, 1);
    }
}

#[test]
fn short_programs() {
    for seed in 10_000..12_000 {
        check(seed, 4);
    }
}

#[test]
fn long_programs() {
    for seed in 20_000..20_600 {
        check(seed, 20);
    }
}
