//! Scaled dot-product attention in blocks that stay in cache, forward and backward.
mod desc;

pub use desc::{AttentionDesc, BackwardDesc, BackwardPtrs, ForwardPtrs, Strides4};

use crate::pool::Pool;

/// `out = dropout(softmax(scale·q·kᵀ + bias, masked)) · v`, and `lse`, the logarithm of each row's sum of exponentials.
///
/// A row whose keys are all masked (or biased by -inf) gives out = 0 and lse = -inf.
/// Element (b,h,i,j) is kept when its Philox uniform `(bits >> 8)·2⁻²⁴` at linear index over (B,H,M,N) is below
/// 1 - p, and is scaled by 1/(1-p).
///
/// # Safety
/// Every pointer must be valid for the elements that the sizes and strides of `desc` reach; results must not overlap
/// operands or each other.
pub unsafe fn forward(pool: &Pool, desc: &AttentionDesc, ptrs: &ForwardPtrs) {
    let _ = (pool, desc, ptrs);
    unimplemented!()
}

/// Gradients of [`forward`] with respect to q, k, v and, when wanted, the bias. Sums run in a fixed order, whatever
/// the number of threads.
///
/// # Safety
/// As for [`forward`].
pub unsafe fn backward(pool: &Pool, desc: &BackwardDesc, ptrs: &BackwardPtrs) {
    let _ = (pool, desc, ptrs);
    unimplemented!()
}
