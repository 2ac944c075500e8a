//! Which instruction set the kernels run on, and the mechanism that compiles one loop body for each of them.
//!
//! A kernel is written once, as a scalar loop in a `#[inline(always)]` function. The [`entry!`](crate::isa) macro
//! instantiates it inside functions that enable a set of target features, where LLVM vectorises it. Nothing else in
//! the crate needs to know the instruction set, and a test can ask for any of them by value.

use std::sync::OnceLock;

use tnrs_types::flags;

/// An instruction set that kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Isa {
    /// AVX-512 F, BW, DQ, VL and CD, with FMA and F16C: 64-byte vectors.
    Avx512,
    /// AVX2 with FMA and F16C: 32-byte vectors.
    Avx2,
    /// The target's baseline: SSE2 on x86-64, NEON on aarch64.
    Portable,
}

impl Isa {
    /// Whether this processor can run code of this instruction set.
    pub fn is_available(self) -> bool {
        match self {
            Isa::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("fma")
                    && is_x86_feature_detected!("f16c")
                    && is_x86_feature_detected!("bmi2")
                    && is_x86_feature_detected!("lzcnt")
                    && is_x86_feature_detected!("popcnt")
            }
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => {
                Isa::Avx2.is_available()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512cd")
            }
            #[cfg(not(target_arch = "x86_64"))]
            _ => false,
        }
    }

    /// Every instruction set this processor can run, best first.
    pub fn available() -> Vec<Isa> {
        [Isa::Avx512, Isa::Avx2, Isa::Portable].into_iter().filter(|i| i.is_available()).collect()
    }
}

/// The instruction set in use: the one the `TORCH_NEURONX_SOFTCORE_ISA` flag names if the processor has it, else the
/// best the processor has. Fixed at the first call.
pub fn current() -> Isa {
    static CURRENT: OnceLock<Isa> = OnceLock::new();
    *CURRENT.get_or_init(|| {
        let forced = match flags::SOFTCORE_ISA.get().as_deref() {
            Some("avx512") => Some(Isa::Avx512),
            Some("avx2") => Some(Isa::Avx2),
            Some("portable") => Some(Isa::Portable),
            _ => None,
        };
        match forced {
            Some(isa) if isa.is_available() => isa,
            _ => Isa::available()[0],
        }
    })
}

/// Whether the processor has the bf16 dot-product and conversion instructions of AVX-512.
pub fn has_avx512_bf16() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        is_x86_feature_detected!("avx512bf16")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

/// Asks for the cache line at `ptr`. Any pointer is harmless.
#[inline(always)]
pub fn prefetch_line(ptr: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch never faults; SSE is part of the x86-64 baseline.
    unsafe {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        _mm_prefetch::<_MM_HINT_T0>(ptr.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = ptr;
}

/// Declares, for one call signature, the trait of loop bodies and the function that instantiates a body for an [`Isa`].
///
/// `entry!(Body, pick, Fn = unsafe fn(a: A, b: B))` gives `trait Body { unsafe fn run(a: A, b: B) }` and
/// `fn pick<B: Body>(isa: Isa) -> Fn`. Bodies must be `#[inline(always)]`, or they miss the target features.
macro_rules! entry {
    ($body:ident, $pick:ident, $ty:ty, ($($arg:ident : $at:ty),* $(,)?)) => {
        /// A loop body with this signature; see the `isa` module.
        pub(crate) trait $body {
            /// Runs the loop.
            ///
            /// # Safety
            /// As the function type that the body is instantiated to.
            unsafe fn run($($arg: $at),*);
        }

        /// Instantiates a loop body for an instruction set.
        pub(crate) fn $pick<B: $body>(isa: $crate::isa::Isa) -> $ty {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(
                enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt"
            )]
            unsafe fn avx512<B: $body>($($arg: $at),*) {
                // SAFETY: the caller keeps the contract of the function type.
                unsafe { B::run($($arg),*) }
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
            unsafe fn avx2<B: $body>($($arg: $at),*) {
                // SAFETY: the caller keeps the contract of the function type.
                unsafe { B::run($($arg),*) }
            }
            unsafe fn portable<B: $body>($($arg: $at),*) {
                // SAFETY: the caller keeps the contract of the function type.
                unsafe { B::run($($arg),*) }
            }
            match isa {
                #[cfg(target_arch = "x86_64")]
                $crate::isa::Isa::Avx512 => avx512::<B>,
                #[cfg(target_arch = "x86_64")]
                $crate::isa::Isa::Avx2 => avx2::<B>,
                _ => portable::<B>,
            }
        }
    };
}
pub(crate) use entry;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_current_set_is_available_and_portable_is_always_last() {
        assert!(current().is_available());
        assert_eq!(Isa::available().last(), Some(&Isa::Portable));
    }
}
