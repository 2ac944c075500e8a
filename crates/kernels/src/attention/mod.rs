//! Scaled dot-product attention in blocks that stay in cache, forward and backward.
mod backward;
mod context;
mod desc;
mod forward;
mod plain;
mod scores;
#[cfg(target_arch = "x86_64")]
mod scores512;
#[cfg(test)]
mod tests;

use tnrs_types::DType;

pub use desc::{AttentionDesc, BackwardDesc, BackwardPtrs, ForwardPtrs, Strides4};

use crate::gemm::kernel::Core;
use crate::isa;
use crate::pool::Pool;

/// `out = dropout(softmax(scale·q·kᵀ + bias, masked)) · v`, and `lse`, the logarithm of each row's sum of exponentials.
///
/// A row whose keys are all masked (or biased by -inf) gives out = 0 and lse = -inf.
/// Element (b,h,i,j) is kept when its Philox uniform `(bits >> 8)·2⁻²⁴` at linear index over (B,H,M,N) is below
/// 1 - p, and is scaled by 1/(1-p). 16-bit floats: products accumulate in f32, weights are rounded to the type before
/// they multiply v (BF16, where the processor multiplies it) or stay f32.
///
/// # Safety
/// Every pointer must be valid for the elements that the sizes and strides of `desc` reach; results must not overlap
/// operands or each other.
pub unsafe fn forward(pool: &Pool, desc: &AttentionDesc, ptrs: &ForwardPtrs) {
    // SAFETY: the contract is the caller's.
    unsafe {
        if desc.dtype == DType::F64 {
            return plain::forward(pool, desc, ptrs);
        }
        forward::run(pool, &Core::new(isa::current(), desc.dtype, true), desc, ptrs);
    }
}

/// Gradients of [`forward`] with respect to q, k, v and, when wanted, the bias. Sums run in a fixed order, whatever
/// the number of threads. The operand `out` and `lse` of `ptrs.forward` are read.
///
/// # Safety
/// As for [`forward`].
pub unsafe fn backward(pool: &Pool, desc: &BackwardDesc, ptrs: &BackwardPtrs) {
    // SAFETY: the contract is the caller's.
    unsafe {
        if desc.forward.dtype == DType::F64 {
            return plain::backward(pool, desc, ptrs);
        }
        let core = Core::new(isa::current(), desc.forward.dtype, true);
        backward::run(pool, &core, desc, ptrs);
    }
}
