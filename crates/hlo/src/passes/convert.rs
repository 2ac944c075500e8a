//! Chains of conversions.

use tnrs_types::{Class, DType};

use super::rewrite::{Context, Rewrite};
use crate::Op;

/// Significant bits and range of exponents of a float type: (bits, least, greatest).
fn float_range(dtype: DType) -> (u32, i32, i32) {
    match dtype {
        DType::F64 => (53, -1074, 1024),
        DType::F32 => (24, -149, 128),
        DType::BF16 => (8, -133, 128),
        DType::F16 => (11, -24, 16),
        DType::F8E8M0FNU => (1, -127, 128),
        DType::F8E5M2 => (3, -16, 16),
        DType::F8E5M2FNUZ => (3, -17, 16),
        DType::F8E4M3FN => (4, -9, 9),
        DType::F8E4M3FNUZ => (4, -10, 8),
        other => unreachable!("{other:?} is not a float"),
    }
}

/// Whether every number of `a` is exactly one of `b`, so that converting there and on loses nothing.
pub fn embeds(a: DType, b: DType) -> bool {
    let bits = |d: DType| 8 * d.size() as u32 - u32::from(!d.is_unsigned());
    match (a.class(), b.class()) {
        _ if a == b => true,
        (Class::Bool, _) => b != DType::F8E8M0FNU,
        (_, Class::Bool) => false,
        (Class::Int, Class::Int) => bits(a) <= bits(b) && (a.is_unsigned() || !b.is_unsigned()),
        // Powers of two have no sign and no zero.
        (_, Class::Float) if b == DType::F8E8M0FNU => false,
        (Class::Int, Class::Float) => {
            let (significant, _, greatest) = float_range(b);
            bits(a) <= significant && (bits(a) as i32) < greatest
        }
        (Class::Float, Class::Float) => {
            let ((bits_a, least_a, greatest_a), (bits_b, least_b, greatest_b)) =
                (float_range(a), float_range(b));
            let without_infinity =
                |d: DType| matches!(d, DType::F8E4M3FN | DType::F8E4M3FNUZ | DType::F8E5M2FNUZ);
            bits_a <= bits_b && least_b <= least_a && greatest_a <= greatest_b && !without_infinity(b)
        }
        (Class::Complex, Class::Complex) => a.size() <= b.size(),
        _ => false,
    }
}

/// `convert(convert(x))` without the middle, when the middle loses nothing; no conversion to the type that it has.
pub fn rule(c: &Context) -> Option<Rewrite> {
    if !matches!(c.instr.op, Op::Convert) {
        return None;
    }
    let x = c.operand(0);
    if c.ty(x) == c.result() {
        return Some(Rewrite::Value(x));
    }
    let inner = c.definition(x)?;
    if !matches!(inner.op, Op::Convert) {
        return None;
    }
    let source = inner.operands[0];
    let (from, middle, to) = (c.ty(source).dtype, c.ty(x).dtype, c.result().dtype);
    // An integer converts to a narrower one by wrapping, a float by saturating: the middle may not change family.
    let same_rule = from.class() == middle.class() || !to.is_int() || embeds(from, to);
    if !embeds(from, middle) || !same_rule {
        return None;
    }
    if from == to {
        return Some(Rewrite::Value(source));
    }
    Rewrite::unary(Op::Convert, source)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpret::Element;
    use tnrs_types::Scalar;

    /// Extreme and awkward numbers of a type, by converting wide ones into it.
    fn samples(dtype: DType) -> Vec<Element> {
        let mut all = vec![];
        for i in [0, 1, -1, 127, 255, -128, 32767, 65535, 1 << 24, (1 << 24) + 1, i64::MAX, i64::MIN] {
            all.push(Element::from_scalar(Scalar::Int(i), dtype));
        }
        for f in [
            1.5,
            -0.0,
            0.1,
            448.0,
            240.0,
            57344.0,
            1e-45,
            1e-320,
            2f64.powi(-9),
            2f64.powi(-24),
            f64::INFINITY,
            f64::MAX,
        ] {
            all.push(Element::from_scalar(Scalar::Float(f), dtype));
        }
        all
    }

    #[test]
    fn an_embedding_loses_nothing() {
        let mut embeddings = 0;
        for &a in DType::ALL {
            for &b in DType::ALL.iter().filter(|b| embeds(a, **b)) {
                embeddings += 1;
                for e in samples(a) {
                    let back = e.converted(b).converted(a);
                    let nan = format!("{e:?}").contains("NaN");
                    assert!(back == e || nan, "{e:?} through {b:?} is {back:?}");
                }
            }
        }
        assert!(embeddings > 60, "{embeddings}");
        assert!(!embeds(DType::I32, DType::F32) && embeds(DType::I16, DType::F32));
        assert!(!embeds(DType::F16, DType::BF16) && !embeds(DType::BF16, DType::F16));
        assert!(!embeds(DType::I8, DType::U16) && embeds(DType::U8, DType::BF16));
    }
}
