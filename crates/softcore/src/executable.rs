//! A plan as something the device interface can run.

use std::mem::MaybeUninit;
use std::sync::Arc;

use tnrs_hal::{Arg, Executable, Fault};
use tnrs_hlo::passes::inline_composites;
use tnrs_hlo::{Func, Op};

use crate::plan::{self, BufKind, Outline};
use crate::step::Cx;
use crate::{CompileError, CompileSpec, ParamSpec};

/// Arguments and buffers up to this many need no allocation to run.
const INLINE: usize = 32;

/// A compiled function.
struct Plan {
    name: Box<str>,
    outline: Outline,
    params: usize,
    cost: u64,
}

/// Compiles a function for memory as `spec` says.
///
/// Errors name the operation and the types that no kernel computes, or what in `spec` does not fit the function.
pub fn compile(f: &Func, spec: &CompileSpec) -> Result<Arc<dyn Executable>, CompileError> {
    check(f, spec)?;
    let inlined;
    let f = if f.instrs.iter().any(|i| matches!(&i.op, Op::Composite(c) if !plan::has_kernel(f, i, c))) {
        inlined = inline_composites(f, &plan::has_kernel)?;
        &inlined
    } else {
        f
    };
    let outline = plan::plan(f, spec)?;
    let cost = outline.steps.iter().map(|s| s.cost_ns()).sum::<u64>() + 20;
    Ok(Arc::new(Plan { name: f.name.as_str().into(), outline, params: f.params.len(), cost }))
}

/// Checks that `spec` speaks about the parameters and results that the function has.
fn check(f: &Func, spec: &CompileSpec) -> Result<(), CompileError> {
    let fail = |detail: String| Err(CompileError::Spec { func: f.name.clone(), detail });
    if spec.params.len() != f.params.len() || spec.results.len() != f.results.len() {
        return fail(format!(
            "{} parameters and {} results, but specifications for {} and {}",
            f.params.len(),
            f.results.len(),
            spec.params.len(),
            spec.results.len()
        ));
    }
    for (i, (p, &v)) in spec.params.iter().zip(&f.params).enumerate() {
        let ty = f.ty(v);
        match p {
            ParamSpec::Scalar if ty.rank() != 0 => {
                return fail(format!("parameter {i} of rank {} as a scalar", ty.rank()))
            }
            ParamSpec::Tensor { strides } if strides.len() != ty.rank() || strides.iter().any(|&s| s < 0) => {
                return fail(format!(
                    "strides {:?} of parameter {i} of sizes {:?}",
                    strides.as_slice(),
                    ty.dims.as_slice()
                ))
            }
            _ => {}
        }
    }
    for (i, (r, &v)) in spec.results.iter().zip(&f.results).enumerate() {
        let ty = f.ty(v);
        if r.strides.len() != ty.rank() || r.strides.iter().any(|&s| s < 0) {
            return fail(format!(
                "strides {:?} of result {i} of sizes {:?}",
                r.strides.as_slice(),
                ty.dims.as_slice()
            ));
        }
        if let Some(p) = r.alias {
            if p >= f.params.len() || spec.params[p] == ParamSpec::Scalar {
                return fail(format!("result {i} aliases {p}, which is no tensor parameter"));
            }
        }
    }
    Ok(())
}

/// One number, aligned for every element type.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Number([u8; 16]);

impl Plan {
    /// Fills in the address of every buffer and runs the steps.
    ///
    /// # Safety
    /// As [`Executable::run`]; the slices hold an entry per argument and per buffer.
    #[inline(always)]
    unsafe fn run_on(
        &self,
        args: &[Arg],
        workspace: *mut u8,
        numbers: &mut [MaybeUninit<Number>],
        bases: &mut [MaybeUninit<*mut u8>],
    ) -> Result<(), Fault> {
        let o = &self.outline;
        for (i, kind) in o.bufs.iter().enumerate() {
            let base = match *kind {
                BufKind::Param(a) => match &args[a as usize] {
                    Arg::Memory(p) => *p,
                    Arg::Scalar(bytes) => {
                        std::ptr::from_mut(numbers[a as usize].write(Number(*bytes))).cast()
                    }
                },
                BufKind::Result(r) => match &args[self.params + r as usize] {
                    Arg::Memory(p) => *p,
                    Arg::Scalar(_) => unreachable!("a result is memory"),
                },
                BufKind::Const => o.consts.base(),
                BufKind::Temp(_) => workspace.wrapping_add(o.offsets[i]),
            };
            bases[i].write(base);
        }
        // SAFETY: the loop wrote the first `bufs.len()` entries.
        let bases = unsafe { std::slice::from_raw_parts(bases.as_ptr().cast::<*mut u8>(), o.bufs.len()) };
        let cx = Cx::new(bases);
        for step in &o.steps {
            // SAFETY: the caller's promise for arguments and workspace; the planner keeps temporaries within the
            // workspace and steps within the extents of their views.
            unsafe { step.run(&cx)? };
        }
        Ok(())
    }
}

impl Executable for Plan {
    fn name(&self) -> &str {
        &self.name
    }
    fn workspace_bytes(&self) -> usize {
        self.outline.workspace
    }
    fn cost_ns(&self) -> u64 {
        self.cost
    }
    unsafe fn run(&self, args: &[Arg], workspace: *mut u8) -> Result<(), Fault> {
        let bufs = self.outline.bufs.len();
        if bufs <= INLINE && args.len() <= INLINE {
            let mut numbers = [const { MaybeUninit::uninit() }; INLINE];
            let mut bases = [const { MaybeUninit::uninit() }; INLINE];
            // SAFETY: the caller's promise.
            unsafe { self.run_on(args, workspace, &mut numbers, &mut bases) }
        } else {
            let mut numbers = vec![MaybeUninit::uninit(); args.len()];
            let mut bases = vec![MaybeUninit::uninit(); bufs];
            // SAFETY: the caller's promise.
            unsafe { self.run_on(args, workspace, &mut numbers, &mut bases) }
        }
    }
}
