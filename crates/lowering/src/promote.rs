//! PyTorch's type promotion.

use tnrs_types::{Class, DType};

/// The smallest type both convert to, as `torch.promote_types`.
pub fn promote_types(a: DType, b: DType) -> DType {
    use DType::*;
    if a == b {
        return a;
    }
    let (lo, hi) = if a.class() <= b.class() { (a, b) } else { (b, a) };
    match (lo.class(), hi.class()) {
        (Class::Bool, _) => hi,
        (Class::Int, Class::Int) => promote_ints(lo, hi),
        (Class::Int, _) => hi,
        (Class::Float, Class::Float) => {
            // Two different 8-bit types, or f16 with bf16, meet in f32; otherwise the larger one wins.
            if lo.size() == hi.size() {
                F32
            } else if lo.size() > hi.size() {
                lo
            } else {
                hi
            }
        }
        (Class::Float, Class::Complex) => {
            let needed = if lo.is_float() { lo.complex() } else { hi };
            if needed.size() > hi.size() {
                needed
            } else {
                hi
            }
        }
        _ => {
            if lo.size() > hi.size() {
                lo
            } else {
                hi
            }
        }
    }
}

fn promote_ints(a: DType, b: DType) -> DType {
    use DType::*;
    match (a.is_unsigned(), b.is_unsigned()) {
        (x, y) if x == y => {
            if a.size() >= b.size() {
                a
            } else {
                b
            }
        }
        (a_unsigned, _) => {
            let (u, s) = if a_unsigned { (a, b) } else { (b, a) };
            if s.size() > u.size() {
                return s;
            }
            match u {
                U8 => I16,
                U16 => I32,
                _ => I64,
            }
        }
    }
}

/// The result type of operands given as (type, rank is 0, is a Python number), as `torch.result_type`: tensors with
/// dims decide, then 0-dim tensors, then numbers, unless a later group has a higher class. A number promotes at its
/// class's default type (i64, f32, c64).
pub fn result_type(operands: impl IntoIterator<Item = (DType, bool, bool)>) -> Option<DType> {
    let (mut dim, mut zero, mut wrapped): (Option<DType>, Option<DType>, Option<DType>) = (None, None, None);
    let join = |acc: Option<DType>, d: DType| Some(acc.map_or(d, |a| promote_types(a, d)));
    for (dtype, is_scalar, is_wrapped) in operands {
        if is_wrapped {
            let d = match dtype.class() {
                Class::Float => DType::F32,
                Class::Complex if dtype == DType::C128 => DType::C64,
                _ => dtype,
            };
            wrapped = join(wrapped, d);
        } else if is_scalar {
            zero = join(zero, dtype);
        } else {
            dim = join(dim, dtype);
        }
    }
    let combine = |hi: Option<DType>, lo: Option<DType>| match (hi, lo) {
        // A complex number of a lower group takes the precision of a real tensor.
        (Some(h), Some(l)) if l.is_complex() && h.is_float() => Some(h.complex()),
        (Some(h), Some(l)) if l.class() > h.class() => Some(promote_types(h, l)),
        (Some(h), _) => Some(h),
        (None, l) => l,
    };
    combine(combine(dim, zero), wrapped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use DType::*;

    #[test]
    fn promotion_matches_torch() {
        assert_eq!(promote_types(BF16, F16), F32);
        assert_eq!(promote_types(U8, I8), I16);
        assert_eq!(promote_types(I64, F16), F16);
        assert_eq!(promote_types(F64, C64), C128);
        assert_eq!(result_type([(F32, false, false), (F64, true, true)]), Some(F32));
        assert_eq!(result_type([(I64, false, false), (F64, true, true)]), Some(F32));
        assert_eq!(result_type([(BF16, false, false), (F32, true, false)]), Some(BF16));
        assert_eq!(result_type([(I32, false, false), (I64, true, false)]), Some(I32));
    }
}
