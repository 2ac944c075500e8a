//! The pointwise half of LSTM and GRU cells, forward and backward; the matrix products are separate ops.
//!
//! The workspace that travels from forward to backward is this file's own business: the activated gates side by side.

use tnrs_hlo::Value;
use tnrs_types::DType;

use crate::expr::{Expr, Math};
use crate::helpers::Lowered;
use crate::{Ctx, Outcome, Ret, Row};

/// Rows of this family.
pub(crate) const ROWS: &[Row] = &[
    Row::new("aten::_thnn_fused_lstm_cell", lstm).infer_by_rule(),
    Row::new("aten::_thnn_fused_lstm_cell_backward_impl", lstm_backward).infer_by_rule(),
    Row::new("aten::_thnn_fused_gru_cell", gru).infer_by_rule(),
    Row::new("aten::_thnn_fused_gru_cell_backward", gru_backward).infer_by_rule(),
];

/// Equal parts of (batch, parts · hidden) along the last dim.
fn parts<'m, const N: usize>(x: Expr<'m>) -> [Expr<'m>; N] {
    let hidden = x.dims()[1] / N as i64;
    std::array::from_fn(|i| x.steps(1, i as i64 * hidden, (i as i64 + 1) * hidden, 1))
}

/// Gate inputs at a position with their optional bias.
fn gates<'m, const N: usize>(m: &'m Math, x: Value, bias: Option<Value>, acc: DType) -> [Expr<'m>; N] {
    let x = m.expr(x).cast(acc);
    parts(match bias {
        Some(b) => x + m.expr(b).cast(acc),
        None => x,
    })
}

/// σ′ from σ.
fn sigmoid_slope(s: Expr<'_>) -> Expr<'_> {
    (1.0 - s) * s
}

/// tanh′ from tanh.
fn tanh_slope(t: Expr<'_>) -> Expr<'_> {
    1.0 - t * t
}

fn lstm(cx: &mut Ctx) -> Lowered {
    let [x, h, c] = [cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?];
    let bias = [3, 4].map(|i| cx.opt_tensor(i).map(|t| t.value));
    let (dtype, acc) = (c.ty.dtype, c.ty.dtype.opmath());
    let r = cx.math(|m| {
        let xs = gates::<4>(m, x.value, bias[0], acc);
        let hs = gates::<4>(m, h.value, bias[1], acc);
        let [i, f, g, o] = [0, 1, 2, 3].map(|k| {
            let sum = xs[k] + hs[k];
            if k == 2 {
                sum.tanh()
            } else {
                sum.sigmoid()
            }
        });
        let cy = f * m.expr(c.value).cast(acc) + i * g;
        let hy = o * cy.tanh();
        [hy, cy, m.concatenate(&[i, f, g, o], 1)].map(|e| e.cast(dtype).value())
    })?;
    Ok(Outcome::tensors(&r))
}

fn lstm_backward(cx: &mut Ctx) -> Lowered {
    let [dhy, dcy] = [0, 1].map(|i| cx.opt_tensor(i).map(|t| t.value));
    let [c, cy, workspace] = [cx.tensor(2)?, cx.tensor(3)?, cx.tensor(4)?];
    let has_bias = cx.bool(5);
    let (dtype, acc) = (c.ty.dtype, c.ty.dtype.opmath());
    let [gates, dc, bias] = cx.math(|m| {
        let [c, cy] = m.exprs([c.value, cy.value]).map(|e| e.cast(acc));
        let [i, f, g, o] = parts(m.expr(workspace.value).cast(acc));
        let grad = |v: Option<Value>| v.map_or(c.int(0), |v| m.expr(v).cast(acc));
        let (dhy, t) = (grad(dhy), cy.tanh());
        let dcell = dhy * o * tanh_slope(t) + grad(dcy);
        let all = [
            dcell * g * sigmoid_slope(i),
            dcell * c * sigmoid_slope(f),
            dcell * i * tanh_slope(g),
            dhy * t * sigmoid_slope(o),
        ];
        let gates = m.concatenate(&all, 1);
        [gates, dcell * f, gates.sum(&[0])].map(|e| e.cast(dtype).value())
    })?;
    Ok(grads(&[gates, dc], &[bias], has_bias))
}

fn grads(always: &[Value], biases: &[Value], has_bias: bool) -> Outcome {
    let bias = |&v: &Value| if has_bias { Ret::Tensor(v) } else { Ret::Undefined };
    let mut outcome = Outcome::tensors(always);
    outcome.rets.extend(biases.iter().map(bias));
    outcome
}

fn gru(cx: &mut Ctx) -> Lowered {
    let [x, h, hx] = [cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?];
    let bias = [3, 4].map(|i| cx.opt_tensor(i).map(|t| t.value));
    let (dtype, acc) = (hx.ty.dtype, hx.ty.dtype.opmath());
    let r = cx.math(|m| {
        let [xr, xz, xn] = gates(m, x.value, bias[0], acc);
        let [hr, hz, hn] = gates(m, h.value, bias[1], acc);
        let hx = m.expr(hx.value).cast(acc);
        let (r, z) = ((xr + hr).sigmoid(), (xz + hz).sigmoid());
        let n = (xn + r * hn).tanh();
        let hy = n + z * (hx - n);
        [hy, m.concatenate(&[r, z, n, hx, hn], 1)].map(|e| e.cast(dtype).value())
    })?;
    Ok(Outcome::tensors(&r))
}

fn gru_backward(cx: &mut Ctx) -> Lowered {
    let (dy, workspace, has_bias) = (cx.tensor(0)?, cx.tensor(1)?, cx.bool(2));
    let (dtype, acc) = (dy.ty.dtype, dy.ty.dtype.opmath());
    let [dx, dh, dhx, bx, bh] = cx.math(|m| {
        let dy = m.expr(dy.value).cast(acc);
        let [r, z, n, hx, hn] = parts(m.expr(workspace.value).cast(acc));
        let dz = dy * (hx - n) * sigmoid_slope(z);
        let dn = dy * (1.0 - z) * tanh_slope(n);
        let dr = dn * hn * sigmoid_slope(r);
        let dx = m.concatenate(&[dr, dz, dn], 1);
        let dh = m.concatenate(&[dr, dz, dn * r], 1);
        [dx, dh, dy * z, dx.sum(&[0]), dh.sum(&[0])].map(|e| e.cast(dtype).value())
    })?;
    Ok(grads(&[dx, dh, dhx], &[bx, bh], has_bias))
}
