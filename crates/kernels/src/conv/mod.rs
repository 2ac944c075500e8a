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

use std::ops::BitAnd;

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
    let mut sizes: Dims = smallvec::smallvec![desc.out_features as i64, features as i64];
    sizes.extend_from_slice(&desc.kernel);
    let strides = &desc.kernel_strides;
    let count = tnrs_types::numel(&sizes);
    let reach: i64 = sizes.iter().zip(strides).map(|(n, s)| (n - 1) * s).sum();
    let dense = strides.iter().all(|&s| s >= 0) && reach + 1 == count;
    let runs = if dense { 1 } else { count };
    (0..runs).all(|i| {
        let mut rest = i;
        let at = (0..sizes.len()).rev().fold(0, |at, d| {
            let here = rest % sizes[d];
            rest /= sizes[d];
            at + here * strides[d]
        });
        let (at, n) = (at as isize, (count / runs) as usize);
        // SAFETY: elements of the kernel, all of them where they are dense.
        unsafe {
            match desc.dtype {
                DType::F32 => are_finite(ptrs.kernel.cast::<u32>().offset(at), n, 0x7f80_0000),
                DType::BF16 => are_finite(ptrs.kernel.cast::<u16>().offset(at), n, 0x7f80),
                _ => are_finite(ptrs.kernel.cast::<u16>().offset(at), n, 0x7c00),
            }
        }
    })
}

/// Whether no float has all of the exponent's bits.
///
/// # Safety
/// `x` must be valid for `n` elements.
unsafe fn are_finite<T: Copy + PartialEq + BitAnd<Output = T>>(x: *const T, n: usize, exponent: T) -> bool {
    // SAFETY: the contract is the caller's.
    let x = unsafe { std::slice::from_raw_parts(x, n) };
    // Parts without an early exit are vectorised.
    x.chunks(512).all(|part| !part.iter().fold(false, |found, &v| found | (v & exponent == exponent)))
}
