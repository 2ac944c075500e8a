//! Plain data that every other crate shares: element types, dimensions, scalars, function names.
//!
//! This crate has never heard of tensors in memory, devices, programs or PyTorch. It holds only values
//! that can be copied, compared and hashed, so that a cache key, a plan and a C ABI record agree on them.
mod dtype;
pub mod flags;
mod func;
mod scalar;

pub use dtype::{Class, DType};
pub use func::{BinaryKind, CompareDir, FftKind, ReduceKind, ScatterKind, UnaryKind};
pub use scalar::Scalar;

/// The Python exception that an illegal index becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Raises {
    /// `IndexError`.
    Index,
    /// `RuntimeError`: gathers and scatters along a dim, and losses.
    Runtime,
}

/// Sizes, strides or axes. Six dims stay inline, which covers nearly every model without allocation.
pub type Dims = smallvec::SmallVec<[i64; 6]>;

/// Number of elements of a tensor with these sizes (1 for rank 0).
pub fn numel(dims: &[i64]) -> i64 {
    dims.iter().product()
}

/// Row-major strides, in elements, of a dense tensor with these sizes.
pub fn contiguous_strides(dims: &[i64]) -> Dims {
    let mut strides: Dims = smallvec::smallvec![1; dims.len()];
    for i in (0..dims.len().saturating_sub(1)).rev() {
        strides[i] = strides[i + 1] * dims[i + 1].max(1);
    }
    strides
}

/// Whether `strides` lays `dims` out densely in row-major order; strides of size-1 dims do not matter.
pub fn is_contiguous(dims: &[i64], strides: &[i64]) -> bool {
    let mut expected = 1;
    let mut dense = true;
    for (&d, &s) in dims.iter().zip(strides).rev() {
        if d == 0 {
            return true;
        }
        dense &= d == 1 || s == expected;
        expected *= d;
    }
    dense
}

/// Elements from the first in memory to the end of the last, with strides that are not negative; 0 when there are none.
#[inline]
pub fn span(dims: &[i64], strides: &[i64]) -> i64 {
    let mut last = 0;
    for (&d, &s) in dims.iter().zip(strides) {
        if d == 0 {
            return 0;
        }
        last += (d - 1) * s;
    }
    last + 1
}

/// The inverse of a permutation.
pub fn inverse(perm: &[i64]) -> Dims {
    let mut inv: Dims = smallvec::smallvec![0; perm.len()];
    for (i, &p) in perm.iter().enumerate() {
        inv[p as usize] = i as i64;
    }
    inv
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_of_size_one_dims_do_not_matter() {
        assert_eq!(contiguous_strides(&[2, 3, 4]).as_slice(), &[12, 4, 1]);
        assert!(is_contiguous(&[2, 1, 4], &[4, 99, 1]));
        assert!(!is_contiguous(&[2, 4], &[1, 2]));
        assert!(is_contiguous(&[0, 4], &[7, 7]));
        assert_eq!(numel(&[]), 1);
    }

    #[test]
    fn spans_reach_from_the_first_element_to_the_last() {
        assert_eq!(span(&[], &[]), 1);
        assert_eq!(span(&[2, 3], &[1, 4]), 10);
        assert_eq!(span(&[5, 0], &[7, 1]), 0);
    }

    #[test]
    fn an_inverse_undoes_its_permutation() {
        assert_eq!(inverse(&[2, 0, 1]).as_slice(), &[1, 2, 0]);
    }
}
