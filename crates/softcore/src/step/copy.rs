//! A copy between layouts.

use tnrs_hal::Fault;
use tnrs_kernels::{copy, pool};
use tnrs_types::Dims;

use super::{Cx, Loc, Step};
use crate::view::{collapse, View};

/// Elements from one view to another of equal sizes.
pub(crate) struct Copy {
    elem: usize,
    dims: Dims,
    src: Loc,
    src_strides: Dims,
    dst: Loc,
    dst_strides: Dims,
}

impl Copy {
    pub fn new(elem: usize, src: &View, dst: &View) -> Self {
        let mut dims = dst.dims.clone();
        let mut strides = [src.strides.clone(), dst.strides.clone()];
        collapse(&mut dims, &mut strides, &[]);
        let [src_strides, dst_strides] = strides;
        let at = |v: &View| Loc { buf: v.buf, off: v.off };
        Copy { elem, dims, src: at(src), src_strides, dst: at(dst), dst_strides }
    }
}

impl Step for Copy {
    unsafe fn run(&self, cx: &Cx) -> Result<(), Fault> {
        // SAFETY: the caller's promise; the planner never copies between views that share memory.
        unsafe {
            copy::copy(
                pool::global(),
                self.elem,
                &self.dims,
                cx.at(self.dst),
                &self.dst_strides,
                cx.at(self.src),
                &self.src_strides,
            )
        };
        Ok(())
    }

    fn cost_ns(&self) -> u64 {
        let bytes = self.dims.iter().product::<i64>() as u64 * self.elem as u64;
        let even = self.dims.len() <= 1;
        bytes * if even { 2 } else { 6 } / 30 + 20
    }
}
