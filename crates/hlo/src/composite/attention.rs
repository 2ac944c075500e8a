//! `sdpa`: scaled dot-product attention.
//!
//! Query heads are grouped by the key head they share, so every tensor of scores is (B, Hk, G, M, N) with
//! H = Hk·G. A row of scores without a finite entry gives weights of 0 and an lse of −inf, never NaN.

use smallvec::{smallvec, SmallVec};
use tnrs_types::{CompareDir, DType, ReduceKind, Scalar};

use super::decompose::Values;
use super::math::{mul_c, opmath, reduce_keep, spread};
use crate::{Builder, DotDims, HloError, Value};

/// Attributes that forward and gradient share.
pub struct Attrs {
    scale: f64,
    causal: bool,
    bias: bool,
    dropout: f64,
}

impl Attrs {
    pub fn new(scale: f64, causal: bool, bias: bool, dropout: f64) -> Self {
        Attrs { scale, causal, bias, dropout }
    }

    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// The bias, and the seed and offset, among the operands after the first `n`.
    pub fn options(&self, operands: &[Value], n: usize) -> (Option<Value>, Option<[Value; 2]>) {
        let rest = &operands[n..];
        let bias = self.bias.then(|| rest[0]);
        let at = usize::from(self.bias);
        let seeds = (self.dropout > 0.0).then(|| [rest[at], rest[at + 1]]);
        (bias, seeds)
    }
}

/// Sizes (B, Hk, G, M, N).
pub fn grouped_sizes(b: &Builder, q: Value, k: Value) -> [i64; 5] {
    let (q, k) = (&b.ty(q).dims, &b.ty(k).dims);
    [q[0], k[1], q[1] / k[1], q[2], k[2]]
}

/// Reshapes (B, H, M, X) to (B, Hk, G, M, X).
pub fn group(b: &mut Builder, x: Value, [n, hk, g, m, _]: [i64; 5]) -> Result<Value, HloError> {
    let inner = b.ty(x).dims[3];
    b.reshape(x, &[n, hk, g, m, inner])
}

/// A product over the batch (B, Hk) that contracts the given dims.
pub fn dot(
    b: &mut Builder,
    x: Value,
    y: Value,
    lhs_contract: &[i64],
    rhs_contract: &[i64],
) -> Result<Value, HloError> {
    let dims = DotDims {
        lhs_batch: smallvec![0, 1],
        rhs_batch: smallvec![0, 1],
        lhs_contract: SmallVec::from_slice(lhs_contract),
        rhs_contract: SmallVec::from_slice(rhs_contract),
    };
    let out = b.ty(x).dtype;
    b.dot_general(x, y, dims, out)
}

/// `q·kᵀ·scale + bias` with −inf where masked; q and bias are grouped.
pub fn scores(
    b: &mut Builder,
    q: Value,
    k: Value,
    bias: Option<Value>,
    attrs: &Attrs,
    sizes: [i64; 5],
) -> Result<Value, HloError> {
    let product = dot(b, q, k, &[4], &[3])?;
    let mut s = mul_c(b, product, attrs.scale)?;
    if let Some(bias) = bias {
        s = b.add(s, bias)?;
    }
    if attrs.causal {
        let (i, j) = (b.iota(DType::I64, &sizes, 3)?, b.iota(DType::I64, &sizes, 4)?);
        let future = b.compare(CompareDir::Gt, j, i)?;
        let masked = b.splat_like(s, f64::NEG_INFINITY)?;
        s = b.select(future, masked, s)?;
    }
    Ok(s)
}

/// Weights with dropped elements 0 and the others scaled by `1/(1 − p)`.
pub fn drop(
    b: &mut Builder,
    weights: Value,
    seeds: Option<[Value; 2]>,
    attrs: &Attrs,
) -> Result<Value, HloError> {
    let Some([seed, offset]) = seeds else {
        return Ok(weights);
    };
    let sizes = b.ty(weights).dims.clone();
    // The linear index over (B, Hk, G, M, N) is that over (B, H, M, N).
    let words = b.philox(seed, offset, &sizes)?;
    let eight = b.splat(DType::U32, &sizes, Scalar::Int(8))?;
    let high = b.binary(crate::BinaryKind::ShiftRightLogical, words, eight)?;
    let uniform = b.convert(high, DType::F32)?;
    let uniform = mul_c(b, uniform, (-24f64).exp2())?;
    let bound = b.splat_like(uniform, 1.0 - attrs.dropout)?;
    let keep = b.compare(CompareDir::Lt, uniform, bound)?;
    let scaled = mul_c(b, weights, 1.0 / (1.0 - attrs.dropout))?;
    let zero = b.splat_like(weights, 0.0)?;
    b.select(keep, scaled, zero)
}

/// The forward pass.
pub fn sdpa(b: &mut Builder, operands: &[Value], attrs: &Attrs) -> Values {
    let (bias, seeds) = attrs.options(operands, 3);
    let math = opmath(b, &operands[..3]);
    let sizes = grouped_sizes(b, operands[0], operands[1]);
    let q = b.convert(operands[0], math)?;
    let k = b.convert(operands[1], math)?;
    let v = b.convert(operands[2], math)?;
    let q = group(b, q, sizes)?;
    let bias = match bias {
        Some(x) => {
            let x = b.convert(x, math)?;
            Some(group(b, x, sizes)?)
        }
        None => None,
    };
    let s = scores(b, q, k, bias, attrs, sizes)?;
    let max = reduce_keep(b, ReduceKind::Maximum, s, &[4])?;
    let none = b.splat_like(max, f64::NEG_INFINITY)?;
    let zero = b.splat_like(max, 0.0)?;
    let empty = b.compare(CompareDir::Eq, max, none)?;
    let max = b.select(empty, zero, max)?;
    let max_full = spread(b, max, s)?;
    let shifted = b.sub(s, max_full)?;
    let exp = b.exp(shifted)?;
    let sum = reduce_keep(b, ReduceKind::Add, exp, &[4])?;
    let one = b.splat_like(sum, 1.0)?;
    let divisor = b.select(empty, one, sum)?;
    let divisor = spread(b, divisor, s)?;
    let weights = b.div(exp, divisor)?;
    let weights = drop(b, weights, seeds, attrs)?;
    let out = dot(b, weights, v, &[4], &[2])?;
    let log_sum = b.log(sum)?;
    let lse = b.add(max, log_sum)?;
    let [n, hk, g, m, _] = sizes;
    let inner = b.ty(v).dims[3];
    let out = b.reshape(out, &[n, hk * g, m, inner])?;
    let lse = b.reshape(lse, &[n, hk * g, m])?;
    Ok(smallvec![out, lse])
}
