//! Scaled dot-product attention.

use smallvec::SmallVec;
use tnrs_hlo::{Composite, Instr};
use tnrs_kernels::attention::{
    backward, forward, AttentionDesc, BackwardDesc, BackwardPtrs, ForwardPtrs, Strides4,
};
use tnrs_kernels::pool;
use tnrs_types::DType;

use super::{loc, Planner, Res};
use crate::step::call::Call;
use crate::step::{Cx, Loc};
use crate::view::View;

fn strides4(v: &View) -> Strides4 {
    let s = |i: usize| v.strides[i] as isize;
    Strides4 { b: s(0), h: s(1), r: s(2), d: s(3) }
}

/// Seed and offset of a run with dropout.
#[derive(Clone, Copy)]
struct Random(Option<(Loc, Loc)>);

impl Random {
    /// # Safety
    /// `cx` has valid u64 numbers at both places.
    unsafe fn read(self, cx: &Cx) -> (u64, u64) {
        match self.0 {
            // SAFETY: the caller's promise.
            Some((s, o)) => unsafe {
                (cx.at(s).cast::<u64>().read_unaligned(), cx.at(o).cast::<u64>().read_unaligned())
            },
            None => (0, 0),
        }
    }
}

struct Attrs {
    scale: f64,
    causal: bool,
    bias: bool,
    dropout: f64,
}

impl Planner<'_> {
    /// The forward's description from q, k, v, out and the bias.
    fn attention_desc(
        &self,
        a: &Attrs,
        dtype: DType,
        q: &View,
        k: &View,
        v: &View,
        out: &View,
        bias: Option<(DType, &View)>,
    ) -> AttentionDesc {
        let n = |d: i64| d as usize;
        AttentionDesc {
            dtype,
            batch: n(q.dims[0]),
            heads: n(q.dims[1]),
            kv_heads: n(k.dims[1]),
            queries: n(q.dims[2]),
            keys: n(k.dims[2]),
            head_dim: n(q.dims[3]),
            value_dim: n(v.dims[3]),
            q: strides4(q),
            k: strides4(k),
            v: strides4(v),
            out: strides4(out),
            scale: a.scale,
            causal: a.causal,
            bias: bias.map(|(t, b)| (t, strides4(b))),
            dropout: a.dropout,
        }
    }

    fn random(&mut self, instr: &Instr, a: &Attrs, at: usize) -> Res<(Random, SmallVec<[View; 2]>)> {
        if a.dropout <= 0.0 {
            return Ok((Random(None), SmallVec::new()));
        }
        let seed = self.memory_of(instr.operands[at])?;
        let offset = self.memory_of(instr.operands[at + 1])?;
        let places = Random(Some((loc(&seed), loc(&offset))));
        Ok((places, SmallVec::from_iter([seed, offset])))
    }

    pub(super) fn sdpa(&mut self, instr: &Instr, c: &Composite) -> Res<()> {
        let &Composite::Sdpa { scale, causal, bias, dropout } = c else {
            return Err(self.unsupported(instr));
        };
        let a = Attrs { scale, causal, bias, dropout };
        let dtype = self.func.ty(instr.operands[0]).dtype;
        let mut reads: SmallVec<[View; 8]> = SmallVec::new();
        for &v in &instr.operands[..3] {
            reads.push(self.memory_of(v)?);
        }
        let bias = if a.bias {
            let v = instr.operands[3];
            let view = self.memory_of(v)?;
            reads.push(view.clone());
            Some((self.func.ty(v).dtype, view))
        } else {
            None
        };
        let (random, more) = self.random(instr, &a, 3 + usize::from(a.bias))?;
        reads.extend(more);
        let out = self.out(instr.results[0]);
        let lse_place = self.out(instr.results[1]);
        let lse = self.dense_result(instr.results[1], &lse_place);
        let desc = self.attention_desc(
            &a,
            dtype,
            &reads[0],
            &reads[1],
            &reads[2],
            &out,
            bias.as_ref().map(|b| (b.0, &b.1)),
        );
        if out.numel() > 0 || lse.numel() > 0 {
            let [q, k, v] = [loc(&reads[0]), loc(&reads[1]), loc(&reads[2])];
            let bias = bias.as_ref().map(|b| loc(&b.1));
            let (o, l) = (loc(&out), loc(&lse));
            let cost = attention_cost(&desc);
            let refs: SmallVec<[&View; 8]> = reads.iter().collect();
            self.kernel(
                Call::boxed(cost, move |cx| {
                    // SAFETY: `Step::run` promises memory for every view; results are memory of their own.
                    unsafe {
                        let (seed, offset) = random.read(cx);
                        let ptrs = ForwardPtrs {
                            q: cx.at(q),
                            k: cx.at(k),
                            v: cx.at(v),
                            bias: bias.map_or(std::ptr::null(), |b| cx.at(b)),
                            out: cx.at(o),
                            lse: cx.at(l),
                            seed,
                            offset,
                        };
                        forward(pool::global(), &desc, &ptrs);
                    }
                    Ok(())
                }),
                &refs,
                &[&out, &lse],
            );
        }
        self.define_leaf(instr.results[0], out);
        self.finish_dense(instr.results[1], lse, lse_place);
        Ok(())
    }

    pub(super) fn sdpa_grad(&mut self, instr: &Instr, c: &Composite) -> Res<()> {
        let &Composite::SdpaGrad { scale, causal, bias, dropout, bias_grad } = c else {
            return Err(self.unsupported(instr));
        };
        let a = Attrs { scale, causal, bias, dropout };
        let dtype = self.func.ty(instr.operands[1]).dtype;
        // dout, q, k, v, out, lse.
        let mut reads: SmallVec<[View; 8]> = SmallVec::new();
        for &v in &instr.operands[..5] {
            reads.push(self.memory_of(v)?);
        }
        reads.push(self.dense_of(instr.operands[5])?);
        let bias = if a.bias {
            let v = instr.operands[6];
            let view = self.memory_of(v)?;
            reads.push(view.clone());
            Some((self.func.ty(v).dtype, view))
        } else {
            None
        };
        let (random, more) = self.random(instr, &a, 6 + usize::from(a.bias))?;
        reads.extend(more);
        let outs: SmallVec<[View; 4]> = instr.results.iter().map(|&r| self.out(r)).collect();
        let desc = BackwardDesc {
            forward: self.attention_desc(
                &a,
                dtype,
                &reads[1],
                &reads[2],
                &reads[3],
                &reads[4],
                bias.as_ref().map(|b| (b.0, &b.1)),
            ),
            dout: strides4(&reads[0]),
            dq: strides4(&outs[0]),
            dk: strides4(&outs[1]),
            dv: strides4(&outs[2]),
            dbias: bias_grad.then(|| (self.func.ty(instr.results[3]).dtype, strides4(&outs[3]))),
        };
        let cost = attention_cost(&desc.forward) * 5 / 2;
        let from: SmallVec<[Loc; 8]> = reads[..6].iter().map(loc).collect();
        let bias = bias.as_ref().map(|b| loc(&b.1));
        let to: SmallVec<[Loc; 4]> = outs.iter().map(loc).collect();
        let refs: SmallVec<[&View; 8]> = reads.iter().collect();
        let writes: SmallVec<[&View; 4]> = outs.iter().collect();
        self.kernel(
            Call::boxed(cost, move |cx| {
                // SAFETY: `Step::run` promises memory for every view; results are memory of their own.
                unsafe {
                    let (seed, offset) = random.read(cx);
                    let ptrs = BackwardPtrs {
                        forward: ForwardPtrs {
                            q: cx.at(from[1]),
                            k: cx.at(from[2]),
                            v: cx.at(from[3]),
                            bias: bias.map_or(std::ptr::null(), |b| cx.at(b)),
                            out: cx.at(from[4]),
                            lse: cx.at(from[5]),
                            seed,
                            offset,
                        },
                        dout: cx.at(from[0]),
                        dq: cx.at(to[0]),
                        dk: cx.at(to[1]),
                        dv: cx.at(to[2]),
                        dbias: to.get(3).map_or(std::ptr::null_mut(), |&l| cx.at(l)),
                    };
                    backward(pool::global(), &desc, &ptrs);
                }
                Ok(())
            }),
            &refs,
            &writes,
        );
        for (&r, view) in instr.results.iter().zip(&outs) {
            self.define_leaf(r, view.clone());
        }
        Ok(())
    }

    /// A dense view for a result that a kernel writes row-major: its place if that is dense, else a temporary.
    pub(super) fn dense_result(&mut self, v: tnrs_hlo::Value, place: &View) -> View {
        if place.is_dense() {
            return place.clone();
        }
        let dtype = self.func.ty(v).dtype;
        self.temp(dtype, &place.dims)
    }

    /// Defines a result written by [`Planner::dense_result`].
    pub(super) fn finish_dense(&mut self, v: tnrs_hlo::Value, dense: View, place: View) {
        if !dense.same_elements(&place) {
            self.copy(self.func.ty(v).dtype, &dense, &place);
        }
        self.define_leaf(v, place);
    }
}

/// Two products of M·N·D, at 100 GF, half of them under a causal mask.
fn attention_cost(d: &AttentionDesc) -> u64 {
    let products = d.batch * d.heads * d.queries * d.keys * (d.head_dim + d.value_dim) * 2;
    (products / 100 / if d.causal { 2 } else { 1 }) as u64 + 500
}
