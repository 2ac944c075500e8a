//! Fills, ranges and copies.

use tnrs_hlo::Value;
use tnrs_types::{numel, Class, DType, Scalar};

use crate::helpers::Lowered;
use crate::{Ctx, Outcome, Row};

/// Rows of this family.
pub const ROWS: &[Row] = &[
    Row::new("aten::copy_", copy_),
    Row::new("aten::fill_.Scalar", fill_),
    Row::new("aten::fill_.Tensor", fill_),
    Row::new("aten::zero_", zero_),
    // The bounds decide the size of the result, so they are part of the key.
    Row::new("aten::arange.start_out", arange).stat(&["start", "end", "step"]),
    Row::new("aten::range.out", arange).stat(&["start", "end", "step"]),
    Row::new("aten::linspace.out", linspace),
    Row::new("aten::logspace.out", logspace),
    Row::new("aten::eye.out", eye),
    Row::new("aten::eye.m_out", eye),
];

/// `self` becomes `src`, broadcast and converted.
fn copy_(cx: &mut Ctx) -> Lowered {
    let ty = cx.tensor(0)?.ty;
    let src = cx.tensor(1)?;
    let v = cx.fit(src.value, &ty)?;
    Ok(Outcome::writes(vec![(0, 0, v)]))
}

fn fill_(cx: &mut Ctx) -> Lowered {
    let ty = cx.tensor(0)?.ty;
    let v = cx.operand(1, ty.dtype, ty.dtype)?;
    let v = cx.b.broadcast_to(v, &ty.dims)?;
    Ok(Outcome::writes(vec![(0, 0, v)]))
}

fn zero_(cx: &mut Ctx) -> Lowered {
    let ty = cx.tensor(0)?.ty;
    let zero = tnrs_types::Scalar::Int(0);
    let v = cx.b.splat(ty.dtype, &ty.dims, zero)?;
    Ok(Outcome::writes(vec![(0, 0, v)]))
}

/// `start + i·step`, accumulated in i64 for integers and f64 for f32, as PyTorch does on the host.
fn arange(cx: &mut Ctx) -> Lowered {
    let ty = cx.out(0)?;
    let compute = match ty.dtype {
        d if d.class() <= Class::Int => DType::I64,
        DType::F32 | DType::F64 => DType::F64,
        d => d.opmath(),
    };
    let start = cx.scalar(0, compute)?;
    let step = cx.scalar(2, compute)?;
    let n = numel(&ty.dims);
    let v = cx.math(|m| {
        let i = m.iota(DType::I64, &[n], 0).cast(compute);
        (m.expr(start) + i * m.expr(step)).value()
    })?;
    cx.finish_reshaped(&[v])
}

/// Steps from both ends towards the middle, so that both ends are exact.
fn linspace_value(cx: &mut Ctx) -> Result<Value, crate::LowerError> {
    let ty = cx.out(0)?;
    let compute = match ty.dtype.class() {
        Class::Bool | Class::Int => DType::F64,
        _ => ty.dtype.opmath(),
    };
    let start = cx.scalar(0, compute)?;
    let end = cx.scalar(1, compute)?;
    let n = numel(&ty.dims);
    cx.math(|m| {
        // Ends become whole numbers before anything is computed from them.
        let whole = matches!(ty.dtype.class(), Class::Bool | Class::Int);
        let [start, end] = [start, end].map(|v| {
            let v = m.expr(v);
            if whole {
                v.cast(ty.dtype).cast(compute)
            } else {
                v
            }
        });
        if n <= 1 {
            return start.broadcast(&[n]).value();
        }
        let i = m.iota(DType::I64, &[n], 0);
        let step = (end - start) / (n - 1) as f64;
        let up = start + step * i.cast(compute);
        let down = end - step * (i.int(n - 1) - i).cast(compute);
        i.lt((n / 2) as f64).select(up, down).value()
    })
}

fn linspace(cx: &mut Ctx) -> Lowered {
    let v = linspace_value(cx)?;
    cx.finish_reshaped(&[v])
}

fn logspace(cx: &mut Ctx) -> Lowered {
    let base = cx.float(3)?;
    let v = linspace_value(cx)?;
    let v = cx.math(|m| {
        let e = m.expr(v);
        e.constant(tnrs_types::Scalar::Float(base)).pow(e).value()
    })?;
    cx.finish_reshaped(&[v])
}

fn eye(cx: &mut Ctx) -> Lowered {
    let ty = cx.out(0)?;
    let v = cx.math(|m| {
        let (rows, columns) = (ty.dims[0], ty.dims[1]);
        let count = rows.min(columns);
        if count == 0 {
            return m.splat(ty.dtype, &ty.dims, Scalar::Int(0)).value();
        }
        let rest = rows * columns - (count - 1) * (columns + 1) - 1;
        let ones = m.splat(ty.dtype, &[count], Scalar::Int(1));
        ones.pad_dim(Scalar::Int(0), 0, 0, rest, columns).reshape(&ty.dims).value()
    })?;
    cx.finish(v)
}
