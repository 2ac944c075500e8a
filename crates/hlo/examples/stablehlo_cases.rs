//! Prints every text case, and a sweep of ops over element types, as one JSON object a line: the StableHLO module, the
//! arguments, and the results of the reference interpreter. `tests/hlo/test_xla.py` runs them on XLA.
//!
//! Usage: `stablehlo_cases CASES_FOLDER`.

#[path = "common/sweep.rs"]
mod sweep;

use std::fmt::Write;
use std::path::PathBuf;

use tnrs_hlo::text::{case, stablehlo};
use tnrs_hlo::{interpret, Literal};

fn tensor(literal: &Literal) -> String {
    let ty = literal.ty();
    let Literal::Dense(_, bytes) = literal.to_dense() else { unreachable!("to_dense gives a dense literal") };
    let mut hex = String::new();
    for b in bytes.iter() {
        let _ = write!(hex, "{b:02x}");
    }
    let dims: Vec<String> = ty.dims.iter().map(i64::to_string).collect();
    format!(r#"{{"dtype":"{}","dims":[{}],"data":"{hex}"}}"#, ty.dtype.hlo_name(), dims.join(","))
}

fn tensors(literals: &[Literal]) -> String {
    let each: Vec<String> = literals.iter().map(tensor).collect();
    format!("[{}]", each.join(","))
}

fn object(source: &str, case: &case::Case) -> String {
    let runs: Vec<String> = case
        .runs
        .iter()
        .map(|(args, _)| {
            let results = interpret(&case.func, args);
            format!(r#"{{"args":{},"results":{}}}"#, tensors(args), tensors(&results))
        })
        .collect();
    let module = stablehlo(&case.func).replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!(r#"{{"name":"{source}:{}","module":"{module}","runs":[{}]}}"#, case.func.name, runs.join(","))
}

fn main() {
    let folder = std::env::args().nth(1).expect("the folder of cases");
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("a readable folder").map(|e| e.expect("an entry").path()).collect();
    paths.sort();
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("a readable file");
        let cases = case::parse(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let source = path.file_stem().unwrap_or_default().to_string_lossy();
        for case in &cases {
            println!("{}", object(&source, case));
        }
    }
    for case in sweep::cases() {
        println!("{}", object("sweep", &case));
    }
}
