//! `fft`.

use tnrs_types::{DType, Dims, FftKind};

use super::check;
use crate::{HloError, TensorType};

const OP: &str = "fft";

/// Elements of the complex side of a real transform of `n` elements.
pub fn half(n: i64) -> i64 {
    if n == 0 {
        0
    } else {
        n / 2 + 1
    }
}

pub fn fft(kind: FftKind, length: &[i64], x: &TensorType) -> Result<TensorType, HloError> {
    check!((1..=3).contains(&length.len()), OP, "fft_c3", "{} dims of transform", length.len());
    check!(length.len() <= x.rank(), OP, "fft_c1", "{} dims of transform of {x}", length.len());
    let dtype = match (kind, x.dtype) {
        (FftKind::Fft | FftKind::Ifft, DType::C64 | DType::C128) => Some(x.dtype),
        (FftKind::Rfft, DType::F32) => Some(DType::C64),
        (FftKind::Rfft, DType::F64) => Some(DType::C128),
        (FftKind::Irfft, DType::C64 | DType::C128) => Some(x.dtype.real()),
        _ => None,
    };
    let Some(dtype) = dtype else {
        check!(false, OP, "fft_c2", "{kind:?} of {x}");
        unreachable!("the check fails")
    };
    let (batch, old) = x.dims.split_at(x.rank() - length.len());
    let last = length.len() - 1;
    let mut wanted = Dims::from_slice(length);
    if kind == FftKind::Irfft {
        wanted[last] = half(length[last]);
    }
    let label = if kind == FftKind::Irfft { "fft_c5" } else { "fft_c4" };
    check!(old == wanted.as_slice(), OP, label, "a transform of {length:?} takes {wanted:?}, not {x}");
    let mut dims = Dims::from_slice(batch);
    dims.extend_from_slice(length);
    if kind == FftKind::Rfft {
        let d = dims.len() - 1;
        dims[d] = half(length[last]);
    }
    Ok(TensorType { dtype, dims })
}
