//! Reductions of consecutive segments of a dim.

use tnrs_hlo::{TensorType, Value};
use tnrs_types::{DType, Dims, Scalar};

use crate::helpers::{dim, Lowered};
use crate::{Ctx, LowerError, Row, Tensor};

/// Rows of this family.
pub(crate) const ROWS: &[Row] = &[
    Row::new("aten::segment_reduce", forward).stat(&["initial"]).infer_by_rule(),
    Row::new("aten::_segment_reduce_backward", backward).stat(&["initial"]).infer_by_rule(),
];

/// What both directions share.
struct Segments {
    kind: i64,
    /// Lengths or offsets, (outer, n).
    marks: Value,
    offsets: bool,
    count: i64,
    axis: usize,
    /// The data as outer, length, inner.
    view: [i64; 3],
    initial: Option<f64>,
}

impl Segments {
    /// From the positions of the data, the reduction's name, lengths, offsets, axis and initial value.
    fn new(cx: &mut Ctx, x: &Tensor, at: [usize; 5]) -> Result<Segments, LowerError> {
        let fail = |text: &str| Err(LowerError::runtime(text));
        let [name, lengths, offsets, axis, initial] = at;
        let kind = match cx.text(name) {
            Some("sum") => 0,
            Some("mean") => 1,
            Some("max") => 2,
            Some("min") => 3,
            Some("prod") => 4,
            _ => return fail("segment_reduce(): reduction must be one of sum, mean, max, min and prod"),
        };
        if !x.ty.dtype.is_float() || x.ty.dtype.size() == 1 {
            return Err(LowerError::unsupported(format!(
                "\"segment_reduce_cpu\" not implemented for '{}'",
                x.ty.dtype.hlo_name()
            )));
        }
        let axis = dim(cx.int(axis)?, x.ty.rank())? as usize;
        let (marks, by_offsets) = match (cx.opt_tensor(offsets), cx.opt_tensor(lengths)) {
            (Some(o), _) => (o, true),
            (None, Some(l)) => (l, false),
            _ => return fail("segment_reduce(): either lengths or offsets must be defined."),
        };
        if !matches!(marks.ty.dtype, DType::I32 | DType::I64) {
            return fail("segment_reduce(): lengths and offsets must be of integer type, int or long");
        }
        if x.ty.numel() == 0 && x.ty.rank() == 0 || x.ty.rank() < marks.ty.rank() || marks.ty.rank() == 0 {
            return fail(
                "segment_reduce(): data must have at least as many dimensions as lengths or offsets",
            );
        }
        if axis + 1 != marks.ty.rank() {
            return fail("segment_reduce(): Expected axis to be the last dimension of lengths or offsets.");
        }
        if marks.ty.dims[..axis] != x.ty.dims[..axis] {
            return fail("segment_reduce(): Expected lengths or offsets of the data's sizes before axis.");
        }
        let n = marks.ty.dims[axis];
        if by_offsets && n == 0 {
            return fail("segment_reduce(): offsets must have at least one element along axis.");
        }
        let product = |d: &[i64]| d.iter().product::<i64>();
        let view = [product(&x.ty.dims[..axis]), x.ty.dims[axis], product(&x.ty.dims[axis + 1..])];
        let wide = cx.cast(marks.value, DType::I64)?;
        Ok(Segments {
            kind,
            marks: cx.b.reshape(wide, &[view[0], n])?,
            offsets: by_offsets,
            count: n - i64::from(by_offsets),
            axis,
            view,
            initial: if cx.is_absent(initial) { None } else { Some(cx.known(initial)?.to_f64()) },
        })
    }
    fn reduced(&self) -> [i64; 3] {
        [self.view[0], self.count, self.view[2]]
    }
    fn initial(&self) -> [Scalar; 2] {
        [Scalar::Bool(self.initial.is_some()), Scalar::Float(self.initial.unwrap_or(0.0))]
    }
}

fn forward(cx: &mut Ctx) -> Lowered {
    let x = cx.tensor(0)?;
    if !cx.is_absent(3) {
        return Err(LowerError::runtime("segment_reduce(): indices based reduction is not supported yet."));
    }
    let s = Segments::new(cx, &x, [1, 2, 4, 5, 7])?;
    let exact = !s.offsets && !cx.bool(6);
    let [given, initial] = s.initial();
    let attrs = [Scalar::Int(s.kind), Scalar::Bool(s.offsets), Scalar::Bool(exact), given, initial];
    let data = cx.b.reshape(x.value, &s.view)?;
    let ty = TensorType::new(x.ty.dtype, &s.reduced());
    let r = cx.b.custom_call("segment_reduce", &attrs, &[data, s.marks], &[ty])?;
    let mut dims = Dims::from_slice(&x.ty.dims);
    dims[s.axis] = s.count;
    Ok(cx.b.reshape(r[0], &dims)?.into())
}

fn backward(cx: &mut Ctx) -> Lowered {
    let [dy, y, x] = [cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?];
    let s = Segments::new(cx, &x, [3, 4, 5, 6, 7])?;
    let [given, initial] = s.initial();
    let attrs = [Scalar::Int(s.kind), Scalar::Bool(s.offsets), given, initial];
    let dy = cx.b.reshape(dy.value, &s.reduced())?;
    let y = cx.b.reshape(y.value, &s.reduced())?;
    let data = cx.b.reshape(x.value, &s.view)?;
    let ty = TensorType::new(x.ty.dtype, &s.view);
    let r = cx.b.custom_call("segment_reduce_grad", &attrs, &[dy, y, data, s.marks], &[ty])?;
    Ok(cx.b.reshape(r[0], &x.ty.dims)?.into())
}
