//! Compiles the C++ shim against the installed PyTorch and links its libraries.
use std::path::{Path, PathBuf};
use std::process::Command;

/// The PyTorch minor version whose headers the shim is written for.
const TORCH_MINOR: &str = "2.14.";

struct Torch {
    root: PathBuf,
    version: String,
    cxx11_abi: String,
}

fn env(name: &str) -> Option<String> {
    println!("cargo:rerun-if-env-changed={name}");
    std::env::var(name).ok().filter(|v| !v.is_empty())
}

/// Asks the Python that maturin builds for, or the active one, for its PyTorch.
fn find_torch() -> Torch {
    let from_venv = || {
        let venv = env("VIRTUAL_ENV").map(PathBuf::from);
        let local = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv");
        let pythons = venv.into_iter().chain([local]).map(|v| v.join("bin/python"));
        pythons.filter(|p| p.exists()).map(|p| p.display().to_string()).next()
    };
    let python = env("PYO3_PYTHON")
        .or_else(|| env("PYTHON_SYS_EXECUTABLE"))
        .or_else(from_venv)
        .unwrap_or_else(|| "python3".to_owned());
    let script = "import os, torch\n\
                  print(os.path.dirname(torch.__file__))\n\
                  print(torch.__version__)\n\
                  print(int(torch._C._GLIBCXX_USE_CXX11_ABI))";
    let output = Command::new(&python)
        // The package being built may be installed already, and must not load.
        .env("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
        .args(["-c", script])
        .output()
        .unwrap_or_else(|e| panic!("cannot run {python}: {e}; set PYO3_PYTHON to a Python that has torch"));
    assert!(
        output.status.success(),
        "{python} cannot import torch; install torch first and build with --no-build-isolation.\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).expect("paths are UTF-8");
    let mut lines = text.lines().map(str::to_owned);
    let mut next = || lines.next().expect("the script prints three lines");
    Torch { root: next().into(), version: next(), cxx11_abi: next() }
}

fn main() {
    let torch = find_torch();
    assert!(
        torch.version.starts_with(TORCH_MINOR),
        "this source builds with torch {TORCH_MINOR}x, but torch {} is installed at {}",
        torch.version,
        torch.root.display()
    );
    let csrc = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../csrc");
    println!("cargo:rerun-if-changed={}", csrc.display());
    println!("cargo:rerun-if-changed=build.rs");
    let include = torch.root.join("include");
    cc::Build::new()
        .cpp(true)
        .std("c++20")
        .opt_level(2)
        .debug(false)
        .files(["unit_device.cpp", "unit_ops.cpp", "unit_layouts.cpp", "autocast.cpp"].map(|f| csrc.join(f)))
        .flag(format!("-isystem{}", include.display()))
        .flag(format!("-isystem{}", include.join("torch/csrc/api/include").display()))
        .define("_GLIBCXX_USE_CXX11_ABI", Some(torch.cxx11_abi.as_str()))
        .flag("-fvisibility=hidden")
        .flag("-fvisibility-inlines-hidden")
        .flag("-Wno-unused-parameter")
        .flag(format!("-ffile-prefix-map={}=csrc", csrc.display()))
        .compile("nshim");
    println!("cargo:rustc-env=TNRS_TORCH_VERSION={}", torch.version);
    println!("cargo:rustc-link-search=native={}", torch.root.join("lib").display());
    println!("cargo:rustc-link-lib=dylib=torch_cpu");
    println!("cargo:rustc-link-lib=dylib=c10");
}
