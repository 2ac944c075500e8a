//! Convolution as a matrix multiplication whose right operand is packed straight from the input.
#[cfg(target_arch = "x86_64")]
mod correlate;
mod desc;
#[cfg(target_arch = "x86_64")]
mod direct;
#[cfg(target_arch = "x86_64")]
mod direct512;
mod driver;
mod pack;
mod plain;
#[cfg(target_arch = "x86_64")]
mod rows;
#[cfg(test)]
mod tests;
mod window;

use tnrs_types::{DType, Dims};

pub use desc::{ConvDesc, ConvPtrs};

use crate::gemm::kernel::Core;
use crate::isa;
use crate::pool::Pool;

/// Runs the convolution that `desc` describes. Both kinds of groups may not be above 1 at one time, and bool and
/// 8-bit floats are not types of this operation.
///
/// # Safety
/// Every pointer must be valid for the elements that the sizes and strides of `desc` reach; the output must not
/// overlap the operands.
pub unsafe fn conv(pool: &Pool, desc: &ConvDesc, ptrs: &ConvPtrs) {
    // SAFETY: the contract is the caller's.
    unsafe {
        match desc.dtype {
            DType::F32 | DType::BF16 | DType::F16 => {
                if desc.scatters() && !kernel_is_finite(desc, ptrs) {
                    return plain::run_float(pool, desc, ptrs);
                }
                let core = Core::new(isa::current(), desc.dtype, true);
                #[cfg(target_arch = "x86_64")]
                if correlate::run(pool, &core, desc, ptrs)
                    || direct::run(pool, &core, desc, ptrs)
                    || rows::run(pool, core.isa, desc, ptrs)
                    || rows::gradient(pool, core.isa, desc, ptrs)
                {
                    return;
                }
                driver::run(pool, &core, desc, ptrs);
            }
            DType::F64 => plain::run::<f64>(pool, desc, ptrs),
            DType::C64 => plain::run::<::gemm::c32>(pool, desc, ptrs),
            DType::C128 => plain::run::<::gemm::c64>(pool, desc, ptrs),
            DType::U8 => plain::run::<u8>(pool, desc, ptrs),
            DType::I8 => plain::run::<i8>(pool, desc, ptrs),
            DType::U16 => plain::run::<u16>(pool, desc, ptrs),
            DType::I16 => plain::run::<i16>(pool, desc, ptrs),
            DType::U32 => plain::run::<u32>(pool, desc, ptrs),
            DType::I32 => plain::run::<i32>(pool, desc, ptrs),
            DType::U64 => plain::run::<u64>(pool, desc, ptrs),
            DType::I64 => plain::run::<i64>(pool, desc, ptrs),
            other => unreachable!("convolution has no form for {other:?}"),
        }
    }
}

/// Whether all of the kernel's elements, floats of up to 32 bits, are finite.
///
/// # Safety
/// As [`conv`].
unsafe fn kernel_is_finite(desc: &ConvDesc, ptrs: &ConvPtrs) -> bool {
    let features = desc.in_features / desc.feature_groups;
    let sizes = [desc.out_features as i64, features as i64].into_iter().chain(desc.kernel.iter().copied());
    let (strides, step) = (&desc.kernel_strides, desc.dtype.size() as isize);
    let sizes: Dims = sizes.collect();
    let exponent = match desc.dtype {
        DType::F32 => 0x7f80_0000,
        DType::BF16 => 0x7f80,
        _ => 0x7c00,
    };
    (0..tnrs_types::numel(&sizes)).all(|i| {
        let mut rest = i as i64;
        let at = (0..sizes.len()).rev().fold(0, |at, d| {
            let here = rest % sizes[d];
            rest /= sizes[d];
            at + here * strides[d]
        });
        // SAFETY: an element of the kernel.
        let bits = unsafe {
            let p = ptrs.kernel.offset(at as isize * step);
            if step == 4 {
                p.cast::<u32>().read()
            } else {
                u32::from(p.cast::<u16>().read())
            }
        };
        bits & exponent != exponent
    })
}
