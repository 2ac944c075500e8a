//! Gather, scatter, slices whose place the data decides, and the check that indices are in range.

use smallvec::SmallVec;
use tnrs_hal::Fault;
use tnrs_hlo::{Composite, GatherDims, Instr, ScatterDims, ScatterKind};
use tnrs_kernels::copy::copy;
use tnrs_kernels::index::bounds::{index_at, outside};
use tnrs_kernels::index::{Gather, GatherDesc, Scatter, ScatterDesc};
use tnrs_kernels::pool;
use tnrs_types::{DType, Dims};

use super::{loc, Planned, Planner, Res};
use crate::step::call::Call;
use crate::step::Step;
use crate::view::View;

/// Nanoseconds per element that an index decides the place of.
const INDEXED_NS: i64 = 2;

impl Planner<'_> {
    pub(super) fn gather(&mut self, instr: &Instr, dims: &GatherDims) -> Res<()> {
        let result = instr.results[0];
        let operand = self.memory_of(instr.operands[0])?;
        let indices = self.memory_of(instr.operands[1])?;
        let dtype = self.func.ty(result).dtype;
        let out = self.out(result);
        if out.numel() > 0 {
            let gather = Gather::new(GatherDesc {
                elem: dtype.size(),
                operand: operand.dims.clone(),
                operand_strides: operand.strides.clone(),
                index_dtype: self.func.ty(instr.operands[1]).dtype,
                indices: indices.dims.clone(),
                index_strides: indices.strides.clone(),
                result: out.dims.clone(),
                result_strides: out.strides.clone(),
                offset_dims: dims.offset_dims.clone(),
                collapsed_slice_dims: dims.collapsed_slice_dims.clone(),
                start_index_map: dims.start_index_map.clone(),
                index_vector_dim: dims.index_vector_dim,
                slice_sizes: dims.slice_sizes.clone(),
            });
            let (x, i, y) = (loc(&operand), loc(&indices), loc(&out));
            let cost = out.numel() * INDEXED_NS / 2 + 100;
            self.kernel(
                Call::boxed(cost as u64, move |cx| {
                    // SAFETY: `Step::run` promises memory for every view; the result is memory of its own.
                    unsafe { gather.run(pool::global(), cx.at(x), cx.at(i), cx.at(y)) };
                    Ok(())
                }),
                &[&operand, &indices],
                &[&out],
            );
        }
        self.define_leaf(result, out);
        Ok(())
    }

    pub(super) fn scatter(&mut self, instr: &Instr, kind: ScatterKind, dims: &ScatterDims) -> Res<()> {
        let result = instr.results[0];
        let indices = self.memory_of(instr.operands[1])?;
        let updates = self.memory_of(instr.operands[2])?;
        let operand = self.memory_of(instr.operands[0])?;
        let dtype = self.func.ty(result).dtype;
        let out = self.out(result);
        self.copy(dtype, &operand, &out);
        if out.numel() > 0 && updates.numel() > 0 {
            let Some(scatter) = Scatter::new(ScatterDesc {
                kind,
                dtype,
                result: out.dims.clone(),
                result_strides: out.strides.clone(),
                index_dtype: self.func.ty(instr.operands[1]).dtype,
                indices: indices.dims.clone(),
                index_strides: indices.strides.clone(),
                updates: updates.dims.clone(),
                update_strides: updates.strides.clone(),
                update_window_dims: dims.update_window_dims.clone(),
                inserted_window_dims: dims.inserted_window_dims.clone(),
                scatter_dims_to_operand_dims: dims.scatter_dims_to_operand_dims.clone(),
                index_vector_dim: dims.index_vector_dim,
            }) else {
                return Err(self.unsupported(instr));
            };
            let (y, i, u) = (loc(&out), loc(&indices), loc(&updates));
            let cost = updates.numel() * INDEXED_NS + 100;
            self.kernel(
                Call::boxed(cost as u64, move |cx| {
                    // SAFETY: `Step::run` promises memory for every view; the result is memory of its own.
                    unsafe { scatter.run(pool::global(), cx.at(y), cx.at(i), cx.at(u)) };
                    Ok(())
                }),
                &[&indices, &updates],
                &[&out],
            );
        }
        self.define_leaf(result, out);
        Ok(())
    }

    /// Adds a step that is one kernel call.
    pub(super) fn kernel(&mut self, step: Box<dyn Step>, reads: &[&View], writes: &[&View]) {
        self.emit(Planned {
            step,
            reads: reads.iter().map(|&v| v.clone()).collect(),
            writes: writes.iter().map(|&v| v.clone()).collect(),
            pointwise: 0,
            copy: false,
            in_place: false,
        });
    }

    pub(super) fn dynamic_slice(&mut self, instr: &Instr) -> Res<()> {
        let result = instr.results[0];
        let operand = self.memory_of(instr.operands[0])?;
        let dtype = self.func.ty(result).dtype;
        let out = self.out(result);
        let starts = self.starts(&instr.operands[1..], &operand, &out.dims.clone())?;
        if out.numel() > 0 {
            let (x, y) = (loc(&operand), loc(&out));
            let (from, to) = (operand.strides.clone(), out.strides.clone());
            let dims = out.dims.clone();
            let elem = dtype.size();
            let reads: SmallVec<[View; 6]> = starts.reads(&operand);
            let reads: SmallVec<[&View; 6]> = reads.iter().collect();
            self.kernel(
                Call::boxed(out.numel() as u64 * elem as u64 / 10 + 40, move |cx| {
                    let off = starts.offset(|l| cx.at(l), &from) * elem as i64;
                    let src = cx.at(x).wrapping_offset(off as isize);
                    // SAFETY: `Step::run` promises memory for every view; the clamped starts keep the window inside.
                    unsafe { copy(pool::global(), elem, &dims, cx.at(y), &to, src, &from) };
                    Ok(())
                }),
                &reads,
                &[&out],
            );
        }
        self.define_leaf(result, out);
        Ok(())
    }

    pub(super) fn dynamic_update_slice(&mut self, instr: &Instr) -> Res<()> {
        let result = instr.results[0];
        let update = self.memory_of(instr.operands[1])?;
        let operand = self.memory_of(instr.operands[0])?;
        let dtype = self.func.ty(result).dtype;
        let out = self.out(result);
        let starts = self.starts(&instr.operands[2..], &out, &update.dims.clone())?;
        self.copy(dtype, &operand, &out);
        if update.numel() > 0 {
            let (u, y) = (loc(&update), loc(&out));
            let (from, to) = (update.strides.clone(), out.strides.clone());
            let dims = update.dims.clone();
            let elem = dtype.size();
            let reads: SmallVec<[View; 6]> = starts.reads(&update);
            let reads: SmallVec<[&View; 6]> = reads.iter().collect();
            self.kernel(
                Call::boxed(update.numel() as u64 * elem as u64 / 10 + 40, move |cx| {
                    let off = starts.offset(|l| cx.at(l), &to) * elem as i64;
                    let dst = cx.at(y).wrapping_offset(off as isize);
                    // SAFETY: `Step::run` promises memory for every view; the clamped starts keep the window inside.
                    unsafe { copy(pool::global(), elem, &dims, dst, &to, cx.at(u), &from) };
                    Ok(())
                }),
                &reads,
                &[&out],
            );
        }
        self.define_leaf(result, out);
        Ok(())
    }

    fn starts(&mut self, values: &[tnrs_hlo::Value], whole: &View, window: &Dims) -> Res<Starts> {
        let mut starts = Starts {
            places: SmallVec::new(),
            last: whole.dims.iter().zip(window).map(|(w, s)| w - s).collect(),
        };
        for &v in values {
            let view = self.memory_of(v)?;
            starts.places.push((view, self.func.ty(v).dtype));
        }
        Ok(starts)
    }

    pub(super) fn check_index(&mut self, instr: &Instr, c: &Composite) -> Res<()> {
        let &Composite::CheckIndex { lo, hi, site, dim, raises } = c else {
            return Err(self.unsupported(instr));
        };
        let v = instr.operands[0];
        let dtype = self.func.ty(v).dtype;
        let indices = self.memory_of(v)?;
        let dense = self.densify(dtype, indices.clone());
        let n = dense.numel() as usize;
        let at = loc(&dense);
        self.kernel(
            Call::boxed(n as u64 / 2 + 5, move |cx| {
                // SAFETY: `Step::run` promises memory for the dense view, which has `n` indices of `dtype`.
                match unsafe { outside(cx.at(at), dtype, n, lo, hi) } {
                    Some(index) => Err(Fault::IndexOutOfRange { site, dim, index, size: hi, raises }),
                    None => Ok(()),
                }
            }),
            &[&dense],
            &[],
        );
        self.define_leaf(instr.results[0], indices);
        Ok(())
    }
}

impl Planner<'_> {
    pub(super) fn assert(&mut self, instr: &Instr, message: &'static str) -> Res<()> {
        let pred = self.memory_of(instr.operands[0])?;
        let dense = self.densify(DType::Bool, pred.clone());
        let n = dense.numel() as usize;
        let at = loc(&dense);
        self.kernel(
            Call::boxed(n as u64 / 16 + 5, move |cx| {
                // SAFETY: `Step::run` promises memory for the dense view, which has `n` truth values of a byte.
                match unsafe { outside(cx.at(at), DType::Bool, n, 1, 2) } {
                    Some(_) => Err(Fault::Data(message)),
                    None => Ok(()),
                }
            }),
            &[&dense],
            &[],
        );
        self.define_leaf(instr.results[0], pred);
        Ok(())
    }
}

/// Start indices that the data decides.
struct Starts {
    places: SmallVec<[(View, DType); 4]>,
    /// Greatest legal start per dim.
    last: Dims,
}

impl Starts {
    fn reads(&self, first: &View) -> SmallVec<[View; 6]> {
        std::iter::once(first.clone()).chain(self.places.iter().map(|p| p.0.clone())).collect()
    }

    /// Elements from the first element to the window's, with starts clamped.
    fn offset(&self, at: impl Fn(crate::step::Loc) -> *mut u8, strides: &[i64]) -> i64 {
        self.places
            .iter()
            .enumerate()
            .map(|(d, (view, dtype))| {
                // SAFETY: `Step::run` promises memory for the view, which is one index.
                let start = unsafe { index_at(at(loc(view)), *dtype, 0) };
                start.clamp(0, self.last[d]) * strides[d]
            })
            .sum()
    }
}
