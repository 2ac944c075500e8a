//! A batch of multiplications: where each matrix lies, and how matrices spread over threads.

use tnrs_types::Dims;

use super::desc::{GemmDesc, MatStrides};

/// Elements from batch 0 to a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Offsets {
    pub(super) a: isize,
    pub(super) b: isize,
    pub(super) c: isize,
    pub(super) residual: isize,
}

/// Offsets of batch number `index`, dims in row-major order.
pub(super) fn offsets(desc: &GemmDesc, index: usize) -> Offsets {
    let mut at = Offsets::default();
    let mut rest = index as i64;
    for (d, &size) in desc.batch.iter().enumerate().rev() {
        let i = (rest % size) as isize;
        rest /= size;
        at.a += i * desc.a.batch[d] as isize;
        at.b += i * desc.b.batch[d] as isize;
        at.c += i * desc.c.batch[d] as isize;
        if let Some(r) = &desc.residual {
            at.residual += i * r.strides.batch[d] as isize;
        }
    }
    at
}

/// The same product with its last batch dim as further rows, where one B serves the whole dim and rows continue
/// evenly from one batch to the next.
pub(super) fn fold(desc: &GemmDesc) -> Option<GemmDesc> {
    let last = desc.batch.len().checked_sub(1)?;
    let m = desc.m as i64;
    let continues = |s: &MatStrides| s.batch[last] == m * s.row as i64;
    let even = desc.b.batch[last] == 0
        && continues(&desc.a)
        && continues(&desc.c)
        && desc.residual.as_ref().is_none_or(|r| continues(&r.strides))
        && desc.bias_rows.is_none_or(|b| b.stride == 0);
    if !even || desc.batch[last] == 0 {
        return None;
    }
    let shorter = |dims: &Dims| Dims::from_slice(&dims[..last]);
    let strides = |s: &MatStrides| MatStrides { batch: shorter(&s.batch), ..*s };
    let mut folded = desc.clone();
    folded.m *= desc.batch[last] as usize;
    folded.batch = shorter(&desc.batch);
    folded.a = strides(&desc.a);
    folded.b = strides(&desc.b);
    folded.c = strides(&desc.c);
    if let Some(r) = &mut folded.residual {
        r.strides = strides(&r.strides);
    }
    Some(folded)
}
