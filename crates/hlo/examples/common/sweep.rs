//! One function for each elementwise op, conversion, reduction and sort, with a result for each element type that the
//! op accepts, on fixed operands.

use std::collections::BTreeMap;

use tnrs_hlo::text::case::Case;
use tnrs_hlo::{
    names, BinaryKind, Builder, HloError, Literal, ReduceKind, Scalar, TensorType, UnaryKind, Value,
};
use tnrs_types::{Class, DType};

/// Operands of a type: small numbers of both signs that every type of the family holds exactly.
fn operand(dtype: DType, pattern: [f64; 8]) -> Literal {
    let scalar = |x: &f64| match dtype.class() {
        Class::Bool => Scalar::Bool(*x > 0.0),
        Class::Int if dtype.is_unsigned() => Scalar::Int((x.abs() * 4.0) as i64),
        Class::Int => Scalar::Int((x * 4.0) as i64),
        Class::Float => Scalar::Float(*x),
        Class::Complex => Scalar::Complex(*x, 0.5 - x / 4.0),
    };
    let each: Vec<Scalar> = pattern.iter().map(scalar).collect();
    Literal::from_scalars(&TensorType::new(dtype, &[8]), &each).expect("eight elements")
}

const FIRST: [f64; 8] = [0.25, -0.75, 1.5, -2.0, 3.5, 0.5, -1.25, 7.0];
const SECOND: [f64; 8] = [2.0, 1.5, -0.5, 0.75, 2.5, -3.0, 1.25, 1.0];
/// Within the domain of every inverse function.
const UNIT: [f64; 8] = [0.25, -0.75, 0.5, -0.125, 0.875, 0.0625, -0.375, 0.625];
/// Positive, and above 1 where a function wants it.
const ABOVE_ONE: [f64; 8] = [1.25, 1.75, 2.5, 3.0, 3.5, 4.0, 5.0, 7.0];

fn pattern(kind: UnaryKind) -> [f64; 8] {
    match kind {
        UnaryKind::Acos | UnaryKind::Asin | UnaryKind::Atanh | UnaryKind::ErfInv | UnaryKind::LogPlusOne => {
            UNIT
        }
        UnaryKind::Acosh
        | UnaryKind::Log
        | UnaryKind::Rsqrt
        | UnaryKind::Sqrt
        | UnaryKind::Digamma
        | UnaryKind::Lgamma => ABOVE_ONE,
        _ => FIRST,
    }
}

/// Functions by name, in the making.
#[derive(Default)]
struct Groups(BTreeMap<String, (Builder, Vec<Literal>, Vec<Value>)>);

impl Groups {
    /// Adds the op on these operands as one more result of a function, unless the op does not accept their type.
    fn add(
        &mut self,
        name: String,
        args: &[Literal],
        body: impl Fn(&mut Builder, &[Value]) -> Result<Value, HloError>,
    ) {
        let apply = |b: &mut Builder| {
            let params: Vec<Value> = args.iter().map(|a| b.param(a.ty().clone())).collect();
            body(b, &params)
        };
        let mut probe = Builder::new("probe");
        match apply(&mut probe) {
            Ok(v) if !NOT_XLA.contains(&probe.ty(v).dtype) => {}
            _ => return,
        }
        let fresh = || (Builder::new(&name), vec![], vec![]);
        let (b, all, results) = self.0.entry(name.clone()).or_insert_with(fresh);
        all.extend_from_slice(args);
        results.extend(apply(b));
    }
}

/// Types with arithmetic of PyTorch's own: XLA has no pair of f16, and rounds to powers of two otherwise.
const NOT_XLA: [DType; 2] = [DType::C32, DType::F8E8M0FNU];

/// All of them.
pub fn cases() -> Vec<Case> {
    let mut all = Groups::default();
    let types = || DType::ALL.iter().copied().filter(|d| !NOT_XLA.contains(d));
    for d in types() {
        for (kind, op) in names::UNARY {
            let x = operand(d, pattern(*kind));
            all.add((*op).to_owned(), &[x], |b, x| b.unary(*kind, x[0]));
        }
        let (x, y) = (operand(d, FIRST), operand(d, SECOND));
        let pair = [x.clone(), y.clone()];
        for (kind, op) in names::BINARY {
            // A negative base with a fractional exponent is NaN everywhere and shows nothing.
            let pair = if *kind == BinaryKind::Power && d.is_float() {
                [operand(d, ABOVE_ONE), y.clone()]
            } else {
                pair.clone()
            };
            all.add((*op).to_owned(), &pair, |b, x| b.binary(*kind, x[0], x[1]));
        }
        for (dir, op) in names::COMPARE {
            all.add(format!("compare_{op}"), &pair, |b, x| b.compare(*dir, x[0], x[1]));
        }
        for to in types() {
            // What a float out of the range of the integers becomes, StableHLO leaves open: PyTorch wraps, XLA clamps.
            let fits = matches!(d.class(), Class::Int | Class::Bool) || !to.is_unsigned();
            let x = if fits { x.clone() } else { operand(d, ABOVE_ONE) };
            all.add(format!("convert_to_{}", to.hlo_name()), &[x], |b, x| b.convert(x[0], to));
        }
        for (kind, op) in names::REDUCE {
            // Products of many elements leave the range of the 8-bit floats.
            let x = if *kind == ReduceKind::Multiply { operand(d, UNIT) } else { x.clone() };
            all.add(format!("reduce_{op}"), &[x], |b, x| b.reduce(*kind, x[0], &[0]));
        }
        for descending in [false, true] {
            all.add(format!("sort_{descending}"), &pair[..1], |b, x| Ok(b.sort(x, 0, descending)?[0]));
        }
    }
    let done = |(b, args, results): (Builder, Vec<Literal>, Vec<Value>)| Case {
        func: b.finish(&results),
        runs: vec![(args, vec![])],
    };
    all.0.into_values().map(done).collect()
}
