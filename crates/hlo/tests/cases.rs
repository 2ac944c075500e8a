//! Runs every text case of `tests/hlo/cases` on the reference interpreter, and prints and reads back each function.

use std::collections::BTreeSet;
use std::path::PathBuf;

use tnrs_hlo::text::{case, parse, print};
use tnrs_hlo::{interpret, names, verify, Composite, Func, Literal, Op, Scalar};
use tnrs_types::DType;

/// Error that the interpreter may have against the wanted value, relative to the greatest element: it rounds once an
/// op, and the wanted value may come from another library's f64 function. Decompositions have several roundings.
fn tolerance(dtype: DType, composite: bool) -> f64 {
    let steps = if composite { 8.0 } else { 1.0 };
    steps
        * match dtype {
            DType::F64 | DType::C128 => 1e-13,
            DType::F32 | DType::C64 => 1.2e-7,
            DType::F16 => 1e-3,
            DType::BF16 => 4e-3,
            DType::F8E4M3FN | DType::F8E4M3FNUZ => 0.07,
            DType::F8E5M2 | DType::F8E5M2FNUZ => 0.13,
            _ => 0.0,
        }
}

/// Real and imaginary parts, or the number.
fn parts(s: &Scalar) -> [f64; 2] {
    match *s {
        Scalar::Complex(re, im) => [re, im],
        other => [other.to_f64(), 0.0],
    }
}

fn agree(found: &Literal, wanted: &Literal, composite: bool) -> bool {
    let (f, w) = (found.scalars(), wanted.scalars());
    let float = found.ty().dtype.is_float() || found.ty().dtype.is_complex();
    if found.ty() != wanted.ty() || !float {
        return found.ty() == wanted.ty() && f == w;
    }
    let finite = w.iter().flat_map(parts).filter(|x| x.is_finite());
    let scale = finite.fold(0.0, |m: f64, x| m.max(x.abs()));
    f.iter().zip(&w).all(|(f, w)| {
        let own = parts(w)[0].hypot(parts(w)[1]);
        let scale = if composite { scale } else { own };
        parts(f).iter().zip(parts(w)).all(|(&a, b)| {
            let signs =
                composite || found.ty().dtype.is_complex() || a.is_sign_negative() == b.is_sign_negative();
            a == b && (a != 0.0 || signs)
                || a.is_nan() && b.is_nan()
                || a != b && (a - b).abs() <= tolerance(found.ty().dtype, composite) * scale
        })
    })
}

fn files() -> Vec<(PathBuf, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/hlo/cases");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the folder of cases")
        .map(|e| e.expect("an entry").path())
        .filter(|p| p.extension().is_some_and(|e| e == "txt"))
        .collect();
    paths.sort();
    paths
        .into_iter()
        .map(|p| {
            let text = std::fs::read_to_string(&p).expect("a readable case file");
            (p, text)
        })
        .collect()
}

fn cases() -> Vec<case::Case> {
    let mut all = vec![];
    for (path, text) in files() {
        let each = case::parse(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        all.extend(each);
    }
    all
}

#[test]
fn the_interpreter_gives_the_wanted_values() {
    let mut wrong = vec![];
    for case in cases() {
        verify(&case.func).unwrap_or_else(|e| panic!("{}: {e}", case.func.name));
        let composite = case.func.instrs.iter().any(|i| matches!(i.op, Op::Composite(_)));
        for (args, wanted) in &case.runs {
            let found = interpret(&case.func, args);
            for (i, (f, w)) in found.iter().zip(wanted).enumerate() {
                if !agree(f, w, composite) {
                    wrong.push(format!(
                        "{} result {i}: found {:?}, wanted {:?}",
                        case.func.name,
                        f.scalars(),
                        w.scalars()
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn printed_functions_read_back() {
    for case in cases() {
        let text = print(&case.func);
        let back = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        // Values are numbered in order of definition by the parser, so the second print is a fixed point.
        let renumbered = print(&back);
        assert_eq!(print(&parse(&renumbered).expect("reads back")), renumbered);
        for (args, _) in &case.runs {
            let (a, b) = (interpret(&case.func, args), interpret(&back, args));
            assert_eq!(format!("{a:?}"), format!("{b:?}"), "{text}");
        }
    }
}

#[test]
fn every_op_and_every_composite_has_a_case() {
    let mut seen = BTreeSet::new();
    let mut note = |func: &Func| {
        for instr in &func.instrs {
            match &instr.op {
                Op::Composite(c) => seen.insert(format!("composite.{}", c.name())),
                op => seen.insert(op.name().to_owned()),
            };
        }
    };
    for case in cases() {
        note(&case.func);
    }
    let structural = "constant iota compare select clamp convert bitcast_convert broadcast_in_dim reshape \
        transpose slice dynamic_slice dynamic_update_slice pad concatenate reverse dot_general convolution \
        reduce gather scatter sort";
    let mut wanted: Vec<String> = structural.split_whitespace().map(str::to_owned).collect();
    wanted.extend(names::UNARY.iter().map(|(_, n)| (*n).to_owned()));
    wanted.extend(names::BINARY.iter().map(|(_, n)| (*n).to_owned()));
    wanted.extend(Composite::NAMES.iter().map(|n| format!("composite.{n}")));
    let missing: Vec<&String> = wanted.iter().filter(|n| !seen.contains(*n)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
