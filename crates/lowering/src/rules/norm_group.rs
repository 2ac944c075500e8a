//! Group normalisation: statistics over each sample's groups of channels, in f32 for reduced floats.

use tnrs_hlo::{ReduceKind, Value};
use tnrs_types::DType;

use super::norm_layer::{mask, wanted};
use super::variance::{ended, stepwise_mean};
use crate::expr::{Expr, Math};
use crate::helpers::Lowered;
use crate::{Ctx, LowerError, Outcome, Row};

/// Rows of this family.
pub(crate) const ROWS: &[Row] =
    &[Row::new("aten::native_group_norm", forward), Row::new("aten::native_group_norm_backward", backward)];

/// Sizes: samples, groups, channels of a group, positions.
struct Groups {
    apart: [i64; 4],
}

impl Groups {
    /// From N, C, HxW and the group count at a position.
    fn new(cx: &Ctx, i: usize) -> Result<Groups, LowerError> {
        let [n, c, hw, g] = [cx.int(i)?, cx.int(i + 1)?, cx.int(i + 2)?, cx.int(i + 3)?];
        if g <= 0 || c % g != 0 {
            return Err(LowerError::runtime(format!(
                "Expected number of channels in input to be divisible by num_groups, but got input of {c} channels and num_groups={g}"
            )));
        }
        Ok(Groups { apart: [n, g, c / g.max(1), hw] })
    }
    fn data<'m>(&self, m: &'m Math, v: Value, acc: DType) -> Expr<'m> {
        m.expr(v).cast(acc).reshape(&self.apart)
    }
    fn per_channel<'m>(&self, m: &'m Math, v: Value, acc: DType) -> Expr<'m> {
        m.expr(v).cast(acc).reshape(&[1, self.apart[1], self.apart[2], 1])
    }
    fn per_group<'m>(&self, m: &'m Math, v: Value, acc: DType) -> Expr<'m> {
        m.expr(v).cast(acc).reshape(&[self.apart[0], self.apart[1], 1, 1])
    }
    /// Times the weight of the channel, if there is one.
    fn weighted<'m>(&self, m: &'m Math, w: Option<Value>, e: Expr<'m>) -> Expr<'m> {
        match w {
            Some(w) => e * self.per_channel(m, w, e.dtype()),
            None => e,
        }
    }
    /// Of a group's elements, from their sums over positions.
    fn mean<'m>(&self, sums: Expr<'m>) -> Expr<'m> {
        sums.reduce_keep(ReduceKind::Add, &[2]) / self.count()
    }
    fn count(&self) -> f64 {
        (self.apart[2] * self.apart[3]).max(1) as f64
    }
    /// [`stepwise_mean`] by the sums of channels: only one channel is searched for what is not finite.
    fn stepwise<'m>(&self, mean: Expr<'m>, x: Expr<'m>, sums: Expr<'m>, &[c, i]: &[i64; 2]) -> Expr<'m> {
        if i < 0 || x.dtype().is_complex() {
            return stepwise_mean(mean, x, &[2, 3], &[c, i]);
        }
        let strange = |e: Expr<'m>| e.is_finite().not().cast(x.dtype());
        let all = |e: Expr<'m>, dim| e.reduce_keep(ReduceKind::Add, &[dim]);
        let (own, sum) = (x.slice(2, c, c + 1), sums.slice(2, c, c + 1));
        let count = all(strange(sums), 2) - strange(sum) + all(strange(own), 3);
        let last = own.slice(3, i, i + 1);
        ended(mean, count, last)
    }
    /// The element that PyTorch's running mean takes last, when its vectors have so many elements: chunks of sixteen
    /// vectors are joined in a binary tree, the largest subtree last, after the elements that fill no vector.
    fn last(&self, lanes: i64) -> [i64; 2] {
        let [.., channels, positions] = self.apart;
        let vectors = channels * positions / lanes;
        let i = match vectors {
            0 => channels * positions,
            1..=16 => vectors * lanes,
            _ => {
                let chunks = (vectors as u64).div_ceil(16);
                match chunks.is_power_of_two() {
                    true => vectors * lanes,
                    false => (chunks.next_power_of_two() / 2 * 16) as i64 * lanes,
                }
            }
        } - 1;
        [i / positions.max(1), i % positions.max(1)]
    }
}

fn forward(cx: &mut Ctx) -> Lowered {
    let (x, w, b) = (cx.tensor(0)?, cx.opt_tensor(1), cx.opt_tensor(2));
    let (groups, eps) = (Groups::new(cx, 3)?, cx.float(7)?);
    let [out, mean_ty, rstd_ty] = [cx.out(0)?, cx.out(1)?, cx.out(2)?];
    let acc = x.ty.dtype.opmath();
    let lanes = 64 / x.ty.dtype.size() as i64;
    let values = cx.math(|m| {
        let x = groups.data(m, x.value, acc);
        let sums = x.reduce_keep(ReduceKind::Add, &[3]);
        let mean = groups.mean(sums);
        let centred = x - mean;
        let mean = groups.stepwise(mean, x, sums, &groups.last(lanes));
        let var = (centred * centred).reduce_keep(ReduceKind::Add, &[2, 3]) / groups.count();
        let rstd = (var + eps).rsqrt();
        // As PyTorch's CPU: a factor and a term per channel.
        let scale = groups.weighted(m, w.as_ref().map(|w| w.value), rstd);
        let shift = match &b {
            Some(b) => groups.per_channel(m, b.value, acc) - mean * scale,
            None => -(mean * scale),
        };
        let y = x * scale + shift;
        [(y, out), (mean, mean_ty), (rstd, rstd_ty)].map(|(v, ty)| v.reshape(&ty.dims).cast(ty.dtype).value())
    })?;
    Ok(Outcome::tensors(&values))
}

fn backward(cx: &mut Ctx) -> Lowered {
    let [dy, x, mean, rstd] = [cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?, cx.tensor(3)?];
    let (w, groups, mask) = (cx.opt_tensor(4), Groups::new(cx, 5)?, mask(cx, 9)?);
    let acc = x.ty.dtype.opmath();
    let channels = groups.apart[1] * groups.apart[2];
    let param = w.as_ref().map_or(x.ty.dtype, |w| w.ty.dtype);
    let grads = cx.math(|m| {
        let dy = groups.data(m, dy.value, acc);
        let data = groups.data(m, x.value, acc);
        let mean = groups.per_group(m, mean.value, acc);
        let rstd = groups.per_group(m, rstd.value, acc);
        // Only these two sums read every element; the others are sums of them.
        let t = dy.reduce_keep(ReduceKind::Add, &[3]);
        let s = (dy * (data - mean)).reduce_keep(ReduceKind::Add, &[3]) * rstd;
        let (db, dw) = (t.sum(&[0, 3]), s.sum(&[0, 3]));
        let w = w.as_ref().map(|w| w.value);
        let (a, b) = (groups.mean(groups.weighted(m, w, t)), groups.mean(groups.weighted(m, w, s)));
        // As PyTorch's CPU: two factors and a term per channel.
        let slope = -(b * rstd * rstd);
        let dx = dy * groups.weighted(m, w, rstd) + (data * slope - (mean * slope + a * rstd));
        [
            dx.reshape(&x.ty.dims).cast(x.ty.dtype),
            dw.reshape(&[channels]).cast(param),
            db.reshape(&[channels]).cast(param),
        ]
        .map(Expr::value)
    })?;
    Ok(wanted(&grads, &mask))
}
