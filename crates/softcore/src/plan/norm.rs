//! Layer and root-mean-square normalisation, forward and backward, over dense trailing dims.

use smallvec::SmallVec;
use tnrs_hlo::{Composite, Instr};
use tnrs_kernels::reduce;
use tnrs_kernels::rows::{
    layer_norm, layer_norm_grad, rms_norm, rms_norm_grad, LayerNormArgs, LayerNormGradArgs, RmsNormArgs,
    RmsNormGradArgs,
};
use tnrs_kernels::tile;
use tnrs_types::{DType, ReduceKind};

use super::{loc, Planner, Res};
use crate::step::call::Call;
use crate::step::{chunks, share, Loc};
use crate::view::View;

/// Rows, columns and cost of a normalisation of `sizes` from `axis` on.
fn shape(sizes: &[i64], axis: i64, size: usize) -> (i64, usize, u64) {
    let (front, back) = sizes.split_at(axis as usize);
    let rows: i64 = front.iter().product();
    let cols: i64 = back.iter().product();
    let cost = (rows * cols) as u64 * (size as u64 * 2 + 4) / 40 + 20;
    (rows, cols as usize, cost)
}

impl Planner<'_> {
    pub(super) fn norm(&mut self, instr: &Instr, c: &Composite) -> Res<()> {
        let (axis, eps, weight, bias, layer) = match c {
            Composite::LayerNorm { axis, eps, weight, bias } => (*axis, *eps, *weight, *bias, true),
            Composite::RmsNorm { axis, eps, weight } => (*axis, *eps, *weight, false, false),
            _ => return Err(self.unsupported(instr)),
        };
        let dtype = self.func.ty(instr.operands[0]).dtype;
        let w_type = instr.operands.get(1).map_or(dtype, |&w| self.func.ty(w).dtype);
        let mut views: SmallVec<[View; 4]> = SmallVec::new();
        for &v in &instr.operands {
            views.push(self.dense_of(v)?);
        }
        let places: SmallVec<[View; 3]> = instr.results.iter().map(|&r| self.out(r)).collect();
        let mut outs: SmallVec<[View; 3]> = SmallVec::new();
        for (&r, place) in instr.results.iter().zip(&places) {
            outs.push(self.dense_result(r, place));
        }
        let (rows, cols, cost) = shape(&views[0].dims, axis, dtype.size());
        if rows > 0 && cols > 0 {
            let pieces = chunks(cost, rows as u64) as i64;
            let x = loc(&views[0]);
            let w = weight.then(|| loc(&views[1]));
            let b = bias.then(|| loc(&views[1 + usize::from(weight)]));
            let to: SmallVec<[Loc; 3]> = outs.iter().map(loc).collect();
            let (size, stat) = (dtype.size(), dtype.opmath().size());
            let reads: SmallVec<[&View; 4]> = views.iter().collect();
            let writes: SmallVec<[&View; 3]> = outs.iter().collect();
            let step = if layer {
                let Some(f) = layer_norm(dtype, w_type) else {
                    return Err(self.unsupported(instr));
                };
                Call::boxed(cost, move |cx| {
                    share(rows, pieces, &|lo, hi| {
                        let at = |l: Loc, bytes: usize| cx.at(l).wrapping_add(lo as usize * bytes);
                        let fixed = |l: Option<Loc>| l.map_or(std::ptr::null_mut(), |l| cx.at(l));
                        let args = LayerNormArgs {
                            x: at(x, cols * size),
                            w: fixed(w),
                            b: fixed(b),
                            y: at(to[0], cols * size),
                            mean: at(to[1], stat),
                            rstd: at(to[2], stat),
                            rows: (hi - lo) as usize,
                            cols,
                            eps,
                        };
                        // SAFETY: `Step::run` promises memory for the dense rows; parts are disjoint ranges of rows.
                        unsafe { f(&args) };
                    });
                    Ok(())
                })
            } else {
                let Some(f) = rms_norm(dtype, w_type) else {
                    return Err(self.unsupported(instr));
                };
                Call::boxed(cost, move |cx| {
                    share(rows, pieces, &|lo, hi| {
                        let at = |l: Loc, bytes: usize| cx.at(l).wrapping_add(lo as usize * bytes);
                        let args = RmsNormArgs {
                            x: at(x, cols * size),
                            w: w.map_or(std::ptr::null_mut(), |l| cx.at(l)),
                            y: at(to[0], cols * size),
                            rstd: at(to[1], stat),
                            rows: (hi - lo) as usize,
                            cols,
                            eps,
                        };
                        // SAFETY: `Step::run` promises memory for the dense rows; parts are disjoint ranges of rows.
                        unsafe { f(&args) };
                    });
                    Ok(())
                })
            };
            self.kernel(step, &reads, &writes);
        }
        for ((&r, dense), place) in instr.results.iter().zip(outs).zip(places) {
            self.finish_dense(r, dense, place);
        }
        Ok(())
    }

    pub(super) fn norm_grad(&mut self, instr: &Instr, c: &Composite) -> Res<()> {
        let (axis, weight, layer) = match c {
            Composite::LayerNormGrad { axis, weight } => (*axis, *weight, true),
            Composite::RmsNormGrad { axis, weight } => (*axis, *weight, false),
            _ => return Err(self.unsupported(instr)),
        };
        let dtype = self.func.ty(instr.operands[1]).dtype;
        let math = dtype.opmath();
        let stats = if layer { 2 } else { 1 };
        let w_type = match weight {
            true => self.func.ty(instr.operands[2 + stats]).dtype,
            false => dtype,
        };
        let mut views: SmallVec<[View; 5]> = SmallVec::new();
        for &v in &instr.operands {
            views.push(self.dense_of(v)?);
        }
        let places: SmallVec<[View; 3]> = instr.results.iter().map(|&r| self.out(r)).collect();
        let mut outs: SmallVec<[View; 3]> = SmallVec::new();
        for (&r, place) in instr.results.iter().zip(&places) {
            outs.push(self.dense_result(r, place));
        }
        let (rows, cols, cost) = shape(&views[1].dims, axis, dtype.size());
        let cost = cost * 2;
        if cols > 0 {
            // Each part of the rows sums into accumulators of its own; the parts depend on the shape only.
            let pieces = chunks(cost, rows.max(1) as u64) as i64;
            let vectors = outs.len() - 1;
            let partial = self.scratch(vectors * pieces as usize * cols * math.size());
            let partial = View::dense(partial, &[]);
            let (Some(add), Some(finish)) = (
                reduce::outer(ReduceKind::Add, math),
                instr.results[1..]
                    .iter()
                    .map(|&r| tile::convert(math, self.func.ty(r).dtype))
                    .collect::<Option<SmallVec<[_; 2]>>>(),
            ) else {
                return Err(self.unsupported(instr));
            };
            let zero = tile::splat(math.size());
            let from: SmallVec<[Loc; 5]> = views.iter().map(loc).collect();
            let to: SmallVec<[Loc; 3]> = outs.iter().map(loc).collect();
            let (size, stat) = (dtype.size(), math.size());
            let acc = loc(&partial);
            let row_bytes = cols * stat;
            let ln = layer_norm_grad(dtype, w_type).filter(|_| layer);
            let rms = rms_norm_grad(dtype, w_type).filter(|_| !layer);
            if ln.is_none() && rms.is_none() {
                return Err(self.unsupported(instr));
            }
            let step = Call::boxed(cost, move |cx| {
                let zeros = [0u8; 16];
                let vector = move |v: usize, piece: usize| {
                    cx.at(acc).wrapping_add((v * pieces as usize + piece) * row_bytes)
                };
                share(pieces, pieces, &|first, last| {
                    let none = std::ptr::null();
                    for piece in first..last {
                        let lo = rows * piece / pieces;
                        let hi = rows * (piece + 1) / pieces;
                        let at = |l: Loc, bytes: usize| cx.at(l).wrapping_add(lo as usize * bytes);
                        let w = match weight {
                            true => cx.at(from[2 + stats]),
                            false => std::ptr::null_mut(),
                        };
                        // SAFETY: `Step::run` promises memory for the dense rows and an accumulator row per vector and
                        // piece; pieces are disjoint.
                        unsafe {
                            for v in 0..vectors {
                                zero(vector(v, piece as usize), &[zeros.as_ptr(), none, none], cols);
                            }
                            if let Some(f) = ln {
                                f(&LayerNormGradArgs {
                                    dy: at(from[0], cols * size),
                                    x: at(from[1], cols * size),
                                    mean: at(from[2], stat),
                                    rstd: at(from[3], stat),
                                    w,
                                    dx: at(to[0], cols * size),
                                    dw: vector(0, piece as usize),
                                    db: vector(1, piece as usize),
                                    rows: (hi - lo) as usize,
                                    cols,
                                });
                            }
                            if let Some(f) = rms {
                                f(&RmsNormGradArgs {
                                    dy: at(from[0], cols * size),
                                    x: at(from[1], cols * size),
                                    rstd: at(from[2], stat),
                                    w,
                                    dx: at(to[0], cols * size),
                                    dw: vector(0, piece as usize),
                                    rows: (hi - lo) as usize,
                                    cols,
                                });
                            }
                        }
                    }
                });
                let none = std::ptr::null();
                for v in 0..vectors {
                    // SAFETY: as above; the pieces are done, and each result vector has `cols` elements.
                    unsafe {
                        for piece in 1..pieces as usize {
                            add(vector(v, 0), vector(v, piece), cols);
                        }
                        finish[v](cx.at(to[1 + v]), &[vector(v, 0), none, none], cols);
                    }
                }
                Ok(())
            });
            let reads: SmallVec<[&View; 5]> = views.iter().collect();
            let mut writes: SmallVec<[&View; 4]> = outs.iter().collect();
            writes.push(&partial);
            self.kernel(step, &reads, &writes);
        }
        for ((&r, dense), place) in instr.results.iter().zip(outs).zip(places) {
            self.finish_dense(r, dense, place);
        }
        Ok(())
    }
}

/// Whether the row kernels take these element types: the operand, and what has to be of its type or its opmath.
pub(super) fn takes(dtype: DType, w: DType, layer: bool) -> bool {
    if layer {
        layer_norm(dtype, w).is_some()
    } else {
        rms_norm(dtype, w).is_some()
    }
}
