//! Gradients of `layer_norm` and `rms_norm`.

use smallvec::smallvec;
use tnrs_types::{Dims, ReduceKind};

use super::decompose::Values;
use super::math::{mean_keep, opmath, spread};
use super::norm::normalized;
use crate::{Builder, HloError, Value};

/// With `x̂ = (x − mean)·rstd` and `g = dy·w`: `dx = rstd·(g − mean(g) − x̂·mean(g·x̂))`, `dw = Σ dy·x̂`, `db = Σ dy`.
pub fn layer_norm(b: &mut Builder, operands: &[Value], axis: i64) -> Values {
    let math = opmath(b, operands);
    let up: Vec<Value> = operands.iter().map(|v| b.convert(*v, math)).collect::<Result<_, _>>()?;
    let (dy, x) = (up[0], up[1]);
    let mean = spread(b, up[2], x)?;
    let centred = b.sub(x, mean)?;
    let (dx, dw) = shared(b, dy, centred, up[3], up.get(4).copied(), axis, true)?;
    let leading: Dims = (0..axis).collect();
    let db = b.reduce(ReduceKind::Add, dy, &leading)?;
    Ok(smallvec![dx, dw, db])
}

/// With `x̂ = x·rstd` and `g = dy·w`: `dx = rstd·(g − x̂·mean(g·x̂))`, `dw = Σ dy·x̂`.
pub fn rms_norm(b: &mut Builder, operands: &[Value], axis: i64) -> Values {
    let math = opmath(b, operands);
    let up: Vec<Value> = operands.iter().map(|v| b.convert(*v, math)).collect::<Result<_, _>>()?;
    let (dx, dw) = shared(b, up[0], up[1], up[2], up.get(3).copied(), axis, false)?;
    Ok(smallvec![dx, dw])
}

/// `dx` and `dw` for an input that is already centred where it has to be.
fn shared(
    b: &mut Builder,
    dy: Value,
    x: Value,
    rstd: Value,
    weight: Option<Value>,
    axis: i64,
    centre: bool,
) -> Result<(Value, Value), HloError> {
    let dims = normalized(b, x, axis);
    let rstd = spread(b, rstd, x)?;
    let hat = b.mul(x, rstd)?;
    let g = match weight {
        Some(w) => {
            let w = spread(b, w, x)?;
            b.mul(dy, w)?
        }
        None => dy,
    };
    let product = b.mul(g, hat)?;
    let along = mean_keep(b, product, &dims)?;
    let along = spread(b, along, x)?;
    let along = b.mul(hat, along)?;
    let mut rest = b.sub(g, along)?;
    if centre {
        let mean = mean_keep(b, g, &dims)?;
        let mean = spread(b, mean, x)?;
        rest = b.sub(rest, mean)?;
    }
    let dx = b.mul(rest, rstd)?;
    let leading: Dims = (0..axis).collect();
    let weighted = b.mul(dy, hat)?;
    let dw = b.reduce(ReduceKind::Add, weighted, &leading)?;
    Ok((dx, dw))
}
