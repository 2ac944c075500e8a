//! Build tasks. `cargo xtask tidy` checks what no compiler does: dependency edges, file lengths, paths named in docs.
mod tidy;

use std::process::ExitCode;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("tidy") => tidy::run(),
        _ => {
            eprintln!("usage: cargo xtask tidy");
            ExitCode::FAILURE
        }
    }
}
