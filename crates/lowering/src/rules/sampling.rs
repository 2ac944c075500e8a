//! Random integers, permutations, draws from distributions given as tensors, and dropout.

use tnrs_hlo::{Composite, ReduceKind, TensorType, Value};
use tnrs_types::{numel, Class, DType, Scalar};

use crate::helpers::{apply_as, Lowered};
use crate::rules::random::{digits, only, sum_last, uniform, write};
use crate::{Ctx, LowerError, Outcome, Ret, Row};

/// Rows of this family.
pub const ROWS: &[Row] = &[
    Row::new("aten::random_", |cx| {
        only(cx, cx.tensor(0)?.ty.dtype, |d| !d.is_complex())?;
        let limit = limit(cx.tensor(0)?.ty.dtype);
        integers(cx, 0, limit)
    }),
    Row::new("aten::random_.to", |cx| {
        let to = cx.int(1)?;
        bounded(cx, 0, to)
    }),
    Row::new("aten::random_.from", random_from),
    Row::new("aten::randperm.generator_out", randperm),
    // PyTorch's meta kernel refuses complex numbers, the CPU takes them.
    Row::new("aten::native_dropout", native_dropout).infer_by_rule(),
    Row::new("aten::native_dropout_backward", |cx| {
        let dtype = cx.out(0)?.dtype;
        let v = apply_as(cx, [0, 1, 2], dtype, dtype.opmath(), |[g, mask, scale]| g * mask * scale)?;
        cx.finish(v)
    }),
    Row::new("aten::multinomial", multinomial)
        .exact_as("multinomial expects {want} tensor out, got: {got}")
        .infer_by_rule(),
    Row::new("aten::rrelu_with_noise", rrelu_with_noise),
    Row::new("aten::rrelu_with_noise_", |cx| {
        let (y, noise) = randomly_leaky(cx)?;
        let mut writes = vec![(0, 0, y)];
        writes.extend(noise.map(|n| (1, 0, n)));
        Ok(Outcome::writes(writes))
    }),
    Row::new("aten::rrelu_with_noise.out", |cx| {
        let (y, noise) = randomly_leaky(cx)?;
        let noise = match noise {
            Some(noise) => noise,
            None => cx.tensor(1)?.value,
        };
        Ok(Outcome::tensors(&[noise, y]))
    })
    .infer_by_rule(),
];

/// Greatest value, and least, of an integer type.
fn integer_range(d: DType) -> (i64, i64) {
    let bits = d.size() as u32 * 8;
    match (d, d.is_unsigned()) {
        (DType::Bool, _) => (0, 1),
        (DType::U64, _) => (0, i64::MAX),
        (_, true) => (0, (1 << bits) - 1),
        (_, false) => (-1 << (bits - 1), ((1u64 << (bits - 1)) - 1) as i64),
    }
}

/// Greatest value of `random_()`: of the type, or up to which every whole number is exact.
fn limit(d: DType) -> i64 {
    match d.class() {
        Class::Bool | Class::Int => integer_range(d).1,
        _ => 1 << digits(d),
    }
}

fn random_from(cx: &mut Ctx) -> Lowered {
    let from = cx.int(1)?;
    match cx.opt_int(2) {
        Some(to) => bounded(cx, from, to),
        None => {
            let dtype = cx.tensor(0)?.ty.dtype;
            in_bounds(dtype, &[("from", from)])?;
            integers(cx, from, limit(dtype))
        }
    }
}

/// Fails unless an element type holds these numbers.
fn in_bounds(dtype: DType, numbers: &[(&str, i64)]) -> Result<(), LowerError> {
    let (lo, hi) = match dtype {
        d if d.is_complex() => {
            return Err(LowerError::runtime(
                "check_random_bounds handles only integral, floating-point and boolean types",
            ))
        }
        DType::F16 => (-65504, 65504),
        d if d.is_float() => return Ok(()),
        d => integer_range(d),
    };
    let name = match dtype {
        DType::Bool => "bool",
        DType::U8 => "unsigned char",
        DType::I8 => "signed char",
        DType::I16 => "short",
        DType::I32 => "int",
        DType::F16 => "c10::Half",
        _ => "long",
    };
    match numbers.iter().find(|(_, v)| !(lo..=hi).contains(v)) {
        Some((what, _)) => Err(LowerError::Runtime(format!("{what} is out of bounds for {name}"))),
        None => Ok(()),
    }
}

/// Fills with integers in `[from, to)`, checked.
fn bounded(cx: &mut Ctx, from: i64, to: i64) -> Lowered {
    if from >= to {
        return Err(LowerError::Runtime(format!(
            "random_ expects 'from' to be less than 'to', but got from={from} >= to={to}"
        )));
    }
    in_bounds(cx.tensor(0)?.ty.dtype, &[("from", from), ("to - 1", to - 1)])?;
    integers(cx, from, to - 1)
}

/// Fills with integers in `[from, last]`. A range within 2³² scales one word (w·range / 2³²); a wider one takes the
/// remainder of two words, the whole of 2⁶⁴ the words themselves.
fn integers(cx: &mut Ctx, from: i64, last: i64) -> Lowered {
    let ty = cx.tensor(0)?.ty;
    let n = numel(&ty.dims);
    let range = (i128::from(last) - i128::from(from) + 1) as u128;
    let wide = range > 1 << 32;
    let bits = cx.random_bits(&[if wide { 2 * n } else { n }])?;
    let v = cx.math(|m| {
        let bits = m.expr(bits).cast(DType::U64);
        let offset = if !wide {
            (bits * bits.constant(Scalar::UInt(range as u64))).shr_logical(32.0)
        } else {
            let word = bits.slice(0, 0, n).shl(32.0).or(bits.slice(0, n, 2 * n));
            match u64::try_from(range) {
                Ok(r) => word % word.constant(Scalar::UInt(r)),
                Err(_) => word,
            }
        };
        let offset = offset.cast(DType::I64);
        (offset + offset.int(from)).reshape(&ty.dims).value()
    })?;
    Ok(write(cx.fit(v, &ty)?))
}

/// The order of random 63-bit keys.
fn randperm(cx: &mut Ctx) -> Lowered {
    let n = cx.int(0)?;
    let target = cx.out(0)?.dtype;
    only(cx, target, |d| d != DType::Bool && !d.is_complex())?;
    let bits = cx.random_bits(&[2 * n])?;
    let v = cx.math(|m| {
        let bits = m.expr(bits).cast(DType::I64);
        let keys = bits.slice(0, 0, n).shl(31.0).xor(bits.slice(0, n, 2 * n));
        let index = m.iota(DType::I64, &[n], 0);
        m.sort(&[keys, index], 0, false)[1].value()
    })?;
    cx.finish(v)
}

/// `(x·mask/(1 − p), mask)`; outside training, x and a mask of ones.
fn native_dropout(cx: &mut Ctx) -> Lowered {
    let x = cx.tensor(0)?;
    let p = cx.float(1)?;
    let train = cx.is_absent(2) || cx.bool(2);
    let (sizes, dtype) = (x.ty.dims.clone(), x.ty.dtype);
    if !train {
        let ones = cx.b.splat(DType::Bool, &sizes, Scalar::Bool(true))?;
        return Ok(Outcome::tensors(&[x.value, ones]));
    }
    if dtype.class() <= Class::Int {
        return Err(LowerError::Runtime(DType::F32.miscast(dtype)));
    }
    let u = uniform(cx, numel(&sizes), 24, DType::F32)?;
    let compute = dtype.opmath();
    let v = cx.cast(x.value, compute)?;
    let scale = if p == 1.0 { 0.0 } else { 1.0 / (1.0 - p) };
    let (y, mask) = cx.math(|m| {
        let keep = m.expr(u).reshape(&sizes).lt(1.0 - p);
        let y = keep.select(m.expr(v) * scale, 0.0);
        (y.value(), keep.value())
    })?;
    let y = cx.cast(y, dtype)?;
    Ok(Outcome::tensors(&[y, mask]))
}

/// Indices drawn in proportion to the rows of `self`. Without replacement: the order of p/q with exponential q, whose
/// first k are a draw of k. With: the number of cumulative weights not above a uniform part of the total.
fn multinomial(cx: &mut Ctx) -> Lowered {
    let x = cx.tensor(0)?;
    let samples = cx.int(1)?;
    let replace = cx.bool(2);
    let categories = *x.ty.dims.last().unwrap_or(&1);
    let rows = if x.ty.rank() > 1 { x.ty.dims[0] } else { 1 };
    let wrong = if !matches!(x.ty.rank(), 1 | 2) {
        Some("prob_dist must be 1 or 2 dim".to_owned())
    } else if !x.ty.dtype.is_float() {
        Some(format!(
            "multinomial only supports floating-point dtypes for input, got: {}",
            x.ty.dtype.hlo_name()
        ))
    } else if samples <= 0 {
        Some("cannot sample n_sample <= 0 samples".to_owned())
    } else if !replace && samples > categories {
        Some("cannot sample n_sample > prob_dist.size(-1) samples without replacement".to_owned())
    } else if categories > 1 << 24 {
        Some("number of categories cannot exceed 2^24".to_owned())
    } else {
        None
    };
    if let Some(message) = wrong {
        return Err(LowerError::Runtime(message));
    }
    let weights = cx.cast(x.value, DType::F64)?;
    let weights = cx.b.reshape(weights, &[rows, categories])?;
    cx.math(|m| {
        let w = m.expr(weights);
        let legal = w.ge(0.0).and(w.lt(f64::INFINITY));
        legal.assert("probability tensor contains either `inf`, `nan` or element < 0");
        sum_last(w).gt(0.0).assert("invalid multinomial distribution (sum of probabilities <= 0)");
        if !replace {
            let positive = sum_last(w.gt(0.0).cast(DType::I64));
            positive.ge(samples as f64).assert(
                "invalid multinomial distribution (with replacement=False, not enough non-negative category to sample)",
            );
        }
    })?;
    let v = if replace {
        with_replacement(cx, weights, rows, categories, samples)?
    } else {
        let u = uniform(cx, rows * categories, 24, DType::F32)?;
        cx.math(|m| {
            // 1 − u is in (0, 1], and q = −ln(1 − u) is bounded below so that a weight of 0 stays last.
            let q = (-m.expr(u).cast(DType::F64)).log1p().abs().max(1e-30);
            let sizes = [rows, categories];
            let keys = m.expr(weights) / q.reshape(&sizes);
            let index = m.iota(DType::I64, &sizes, 1);
            m.sort(&[keys, index], 1, true)[1].slice(1, 0, samples).value()
        })?
    };
    let sizes = [rows, samples];
    Ok(cx.b.reshape(v, &sizes[2 - x.ty.rank()..])?.into())
}

fn with_replacement(
    cx: &mut Ctx,
    weights: Value,
    rows: i64,
    categories: i64,
    samples: i64,
) -> Result<Value, LowerError> {
    let u = uniform(cx, rows * samples, 24, DType::F32)?;
    let sum = Composite::Cumulative { dim: 1, kind: ReduceKind::Add };
    let ty = TensorType::new(DType::F64, &[rows, categories]);
    let sums = cx.b.composite(sum, &[weights], &[ty])?[0];
    cx.math(|m| {
        let sums = m.expr(sums);
        let total = sums.slice(1, categories - 1, categories);
        let target = m.expr(u).cast(DType::F64).reshape(&[rows, samples]) * total;
        let below = sums.reshape(&[rows, 1, categories]).le(target.reshape(&[rows, samples, 1]));
        let index = sum_last(below.cast(DType::I64));
        index.min(index.int(categories - 1)).value()
    })
}

fn rrelu_with_noise(cx: &mut Ctx) -> Lowered {
    let (y, noise) = randomly_leaky(cx)?;
    let writes = noise.map(|n| (1, 0, n)).into_iter().collect();
    Ok(Outcome { rets: vec![Ret::Tensor(y)], writes })
}

/// In training, each negative element gets its own random slope, which is kept in `noise`; otherwise the mean slope,
/// and no noise.
fn randomly_leaky(cx: &mut Ctx) -> Result<(Value, Option<Value>), LowerError> {
    let x = cx.tensor(0)?;
    let dtype = x.ty.dtype;
    only(cx, dtype, DType::is_float)?;
    let compute = dtype.opmath();
    let training = cx.bool(4);
    let (lower, upper) = (cx.scalar(2, compute)?, cx.scalar(3, compute)?);
    let v = cx.cast(x.value, compute)?;
    if !training {
        let v = cx.math(|m| {
            let (x, slope) = (m.expr(v), (m.expr(lower) + m.expr(upper)) * 0.5);
            x.gt(0.0).select(x, x * slope).value()
        })?;
        return Ok((cx.fit(v, &x.ty)?, None));
    }
    let u = uniform(cx, numel(&x.ty.dims), digits(compute), compute)?;
    let (y, noise) = cx.math(|m| {
        let (x, lower) = (m.expr(v), m.expr(lower));
        let slope = m.expr(u).reshape(&x.dims()) * (m.expr(upper) - lower) + lower;
        let noise = x.le(0.0).select(slope, 1.0);
        ((x * noise).value(), noise.value())
    })?;
    let noise_ty = cx.tensor(1)?.ty;
    let noise = cx.fit(noise, &noise_ty)?;
    Ok((cx.fit(y, &x.ty)?, Some(noise)))
}
