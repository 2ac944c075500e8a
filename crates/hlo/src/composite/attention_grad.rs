//! `sdpa_grad`.

use smallvec::SmallVec;
use tnrs_types::{CompareDir, ReduceKind};

use super::attention::{dot, drop, group, grouped_sizes, scores, Attrs};
use super::decompose::Values;
use super::math::{mul_c, opmath, reduce_keep, spread};
use crate::{Builder, Value};

/// With `p = exp(s − lse)` and `p'` its dropped form: `dv = p'ᵀ·dout`, `ds = p·(drop(dout·vᵀ) − Σ dout·out)`,
/// `dq = scale·ds·k`, `dk = scale·dsᵀ·q`, `dbias = ds`. Key and value gradients sum over the query heads of a group.
pub fn sdpa_grad(b: &mut Builder, operands: &[Value], attrs: &Attrs, bias_grad: bool) -> Values {
    let (bias, seeds) = attrs.options(operands, 6);
    let math = opmath(b, &operands[..4]);
    let sizes = grouped_sizes(b, operands[1], operands[2]);
    let [n, hk, g, m, keys] = sizes;
    let up: Vec<Value> = operands[..6].iter().map(|x| b.convert(*x, math)).collect::<Result<_, _>>()?;
    let dout = group(b, up[0], sizes)?;
    let q = group(b, up[1], sizes)?;
    let (k, v) = (up[2], up[3]);
    let out = group(b, up[4], sizes)?;
    let lse = b.reshape(up[5], &[n, hk, g, m, 1])?;
    let bias = match bias {
        Some(x) => {
            let x = b.convert(x, math)?;
            Some(group(b, x, sizes)?)
        }
        None => None,
    };
    let s = scores(b, q, k, bias, attrs, sizes)?;
    let lse = spread(b, lse, s)?;
    let shifted = b.sub(s, lse)?;
    let exp = b.exp(shifted)?;
    // In a row without a finite score both sides of the difference are -inf; its weights are 0.
    let none = b.splat_like(s, f64::NEG_INFINITY)?;
    let zero = b.splat_like(s, 0.0)?;
    let masked = b.compare(CompareDir::Eq, s, none)?;
    let p = b.select(masked, zero, exp)?;
    let dropped = drop(b, p, seeds, attrs)?;
    let dv = dot(b, dropped, dout, &[2, 3], &[2, 3])?;
    let dp = dot(b, dout, v, &[4], &[3])?;
    let dp = drop(b, dp, seeds, attrs)?;
    let product = b.mul(dout, out)?;
    let delta = reduce_keep(b, ReduceKind::Add, product, &[4])?;
    let delta = spread(b, delta, s)?;
    let rest = b.sub(dp, delta)?;
    let ds = b.mul(p, rest)?;
    let scaled = mul_c(b, ds, attrs.scale())?;
    let dq = dot(b, scaled, k, &[4], &[2])?;
    let dk = dot(b, scaled, q, &[2, 3], &[2, 3])?;
    let inner = b.ty(k).dims[3];
    let dq = b.reshape(dq, &[n, hk * g, m, inner])?;
    let mut results: SmallVec<[Value; 2]> = SmallVec::from_slice(&[dq, dk, dv]);
    if bias_grad {
        results.push(b.reshape(ds, &[n, hk * g, m, keys])?);
    }
    Ok(results)
}
