//! What is known about values before the walk: which are live, how often and by whom they are used, and where those
//! that reach a result (or a concatenation) have to be written.

use tnrs_hlo::{Composite, Func, Op};
use tnrs_types::{inverse, numel, Dims};

use super::BufKind;
use crate::view::{Buf, View};
use crate::CompileSpec;

/// Facts per instruction and per value.
pub(crate) struct Info {
    /// Instructions whose results reach a result of the function (or that can fault).
    pub live: Vec<bool>,
    /// Uses of each value by live instructions and results.
    pub uses: Vec<u32>,
    /// Every user of the value can compute it on the fly.
    pub fusable: Vec<bool>,
    /// Where the value has to be written.
    pub target: Vec<Option<View>>,
}

/// Whether an instruction reads its operands element by element.
fn fuses_operands(op: &Op) -> bool {
    match op {
        Op::Unary(_)
        | Op::Binary(_)
        | Op::Compare(_)
        | Op::Select
        | Op::Clamp
        | Op::Convert
        | Op::BitcastConvert
        | Op::Reduce { .. } => true,
        Op::Composite(c) => matches!(
            c,
            Composite::Gelu { .. } | Composite::GeluGrad { .. } | Composite::Silu | Composite::SiluGrad
        ),
        _ => false,
    }
}

/// Analyses a function; concatenations that have no target get a buffer here, so that their operands can have one.
pub(crate) fn analyse(func: &Func, spec: &CompileSpec, bufs: &mut Vec<BufKind>) -> Info {
    let values = func.types.len();
    let mut info = Info {
        live: vec![false; func.instrs.len()],
        uses: vec![0; values],
        fusable: vec![true; values],
        target: vec![None; values],
    };
    for (i, &v) in func.results.iter().enumerate() {
        info.uses[v.index()] += 1;
        info.fusable[v.index()] = false;
        let target = &mut info.target[v.index()];
        if target.is_none() {
            *target = Some(View {
                buf: (func.params.len() + i) as Buf,
                off: 0,
                dims: func.ty(v).dims.clone(),
                strides: spec.results[i].strides.clone(),
            });
        }
    }
    for (i, instr) in func.instrs.iter().enumerate().rev() {
        if !instr.op.has_effect() && instr.results.iter().all(|r| info.uses[r.index()] == 0) {
            continue;
        }
        info.live[i] = true;
        let fuses = fuses_operands(&instr.op);
        for &o in &instr.operands {
            info.uses[o.index()] += 1;
            info.fusable[o.index()] &= fuses;
        }
        let r = instr.results[0];
        match &instr.op {
            Op::Reshape => {
                let o = instr.operands[0].index();
                if info.target[o].is_none() {
                    if let Some(t) = &info.target[r.index()] {
                        info.target[o] = t.reshape(&func.ty(instr.operands[0]).dims);
                    }
                }
            }
            Op::Transpose { perm } => {
                let o = instr.operands[0].index();
                if info.target[o].is_none() {
                    if let Some(t) = &info.target[r.index()] {
                        info.target[o] = Some(t.transpose(&inverse(perm)));
                    }
                }
            }
            Op::Concatenate { dim } => {
                let ty = func.ty(r);
                let whole = info.target[r.index()].get_or_insert_with(|| {
                    bufs.push(BufKind::Temp(numel(&ty.dims) as usize * ty.dtype.size()));
                    View::dense((bufs.len() - 1) as Buf, &ty.dims)
                });
                let whole = whole.clone();
                let (mut at, d) = (0, *dim as usize);
                for &o in &instr.operands {
                    let size = func.ty(o).dims[d];
                    let part = part(&whole, d, at, size, ty.dtype.size());
                    info.target[o.index()].get_or_insert(part);
                    at += size;
                }
            }
            _ => {}
        }
    }
    info
}

/// Elements `[at, at + size)` of a dim.
pub(crate) fn part(whole: &View, dim: usize, at: i64, size: i64, elem: usize) -> View {
    let mut start = Dims::from_elem(0, whole.dims.len());
    let mut limit = whole.dims.clone();
    let step = Dims::from_elem(1, whole.dims.len());
    start[dim] = at;
    limit[dim] = at + size;
    whole.slice(&start, &limit, &step, elem)
}
