//! The house rules.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Crates by rank. A crate may depend on crates of lower rank only.
const RANKS: &[(&str, u32)] = &[
    ("types", 0),
    ("hlo", 1),
    ("hal", 1),
    ("kernels", 1),
    ("linalg", 1),
    ("lowering", 2),
    ("softcore", 2),
    ("nrt", 2),
    ("nki", 2),
    ("runtime", 3),
    ("dispatch", 4),
    ("bridge", 5),
];

/// Edges that the ranks would allow and the design does not: a crate has never heard of these.
const NEVER: &[(&str, &[&str])] = &[
    ("lowering", &["hal", "kernels", "linalg"]),
    ("runtime", &["hlo", "kernels", "linalg", "lowering", "softcore"]),
    ("dispatch", &["kernels", "linalg"]),
    ("bridge", &["hlo", "kernels", "linalg"]),
];

const MAX_LINES: usize = 800;
const MEDIAN_LINES: usize = 200;

/// Runs every check and prints what is wrong.
pub fn run() -> ExitCode {
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the repository").to_path_buf();
    let mut problems = Vec::new();
    edges(&root, &mut problems);
    let lengths = file_lengths(&root, &mut problems);
    doc_paths(&root, &mut problems);
    for p in &problems {
        eprintln!("tidy: {p}");
    }
    if problems.is_empty() {
        println!("tidy: {} source files, median {} lines, longest {}", lengths.0, lengths.1, lengths.2);
        return ExitCode::SUCCESS;
    }
    ExitCode::FAILURE
}

fn rank(name: &str) -> Option<u32> {
    RANKS.iter().find(|(n, _)| *n == name).map(|(_, r)| *r)
}

fn edges(root: &Path, problems: &mut Vec<String>) {
    for entry in fs::read_dir(root.join("crates")).expect("crates/ exists").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(own) = rank(&name) else {
            problems.push(format!("crates/{name} has no rank in xtask/src/tidy.rs"));
            continue;
        };
        let manifest = fs::read_to_string(entry.path().join("Cargo.toml")).unwrap_or_default();
        let never = NEVER.iter().find(|(n, _)| *n == name).map_or(&[][..], |(_, list)| list);
        // Tests may look down any way they like; the edges of the shipped code are what the table is about.
        let shipped = manifest.split("[dev-dependencies]").next().unwrap_or_default();
        for dep in shipped
            .lines()
            .filter_map(|l| l.strip_prefix("tnrs-"))
            .filter_map(|l| l.split(['.', ' ', '=']).next())
        {
            match rank(dep) {
                Some(r) if r < own && !never.contains(&dep) => {}
                _ => problems.push(format!("crates/{name} must not depend on {dep}")),
            }
        }
    }
}

fn sources(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() {
            if !name.starts_with('.') && name != "target" && name != "__pycache__" {
                sources(&path, out);
            }
        } else if ["rs", "py", "cpp", "h"].iter().any(|e| path.extension().is_some_and(|x| x == *e)) {
            out.push(path);
        }
    }
}

fn file_lengths(root: &Path, problems: &mut Vec<String>) -> (usize, usize, usize) {
    let mut files = Vec::new();
    sources(root, &mut files);
    let mut lengths = Vec::new();
    for f in &files {
        let n = fs::read_to_string(f).map_or(0, |t| t.lines().count());
        lengths.push(n);
        if n > MAX_LINES {
            problems.push(format!("{} has {n} lines, more than {MAX_LINES}", relative(root, f)));
        }
    }
    lengths.sort_unstable();
    let median = lengths[lengths.len() / 2];
    if median > MEDIAN_LINES {
        problems.push(format!("the median source file has {median} lines, more than {MEDIAN_LINES}"));
    }
    (lengths.len(), median, lengths.last().copied().unwrap_or(0))
}

fn relative(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}

/// Every word in backticks that begins with a folder of the repository must exist. `<…>` and `*` stand for anything.
fn doc_paths(root: &Path, problems: &mut Vec<String>) {
    let mut docs: Vec<PathBuf> =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].iter().map(|d| root.join(d)).collect();
    docs.extend(fs::read_dir(root.join("docs")).into_iter().flatten().flatten().map(|e| e.path()));
    let folders =
        ["crates/", "csrc/", "torch_neuronx/", "xtask/", "tests/", "benches/", "examples/", "docs/"];
    for doc in docs.iter().filter(|d| d.extension().is_some_and(|e| e == "md")) {
        let Ok(text) = fs::read_to_string(doc) else {
            problems.push(format!("{} is missing", relative(root, doc)));
            continue;
        };
        for word in text.split('`').skip(1).step_by(2) {
            let path = word.split([' ', ':']).next().unwrap_or_default();
            let is_path = folders.iter().any(|f| path.starts_with(f)) && !path.contains(['<', '*', '{']);
            if is_path && !root.join(path).exists() {
                problems.push(format!("{} names `{path}`, which does not exist", relative(root, doc)));
            }
        }
    }
}
