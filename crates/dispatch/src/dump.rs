//! Writes what is compiled to a folder, for people and tools: `TORCH_NEURONX_DUMP`, or [`set_dump`] while running.
//!
//! Each program has a subfolder `<process>-<number>-<operator>`:
//!
//! | file | what |
//! |---|---|
//! | `program.json` | operator, its rule and operands; types and sources of the parameters; types of the results, for one whose size the data decides also which dim and which result is the count; what the verifier objects to, or null |
//! | `0-lowered.hlo` | the function that the rule built. Stages of a compiler with more of them count on from here |
//! | `stablehlo.mlir` | the same for XLA: composites with their decompositions, custom calls as they are |
//! | `parameter-N.bin`, `result-N.bin` | with data: dense row-major elements, in host byte order, of the first run |

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tnrs_hal::{Arg, Executable, Fault};
use tnrs_hlo::{text, verify, Func, Value};
use tnrs_lowering::Source;
use tnrs_softcore::{CompileSpec, ParamSpec};
use tnrs_types::{flags, Dims};

use crate::compile::describe;
use crate::entry::{Bind, BoundedSpec};
use crate::ops::OpState;
use crate::raw::{gather, RawArg};
use crate::CallError;

#[derive(Clone)]
struct Target {
    folder: PathBuf,
    data: bool,
}

/// `None` until the environment has been read.
static TARGET: Mutex<Option<Option<Target>>> = Mutex::new(None);
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// From now on writes what is compiled to this folder, with `data` also operands and results; with `None` does again what
/// the environment says. Forgets every compiled program, so that whatever runs next is compiled.
pub fn set_dump(folder: Option<PathBuf>, data: bool) {
    *TARGET.lock().expect("dump target poisoned") = folder.map(|folder| Some(Target { folder, data }));
    crate::clear_cache();
}

fn target() -> Option<Target> {
    let mut guard = TARGET.lock().expect("dump target poisoned");
    let from_environment = || {
        let folder = flags::DUMP.get()?;
        Some(Target { folder: folder.into(), data: flags::DUMP_DATA.is_on() })
    };
    guard.get_or_insert_with(from_environment).clone()
}

/// What is about to be compiled.
pub(crate) struct Program<'a> {
    pub op: &'a OpState,
    pub args: &'a [RawArg],
    pub func: &'a Func,
    pub sources: &'a [Source],
    pub spec: &'a CompileSpec,
    /// Of the parameters, then of the results.
    pub binds: &'a [Bind],
    pub bounded: &'a [BoundedSpec],
}

/// Writes a program, if that is asked for. The executable that comes back writes its first run, if that is asked for.
pub(crate) fn written(p: &Program, exe: Arc<dyn Executable>) -> Result<Arc<dyn Executable>, CallError> {
    let Some(target) = target() else { return Ok(exe) };
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name: String =
        p.op.schema.name.chars().map(|c| if c.is_alphanumeric() || c == '_' { c } else { '.' }).collect();
    let name = name.replace("..", ".");
    let folder = target.folder.join(format!("{}-{number:05}-{name}", std::process::id()));
    write_program(&folder, p).map_err(|e| {
        CallError::Runtime(format!("{}: {} cannot be written: {e}", flags::DUMP.name, folder.display()))
    })?;
    if !target.data {
        return Ok(exe);
    }
    let layout = |v: Value, strides: &Dims| {
        let ty = p.func.ty(v);
        Layout { size: ty.dtype.size(), dims: ty.dims.clone(), strides: strides.clone() }
    };
    let params = p.func.params.iter().zip(&p.spec.params).map(|(&v, spec)| match spec {
        ParamSpec::Tensor { strides } => layout(v, strides),
        ParamSpec::Scalar => layout(v, &Dims::new()),
    });
    let results = p.func.results.iter().zip(&p.spec.results).map(|(&v, spec)| layout(v, &spec.strides));
    Ok(Arc::new(Recorder {
        exe,
        folder,
        params: params.collect(),
        results: results.collect(),
        done: AtomicBool::new(false),
    }))
}

fn write_program(folder: &Path, p: &Program) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("0-lowered.hlo"), text::print(p.func))?;
    std::fs::write(folder.join("stablehlo.mlir"), text::stablehlo(p.func))?;
    std::fs::write(folder.join("program.json"), description(p))
}

fn description(p: &Program) -> String {
    let ty = |v: &Value| {
        let ty = p.func.ty(*v);
        format!("\"dtype\": {}, \"dims\": {:?}", quoted(ty.dtype.hlo_name()), ty.dims.as_slice())
    };
    let params = p.func.params.iter().zip(p.sources).map(|(v, source)| {
        let source = match source {
            Source::Tensor(arg, elem) => format!("tensor {arg} {elem}"),
            Source::Scalar(arg, elem) => format!("number {arg} {elem}"),
            Source::Seed => "seed".to_owned(),
            Source::Offset => "offset".to_owned(),
        };
        format!("{{{}, \"source\": {}}}", ty(v), quoted(&source))
    });
    let result_binds = &p.binds[p.sources.len()..];
    let output = |bind: &Bind| if let Bind::Output(k) = bind { Some(*k) } else { None };
    let results = p.func.results.iter().zip(result_binds).map(|(v, bind)| {
        let bound = output(bind).and_then(|k| p.bounded.iter().find(|b| b.out == k));
        let bound = bound.map_or(String::new(), |b| {
            let count = result_binds.iter().position(|bind| output(bind) == Some(b.count));
            let count = count.expect("the count is a result");
            format!(", \"bounded\": {{\"dim\": {}, \"count\": {count}}}", b.dim)
        });
        format!("{{{}{bound}}}", ty(v))
    });
    let problem = verify(p.func).err().map_or("null".to_owned(), |e| quoted(&e.to_string()));
    let mut out = String::from("{\n");
    let _ = writeln!(out, "  \"operator\": {},", quoted(&p.op.schema.name));
    let _ = writeln!(out, "  \"rule\": {},", quoted(p.op.row.op));
    let _ = writeln!(out, "  \"operands\": {},", quoted(&describe(p.args)));
    let _ = writeln!(out, "  \"parameters\": [{}],", params.collect::<Vec<_>>().join(", "));
    let _ = writeln!(out, "  \"results\": [{}],", results.collect::<Vec<_>>().join(", "));
    let _ = writeln!(out, "  \"verifier\": {problem}");
    out + "}\n"
}

/// A JSON string.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out + "\""
}

/// Where the elements of a parameter or result are; strides in elements, `size` in bytes.
struct Layout {
    size: usize,
    dims: Dims,
    strides: Dims,
}

impl Layout {
    /// The elements in row-major order.
    ///
    /// # Safety
    /// The argument is valid for reads of this layout.
    unsafe fn gather(&self, arg: &Arg) -> Vec<u8> {
        match arg {
            // SAFETY: the caller's promise.
            Arg::Memory(p) => unsafe { gather(*p, self.size, &self.dims, &self.strides) },
            Arg::Scalar(bytes) => bytes[..self.size].to_vec(),
        }
    }
}

/// An executable that writes the operands and results of its first run.
struct Recorder {
    exe: Arc<dyn Executable>,
    folder: PathBuf,
    params: Vec<Layout>,
    results: Vec<Layout>,
    done: AtomicBool,
}

impl Recorder {
    /// # Safety
    /// The arguments are valid for reads of their layouts.
    unsafe fn write(&self, kind: &str, layouts: &[Layout], args: &[Arg]) -> Result<(), Fault> {
        for (i, (layout, arg)) in layouts.iter().zip(args).enumerate() {
            let path = self.folder.join(format!("{kind}-{i}.bin"));
            // SAFETY: the caller's promise.
            let elements = unsafe { layout.gather(arg) };
            std::fs::write(&path, elements).map_err(|e| {
                Fault::Device(format!("{}: {} cannot be written: {e}", flags::DUMP.name, path.display()))
            })?;
        }
        Ok(())
    }
}

impl Executable for Recorder {
    fn name(&self) -> &str {
        self.exe.name()
    }
    fn workspace_bytes(&self) -> usize {
        self.exe.workspace_bytes()
    }
    fn cost_ns(&self) -> u64 {
        self.exe.cost_ns()
    }
    unsafe fn run(&self, args: &[Arg], workspace: *mut u8) -> Result<(), Fault> {
        let first = !self.done.swap(true, Ordering::Relaxed);
        let (params, results) = args.split_at(self.params.len());
        // SAFETY: the caller's promise for the executable, whose layouts these are.
        unsafe {
            if first {
                self.write("parameter", &self.params, params)?;
            }
            self.exe.run(args, workspace)?;
            if first {
                self.write("result", &self.results, results)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_quoted() {
        assert_eq!(quoted("a \"b\"\\\n"), r#""a \"b\"\\\u000a""#);
    }

    #[test]
    fn elements_are_gathered_in_row_major_order() {
        let memory: [u16; 6] = [0, 1, 2, 3, 4, 5];
        let layout = Layout { size: 2, dims: Dims::from_slice(&[3, 2]), strides: Dims::from_slice(&[1, 3]) };
        // SAFETY: the layout lies within the array.
        let bytes = unsafe { layout.gather(&Arg::Memory(memory.as_ptr().cast_mut().cast())) };
        let found: Vec<u16> = bytes.chunks(2).map(|b| u16::from_ne_bytes([b[0], b[1]])).collect();
        assert_eq!(found, [0, 3, 1, 4, 2, 5]);
    }
}
