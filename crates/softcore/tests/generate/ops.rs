//! One random instruction.

use tnrs_hlo::{
    BinaryKind, Builder, CompareDir, Composite, DotDims, GatherDims, HloError, ReduceKind, ScatterDims,
    ScatterKind, TensorType, UnaryKind, Value,
};
use tnrs_types::{DType, Dims};

use super::{number, sizes, Made, Rng, TYPES};

/// Bounded functions, whose error does not grow.
const SMOOTH: &[UnaryKind] = &[
    UnaryKind::Tanh,
    UnaryKind::Logistic,
    UnaryKind::Sine,
    UnaryKind::Cosine,
    UnaryKind::Atan,
    UnaryKind::Erf,
    UnaryKind::Asinh,
];
/// Functions of exact results.
const EXACT: &[UnaryKind] = &[
    UnaryKind::Abs,
    UnaryKind::Negate,
    UnaryKind::Sign,
    UnaryKind::Floor,
    UnaryKind::Ceil,
    UnaryKind::RoundNearestEven,
    UnaryKind::RoundNearestAfz,
    UnaryKind::IsFinite,
    UnaryKind::IsNan,
    UnaryKind::IsInf,
    UnaryKind::Not,
    UnaryKind::Popcnt,
    UnaryKind::CountLeadingZeros,
    UnaryKind::Trunc,
    UnaryKind::Real,
    UnaryKind::Imag,
    UnaryKind::Conj,
];
const BINARY: &[BinaryKind] = &[
    BinaryKind::Add,
    BinaryKind::Subtract,
    BinaryKind::Multiply,
    BinaryKind::Maximum,
    BinaryKind::Minimum,
    BinaryKind::And,
    BinaryKind::Or,
    BinaryKind::Xor,
];
const REDUCE: &[ReduceKind] = &[
    ReduceKind::Add,
    ReduceKind::Add,
    ReduceKind::Maximum,
    ReduceKind::Minimum,
    ReduceKind::And,
    ReduceKind::Or,
    ReduceKind::Xor,
];

fn any(rng: &mut Rng, made: &[Made]) -> Made {
    // Recent values more often.
    let n = made.len();
    let from = if rng.chance(2) { n.saturating_sub(4) } else { 0 };
    made[from + rng.below(n - from)].clone()
}

/// A value of the same type as `like`, or `like` with `None`.
fn peer(rng: &mut Rng, made: &[Made], ty: &TensorType) -> Option<Made> {
    let same: Vec<&Made> = made.iter().filter(|m| m.ty == *ty).collect();
    (!same.is_empty()).then(|| (*same[rng.below(same.len())]).clone())
}

fn keep(b: &Builder, made: &mut Vec<Made>, v: Result<Value, HloError>, exact: bool) {
    if let Ok(value) = v {
        let ty = b.ty(value).clone();
        if ty.numel() <= 6000 {
            made.push(Made { value, ty, exact });
        }
    }
}

/// Tries to add one instruction.
pub fn add(rng: &mut Rng, b: &mut Builder, made: &mut Vec<Made>) {
    let x = any(rng, made);
    let float = x.ty.dtype.is_float() || x.ty.dtype.is_complex();
    match rng.below(28) {
        0 => {
            let k = rng.pick(SMOOTH);
            let v = b.unary(k, x.value);
            keep(b, made, v, false);
        }
        1 => {
            let k = rng.pick(EXACT);
            if x.exact || matches!(k, UnaryKind::Abs | UnaryKind::Negate) {
                let exact =
                    x.exact && !(x.ty.dtype.is_complex() && matches!(k, UnaryKind::Abs | UnaryKind::Sign));
                let v = b.unary(k, x.value);
                keep(b, made, v, exact);
            }
        }
        2..=5 => {
            if let Some(y) = peer(rng, made, &x.ty) {
                let k = rng.pick(BINARY);
                let v = b.binary(k, x.value, y.value);
                let exact = x.exact && y.exact && !(x.ty.dtype.is_complex() && k == BinaryKind::Multiply);
                keep(b, made, v, exact);
            }
        }
        6 => {
            if let Some(y) = peer(rng, made, &x.ty).filter(|y| x.exact && y.exact) {
                let d = rng.pick(&[CompareDir::Lt, CompareDir::Eq, CompareDir::Ge, CompareDir::Ne]);
                let v = b.compare(d, x.value, y.value);
                keep(b, made, v, true);
            }
        }
        7 => {
            let preds: Vec<Made> = made
                .iter()
                .filter(|m| m.ty.dtype == DType::Bool && (m.ty.dims == x.ty.dims || m.ty.rank() == 0))
                .cloned()
                .collect();
            if let (false, Some(y)) = (preds.is_empty(), peer(rng, made, &x.ty)) {
                let p = rng.pick(&preds);
                let v = b.select(p.value, x.value, y.value);
                keep(b, made, v, x.exact && y.exact && p.exact);
            }
        }
        8 => {
            let to = rng.pick(TYPES);
            let discontinuous = !(to.is_float() || to.is_complex());
            // What an out-of-range conversion of an infinite value gives is fixed only for these executors.
            if x.exact || !discontinuous {
                let v = b.convert(x.value, to);
                keep(b, made, v, x.exact);
            }
        }
        9 => {
            let mut out = sizes(rng);
            if rng.chance(2) {
                out = x.ty.dims.clone();
                let at = rng.below(out.len() + 1);
                out.insert(at, rng.pick(&[2, 3]));
            }
            // A random rising map of operand dims.
            let mut map = Dims::new();
            let mut next = 0;
            for _ in 0..x.ty.rank() {
                let left = out.len().saturating_sub(next);
                if left == 0 {
                    return;
                }
                let d = next + rng.below(left);
                map.push(d as i64);
                next = d + 1;
            }
            let v = b.broadcast_in_dim(x.value, &map, &out);
            keep(b, made, v, x.exact);
        }
        10 => {
            let mut dims = x.ty.dims.clone();
            if dims.len() > 1 && rng.chance(2) {
                let at = rng.below(dims.len() - 1);
                let d = dims.remove(at);
                dims[at] *= d;
            } else if !dims.is_empty() {
                let at = rng.below(dims.len());
                let d = dims[at];
                let f = rng.pick(&[1, 2, 3, 5]);
                if d % f == 0 {
                    dims[at] = d / f;
                    dims.insert(at, f);
                }
            } else {
                dims.push(1);
            }
            let v = b.reshape(x.value, &dims);
            keep(b, made, v, x.exact);
        }
        11 => {
            let rank = x.ty.rank();
            let mut perm: Dims = (0..rank as i64).collect();
            for i in (1..rank).rev() {
                perm.swap(i, rng.below(i + 1));
            }
            let v = b.transpose(x.value, &perm);
            keep(b, made, v, x.exact);
        }
        12 => {
            let (mut start, mut limit, mut stride) = (Dims::new(), Dims::new(), Dims::new());
            for &d in &x.ty.dims {
                let s = rng.below(d as usize + 1) as i64;
                start.push(s);
                limit.push(s + rng.below((d - s) as usize + 1) as i64);
                stride.push(rng.pick(&[1, 1, 2, 3]));
            }
            let v = b.slice(x.value, &start, &limit, &stride);
            keep(b, made, v, x.exact);
        }
        13 => {
            let dims: Dims = (0..x.ty.rank() as i64).filter(|_| rng.chance(2)).collect();
            let v = b.reverse(x.value, &dims);
            keep(b, made, v, x.exact);
        }
        14 | 15 => {
            let k = rng.pick(REDUCE);
            let dims: Dims = (0..x.ty.rank() as i64).filter(|_| rng.chance(2)).collect();
            let sums = matches!(k, ReduceKind::Add);
            let v = b.reduce(k, x.value, &dims);
            keep(b, made, v, x.exact && !(float && sums));
        }
        16 | 17 => dot(rng, b, made, &x),
        18 => {
            if x.ty.rank() > 0 {
                let dim = rng.below(x.ty.rank());
                let fits: Vec<Made> = made
                    .iter()
                    .filter(|m| {
                        m.ty.dtype == x.ty.dtype
                            && m.ty.rank() == x.ty.rank()
                            && (0..x.ty.rank()).all(|d| d == dim || m.ty.dims[d] == x.ty.dims[d])
                    })
                    .cloned()
                    .collect();
                let parts: Vec<Made> = (0..1 + rng.below(3)).map(|_| rng.pick(&fits)).collect();
                let values: Vec<Value> = parts.iter().map(|m| m.value).collect();
                let v = b.concatenate(&values, dim as i64);
                keep(b, made, v, parts.iter().all(|m| m.exact));
            }
        }
        19 => {
            let (mut low, mut high, mut interior) = (Dims::new(), Dims::new(), Dims::new());
            for _ in 0..x.ty.rank() {
                low.push(rng.below(5) as i64 - 1);
                high.push(rng.below(5) as i64 - 1);
                interior.push(rng.pick(&[0, 0, 1, 2]));
            }
            let n = number(rng, x.ty.dtype);
            if let Ok(value) = b.splat(x.ty.dtype, &[], n) {
                let v = b.pad(x.value, value, &low, &high, &interior);
                keep(b, made, v, x.exact);
            }
        }
        20 => {
            let d = rng.pick(TYPES);
            let dims = sizes(rng);
            if !dims.is_empty() && d != DType::Bool {
                let dim = rng.below(dims.len()) as i64;
                let v = b.iota(d, &dims, dim);
                keep(b, made, v, true);
            }
        }
        21 => {
            let n = number(rng, x.ty.dtype);
            let v = b.splat(x.ty.dtype, &x.ty.dims, n);
            keep(b, made, v, true);
        }
        22 => dynamic(rng, b, made, &x),
        23 => gather(rng, b, made, &x),
        24 => scatter(rng, b, made, &x),
        25 => {
            if x.ty.rank() > 0 && x.exact {
                let dim = rng.below(x.ty.rank()) as i64;
                let mut xs = vec![x.value];
                if rng.chance(2) {
                    if let Ok(i) = b.iota(DType::I64, &x.ty.dims, dim) {
                        xs.push(i);
                    }
                }
                let descending = rng.chance(2);
                if let Ok(vs) = b.sort(&xs, dim, descending) {
                    for v in vs {
                        keep(b, made, Ok(v), true);
                    }
                }
            }
        }
        26 => composite(rng, b, made, &x),
        _ => {
            let lo = number(rng, x.ty.dtype);
            let hi = number(rng, x.ty.dtype);
            if let (Ok(lo), Ok(hi)) = (b.splat(x.ty.dtype, &[], lo), b.splat(x.ty.dtype, &[], hi)) {
                let v = b.clamp(lo, x.value, hi);
                keep(b, made, v, x.exact);
            }
        }
    }
}

fn dot(rng: &mut Rng, b: &mut Builder, made: &mut Vec<Made>, x: &Made) {
    let y = any(rng, made);
    if y.ty.dtype != x.ty.dtype || x.ty.dtype == DType::Bool {
        return;
    }
    let mut d = DotDims::default();
    let mut taken: Vec<usize> = Vec::new();
    for i in 0..x.ty.rank() {
        let role = rng.below(3);
        let j = (0..y.ty.rank()).find(|j| !taken.contains(j) && y.ty.dims[*j] == x.ty.dims[i]);
        let Some(j) = j.filter(|_| role > 0) else {
            continue;
        };
        taken.push(j);
        let (l, r) = if role == 1 {
            (&mut d.lhs_contract, &mut d.rhs_contract)
        } else {
            (&mut d.lhs_batch, &mut d.rhs_batch)
        };
        l.push(i as i64);
        r.push(j as i64);
    }
    let wide = x.ty.dtype.is_reduced_float() && rng.chance(2);
    let out = if wide { DType::F32 } else { x.ty.dtype };
    let exact = x.exact && y.exact && x.ty.dtype.is_int();
    let v = b.dot_general(x.value, y.value, d, out);
    keep(b, made, v, exact);
}

fn dynamic(rng: &mut Rng, b: &mut Builder, made: &mut Vec<Made>, x: &Made) {
    let starts: Option<Vec<Value>> = (0..x.ty.rank())
        .map(|_| {
            let n = tnrs_types::Scalar::Int(rng.below(6) as i64 - 1);
            b.splat(DType::I64, &[], n).ok()
        })
        .collect();
    let Some(starts) = starts else { return };
    let window: Dims = x.ty.dims.iter().map(|&d| rng.below(d as usize + 1) as i64).collect();
    if rng.chance(2) {
        let v = b.dynamic_slice(x.value, &starts, &window);
        keep(b, made, v, x.exact);
    } else {
        let zero = Dims::from_elem(0, window.len());
        let one = Dims::from_elem(1, window.len());
        let Ok(update) = b.slice(x.value, &zero, &window, &one) else {
            return;
        };
        let Ok(update) = b.neg(update) else { return };
        let v = b.dynamic_update_slice(x.value, update, &starts);
        keep(b, made, v, x.exact);
    }
}

/// Indices of a dim of `size`, some of them out of range.
fn indices(rng: &mut Rng, b: &mut Builder, n: i64, size: i64) -> Option<Value> {
    let i = b.iota(DType::I64, &[n, 1], 0).ok()?;
    let k = b.splat(DType::I64, &[n, 1], tnrs_types::Scalar::Int(rng.pick(&[1, 3, 7]))).ok()?;
    let m = b.splat(DType::I64, &[n, 1], tnrs_types::Scalar::Int(size.max(1) + 1)).ok()?;
    let v = b.mul(i, k).ok()?;
    b.rem(v, m).ok()
}

fn gather(rng: &mut Rng, b: &mut Builder, made: &mut Vec<Made>, x: &Made) {
    let rank = x.ty.rank();
    if rank == 0 || x.ty.numel() == 0 {
        return;
    }
    let d = rng.below(rank);
    let n = rng.pick(&[1, 4, 9]);
    let Some(idx) = indices(rng, b, n, x.ty.dims[d]) else {
        return;
    };
    let mut slice_sizes = x.ty.dims.clone();
    slice_sizes[d] = 1;
    let dims = GatherDims {
        offset_dims: (1..rank as i64).collect(),
        collapsed_slice_dims: Dims::from_slice(&[d as i64]),
        start_index_map: Dims::from_slice(&[d as i64]),
        index_vector_dim: 1,
        slice_sizes,
    };
    let v = b.gather(x.value, idx, dims);
    keep(b, made, v, x.exact);
}

fn scatter(rng: &mut Rng, b: &mut Builder, made: &mut Vec<Made>, x: &Made) {
    let rank = x.ty.rank();
    if rank == 0 || x.ty.numel() == 0 {
        return;
    }
    let d = rng.below(rank);
    let n = rng.pick(&[1, 4, 9]);
    let Some(idx) = indices(rng, b, n, x.ty.dims[d]) else {
        return;
    };
    let mut dims = Dims::from_slice(&[n]);
    dims.extend((0..rank).filter(|&i| i != d).map(|i| x.ty.dims[i]));
    let value = number(rng, x.ty.dtype);
    let Ok(updates) = b.splat(x.ty.dtype, &dims, value) else {
        return;
    };
    let kind = rng.pick(&[ScatterKind::Set, ScatterKind::Add, ScatterKind::Maximum]);
    let sd = ScatterDims {
        update_window_dims: (1..rank as i64).collect(),
        inserted_window_dims: Dims::from_slice(&[d as i64]),
        scatter_dims_to_operand_dims: Dims::from_slice(&[d as i64]),
        index_vector_dim: 1,
    };
    if x.ty.dtype.size() == 1 && x.ty.dtype.is_float() || x.ty.dtype == DType::Bool {
        return;
    }
    if kind == ScatterKind::Maximum && x.ty.dtype.is_complex() {
        return;
    }
    let exact = x.exact && (kind == ScatterKind::Set || x.ty.dtype.is_int());
    let v = b.scatter(kind, x.value, idx, updates, sd);
    keep(b, made, v, exact);
}

fn composite(rng: &mut Rng, b: &mut Builder, made: &mut Vec<Made>, x: &Made) {
    let rank = x.ty.rank();
    let dim = if rank == 0 { 0 } else { rng.below(rank) as i64 };
    let ty = x.ty.clone();
    let float = ty.dtype.is_float();
    let (c, types, exact) = match rng.below(8) {
        0 if float => (Composite::Gelu { tanh: rng.chance(2) }, vec![ty], false),
        1 if float => (Composite::Silu, vec![ty], false),
        2 if float && rank > 0 => (Composite::Softmax { dim, log: rng.chance(2) }, vec![ty], false),
        3 if float && rank > 0 => {
            let axis = dim;
            let stats: Dims =
                (0..rank as i64).map(|d| if d < axis { ty.dims[d as usize] } else { 1 }).collect();
            let stat = TensorType::new(ty.dtype.opmath(), &stats);
            (
                Composite::LayerNorm { axis, eps: 1e-2, weight: false, bias: false },
                vec![ty, stat.clone(), stat],
                false,
            )
        }
        4 if float && rank > 0 => {
            let axis = dim;
            let stats: Dims =
                (0..rank as i64).map(|d| if d < axis { ty.dims[d as usize] } else { 1 }).collect();
            let stat = TensorType::new(ty.dtype.opmath(), &stats);
            (Composite::RmsNorm { axis, eps: 1e-2, weight: false }, vec![ty, stat], false)
        }
        5 if rank > 0 && x.exact && ty.dims[dim as usize] > 0 => {
            let mut kept = ty.dims.clone();
            kept.remove(dim as usize);
            (
                Composite::ArgReduce { dim, max: rng.chance(2) },
                vec![TensorType::new(ty.dtype, &kept), TensorType::new(DType::I64, &kept)],
                true,
            )
        }
        6 if rank > 0 && x.exact => {
            let kind = rng.pick(&[ReduceKind::Add, ReduceKind::Maximum, ReduceKind::Minimum]);
            let exact = !(ty.dtype.is_complex() || float && kind == ReduceKind::Add);
            (Composite::Cumulative { dim, kind }, vec![ty], exact)
        }
        7 => {
            let seed = b.splat(DType::U64, &[], tnrs_types::Scalar::Int(7 + dim));
            let offset = b.splat(DType::U64, &[], tnrs_types::Scalar::Int(3));
            if let (Ok(s), Ok(o)) = (seed, offset) {
                let v = b.philox(s, o, &ty.dims);
                keep(b, made, v, true);
            }
            return;
        }
        _ => return,
    };
    if let Ok(vs) = b.composite(c, &[x.value], &types) {
        for v in vs {
            keep(b, made, Ok(v), exact && x.exact);
        }
    }
}
