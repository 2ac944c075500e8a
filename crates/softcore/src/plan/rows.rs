//! Softmax, arg-reductions, scans and sorts: functions of rows along one dim.
//!
//! The row dim is moved last; when its elements then lie side by side the kernel reads them where they are, row by
//! row, otherwise a dense copy is made.

use smallvec::SmallVec;
use tnrs_hlo::{Composite, Instr, Op, Value};
use tnrs_kernels::pool;
use tnrs_kernels::{reduce, rows, sort};
use tnrs_types::{DType, Dims};

use super::node::Kind;
use super::{loc, Planner, Res};
use crate::step::call::Call;
use crate::step::{chunks, share};
use crate::view::{collapse, View};

/// Rows in memory: their number, length, and for each operand the elements from one row to the next.
pub(super) struct Rows {
    pub count: i64,
    pub len: i64,
    pub steps: SmallVec<[i64; 4]>,
}

/// Rows of views whose last dim is dense, if the other dims step evenly in each.
pub(super) fn rows_of(views: &[&View]) -> Option<Rows> {
    let last = views[0].dims.len().checked_sub(1)?;
    let len = views[0].dims[last];
    if len != 1 && views.iter().any(|v| v.strides[last] != 1) {
        return None;
    }
    let mut dims = Dims::from_slice(&views[0].dims[..last]);
    let mut strides: SmallVec<[Dims; 4]> =
        views.iter().map(|v| Dims::from_slice(&v.strides[..last])).collect();
    collapse(&mut dims, &mut strides, &[]);
    if dims.len() > 1 {
        return None;
    }
    Some(Rows {
        count: dims.first().copied().unwrap_or(1),
        len,
        steps: strides.iter().map(|s| s.first().copied().unwrap_or(len)).collect(),
    })
}

/// The view with one dim moved last.
fn moved(view: &View, dim: usize) -> View {
    let mut perm: Dims = (0..view.dims.len() as i64).filter(|&d| d != dim as i64).collect();
    perm.push(dim as i64);
    view.transpose(&perm)
}

impl Planner<'_> {
    /// Operands and a result as rows along `dim`; dense copies where the memory does not allow it. The second view of
    /// the result is where its rows have to be copied to, if they are not written in place.
    fn along(
        &mut self,
        dim: usize,
        operands: &[(DType, View)],
        out: (DType, View),
    ) -> (Vec<View>, View, Option<View>, Rows) {
        let mut views: Vec<View> = operands.iter().map(|(_, v)| moved(v, dim)).collect();
        let want = moved(&out.1, dim);
        let mut result = want.clone();
        let together = |views: &[View], result: &View| {
            let refs: SmallVec<[&View; 4]> = views.iter().chain([result]).collect();
            rows_of(&refs)
        };
        if together(&views, &result).is_none() {
            for (v, (dtype, _)) in views.iter_mut().zip(operands) {
                *v = self.densify(*dtype, v.clone());
            }
        }
        if together(&views, &result).is_none() {
            result = self.temp(out.0, &want.dims);
        }
        let rows = together(&views, &result).unwrap_or(Rows {
            count: 0,
            len: 0,
            steps: SmallVec::from_elem(0, views.len() + 1),
        });
        let back = (!result.same_elements(&want)).then_some(want);
        (views, result, back, rows)
    }

    fn copy_back(&mut self, dtype: DType, result: &View, back: Option<View>) {
        if let Some(want) = back {
            self.copy(dtype, result, &want);
        }
    }

    pub(super) fn softmax(&mut self, instr: &Instr, c: &Composite) -> Res<()> {
        let (dim, log, grad) = match c {
            Composite::Softmax { dim, log } => (*dim, *log, false),
            Composite::SoftmaxGrad { dim, log } => (*dim, *log, true),
            _ => return Err(self.unsupported(instr)),
        };
        let result = instr.results[0];
        let to = self.func.ty(result).dtype;
        let from = self.func.ty(instr.operands[0]).dtype;
        let mut operands: Vec<(DType, View)> = Vec::new();
        for &v in &instr.operands {
            operands.push((self.func.ty(v).dtype, self.memory_of(v)?));
        }
        let out = self.out(result);
        if out.numel() == 0 {
            self.define_leaf(result, out);
            return Ok(());
        }
        let (views, y, back, rows) = self.along(dim as usize, &operands, (to, out.clone()));
        let elements = rows.count * rows.len;
        let cost = elements as u64 * from.size() as u64 / 16 + elements as u64 / 5 + 20;
        let pieces = chunks(cost, rows.count as u64) as i64;
        let reads: SmallVec<[&View; 2]> = views.iter().collect();
        let places: SmallVec<[_; 2]> = views.iter().map(loc).collect();
        let (yl, sizes) = (loc(&y), (from.size() as i64, to.size() as i64));
        let bytes: SmallVec<[i64; 4]> = rows
            .steps
            .iter()
            .enumerate()
            .map(|(i, s)| s * if i == views.len() { sizes.1 } else { sizes.0 })
            .collect();
        let even = rows.steps.iter().all(|&s| s == rows.len);
        let (count, len) = (rows.count, rows.len as usize);
        // Calls `f(rows, first row)` once for adjacent rows, else for each row.
        let walk = move |f: &dyn Fn(usize, i64), lo: i64, hi: i64| {
            if even {
                f((hi - lo) as usize, lo);
            } else {
                (lo..hi).for_each(|r| f(1, r));
            }
        };
        let step = if grad {
            let Some(f) = rows::softmax_grad(log, from, to) else {
                return Err(self.unsupported(instr));
            };
            Call::boxed(cost, move |cx| {
                let (dy, y, dx) = (cx.at(places[0]), cx.at(places[1]), cx.at(yl));
                let b = &bytes;
                let p = Ptrs([dx, dy, y]);
                share(count, pieces, &|lo, hi| {
                    let [dx, dy, y] = p.get();
                    let at = |p: *mut u8, k: usize, r: i64| p.wrapping_offset((b[k] * r) as isize);
                    // SAFETY: `Step::run` promises memory for every row; parts are disjoint ranges of rows.
                    walk(&|n, r| unsafe { f(at(dx, 2, r), at(dy, 0, r), at(y, 1, r), n, len) }, lo, hi);
                });
                Ok(())
            })
        } else {
            let Some(f) = rows::softmax(log, from, to) else {
                return Err(self.unsupported(instr));
            };
            Call::boxed(cost, move |cx| {
                let (x, y) = (cx.at(places[0]), cx.at(yl));
                let b = &bytes;
                let p = Ptrs([y, x, x]);
                share(count, pieces, &|lo, hi| {
                    let [y, x, _] = p.get();
                    let at = |p: *mut u8, k: usize, r: i64| p.wrapping_offset((b[k] * r) as isize);
                    // SAFETY: `Step::run` promises memory for every row; parts are disjoint ranges of rows.
                    walk(&|n, r| unsafe { f(at(y, 1, r), at(x, 0, r), n, len) }, lo, hi);
                });
                Ok(())
            })
        };
        self.kernel(step, &reads, &[&y]);
        self.copy_back(to, &y, back);
        self.define_leaf(result, out);
        Ok(())
    }

    pub(super) fn arg_reduce(&mut self, instr: &Instr, dim: i64, max: bool) -> Res<()> {
        let dtype = self.func.ty(instr.operands[0]).dtype;
        let (Some(inner), Some(outer)) = (reduce::arg_inner(max, dtype), reduce::arg_outer(max, dtype))
        else {
            return Err(self.unsupported(instr));
        };
        let x = self.memory_of(instr.operands[0])?;
        let dim = dim as usize;
        let places = [self.out(instr.results[0]), self.out(instr.results[1])];
        let value = self.dense_result(instr.results[0], &places[0]);
        let index = self.dense_result(instr.results[1], &places[1]);
        if value.numel() > 0 {
            // Rows along the dim when they are dense; else the dense value as (front, dim, back).
            let last = moved(&x, dim);
            let along = rows_of(&[&last]);
            let size = dtype.size();
            let (v, i) = (loc(&value), loc(&index));
            let elements = x.numel();
            let cost = elements as u64 * size as u64 / 8 + 20;
            if let Some(rows) = along {
                let at = loc(&last);
                let step = rows.steps[0] * size as i64;
                let pieces = chunks(cost, rows.count as u64) as i64;
                let run = Call::boxed(cost, move |cx| {
                    let p = Ptrs([cx.at(at), cx.at(v), cx.at(i)]);
                    share(rows.count, pieces, &|lo, hi| {
                        let [x, v, i] = p.get();
                        for r in lo..hi {
                            // SAFETY: `Step::run` promises memory for every row and result; rows are disjoint.
                            unsafe {
                                let i = i.cast::<i64>().add(r as usize);
                                i.write(-1);
                                let x = x.wrapping_offset((step * r) as isize);
                                inner(x, rows.len as usize, 0, v.add(r as usize * size), i);
                            }
                        }
                    });
                    Ok(())
                });
                self.kernel(run, &[&last], &[&value, &index]);
            } else {
                let dense = self.densify(dtype, x.clone());
                let n = dense.dims[dim];
                let back: i64 = dense.dims[dim + 1..].iter().product();
                let front: i64 = dense.dims[..dim].iter().product();
                let at = loc(&dense);
                let pieces = chunks(cost, front as u64) as i64;
                let run = Call::boxed(cost, move |cx| {
                    let p = Ptrs([cx.at(at), cx.at(v), cx.at(i)]);
                    share(front, pieces, &|lo, hi| {
                        let [x, v, i] = p.get();
                        let b = back as usize;
                        for r in lo as usize..hi as usize {
                            // SAFETY: `Step::run` promises memory for every slice and result; slices are disjoint.
                            unsafe {
                                let (v, i) = (v.add(r * b * size), i.cast::<i64>().add(r * b));
                                std::slice::from_raw_parts_mut(i, b).fill(-1);
                                for k in 0..n as usize {
                                    let x = x.add((r * n as usize + k) * b * size);
                                    outer(v, i, x, b, k as i64);
                                }
                            }
                        }
                    });
                    Ok(())
                });
                self.kernel(run, &[&dense], &[&value, &index]);
            }
        }
        let [value_place, index_place] = places;
        self.finish_dense(instr.results[0], value, value_place);
        self.finish_dense(instr.results[1], index, index_place);
        Ok(())
    }

    pub(super) fn cumulative(&mut self, instr: &Instr, dim: i64, kind: tnrs_hlo::ReduceKind) -> Res<()> {
        let result = instr.results[0];
        let dtype = self.func.ty(result).dtype;
        let Some(f) = reduce::scan(kind, dtype) else {
            return Err(self.unsupported(instr));
        };
        let x = self.memory_of(instr.operands[0])?;
        let out = self.out(result);
        if out.numel() > 0 {
            let (views, y, back, rows) = self.along(dim as usize, &[(dtype, x)], (dtype, out.clone()));
            let (xl, yl, size) = (loc(&views[0]), loc(&y), dtype.size() as i64);
            let cost = (rows.count * rows.len) as u64 + 20;
            let pieces = chunks(cost, rows.count as u64) as i64;
            let run = Call::boxed(cost, move |cx| {
                let p = Ptrs([cx.at(xl), cx.at(yl), cx.at(yl)]);
                share(rows.count, pieces, &|lo, hi| {
                    let [x, y, _] = p.get();
                    for r in lo..hi {
                        let at =
                            |p: *mut u8, k: usize| p.wrapping_offset((rows.steps[k] * size * r) as isize);
                        // SAFETY: `Step::run` promises memory for every row; rows are disjoint.
                        unsafe { f(at(y, 1), at(x, 0), rows.len as usize) };
                    }
                });
                Ok(())
            });
            self.kernel(run, &[&views[0]], &[&y]);
            self.copy_back(dtype, &y, back);
        }
        self.define_leaf(result, out);
        Ok(())
    }

    pub(super) fn sort(&mut self, instr: &Instr, dim: i64, descending: bool) -> Res<()> {
        let dim = dim as usize;
        let outs: SmallVec<[View; 2]> = instr.results.iter().map(|&r| self.out(r)).collect();
        if outs[0].numel() == 0 {
            for (&r, out) in instr.results.iter().zip(outs) {
                self.define_leaf(r, out);
            }
            return Ok(());
        }
        let own = self.func.ty(instr.operands[0]).dtype;
        // 8-bit floats have no order of their own; as f32 they sort alike.
        let narrow = own.is_reduced_float() && own.size() == 1;
        let key_type = if narrow { DType::F32 } else { own };
        let keys = if narrow {
            self.converted(self.node_of(instr.operands[0]), DType::F32)?
        } else {
            self.memory_of(instr.operands[0])?
        };
        let keys = moved(&keys, dim);
        let keys = self.densify(key_type, keys);
        let len = keys.dims[keys.dims.len() - 1];
        let count = keys.numel() / len.max(1);
        let values =
            if narrow { self.temp(key_type, &keys.dims) } else { self.row_result(key_type, &outs[0], dim) };
        let indices = (instr.operands.len() > 1).then(|| {
            // An index operand that counts along the dim becomes the sort's own indices.
            let direct = instr.operands[1..].iter().position(|&v| self.counts_along(v, dim));
            match direct {
                Some(k) => self.row_result(DType::I64, &outs[k + 1], dim),
                None => self.temp(DType::I64, &keys.dims),
            }
        });
        let (k, v, i) = (loc(&keys), loc(&values), indices.as_ref().map(loc));
        let keep = self.kept_of_rows(instr, dim);
        let cost = (count * len) as u64 * if keep < len / 4 { 4 } else { 20 } + 50;
        let mut writes: SmallVec<[&View; 2]> = SmallVec::from_iter([&values]);
        writes.extend(indices.as_ref());
        self.kernel(
            Call::boxed(cost, move |cx| {
                let indices = i.map_or(std::ptr::null_mut(), |l| cx.at(l).cast());
                // SAFETY: `Step::run` promises memory for the dense rows and results.
                unsafe {
                    sort::sort_rows(
                        pool::global(),
                        key_type,
                        count as usize,
                        len as usize,
                        keep as usize,
                        descending,
                        cx.at(k),
                        cx.at(v),
                        indices,
                    );
                }
                Ok(())
            }),
            &[&keys],
            &writes,
        );
        let want = moved(&outs[0], dim);
        if narrow {
            self.convert_into(key_type, values.clone(), own, want)?;
        } else if !values.same_elements(&want) {
            self.copy(key_type, &values, &want);
        }
        for (n, &operand) in instr.operands.iter().enumerate().skip(1) {
            let want = moved(&outs[n], dim);
            let Some(indices) = &indices else { continue };
            if self.counts_along(operand, dim) {
                self.bring(DType::I64, indices, &want);
                continue;
            }
            let dtype = self.func.ty(operand).dtype;
            let src = moved(&self.memory_of(operand)?, dim);
            let src = self.densify(dtype, src);
            let dst = self.row_result(dtype, &outs[n], dim);
            let (s, i, d, elem) = (loc(&src), loc(indices), loc(&dst), dtype.size());
            self.kernel(
                Call::boxed((count * len) as u64 * 2 + 50, move |cx| {
                    // SAFETY: `Step::run` promises memory for the dense rows; the indices are a permutation.
                    unsafe {
                        sort::take_rows(
                            pool::global(),
                            elem,
                            count as usize,
                            len as usize,
                            cx.at(s),
                            cx.at(i).cast(),
                            cx.at(d),
                        );
                    }
                    Ok(())
                }),
                &[&src, indices],
                &[&dst],
            );
            self.bring(dtype, &dst, &want);
        }
        for (&r, out) in instr.results.iter().zip(outs) {
            self.define_leaf(r, out);
        }
        Ok(())
    }

    /// How many elements of each sorted row are read: slices may take its start only.
    fn kept_of_rows(&self, instr: &Instr, dim: usize) -> i64 {
        let len = self.func.ty(instr.results[0]).dims[dim];
        let is_own = |v: &Value| instr.results.contains(v);
        // Other operands follow the positions of whole rows.
        if instr.operands[1..].iter().any(|&v| !self.counts_along(v, dim))
            || self.func.results.iter().any(is_own)
        {
            return len;
        }
        let readers = self.func.instrs.iter().filter(|i| i.operands.iter().any(is_own));
        readers
            .map(|i| if let Op::Slice { limit, .. } = &i.op { limit[dim] } else { len })
            .max()
            .unwrap_or(len)
    }

    /// Dense rows along `dim` for a result: its own place if it has that form.
    fn row_result(&mut self, dtype: DType, out: &View, dim: usize) -> View {
        self.dense_place(dtype, &moved(out, dim))
    }

    /// Whether a value is the i64 index along `dim`.
    fn counts_along(&self, v: Value, dim: usize) -> bool {
        let node = &self.nodes[self.node_of(v) as usize];
        match &node.kind {
            Kind::Iota(index) => {
                node.dtype == DType::I64
                    && index.off == 0
                    && index
                        .strides
                        .iter()
                        .enumerate()
                        .all(|(d, &s)| index.dims[d] == 1 || s == i64::from(d == dim))
            }
            _ => false,
        }
    }
}

/// Addresses shared with the threads of one step.
#[derive(Clone, Copy)]
pub(super) struct Ptrs<const N: usize>(pub [*mut u8; N]);

// SAFETY: each thread writes only the rows that its range names.
unsafe impl<const N: usize> Sync for Ptrs<N> {}

impl<const N: usize> Ptrs<N> {
    pub fn get(&self) -> [*mut u8; N] {
        self.0
    }
}
