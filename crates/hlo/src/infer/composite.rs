//! Composites: operand counts, sizes, and element types. StableHLO has no constraints for them; the labels are
//! `composite_c1` (operands: how many, which families), `composite_c2` (their sizes), `composite_c3` (results).

use smallvec::{smallvec, SmallVec};
use tnrs_types::{DType, Dims};

use super::{check, in_range, without, Types};
use crate::{Composite, HloError, TensorType};

/// Types, for messages.
pub fn list(types: &[&TensorType]) -> String {
    let names: Vec<String> = types.iter().map(|t| t.to_string()).collect();
    names.join(", ")
}

type Sizes = SmallVec<[Dims; 4]>;

pub fn infer(c: &Composite, x: &[&TensorType], want: &[TensorType]) -> Result<Types, HloError> {
    let op = c.name();
    let needed = operand_count(c);
    check!(x.len() == needed, op, "composite_c1", "{} operands given, {needed} needed", x.len());
    check!(families(c, x), op, "composite_c1", "operands are {}", list(x));
    let sizes = result_sizes(c, x, want);
    check!(sizes.is_some(), op, "composite_c2", "operands are {}", list(x));
    let sizes = sizes.unwrap_or_default();
    check!(
        sizes.len() == want.len()
            && sizes.iter().zip(want).all(|(s, w)| *s == w.dims)
            && result_families(c, x, want),
        op,
        "composite_c3",
        "operands are {}, results {}",
        list(x),
        list(&want.iter().collect::<Vec<_>>())
    );
    Ok(want.iter().cloned().collect())
}

fn operand_count(c: &Composite) -> usize {
    let n = usize::from;
    match c {
        Composite::Gelu { .. } | Composite::Silu | Composite::Softmax { .. } => 1,
        Composite::ArgReduce { .. } | Composite::Cumulative { .. } | Composite::CheckIndex { .. } => 1,
        Composite::MaxPool { .. } => 1,
        Composite::GeluGrad { .. } | Composite::SiluGrad | Composite::SoftmaxGrad { .. } => 2,
        Composite::Philox | Composite::Compact => 2,
        Composite::Nonzero | Composite::Assert { .. } => 1,
        Composite::LayerNorm { weight, bias, .. } => 1 + n(*weight) + n(*bias),
        Composite::LayerNormGrad { weight, .. } => 4 + n(*weight),
        Composite::RmsNorm { weight, .. } => 1 + n(*weight),
        Composite::RmsNormGrad { weight, .. } => 3 + n(*weight),
        Composite::Sdpa { bias, dropout, .. } => 3 + n(*bias) + 2 * n(*dropout > 0.0),
        Composite::SdpaGrad { bias, dropout, .. } => 6 + n(*bias) + 2 * n(*dropout > 0.0),
        Composite::AdamStep { amsgrad, scaled, .. } => 6 + n(*amsgrad) + 2 * n(*scaled),
        Composite::SgdStep { momentum, scaled, .. } => 3 + n(*momentum != 0.0) + 2 * n(*scaled),
    }
}

/// How many leading operands are floats, and whether two u64 scalars follow.
fn families(c: &Composite, x: &[&TensorType]) -> bool {
    let seeds = match c {
        Composite::Philox => 2,
        Composite::Sdpa { dropout, .. } | Composite::SdpaGrad { dropout, .. } if *dropout > 0.0 => 2,
        _ => 0,
    };
    if matches!(c, Composite::Compact | Composite::Nonzero) {
        return x[0].dtype == DType::Bool;
    }
    let (front, back) = x.split_at(x.len() - seeds);
    let is_seed = |t: &&TensorType| t.dtype == DType::U64 && t.rank() == 0;
    let ok = |t: &&TensorType| match c {
        Composite::ArgReduce { .. } | Composite::MaxPool { .. } => !t.dtype.is_complex(),
        Composite::Cumulative { kind, .. } => super::reduce::reduce(*kind, &[], t).is_ok(),
        Composite::CheckIndex { .. } => t.dtype.is_int(),
        Composite::Assert { .. } => t.dtype == DType::Bool,
        _ => t.dtype.is_float(),
    };
    front.iter().all(ok) && back.iter().all(is_seed)
}

fn result_families(c: &Composite, x: &[&TensorType], want: &[TensorType]) -> bool {
    let is_x = |w: &TensorType| w.dtype == x[0].dtype;
    match c {
        Composite::Philox => want[0].dtype == DType::U32,
        Composite::Compact => want[0].dtype == x[1].dtype && want[1].dtype == DType::I64,
        Composite::Nonzero => want.iter().all(|w| w.dtype == DType::I64),
        Composite::ArgReduce { .. } | Composite::MaxPool { .. } => {
            is_x(&want[0]) && want[1].dtype == DType::I64
        }
        Composite::Cumulative { .. } | Composite::CheckIndex { .. } | Composite::Assert { .. } => {
            is_x(&want[0])
        }
        _ => want.iter().all(|w| w.dtype.is_float()),
    }
}

/// Leading sizes kept, trailing sizes 1.
fn statistics(dims: &[i64], axis: usize) -> Dims {
    (0..dims.len()).map(|d| if d < axis { dims[d] } else { 1 }).collect()
}

/// Sizes of the results, or `None` when the operands' sizes do not fit together.
fn result_sizes(c: &Composite, x: &[&TensorType], want: &[TensorType]) -> Option<Sizes> {
    let same = |ts: &[&TensorType]| ts.iter().all(|t| t.dims == ts[0].dims);
    let scalars = |ts: &[&TensorType]| ts.iter().all(|t| t.rank() == 0);
    let dims = |i: usize| x[i].dims.clone();
    let has_dim = |d: i64| in_range(&[d], x[0].rank());
    match c {
        Composite::Gelu { .. }
        | Composite::Silu
        | Composite::CheckIndex { .. }
        | Composite::Assert { .. } => Some(smallvec![dims(0)]),
        Composite::GeluGrad { .. } | Composite::SiluGrad => same(x).then(|| smallvec![dims(0)]),
        Composite::Softmax { dim, .. } | Composite::SoftmaxGrad { dim, .. } => {
            (same(x) && has_dim(*dim)).then(|| smallvec![dims(0)])
        }
        Composite::Cumulative { dim, .. } => has_dim(*dim).then(|| smallvec![dims(0)]),
        Composite::ArgReduce { dim, .. } => (has_dim(*dim) && x[0].dims[*dim as usize] > 0).then(|| {
            let kept = without(&x[0].dims, &[*dim]);
            smallvec![kept.clone(), kept]
        }),
        Composite::MaxPool { kernel, stride, padding, dilation } => {
            let n = kernel.len();
            let lead = x[0].rank().checked_sub(n)?;
            let sizes = &want.first()?.dims;
            let lists = [stride, padding, dilation].iter().all(|l| l.len() == n);
            let positive = [kernel, stride, dilation].iter().all(|l| l.iter().all(|&v| v > 0));
            let ok = lists && positive && sizes.len() == x[0].rank() && sizes[..lead] == x[0].dims[..lead];
            ok.then(|| smallvec![sizes.clone(), sizes.clone()])
        }
        Composite::Compact => (same(x) && x[0].rank() == 1).then(|| smallvec![dims(0), Dims::new()]),
        Composite::Nonzero => Some(smallvec![smallvec![x[0].numel(), x[0].rank() as i64], Dims::new()]),
        Composite::Philox => Some(want.iter().map(|w| w.dims.clone()).take(1).collect()),
        Composite::LayerNorm { axis, .. } | Composite::RmsNorm { axis, .. } => {
            let axis = usize::try_from(*axis).ok()?;
            let trailing = x[0].dims.get(axis..)?;
            let stats = statistics(&x[0].dims, axis);
            let ok = x[1..].iter().all(|w| w.dims.as_slice() == trailing);
            let mean = matches!(c, Composite::LayerNorm { .. });
            ok.then(|| {
                let mut sizes: Sizes = smallvec![dims(0), stats.clone()];
                if mean {
                    sizes.push(stats);
                }
                sizes
            })
        }
        Composite::LayerNormGrad { axis, .. } | Composite::RmsNormGrad { axis, .. } => {
            let axis = usize::try_from(*axis).ok()?;
            let trailing = Dims::from_slice(x[1].dims.get(axis..)?);
            let stats = statistics(&x[1].dims, axis);
            let layer = matches!(c, Composite::LayerNormGrad { .. });
            let n_stats = if layer { 2 } else { 1 };
            let ok = x[0].dims == x[1].dims
                && x[2..2 + n_stats].iter().all(|s| s.dims == stats)
                && x[2 + n_stats..].iter().all(|w| w.dims == trailing);
            ok.then(|| {
                let mut sizes: Sizes = smallvec![dims(0), trailing.clone()];
                if layer {
                    sizes.push(trailing);
                }
                sizes
            })
        }
        Composite::Sdpa { bias, .. } => {
            let (out, lse, full) = attention([x[0], x[1], x[2]])?;
            (!bias || x[3].dims == full).then(|| smallvec![out, lse])
        }
        Composite::SdpaGrad { bias, bias_grad, .. } => {
            let (out, lse, full) = attention([x[1], x[2], x[3]])?;
            let ok = x[0].dims == out && x[4].dims == out && x[5].dims == lse && (!bias || x[6].dims == full);
            ok.then(|| {
                let mut sizes: Sizes = smallvec![dims(1), dims(2), dims(3)];
                if *bias_grad {
                    sizes.push(full);
                }
                sizes
            })
        }
        Composite::AdamStep { amsgrad, .. } => {
            let states = 3 + usize::from(*amsgrad);
            (same(&x[..states + 1]) && scalars(&x[states + 1..])).then(|| smallvec![dims(0); states])
        }
        Composite::SgdStep { momentum, .. } => {
            let states = 1 + usize::from(*momentum != 0.0);
            (same(&x[..states + 1]) && scalars(&x[states + 1..])).then(|| smallvec![dims(0); states])
        }
    }
}

/// Sizes of out, of lse and of the full score matrix.
fn attention([q, k, v]: [&TensorType; 3]) -> Option<(Dims, Dims, Dims)> {
    if q.rank() != 4 || k.rank() != 4 || v.rank() != 4 {
        return None;
    }
    let (b, h, m, d) = (q.dims[0], q.dims[1], q.dims[2], q.dims[3]);
    let (hk, n, dv) = (k.dims[1], k.dims[2], v.dims[3]);
    let ok = k.dims[0] == b && k.dims[3] == d && v.dims[..3] == k.dims[..3] && hk > 0 && h % hk == 0;
    ok.then(|| (smallvec![b, h, m, dv], smallvec![b, h, m], smallvec![b, h, m, n]))
}
