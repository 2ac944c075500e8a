//! Random fills, in ordinary arithmetic on Philox words: results depend on seed, offset and sizes alone.

use std::f64::consts::PI;

use tnrs_hlo::{ReduceKind, TensorType, Value};
use tnrs_types::{numel, DType, Scalar};

use crate::helpers::Lowered;
use crate::{Arg, Ctx, Expr, LowerError, Outcome, Row};

/// Rows of this family.
pub const ROWS: &[Row] = &[
    // PyTorch's meta kernels of some refuse other types than the CPU, by another exception.
    Row::new("aten::uniform_", uniform_).infer_by_rule(),
    Row::new("aten::normal_", normal_).infer_by_rule(),
    Row::new("aten::log_normal_", log_normal_).infer_by_rule(),
    Row::new("aten::exponential_", exponential_),
    Row::new("aten::cauchy_", cauchy_),
    Row::new("aten::geometric_", geometric_).infer_by_rule(),
    Row::new("aten::bernoulli_.float", |cx| {
        let ty = cx.tensor(0)?.ty;
        let p = probability(cx.float(1)?)?;
        let v = bernoulli(cx, &ty, |m| m.splat(DType::F32, &[], Scalar::Float(p)))?;
        Ok(write(v))
    }),
    Row::new("aten::bernoulli_.Tensor", |cx| {
        let ty = cx.tensor(0)?.ty;
        let p = cx.tensor(1)?;
        only(cx, p.ty.dtype, DType::is_float)?;
        let v = bernoulli(cx, &ty, |m| m.expr(p.value))?;
        Ok(write(v))
    }),
    Row::new("aten::bernoulli", |cx| {
        let (p, ty) = (cx.tensor(0)?, cx.out(0)?);
        only(cx, p.ty.dtype, DType::is_float)?;
        Ok(bernoulli(cx, &ty, |m| m.expr(p.value))?.into())
    })
    .any_out(),
    Row::new("aten::bernoulli.p", |cx| {
        let (p, ty) = (probability(cx.float(1)?)?, cx.out(0)?);
        Ok(bernoulli(cx, &ty, |m| m.splat(DType::F32, &[], Scalar::Float(p)))?.into())
    })
    .any_out(),
    Row::new("aten::normal.Tensor_float", normal).infer_by_rule(),
    Row::new("aten::normal.float_Tensor", normal).infer_by_rule(),
    Row::new("aten::normal.Tensor_Tensor", normal).infer_by_rule(),
];

/// The outcome of a fill.
pub fn write(v: Value) -> Outcome {
    Outcome::writes(vec![(0, 0, v)])
}

/// Bits of precision of a float type, the implicit one included.
pub fn digits(d: DType) -> u32 {
    match d {
        DType::F64 | DType::C128 => 53,
        DType::F16 | DType::C32 => 11,
        DType::BF16 => 8,
        DType::F8E4M3FN | DType::F8E4M3FNUZ => 4,
        DType::F8E5M2 | DType::F8E5M2FNUZ => 3,
        _ => 24,
    }
}

/// The type random numbers for a tensor of type `d` are computed in.
pub fn compute_type(d: DType) -> DType {
    match d.real() {
        DType::F64 | DType::I64 | DType::I32 => DType::F64,
        _ => DType::F32,
    }
}

/// The leading `digits` bits of words (or pairs of words, where 32 are not enough) as whole numbers of type `compute`.
/// `bits` has one word an element, or two: the second half of its only dim holds the low words.
fn whole(bits: Expr<'_>, n: i64, digits: u32, compute: DType) -> Expr<'_> {
    if digits <= 32 {
        return bits.shr_logical(f64::from(32 - digits)).cast(compute);
    }
    let low_digits = digits - 27;
    let high = bits.slice(0, 0, n).shr_logical(5.0).cast(compute);
    let low = bits.slice(0, n, 2 * n).shr_logical(f64::from(32 - low_digits)).cast(compute);
    high * 2f64.powi(low_digits as i32) + low
}

/// How many words a uniform number of so many digits takes.
fn words(digits: u32) -> i64 {
    if digits <= 32 {
        1
    } else {
        2
    }
}

/// `n` uniform numbers in [0, 1), multiples of 2^−digits, of type `compute`.
pub fn uniform(cx: &mut Ctx, n: i64, digits: u32, compute: DType) -> Result<Value, LowerError> {
    let bits = cx.random_bits(&[n * words(digits)])?;
    cx.math(|m| {
        let scale = 2f64.powi(-(digits as i32));
        (whole(m.expr(bits), n, digits, compute) * scale).value()
    })
}

/// `n` uniform numbers strictly between 0 and 1: midpoints of intervals one bit wider than the type could resolve.
fn open_uniform(cx: &mut Ctx, n: i64, compute: DType) -> Result<Value, LowerError> {
    let digits = digits(compute) - 1;
    let bits = cx.random_bits(&[n * words(digits)])?;
    cx.math(|m| {
        let scale = 2f64.powi(-(digits as i32));
        ((whole(m.expr(bits), n, digits, compute) + 0.5) * scale).value()
    })
}

/// `n` standard normal numbers by the Box–Muller transform: the cosine half, then the sine half.
pub fn standard_normal(cx: &mut Ctx, n: i64, compute: DType) -> Result<Value, LowerError> {
    let pairs = (n + 1) / 2;
    let u = open_uniform(cx, 2 * pairs, compute)?;
    cx.math(|m| {
        let u = m.expr(u);
        let radius = (u.slice(0, 0, pairs).log() * -2.0).sqrt();
        let angle = u.slice(0, pairs, 2 * pairs) * (2.0 * PI);
        let both = m.concatenate(&[radius * angle.cos(), radius * angle.sin()], 0);
        both.slice(0, 0, n).value()
    })
}

/// Fills `self` with `f` of `n` numbers made by `source`, in the computing type of `self`.
fn fill(
    cx: &mut Ctx,
    source: fn(&mut Ctx, i64, DType) -> Result<Value, LowerError>,
    f: impl for<'m> FnOnce(Expr<'m>) -> Expr<'m>,
) -> Lowered {
    let ty = cx.tensor(0)?.ty;
    let parts = if ty.dtype.is_complex() { 2 } else { 1 };
    let n = numel(&ty.dims);
    let u = source(cx, n * parts, compute_type(ty.dtype))?;
    let v = cx.math(|m| {
        let v = f(m.expr(u));
        let v = if parts == 2 { v.slice(0, 0, n).complex(v.slice(0, n, 2 * n)) } else { v };
        v.reshape(&ty.dims).value()
    })?;
    Ok(write(cx.fit(v, &ty)?))
}

/// Fails as not implemented unless the element type is one of those accepted.
pub fn only(cx: &Ctx, dtype: DType, accepted: fn(DType) -> bool) -> Result<(), LowerError> {
    if accepted(dtype) {
        return Ok(());
    }
    Err(LowerError::no_kernel(cx.op, dtype))
}

fn float_or_complex(d: DType) -> bool {
    d.is_float() || d.is_complex()
}

fn real_number(d: DType) -> bool {
    d != DType::Bool && !d.is_complex()
}

fn check(ok: bool, message: impl FnOnce() -> String) -> Result<(), LowerError> {
    if ok {
        Ok(())
    } else {
        Err(LowerError::Runtime(message()))
    }
}

fn uniform_(cx: &mut Ctx) -> Lowered {
    only(cx, cx.tensor(0)?.ty.dtype, float_or_complex)?;
    let (from, to) = (cx.float(1)?, cx.float(2)?);
    check(from <= to, || {
        format!("uniform_ expects to return a [from, to) range, but found from={from} > to={to}")
    })?;
    let source: fn(&mut Ctx, i64, DType) -> Result<Value, LowerError> = |cx, n, compute| {
        // No more digits than the result holds, so that rounding cannot reach `to`.
        let digits = digits(cx.tensor(0)?.ty.dtype);
        uniform(cx, n, digits, compute)
    };
    fill(cx, source, |u| u * (to - from) + from)
}

fn normal_(cx: &mut Ctx) -> Lowered {
    only(cx, cx.tensor(0)?.ty.dtype, float_or_complex)?;
    let (mean, std) = (cx.float(1)?, cx.float(2)?);
    check(std >= 0.0, || format!("normal expects std >= 0.0, but found std {std}"))?;
    // The parts of a complex number share the variance, and only the real one has the mean.
    let dtype = cx.tensor(0)?.ty.dtype;
    if dtype.is_complex() {
        let out = fill(cx, standard_normal, |z| z * (std / 2f64.sqrt()))?;
        let v = out.writes[0].2;
        let v = cx.math(|m| {
            let z = m.expr(v);
            (z + z.constant(Scalar::Float(mean))).value()
        })?;
        return Ok(write(v));
    }
    fill(cx, standard_normal, |z| z * std + mean)
}

fn log_normal_(cx: &mut Ctx) -> Lowered {
    only(cx, cx.tensor(0)?.ty.dtype, DType::is_float)?;
    let (mean, std) = (cx.float(1)?, cx.float(2)?);
    check(std > 0.0, || format!("log_normal_ expects std > 0.0, but found std={std}"))?;
    fill(cx, standard_normal, |z| (z * std + mean).exp())
}

fn exponential_(cx: &mut Ctx) -> Lowered {
    let lambda = cx.float(1)?;
    check(lambda > 0.0, || format!("exponential_ expects lambda > 0.0, but found lambda={lambda}"))?;
    fill(cx, open_uniform, |u| u.log() * (-1.0 / lambda))
}

fn cauchy_(cx: &mut Ctx) -> Lowered {
    let (median, sigma) = (cx.float(1)?, cx.float(2)?);
    check(sigma > 0.0, || format!("cauchy_ expects sigma > 0.0, but found sigma={sigma}"))?;
    fill(cx, open_uniform, |u| ((u - 0.5) * PI).tan() * sigma + median)
}

fn geometric_(cx: &mut Ctx) -> Lowered {
    only(cx, cx.tensor(0)?.ty.dtype, real_number)?;
    let p = cx.float(1)?;
    check(p > 0.0 && p < 1.0, || format!("geometric_ expects p to be in (0, 1), but got p={p}"))?;
    fill(cx, open_uniform, |u| (u.log() / (-p).ln_1p()).ceil())
}

fn probability(p: f64) -> Result<f64, LowerError> {
    check((0.0..=1.0).contains(&p), || format!("bernoulli_ expects p to be in [0, 1], but got p={p}"))?;
    Ok(p)
}

/// 1 with probability `p` (broadcast), else 0.
fn bernoulli(
    cx: &mut Ctx,
    ty: &TensorType,
    p: impl for<'m> FnOnce(&'m crate::Math) -> Expr<'m>,
) -> Result<Value, LowerError> {
    only(cx, ty.dtype, |d| !d.is_complex())?;
    let u = uniform(cx, numel(&ty.dims), 24, DType::F32)?;
    let v = cx.math(|m| {
        let u = m.expr(u).reshape(&ty.dims);
        let p = p(m);
        p.ge(0.0).and(p.le(1.0)).assert("Expected p_in >= 0 && p_in <= 1 to be true, but got false.");
        // Compared in f64 where p is f64: a tiny p must not round to another multiple of 2⁻²⁴.
        let wide = if p.dtype() == DType::F64 { DType::F64 } else { DType::F32 };
        u.cast(wide).lt(p.cast(wide)).value()
    })?;
    cx.fit(v, ty)
}

/// `mean + std·z`, each a number or a tensor; with a complex mean the parts of z share the variance.
fn normal(cx: &mut Ctx) -> Lowered {
    let parameters = [cx.args.first(), cx.args.get(1)].map(|a| match a {
        Some(Arg::Tensor(t)) => t.ty.dtype,
        _ => DType::F32,
    });
    check(!parameters[1].is_complex(), || "normal expects standard deviation to be non-complex".to_owned())?;
    for d in parameters {
        only(cx, d, float_or_complex)?;
    }
    if let Ok(std) = cx.float(1) {
        check(std >= 0.0, || format!("normal expects std >= 0.0, but found std {std}"))?;
    }
    let sizes = cx.broadcast_sizes(&[0, 1])?;
    let out = match (cx.opt_tensor(0), cx.opt_tensor(1)) {
        (Some(mean), _) => mean.ty.dtype,
        (None, Some(std)) => std.ty.dtype,
        (None, None) => parameters[0],
    };
    let compute = compute_type(out);
    let n = numel(&sizes);
    let z = standard_normal(cx, if out.is_complex() { 2 * n } else { n }, compute)?;
    let wide = if out.is_complex() { compute.complex() } else { compute };
    let mean = cx.operand(0, wide, wide)?;
    let std = cx.operand(1, compute, compute)?;
    let v = cx.math(|m| {
        let std = m.expr(std);
        std.ge(0.0).assert("normal expects all elements of std >= 0.0");
        let z = m.expr(z);
        let scaled = |z: Expr<'_>| (m.expr(z.value()).reshape(&sizes) * std).value();
        let noise = if out.is_complex() {
            let half = [z.slice(0, 0, n), z.slice(0, n, 2 * n)].map(|p| m.expr(scaled(p * 0.5f64.sqrt())));
            half[0].complex(half[1])
        } else {
            m.expr(scaled(z))
        };
        (noise + m.expr(mean)).value()
    })?;
    Ok(cx.cast(v, out)?.into())
}

/// Sum along the last dim, for samplers.
pub fn sum_last(x: Expr<'_>) -> Expr<'_> {
    let last = x.dims().len() as i64 - 1;
    x.reduce(ReduceKind::Add, &[last])
}
