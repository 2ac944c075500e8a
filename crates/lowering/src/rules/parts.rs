//! Signs, rounding, classification and the parts of complex numbers.

use std::f64::consts::PI;

use tnrs_types::{Class, DType, Scalar};

use crate::helpers::{apply, map, Domain, Lowered};
use crate::{Ctx, Expr, LowerError, Outcome, Row};

/// The message of kernels that promote no types.
const FOUND: &str = "Found dtype {got} but expected {want}";

/// Rows of this family.
pub const ROWS: &[Row] = &[
    Row::new("aten::abs", |cx| map(cx, [0], Domain::Promoted, |[x]| abs(x))),
    Row::new("aten::neg", neg).exact_as(FOUND),
    Row::new("aten::sign", |cx| map(cx, [0], Domain::Promoted, |[x]| sign(x))),
    Row::new("aten::sgn", sgn),
    Row::new("aten::signbit", |cx| map(cx, [0], Domain::Promoted, |[x]| signbit(x))),
    Row::new("aten::floor", |cx| rounding(cx, |x| x.floor())),
    Row::new("aten::ceil", |cx| rounding(cx, |x| x.ceil())),
    Row::new("aten::trunc", |cx| rounding(cx, |x| x.trunc())),
    Row::new("aten::round", |cx| rounding(cx, |x| x.round())).exact_as(FOUND),
    Row::new("aten::round.decimals", round_decimals).exact_as(FOUND),
    Row::new("aten::frac", |cx| map(cx, [0], Domain::Promoted, |[x]| x - x.trunc())),
    Row::new("aten::isnan", |cx| map(cx, [0], Domain::Promoted, |[x]| x.ne(x))),
    Row::new("aten::isinf", |cx| map(cx, [0], Domain::Promoted, |[x]| is_inf(x))),
    Row::new("aten::isposinf", |cx| infinity(cx, f64::INFINITY)),
    Row::new("aten::isneginf", |cx| infinity(cx, f64::NEG_INFINITY)),
    Row::new("aten::nan_to_num", nan_to_num)
        .exact_as("nan_to_num: dtype of out: {got} should be same as input: {want}"),
    Row::new("aten::angle", |cx| map(cx, [0], Domain::Float, |[x]| angle(x))).castable(),
    Row::new("aten::_conj_physical", |cx| map(cx, [0], Domain::Promoted, |[x]| conj(x))),
    Row::new("aten::conj_physical.out", |cx| map(cx, [0], Domain::Promoted, |[x]| conj(x))),
    // The in-place overload belongs to no functional one.
    Row::new("aten::conj_physical_", |cx| {
        let ty = cx.tensor(0)?.ty;
        let v = apply(cx, [0], Domain::Promoted, |[x]| conj(x))?;
        let v = cx.fit(v, &ty)?;
        Ok(Outcome::writes(vec![(0, 0, v)]))
    }),
    // PyTorch's meta kernel asserts where the operator raises.
    Row::new("aten::complex", complex)
        .exact_as("Expected object of scalar type {want} but got scalar type {got} for argument 'out'")
        .infer_by_rule(),
    Row::new("aten::polar", |cx| {
        let [r, t] = [cx.tensor(0)?, cx.tensor(1)?].map(|t| t.ty.dtype);
        if r != t {
            let [r, t] = [r, t].map(DType::torch_name);
            return Err(LowerError::Runtime(format!(
                "Expected object of scalar type {r} but got scalar type {t} for second argument"
            )));
        }
        map(cx, [0, 1], Domain::Promoted, |[r, t]| (r * t.cos()).complex(r * t.sin()))
    }),
];

fn neg(cx: &mut Ctx) -> Lowered {
    if cx.tensor(0)?.ty.dtype == DType::Bool {
        return Err(LowerError::unsupported(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the \
             `~` or `logical_not()` operator instead.",
        ));
    }
    map(cx, [0], Domain::Promoted, |[x]| -x)
}

/// The complex number of a real and an imaginary part of one type.
fn complex(cx: &mut Ctx) -> Lowered {
    let [re, im] = [cx.tensor(0)?, cx.tensor(1)?].map(|t| t.ty.dtype);
    let real = |d| matches!(d, DType::F16 | DType::F32 | DType::F64);
    if !real(re) || !real(im) {
        return Err(LowerError::runtime(format!(
            "Expected both inputs to be Half, Float or Double tensors but got {} and {}",
            re.torch_name(),
            im.torch_name()
        )));
    }
    if re != im {
        return Err(LowerError::runtime(format!(
            "Expected object of scalar type {} but got scalar type {} for second argument",
            re.torch_name(),
            im.torch_name()
        )));
    }
    Ok(apply(cx, [0, 1], Domain::Exact, |[re, im]| re.complex(im))?.into())
}

/// |x|, which unsigned integers and bool already are.
pub fn abs(x: Expr<'_>) -> Expr<'_> {
    let d = x.dtype();
    if d == DType::Bool || d.is_unsigned() {
        return x;
    }
    x.abs()
}

/// −1, 0 or 1; 0 for NaN; z/|z| for complex.
pub fn sign(x: Expr<'_>) -> Expr<'_> {
    match x.dtype() {
        DType::Bool => x,
        d if d.is_complex() => x.sign(),
        d if d.is_unsigned() => x.gt(0.0).select(1.0, x.int(0)),
        _ => x.gt(0.0).select(1.0, x.lt(0.0).select(-1.0, x.int(0))),
    }
}

/// The sign. Halves are divided by their magnitude as complex numbers, which leaves nothing of one that is not finite.
fn sgn(cx: &mut Ctx) -> Lowered {
    let halves = cx.tensor(0)?.ty.dtype == DType::C32;
    map(cx, [0], Domain::Promoted, |[x]| match halves {
        true => {
            let nan = x.constant(Scalar::Complex(f64::NAN, f64::NAN));
            x.real().is_finite().and(x.imag().is_finite()).select(sign(x), nan)
        }
        false => sign(x),
    })
}

/// Whether the sign bit is set, also of −0 and NaN.
pub fn signbit(x: Expr<'_>) -> Expr<'_> {
    match x.dtype() {
        DType::F32 => x.bitcast(DType::I32).lt(0.0),
        DType::F64 => x.bitcast(DType::I64).lt(0.0),
        DType::Bool => x.xor(x),
        _ => x.lt(0.0),
    }
}

/// The conjugate; a real number itself.
pub fn conj(x: Expr<'_>) -> Expr<'_> {
    if x.dtype().is_complex() {
        x.conj()
    } else {
        x
    }
}

fn is_inf(x: Expr<'_>) -> Expr<'_> {
    match x.dtype().class() {
        Class::Float => x.is_inf(),
        Class::Complex => x.real().is_inf().or(x.imag().is_inf()),
        _ => x.ne(x),
    }
}

fn infinity(cx: &mut Ctx, value: f64) -> Lowered {
    map(cx, [0], Domain::Promoted, |[x]| if x.dtype().is_float() { x.eq(value) } else { x.ne(x) })
}

/// Rounding leaves integers alone.
fn rounding(cx: &mut Ctx, f: impl for<'m> Fn(Expr<'m>) -> Expr<'m>) -> Lowered {
    map(cx, [0], Domain::Promoted, |[x]| if x.dtype().is_float() { f(x) } else { x })
}

fn round_decimals(cx: &mut Ctx) -> Lowered {
    let decimals = cx.int(1)?;
    let scale = 10f64.powf(decimals.unsigned_abs() as f64);
    rounding(cx, |x| match decimals {
        0 => x.round(),
        1.. => (x * scale).round() / scale,
        _ => (x / scale).round() * scale,
    })
}

fn nan_to_num(cx: &mut Ctx) -> Lowered {
    let dtype = cx.promoted(&[0])?;
    let limit = dtype.greatest();
    let nan = cx.float(1).unwrap_or(0.0);
    let high = cx.float(2).unwrap_or(limit);
    let low = cx.float(3).unwrap_or(-limit);
    let v = apply(cx, [0], Domain::Promoted, |[x]| match x.dtype().class() {
        Class::Float => fix_number(x, limit, nan, high, low),
        Class::Complex => {
            fix_number(x.real(), limit, nan, high, low).complex(fix_number(x.imag(), limit, nan, high, low))
        }
        _ => x,
    })?;
    cx.finish(v)
}

/// Replaces what is not a finite number of a type whose greatest is `limit`.
fn fix_number(x: Expr<'_>, limit: f64, nan: f64, high: f64, low: f64) -> Expr<'_> {
    let finite = if high >= limit && low <= -limit {
        // No finite number lies beyond these.
        x.max(low).min(high)
    } else {
        x.eq(f64::INFINITY).select(high, x.eq(f64::NEG_INFINITY).select(low, x))
    };
    x.is_nan().select(nan, finite)
}

fn angle(x: Expr<'_>) -> Expr<'_> {
    if x.dtype().is_complex() {
        return x.imag().atan2(x.real());
    }
    let real = x.lt(0.0).select(PI, x.int(0));
    x.is_nan().select(x, real)
}
