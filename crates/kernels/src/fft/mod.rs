//! Discrete Fourier transforms over the last dims of strided tensors.
//!
//! A transform over several dims is one pass a dim; a pass runs `rustfft` or `realfft` on rows of contiguous elements,
//! brought together in tiles where the dim is not the innermost in memory.
mod pass;
#[cfg(test)]
mod tests;

use realfft::RealFftPlanner;
use rustfft::num_complex::Complex;
use rustfft::{FftNum, FftPlanner};
use std::sync::{LazyLock, Mutex};
use tnrs_types::{Dims, FftKind};

use crate::gemm::scratch::Scratch;
use crate::pool::Pool;
use pass::{Layout, Pass, Work};

/// What to transform. Strides are in elements of the side they belong to; those of the real side of a real transform
/// count real elements.
#[derive(Clone, Debug)]
pub struct FftDesc {
    /// Which transform. The inverse kinds do not divide by themselves: see `scale`.
    pub kind: FftKind,
    /// f64 instead of f32 components.
    pub double: bool,
    /// Sizes of the batch dims.
    pub batch: Dims,
    /// Sizes of the transformed dims (of the real side).
    pub length: Dims,
    /// Strides of the operand: batch dims, then transformed dims.
    pub input_strides: Dims,
    /// Strides of the result: batch dims, then transformed dims.
    pub output_strides: Dims,
    /// What every element of the result is multiplied by.
    pub scale: f64,
}

/// A transform whose tables are made.
pub struct Fft(Box<dyn Run>);

impl Fft {
    /// Makes the tables, or finds those of an equal length.
    pub fn new(desc: &FftDesc) -> Fft {
        if desc.double {
            Fft(Box::new(Passes::<f64>::new(desc)))
        } else {
            Fft(Box::new(Passes::<f32>::new(desc)))
        }
    }

    /// Estimated nanoseconds on one core.
    pub fn cost_ns(&self) -> u64 {
        self.0.cost_ns()
    }

    /// Transforms.
    ///
    /// # Safety
    /// Both pointers must be valid for every element that their strides reach, and the two sets of bytes must not
    /// overlap.
    pub unsafe fn run(&self, pool: &Pool, src: *const u8, dst: *mut u8) {
        // SAFETY: the contract is the caller's.
        unsafe { self.0.run(pool, src, dst) }
    }
}

trait Run: Send + Sync {
    fn cost_ns(&self) -> u64;
    /// # Safety
    /// As [`Fft::run`].
    unsafe fn run(&self, pool: &Pool, src: *const u8, dst: *mut u8);
}

/// An element type with planners of its own, which keep the tables of every length they have met.
trait Component: FftNum {
    fn planners() -> &'static Planners<Self>;
}

struct Planners<T: FftNum>(Mutex<(FftPlanner<T>, RealFftPlanner<T>)>);

impl<T: FftNum> Planners<T> {
    fn new() -> Self {
        Planners(Mutex::new((FftPlanner::new(), RealFftPlanner::new())))
    }

    fn work(&self, kind: FftKind, n: usize) -> Work<T> {
        let mut both = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        match kind {
            FftKind::Fft => Work::Complex(both.0.plan_fft_forward(n)),
            FftKind::Ifft => Work::Complex(both.0.plan_fft_inverse(n)),
            FftKind::Rfft => Work::FromReal(both.1.plan_fft_forward(n)),
            FftKind::Irfft => Work::ToReal(both.1.plan_fft_inverse(n)),
        }
    }
}

macro_rules! component {
    ($($t:ty),*) => {$(
        impl Component for $t {
            fn planners() -> &'static Planners<$t> {
                static PLANNERS: LazyLock<Planners<$t>> = LazyLock::new(Planners::new);
                &PLANNERS
            }
        }
    )*};
}
component!(f32, f64);

/// One pass a dim. Where a pass reads and writes:
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// From the operand to the result.
    Through,
    /// From the operand to working memory.
    Into,
    /// In working memory.
    Within,
    /// From working memory to the result.
    OutOf,
    /// In the result.
    InPlace,
}

struct Passes<T: FftNum> {
    passes: Vec<(Pass<T>, Way)>,
    /// Elements of working memory, which is dense.
    working: usize,
}

impl<T: Component> Passes<T> {
    fn new(desc: &FftDesc) -> Self {
        let (batch, rank) = (desc.batch.len(), desc.batch.len() + desc.length.len());
        let last = rank - 1;
        let real: Dims = desc.batch.iter().chain(&desc.length).copied().collect();
        let mut complex = real.clone();
        complex[last] = real[last] / 2 + 1;
        let backward = matches!(desc.kind, FftKind::Ifft | FftKind::Irfft);
        let plain = if backward { FftKind::Ifft } else { FftKind::Fft };
        let planners = T::planners();
        let pass = |kind, d: usize, dims: &Dims, input: &Dims, output: &Dims, scale: f64| {
            let scale = T::from_f64(scale).filter(|_| scale != 1.0);
            Pass::new(planners.work(kind, real[d] as usize), d, Layout { dims, input, output }, scale)
        };
        let mut passes = Vec::with_capacity(desc.length.len());
        let mut working = 0;
        if desc.kind == FftKind::Irfft {
            let dense = tnrs_types::contiguous_strides(&complex);
            for d in batch..last {
                let (from, way) = match d == batch {
                    true => (&desc.input_strides, Way::Into),
                    false => (&dense, Way::Within),
                };
                passes.push((pass(plain, d, &complex, from, &dense, 1.0), way));
            }
            let (from, way) = match passes.is_empty() {
                true => (&desc.input_strides, Way::Through),
                false => {
                    working = complex.iter().product::<i64>() as usize;
                    (&dense, Way::OutOf)
                }
            };
            passes.push((pass(desc.kind, last, &real, from, &desc.output_strides, desc.scale), way));
        } else {
            let dims = if desc.kind == FftKind::Rfft { &complex } else { &real };
            let out = &desc.output_strides;
            // The scale belongs to one of the passes.
            passes.push((pass(desc.kind, last, &real, &desc.input_strides, out, desc.scale), Way::Through));
            for d in (batch..last).rev() {
                passes.push((pass(plain, d, dims, out, out, 1.0), Way::InPlace));
            }
        }
        Passes { passes, working }
    }
}

impl<T: Component> Run for Passes<T> {
    fn cost_ns(&self) -> u64 {
        self.passes.iter().map(|(p, _)| p.cost_ns()).sum()
    }

    unsafe fn run(&self, pool: &Pool, src: *const u8, dst: *mut u8) {
        let memory = Scratch::new(self.working * std::mem::size_of::<Complex<T>>());
        let work: *mut u8 = memory.ptr();
        for (pass, way) in &self.passes {
            let (from, to) = match way {
                Way::Through => (src, dst),
                Way::Into => (src, work),
                Way::Within => (work.cast_const(), work),
                Way::OutOf => (work.cast_const(), dst),
                Way::InPlace => (dst.cast_const(), dst),
            };
            // SAFETY: the contract is the caller's; working memory holds the dense complex side, and passes that
            // read and write one memory have equal strides on both sides.
            unsafe { pass.run(pool, from, to) }
        }
    }
}
