//! Matrix multiplication: `C = act(alpha·A·B + bias) + beta·R`, batched, with any strides.
//!
//! f32, bf16 and f16 go through one driver of packed panels whose inner kernel depends on the instruction set, or,
//! with few rows, through loops that read B in place. f64 and complex use the `gemm` crate, integers a plain loop.
#[cfg(target_arch = "x86_64")]
mod avx512;
mod batch;
mod desc;
mod dots;
pub(crate) mod driver;
pub(crate) mod epilogue;
#[cfg(target_arch = "x86_64")]
mod epilogue512;
pub(crate) mod float;
mod generic;
pub(crate) mod kernel;
mod pack;
#[cfg(target_arch = "x86_64")]
pub(crate) mod pack512;
pub(crate) mod scratch;
mod skinny;
#[cfg(target_arch = "x86_64")]
mod skinny512;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod tiny512;
pub(crate) mod wide;

use tnrs_types::DType;

pub use desc::{Activation, Bias, GemmDesc, GemmPtrs, MatStrides, Residual};

use self::driver::{Operand, Size};
use self::epilogue::Epilogue;
use self::kernel::Core;
use crate::isa;
use crate::pool::Pool;

/// Runs the multiplication that `desc` describes. An element's sum does not depend on the number of threads.
///
/// # Safety
/// Every pointer that `desc` makes use of must be valid for the elements its strides reach; C must not overlap A, B
/// or a bias, and may overlap the residual only when it is the residual, element for element.
pub unsafe fn gemm(pool: &Pool, desc: &GemmDesc, ptrs: &GemmPtrs) {
    let core = match desc.dtype {
        DType::F32 | DType::BF16 | DType::F16 => Some(Core::new(isa::current(), desc.dtype, true)),
        _ => None,
    };
    // SAFETY: the contract is the caller's.
    unsafe { gemm_with(pool, core.as_ref(), desc, ptrs) }
}

/// [`gemm`] with given inner kernels (`None` for the types that have none).
///
/// # Safety
/// As [`gemm`].
unsafe fn gemm_with(pool: &Pool, core: Option<&Core>, desc: &GemmDesc, ptrs: &GemmPtrs) {
    if let Some(folded) = batch::fold(desc) {
        // SAFETY: the same elements under other names.
        return unsafe { gemm_with(pool, core, &folded, ptrs) };
    }
    let count = desc.batch.iter().product::<i64>() as usize;
    if count == 0 || desc.m == 0 || desc.n == 0 {
        return;
    }
    // Pointers cross threads as numbers' wrapper: each chunk writes its own matrices of C.
    let shared = SharedPtrs(*ptrs);
    let epilogue = core.map(|core| Epilogue::new(core.isa, desc, ptrs));
    let matrix = |index: usize| {
        let ptrs = shared.get();
        let at = batch::offsets(desc, index);
        // SAFETY: the contract is the caller's; batch `index` is one of the batch.
        unsafe {
            match (core, &epilogue) {
                (Some(core), Some(e)) => {
                    single(pool, core, desc, ptrs, at, &e.shifted(at.c, at.residual));
                }
                _ => wide::multiply(pool, desc, ptrs, at),
            }
        }
    };
    let work = desc.m * desc.n * desc.k.max(1);
    // Whole matrices are the better chunks when there are enough of them.
    if count >= 2 * pool.threads() && pool.threads() > 1 && work * count >= 1 << 19 {
        let group = ((1usize << 17) / work.max(1)).clamp(1, count.div_ceil(pool.threads() * 2));
        pool.run(count.div_ceil(group), &|g, _| {
            (g * group..((g + 1) * group).min(count)).for_each(matrix);
        });
    } else {
        (0..count).for_each(matrix);
    }
}

/// [`GemmPtrs`] for use by several threads.
struct SharedPtrs(GemmPtrs);

// SAFETY: operands are only read, and every thread writes its own elements of C.
unsafe impl Send for SharedPtrs {}
// SAFETY: as above.
unsafe impl Sync for SharedPtrs {}

impl SharedPtrs {
    fn get(&self) -> &GemmPtrs {
        &self.0
    }
}

/// One matrix by inner kernels.
///
/// # Safety
/// As [`gemm`].
unsafe fn single(
    pool: &Pool,
    core: &Core,
    desc: &GemmDesc,
    ptrs: &GemmPtrs,
    at: batch::Offsets,
    epilogue: &Epilogue,
) {
    let es = core.dtype.size() as isize;
    let a = Operand { ptr: ptrs.a.wrapping_offset(at.a * es), lane: desc.a.row, depth: desc.a.col };
    let b = Operand { ptr: ptrs.b.wrapping_offset(at.b * es), lane: desc.b.col, depth: desc.b.row };
    let size = Size { m: desc.m, n: desc.n, k: desc.k };
    let turned = Size { m: size.n, n: size.m, k: size.k };
    #[cfg(target_arch = "x86_64")]
    if tiny512::suits(core, size, b) {
        // SAFETY: the contract is the caller's.
        return unsafe { tiny512::multiply(size, a, b, epilogue) };
    }
    // SAFETY: the contract is the caller's; Cᵀ = Bᵀ·Aᵀ has the same elements.
    unsafe {
        if dots::suits(size, a, b) {
            dots::multiply(core, size, a, b, epilogue);
        } else if skinny::suits(size, b) {
            skinny::multiply(pool, core, size, a, b, epilogue);
        } else if skinny::suits(turned, a) {
            skinny::multiply(pool, core, turned, b, a, &epilogue.transposed());
        } else if desc.c.col != 1 && desc.c.row == 1 {
            driver::multiply(pool, core, turned, b, a, &epilogue.transposed());
        } else {
            driver::multiply(pool, core, size, a, b, epilogue);
        }
    }
}
