//! Elementwise functions of whole tensor lists, each list in one program.

use tnrs_hlo::Value;
use tnrs_types::{DType, Scalar};

use crate::helpers::{Domain, Lowered};
use crate::rules::{arithmetic, binary, norm, parts, reduction, unary};
use crate::{result_type, Arg, Ctx, Expr, LowerError, Outcome, Ret, Row, ScalarArg, Tensor};

macro_rules! unaries {
    ($($name:literal, $domain:ident => |$x:ident| $e:expr;)*) => {
        /// Rows of one list.
        pub const UNARY: &[Row] = &[$(
            Row::new(concat!("aten::_foreach_", $name), |cx| {
                each(cx, &[0], &[0], Domain::$domain, |v| { let $x = v[0]; $e })
            }),
        )*];
    };
}
unaries! {
    "abs", Promoted => |x| parts::abs(x);
    "acos", Float => |x| x.acos();
    "asin", Float => |x| x.asin();
    "atan", Float => |x| x.atan();
    "ceil", Promoted => |x| whole(x, |x| x.ceil());
    "cos", Float => |x| x.cos();
    "cosh", Float => |x| x.cosh();
    "erf", Float => |x| x.erf();
    "erfc", Float => |x| x.erfc();
    "exp", Float => |x| x.exp();
    "expm1", Float => |x| x.expm1();
    "floor", Promoted => |x| whole(x, |x| x.floor());
    "frac", Promoted => |x| x - x.trunc();
    "lgamma", Float => |x| x.lgamma();
    "log", Float => |x| x.log();
    "log10", Float => |x| unary::over(x.log(), std::f64::consts::LN_10);
    "log1p", Float => |x| x.log1p();
    "log2", Float => |x| unary::over(x.log(), std::f64::consts::LN_2);
    "neg", Promoted => |x| -x;
    "reciprocal", Float => |x| 1.0 / x;
    "round", Promoted => |x| whole(x, |x| x.round());
    "rsqrt", Float => |x| x.rsqrt();
    "sigmoid", Float => |x| x.sigmoid();
    "sign", Promoted => |x| parts::sign(x);
    "sin", Float => |x| x.sin();
    "sinh", Float => |x| x.sinh();
    "sqrt", Float => |x| x.sqrt();
    "tan", Float => |x| x.tan();
    "tanh", Float => |x| x.tanh();
    "trunc", Promoted => |x| whole(x, |x| x.trunc());
}

macro_rules! binaries {
    ($($name:literal [$($overload:literal),*], $domain:ident => |$x:ident, $y:ident| $e:expr;)*) => {
        /// Rows of a list and a second list, number, list of numbers or rank-0 tensor.
        pub const BINARY: &[Row] = &[$($(
            Row::new(concat!("aten::_foreach_", $name, ".", $overload), |cx| {
                each(cx, &[0, 1], &[0, 1], Domain::$domain, |v| { let ($x, $y) = (v[0], v[1]); $e })
            })
            .free(&["scalar", "scalars"]),
        )*)*];
    };
}
binaries! {
    "add" ["Scalar", "ScalarList"], Promoted => |x, y| x + y;
    "mul" ["Scalar", "ScalarList", "List", "Tensor"], Promoted => |x, y| x * y;
    "div" ["Scalar", "ScalarList", "List", "Tensor"], Float => |x, y| x / y;
    "maximum" ["List"], Promoted => |x, y| x.max(y);
    "minimum" ["List"], Promoted => |x, y| x.min(y);
    "clamp_min" ["List"], Promoted => |x, y| x.max(y);
    "clamp_max" ["List"], Promoted => |x, y| x.min(y);
}

/// Rows of other forms.
pub const ROWS: &[Row] = &[
    Row::new("aten::_foreach_add.List", |cx| scaled(cx, |x, y| x + y)).unit(&["alpha"]),
    Row::new("aten::_foreach_add.Tensor", |cx| scaled(cx, |x, y| x + y)).unit(&["alpha"]),
    Row::new("aten::_foreach_sub.List", |cx| {
        refuse_bool_difference(cx)?;
        scaled(cx, |x, y| x - y)
    })
    .unit(&["alpha"]),
    Row::new("aten::_foreach_sub.Scalar", |cx| {
        refuse_bool_difference(cx)?;
        pairwise(cx, |x, y| x - y)
    })
    .free(&["scalar", "scalars"]),
    Row::new("aten::_foreach_sub.ScalarList", |cx| {
        refuse_bool_difference(cx)?;
        pairwise(cx, |x, y| x - y)
    })
    .free(&["scalar", "scalars"]),
    Row::new("aten::_foreach_maximum.Scalar", |cx| bound(cx, |x, y| x.max(y))).narrow(&["scalar"]),
    Row::new("aten::_foreach_maximum.ScalarList", |cx| bound(cx, |x, y| x.max(y))).narrow(&["scalars"]),
    Row::new("aten::_foreach_minimum.Scalar", |cx| bound(cx, |x, y| x.min(y))).narrow(&["scalar"]),
    Row::new("aten::_foreach_minimum.ScalarList", |cx| bound(cx, |x, y| x.min(y))).narrow(&["scalars"]),
    Row::new("aten::_foreach_clamp_min.Scalar", |cx| bound(cx, |x, y| x.max(y))).narrow(&["scalar"]),
    Row::new("aten::_foreach_clamp_min.ScalarList", |cx| bound(cx, |x, y| x.max(y))).narrow(&["scalars"]),
    Row::new("aten::_foreach_clamp_max.Scalar", |cx| bound(cx, |x, y| x.min(y))).narrow(&["scalar"]),
    Row::new("aten::_foreach_clamp_max.ScalarList", |cx| bound(cx, |x, y| x.min(y))).narrow(&["scalars"]),
    Row::new("aten::_foreach_pow.List", power),
    Row::new("aten::_foreach_pow.ScalarList", power).narrow(&["exponent"]),
    Row::new("aten::_foreach_pow.Scalar", |cx| {
        let e = cx.known(1)?;
        for t in cx.tensors(0)? {
            binary::refuse_exponent(t.ty.dtype, e)?;
        }
        each(cx, &[0], &[0, 1], Domain::Promoted, |v| binary::pow_known(v[0], e))
    })
    .stat(&["exponent"]),
    Row::new("aten::_foreach_pow.ScalarAndTensor", |cx| {
        each(cx, &[0, 1], &[0, 1], Domain::Promoted, |v| binary::pow(v[0], v[1]))
    }),
    Row::new("aten::_foreach_addcmul.Scalar", |cx| addc(cx, |x, y| x * y)).unit(&["value"]),
    Row::new("aten::_foreach_addcmul.ScalarList", |cx| addc(cx, |x, y| x * y)),
    Row::new("aten::_foreach_addcdiv.Scalar", |cx| addc(cx, |x, y| x / y)).unit(&["value"]),
    Row::new("aten::_foreach_addcdiv.ScalarList", |cx| addc(cx, |x, y| x / y)),
    Row::new("aten::_foreach_lerp.List", lerp),
    Row::new("aten::_foreach_lerp.Scalar", lerp),
    Row::new("aten::_foreach_lerp.ScalarList", lerp),
    Row::new("aten::_foreach_norm.Scalar", |cx| reduced(cx, norm::norm)).stat(&["ord"]),
    Row::new("aten::_foreach_powsum.Scalar", |cx| reduced(cx, norm::power_sum)).stat(&["ord"]),
    Row::new("aten::_foreach_max", |cx| {
        per_tensor(cx, 0, |cx, x, _| {
            let dims: Vec<i64> = (0..x.ty.rank() as i64).collect();
            cx.math(|m| reduction::greatest(m.expr(x.value), &dims).value())
        })
    }),
    Row::new("aten::_foreach_zero_", |cx| {
        write_each(cx, |cx, x, _| Ok(cx.b.splat(x.ty.dtype, &x.ty.dims, Scalar::Int(0))?))
    }),
    Row::new("aten::_foreach_copy_", |cx| {
        let sources = cx.tensors(1)?;
        write_each(cx, |cx, x, k| match sources.get(k) {
            Some(s) => cx.fit(s.value, &x.ty),
            None => Err(LowerError::runtime("_foreach_copy_: lists of different lengths")),
        })
    }),
];

/// Refuses elements whose promoted type the CPU has no kernel for either.
fn refuse(cx: &Ctx, args: &[usize], refused: fn(DType) -> bool) -> Result<(), LowerError> {
    for k in 0..list(cx)?.len() {
        let common = promoted(cx, args, k)?;
        if refused(common) {
            return Err(LowerError::unsupported(format!("not implemented for '{}'", common.hlo_name())));
        }
    }
    Ok(())
}

fn is_bool(d: DType) -> bool {
    d == DType::Bool
}

fn refuse_bool_difference(cx: &Ctx) -> Result<(), LowerError> {
    for k in 0..list(cx)?.len() {
        for arg in [0, 1] {
            if promoted(cx, &[arg], k)? == DType::Bool {
                return Err(LowerError::unsupported(
                    "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert \
                     a mask, use the `~` or `logical_not()` operator instead.",
                ));
            }
        }
    }
    Ok(())
}

fn pairwise(cx: &mut Ctx, f: impl for<'m> Fn(Expr<'m>, Expr<'m>) -> Expr<'m>) -> Lowered {
    each(cx, &[0, 1], &[0, 1], Domain::Promoted, |v| f(v[0], v[1]))
}

/// A bound by numbers, which truth values do not have.
fn bound(cx: &mut Ctx, f: impl for<'m> Fn(Expr<'m>, Expr<'m>) -> Expr<'m>) -> Lowered {
    refuse(cx, &[0, 1], is_bool)?;
    pairwise(cx, f)
}

fn power(cx: &mut Ctx) -> Lowered {
    refuse(cx, &[0, 1], is_bool)?;
    pairwise(cx, binary::pow)
}

/// Rounding leaves integers alone.
fn whole<'m>(x: Expr<'m>, f: impl Fn(Expr<'m>) -> Expr<'m>) -> Expr<'m> {
    if x.dtype().is_float() {
        f(x)
    } else {
        x
    }
}

/// Element `k` of an argument: of a list, or the argument itself.
enum Element {
    Tensor(Tensor),
    Number(ScalarArg, usize),
}

fn element(cx: &Ctx, arg: usize, k: usize) -> Result<Element, LowerError> {
    let found = match cx.args.get(arg) {
        Some(Arg::Tensors(ts)) => ts.get(k).cloned().flatten().map(Element::Tensor),
        Some(Arg::Tensor(t)) => Some(Element::Tensor(t.clone())),
        Some(Arg::Scalars(ss)) => ss.get(k).map(|s| Element::Number(*s, k)),
        Some(Arg::Scalar(s)) => Some(Element::Number(*s, 0)),
        _ => None,
    };
    found.ok_or_else(|| {
        LowerError::runtime(format!(
            "{}: argument {arg} has no element {k}; lists must have the same length",
            cx.op
        ))
    })
}

/// Numbers that all tensors share become one run-time operand per type.
#[derive(Default)]
struct Operands {
    shared: Vec<(usize, DType, Value)>,
}

impl Operands {
    fn value(
        &mut self,
        cx: &mut Ctx,
        arg: usize,
        k: usize,
        common: DType,
        compute: DType,
    ) -> Result<Value, LowerError> {
        match element(cx, arg, k)? {
            Element::Tensor(t) => cx.tensor_operand(&t, common, compute),
            Element::Number(s, elem) => {
                let shared = matches!(cx.args.get(arg), Some(Arg::Scalar(_)));
                let known = self.shared.iter().find(|e| e.0 == arg && e.1 == compute);
                if let Some(&(_, _, v)) = known {
                    return Ok(v);
                }
                let v = cx.scalar_value(s, elem, compute)?;
                if shared {
                    self.shared.push((arg, compute, v));
                }
                Ok(v)
            }
        }
    }
}

/// The type that the elements `k` of these arguments promote to.
fn promoted(cx: &Ctx, args: &[usize], k: usize) -> Result<DType, LowerError> {
    let mut entries = Vec::with_capacity(args.len());
    for &arg in args {
        entries.push(match element(cx, arg, k)? {
            Element::Tensor(t) => (t.ty.dtype, t.ty.dims.is_empty(), t.wrapped),
            Element::Number(s, _) => (s.natural, true, true),
        });
    }
    result_type(entries).ok_or_else(|| LowerError::runtime("no operands"))
}

/// The first argument that is a list of tensors.
fn list(cx: &Ctx) -> Result<Vec<Tensor>, LowerError> {
    match cx.args.first() {
        Some(Arg::Tensors(_)) => cx.tensors(0),
        _ => cx.tensors(1),
    }
}

/// One list of results: `f` of each tensor of list argument `arg`, and its position. Without expected types (the
/// in-place form) a result has the type of the tensor it replaces.
fn per_tensor(
    cx: &mut Ctx,
    arg: usize,
    f: impl Fn(&mut Ctx, &Tensor, usize) -> Result<Value, LowerError>,
) -> Lowered {
    let xs = if arg == 0 { list(cx)? } else { cx.tensors(arg)? };
    let mut results = Vec::with_capacity(xs.len());
    for (k, x) in xs.iter().enumerate() {
        let v = f(cx, x, k)?;
        let ty = cx.outs.get(k).unwrap_or(&x.ty).clone();
        results.push(cx.fit(v, &ty)?);
    }
    Ok(Outcome { rets: vec![Ret::List(results)], writes: Vec::new() })
}

fn write_each(cx: &mut Ctx, f: impl Fn(&mut Ctx, &Tensor, usize) -> Result<Value, LowerError>) -> Lowered {
    let mut writes = Vec::new();
    for (k, x) in cx.tensors(0)?.iter().enumerate() {
        writes.push((0, k, f(cx, x, k)?));
    }
    Ok(Outcome::writes(writes))
}

/// `f` of the elements `k` of the arguments `args`, in the type that those of `deciding` promote to.
fn each(
    cx: &mut Ctx,
    args: &[usize],
    deciding: &[usize],
    domain: Domain,
    f: impl for<'m> Fn(&[Expr<'m>]) -> Expr<'m>,
) -> Lowered {
    let xs = list(cx)?;
    let mut operands = Operands::default();
    let mut results = Vec::with_capacity(xs.len());
    for (k, x) in xs.iter().enumerate() {
        let common = domain.common(promoted(cx, deciding, k)?);
        let compute = domain.compute(common);
        if cx.outs.is_empty() && common.class() > x.ty.dtype.class() {
            return Err(LowerError::runtime(format!(
                "result type {} can't be cast to the desired output type {}",
                common.hlo_name(),
                x.ty.dtype.hlo_name()
            )));
        }
        let mut values = Vec::with_capacity(args.len());
        for &arg in args {
            values.push(operands.value(cx, arg, k, common, compute)?);
        }
        let v = cx.math(|m| {
            let exprs: Vec<Expr<'_>> = values.iter().map(|&v| m.expr(v)).collect();
            f(&exprs).value()
        })?;
        let ty = cx.outs.get(k).unwrap_or(&x.ty).clone();
        results.push(cx.fit(v, &ty)?);
    }
    Ok(Outcome { rets: vec![Ret::List(results)], writes: Vec::new() })
}

/// Whether a multiplier is absent or known to be 1.
fn is_unit(cx: &Ctx, i: usize) -> bool {
    match cx.args.get(i) {
        None | Some(Arg::None) | Some(Arg::Int(1)) => true,
        Some(Arg::Scalar(s)) => s.known.is_some_and(|k| k.is(1)),
        _ => false,
    }
}

/// `f(self, alpha·other)`.
fn scaled(cx: &mut Ctx, f: impl for<'m> Fn(Expr<'m>, Expr<'m>) -> Expr<'m>) -> Lowered {
    if is_unit(cx, 2) {
        return each(cx, &[0, 1], &[0, 1], Domain::Promoted, |v| f(v[0], arithmetic::times_one(v[1])));
    }
    each(cx, &[0, 1, 2], &[0, 1], Domain::Promoted, |v| f(v[0], v[1] * v[2]))
}

/// `self + f(value·tensor1, tensor2)`.
fn addc(cx: &mut Ctx, f: impl for<'m> Fn(Expr<'m>, Expr<'m>) -> Expr<'m>) -> Lowered {
    refuse(cx, &[0, 1, 2], is_bool)?;
    if is_unit(cx, 3) {
        return each(cx, &[0, 1, 2], &[0, 1, 2], Domain::Promoted, |v| {
            v[0] + f(arithmetic::times_one(v[1]), v[2])
        });
    }
    each(cx, &[0, 1, 2, 3], &[0, 1, 2], Domain::Promoted, |v| v[0] + f(v[3] * v[1], v[2]))
}

fn lerp(cx: &mut Ctx) -> Lowered {
    refuse(cx, &[0, 1], |d| !d.is_float() && !d.is_complex())?;
    each(cx, &[0, 1, 2], &[0, 1], Domain::Promoted, |v| arithmetic::lerp_formula(v[0], v[1], v[2]))
}

/// A reduction of each tensor to one number, of order `ord`.
fn reduced(cx: &mut Ctx, f: impl for<'m> Fn(Expr<'m>, f64, &[i64]) -> Expr<'m>) -> Lowered {
    let p = norm::order(cx, 1)?;
    let wanted = cx.dtype(2);
    per_tensor(cx, 0, |cx, x, _| {
        let result = wanted.unwrap_or(x.ty.dtype);
        let v = cx.cast(x.value, norm::compute_type(x.ty.dtype, result))?;
        let dims: Vec<i64> = (0..x.ty.rank() as i64).collect();
        cx.math(|m| f(m.expr(v), p, &dims).value())
    })
}
