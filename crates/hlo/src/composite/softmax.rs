//! `softmax`, `log_softmax` and their gradients.

use smallvec::smallvec;
use tnrs_types::ReduceKind;

use super::decompose::Values;
use super::math::{opmath, reduce_keep, spread};
use crate::{Builder, Value};

/// `exp(x − max) / Σ exp(x − max)`, or its logarithm `x − max − log Σ exp(x − max)`.
pub fn softmax(b: &mut Builder, x: Value, dim: i64, log: bool) -> Values {
    let math = opmath(b, &[x]);
    let x = b.convert(x, math)?;
    let max = reduce_keep(b, ReduceKind::Maximum, x, &[dim])?;
    let max = spread(b, max, x)?;
    let shifted = b.sub(x, max)?;
    let exp = b.exp(shifted)?;
    let sum = reduce_keep(b, ReduceKind::Add, exp, &[dim])?;
    if log {
        let log_sum = b.log(sum)?;
        let log_sum = spread(b, log_sum, x)?;
        return Ok(smallvec![b.sub(shifted, log_sum)?]);
    }
    let sum = spread(b, sum, x)?;
    Ok(smallvec![b.div(exp, sum)?])
}

/// `y·(dy − Σ dy·y)`, or of the logarithm `dy − exp(y)·Σ dy`.
pub fn grad(b: &mut Builder, dy: Value, y: Value, dim: i64, log: bool) -> Values {
    let math = opmath(b, &[dy, y]);
    let (dy, y) = (b.convert(dy, math)?, b.convert(y, math)?);
    if log {
        let sum = reduce_keep(b, ReduceKind::Add, dy, &[dim])?;
        let sum = spread(b, sum, dy)?;
        let exp = b.exp(y)?;
        let part = b.mul(exp, sum)?;
        return Ok(smallvec![b.sub(dy, part)?]);
    }
    let product = b.mul(dy, y)?;
    let sum = reduce_keep(b, ReduceKind::Add, product, &[dim])?;
    let sum = spread(b, sum, dy)?;
    let rest = b.sub(dy, sum)?;
    Ok(smallvec![b.mul(y, rest)?])
}
