//! Every text case of the hlo crate, on softcore.

mod common;

use common::{difference, run, tolerance};
use tnrs_hlo::text::case;
use tnrs_softcore::CompileSpec;

#[test]
fn text_cases() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/hlo/cases");
    let mut failures = Vec::new();
    let mut count = 0;
    let entries = std::fs::read_dir(folder).expect("the folder of cases");
    let mut paths: Vec<_> = entries.map(|e| e.expect("an entry").path()).collect();
    paths.sort();
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("a readable case");
        let cases = case::parse(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        for c in &cases {
            let spec = CompileSpec::dense(&c.func);
            for (args, wanted) in &c.runs {
                count += 1;
                let outcome = std::panic::catch_unwind(|| run(&c.func, &spec, args));
                let found = match outcome {
                    Ok(Ok(found)) => found,
                    Ok(Err(fault)) => {
                        failures.push(format!("{}: {fault}", c.func.name));
                        continue;
                    }
                    Err(_) => {
                        failures.push(format!("{}: panicked", c.func.name));
                        continue;
                    }
                };
                for (f, w) in found.iter().zip(wanted) {
                    if let Some(d) = difference(f, w, tolerance(w.ty().dtype)) {
                        failures.push(format!("{}: {d}", c.func.name));
                    }
                }
            }
        }
    }
    assert!(count > 50, "only {count} runs found");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
