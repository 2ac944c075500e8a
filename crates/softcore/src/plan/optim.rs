//! Optimiser steps: one pass over parameter, gradient and state.

use smallvec::SmallVec;
use tnrs_hlo::{Composite, Instr};
use tnrs_kernels::optim::{adam_step, sgd_step, AdamArgs, SgdArgs};
use tnrs_kernels::tile;
use tnrs_types::DType;

use super::{loc, Planned, Planner, Res};
use crate::step::call::Call;
use crate::step::{chunks, share, Cx, Loc, Step};
use crate::view::View;

/// A number that arrives at run time, read as f64.
#[derive(Clone, Copy)]
struct Scalar {
    at: Loc,
    dtype: DType,
    wide: tile::TileFn,
}

impl Scalar {
    /// # Safety
    /// As [`Step::run`].
    unsafe fn read(&self, cx: &Cx) -> f64 {
        let mut out = 0.0f64;
        let none = std::ptr::null();
        debug_assert!(self.dtype.is_float());
        // SAFETY: the caller promises one element; one f64 is written.
        unsafe { (self.wide)((&raw mut out).cast(), &[cx.at(self.at), none, none], 1) };
        out
    }
}

/// Operands of a step, ready for a kernel of flat arrays.
struct Arrays {
    inputs: SmallVec<[View; 6]>,
    outputs: SmallVec<[View; 4]>,
    scalars: SmallVec<[Scalar; 4]>,
    scalar_views: SmallVec<[View; 4]>,
}

impl Planner<'_> {
    /// The first `arrays` operands as flat memory of one layout, results likewise, and the scalars that follow.
    fn arrays(&mut self, instr: &Instr, arrays: usize) -> Res<Arrays> {
        let dtype = self.func.ty(instr.operands[0]).dtype;
        let mut inputs: SmallVec<[View; 6]> = SmallVec::new();
        for &v in &instr.operands[..arrays] {
            inputs.push(self.memory_of(v)?);
        }
        let mut outputs: SmallVec<[View; 4]> = instr.results.iter().map(|&r| self.out(r)).collect();
        let first = inputs[0].clone();
        let alike = first.fills_its_memory() && inputs.iter().chain(&outputs).all(|v| v.same_layout(&first));
        if !alike {
            for v in inputs.iter_mut() {
                *v = self.densify(dtype, v.clone());
            }
            for v in outputs.iter_mut().filter(|v| !v.is_dense()) {
                *v = self.temp(dtype, &v.dims.clone());
            }
        }
        let (mut scalars, mut scalar_views) = (SmallVec::new(), SmallVec::new());
        for &v in &instr.operands[arrays..] {
            let dtype = self.func.ty(v).dtype;
            let Some(wide) = tile::convert(dtype, DType::F64) else {
                return Err(self.unsupported(instr));
            };
            let view = self.memory_of(v)?;
            scalars.push(Scalar { at: loc(&view), dtype, wide });
            scalar_views.push(view);
        }
        Ok(Arrays { inputs, outputs, scalars, scalar_views })
    }

    fn finish_arrays(&mut self, instr: &Instr, a: Arrays, step: Box<dyn Step>) {
        let pointwise = (1u64 << a.inputs.len()) - 1;
        self.emit(Planned {
            step,
            reads: a.inputs.iter().chain(&a.scalar_views).cloned().collect(),
            writes: a.outputs.iter().cloned().collect(),
            pointwise,
            copy: false,
            in_place: false,
        });
        for (&r, view) in instr.results.iter().zip(a.outputs) {
            let place = match &self.info.target[r.index()] {
                Some(t) => t.clone(),
                None => view.clone(),
            };
            self.finish_dense(r, view, place);
        }
    }

    pub(super) fn adam(&mut self, instr: &Instr, c: &Composite) -> Res<()> {
        let &Composite::AdamStep { beta1, beta2, weight_decay, eps, decoupled, amsgrad, maximize, scaled } =
            c
        else {
            return Err(self.unsupported(instr));
        };
        let dtype = self.func.ty(instr.operands[0]).dtype;
        let Some(f) = adam_step(dtype) else {
            return Err(self.unsupported(instr));
        };
        let a = self.arrays(instr, 4 + usize::from(amsgrad))?;
        let n = a.inputs[0].numel();
        let size = dtype.size();
        let cost = n as u64 * size as u64 * 7 / 30 + 50;
        let pieces = chunks(cost, n as u64 / 256) as i64;
        let from: SmallVec<[Loc; 6]> = a.inputs.iter().map(loc).collect();
        let to: SmallVec<[Loc; 4]> = a.outputs.iter().map(loc).collect();
        let scalars = a.scalars.clone();
        // Inputs that each output replaces: p, m, v, vmax.
        let kept = [0, 2, 3, 4];
        let step = Call::boxed(cost, move |cx| {
            // SAFETY: `Step::run` promises memory for every array and scalar; parts are disjoint ranges.
            unsafe {
                if scaled && scalars[3].read(cx) != 0.0 {
                    for (&l, &k) in to.iter().zip(&kept) {
                        std::ptr::copy(cx.at(from[k]), cx.at(l), n as usize * size);
                    }
                    return Ok(());
                }
                let (number, lr) = (scalars[0].read(cx), scalars[1].read(cx));
                let grad_scale = if scaled { scalars[2].read(cx) } else { 1.0 };
                share(n, pieces, &|lo, hi| {
                    let skip = lo as usize * size;
                    let at =
                        |l: Option<&Loc>| l.map_or(std::ptr::null_mut(), |&l| cx.at(l).wrapping_add(skip));
                    f(&AdamArgs {
                        p: at(from.first()),
                        g: at(from.get(1)),
                        m: at(from.get(2)),
                        v: at(from.get(3)),
                        vmax: at(from.get(4)),
                        p_out: at(to.first()),
                        m_out: at(to.get(1)),
                        v_out: at(to.get(2)),
                        vmax_out: at(to.get(3)),
                        n: (hi - lo) as usize,
                        lr,
                        beta1,
                        beta2,
                        eps,
                        weight_decay,
                        step: number,
                        grad_scale,
                        decoupled,
                        maximize,
                    });
                });
            }
            Ok(())
        });
        self.finish_arrays(instr, a, step);
        Ok(())
    }

    pub(super) fn sgd(&mut self, instr: &Instr, c: &Composite) -> Res<()> {
        let &Composite::SgdStep { weight_decay, momentum, dampening, nesterov, maximize, first_step, scaled } =
            c
        else {
            return Err(self.unsupported(instr));
        };
        let dtype = self.func.ty(instr.operands[0]).dtype;
        let Some(f) = sgd_step(dtype) else {
            return Err(self.unsupported(instr));
        };
        let a = self.arrays(instr, 2 + usize::from(momentum != 0.0))?;
        let n = a.inputs[0].numel();
        let size = dtype.size();
        let cost = n as u64 * size as u64 * 5 / 30 + 50;
        let pieces = chunks(cost, n as u64 / 256) as i64;
        let from: SmallVec<[Loc; 6]> = a.inputs.iter().map(loc).collect();
        let to: SmallVec<[Loc; 4]> = a.outputs.iter().map(loc).collect();
        let scalars = a.scalars.clone();
        let kept = [0, 2];
        let step = Call::boxed(cost, move |cx| {
            // SAFETY: `Step::run` promises memory for every array and scalar; parts are disjoint ranges.
            unsafe {
                if scaled && scalars[2].read(cx) != 0.0 {
                    for (&l, &k) in to.iter().zip(&kept) {
                        std::ptr::copy(cx.at(from[k]), cx.at(l), n as usize * size);
                    }
                    return Ok(());
                }
                let lr = scalars[0].read(cx);
                let grad_scale = if scaled { scalars[1].read(cx) } else { 1.0 };
                share(n, pieces, &|lo, hi| {
                    let skip = lo as usize * size;
                    let at =
                        |l: Option<&Loc>| l.map_or(std::ptr::null_mut(), |&l| cx.at(l).wrapping_add(skip));
                    f(&SgdArgs {
                        p: at(from.first()),
                        g: at(from.get(1)),
                        buf: at(from.get(2)),
                        p_out: at(to.first()),
                        buf_out: at(to.get(1)),
                        n: (hi - lo) as usize,
                        lr,
                        weight_decay,
                        momentum,
                        dampening,
                        grad_scale,
                        nesterov,
                        maximize,
                        first_step,
                    });
                });
            }
            Ok(())
        });
        self.finish_arrays(instr, a, step);
        Ok(())
    }
}
