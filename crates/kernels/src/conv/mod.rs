//! Convolution as a matrix multiplication whose right operand is packed straight from the input.
mod desc;

pub use desc::{ConvDesc, ConvPtrs};

use crate::pool::Pool;

/// Runs the convolution that `desc` describes.
///
/// # Safety
/// Every pointer must be valid for the elements that the sizes and strides of `desc` reach; the output must not
/// overlap the operands.
pub unsafe fn conv(pool: &Pool, desc: &ConvDesc, ptrs: &ConvPtrs) {
    let _ = (pool, desc, ptrs);
    unimplemented!()
}
