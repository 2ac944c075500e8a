//! Constants, elementwise ops, conversions.

use tnrs_types::{BinaryKind, Class, CompareDir, DType, UnaryKind};

use super::check;
use crate::{names, HloError, Literal, TensorType};

type Inferred = Result<TensorType, HloError>;

/// Fails unless the op is defined for the element type.
fn supported(ok: bool, op: &'static str, dtype: DType) -> Result<(), HloError> {
    if ok {
        return Ok(());
    }
    Err(HloError::Unsupported { op, detail: dtype.hlo_name().to_owned() })
}

pub fn constant(literal: &Literal) -> Inferred {
    if let Literal::Dense(ty, bytes) = literal {
        let expected = ty.numel() as usize * ty.dtype.size();
        check!(
            bytes.len() == expected,
            "constant",
            "constant_c1",
            "{} bytes given for {ty}, {expected} needed",
            bytes.len()
        );
    }
    Ok(literal.ty().clone())
}

pub fn iota(dim: i64, want: &TensorType) -> Inferred {
    check!((0..want.rank() as i64).contains(&dim), "iota", "iota_c1", "dim {dim} of {want}");
    supported(want.dtype.class() != Class::Bool, "iota", want.dtype)?;
    Ok(want.clone())
}

pub fn unary(kind: UnaryKind, x: &TensorType) -> Inferred {
    use UnaryKind::*;
    let d = x.dtype;
    let (float, complex, int) = (d.is_float(), d.is_complex(), d.is_int());
    let ok = match kind {
        Abs | Sign => float || complex || (int && !d.is_unsigned()),
        Negate => float || complex || int,
        Not => int || d == DType::Bool,
        CountLeadingZeros | Popcnt => int,
        Real | Imag | Conj => float || complex,
        Cosine | Exponential | ExponentialMinusOne | Log | LogPlusOne | Logistic | Rsqrt | Sine | Sqrt
        | Tan | Tanh | Acos | Acosh | Asin | Asinh | Atan | Atanh | Cosh | Sinh => float || complex,
        Cbrt | Ceil | Floor | IsFinite | RoundNearestAfz | RoundNearestEven | Digamma | Erf | Erfc
        | ErfInv | IsInf | IsNan | Lgamma | Trunc => float,
    };
    supported(ok, names::unary(kind).0, d)?;
    let dtype = match kind {
        Abs | Real | Imag => d.real(),
        IsFinite | IsInf | IsNan => DType::Bool,
        _ => d,
    };
    Ok(TensorType { dtype, dims: x.dims.clone() })
}

pub fn binary(kind: BinaryKind, x: &TensorType, y: &TensorType) -> Inferred {
    use BinaryKind::*;
    let (name, label) = names::binary(kind);
    check!(x == y, name, label, "operands are {x} and {y}");
    let d = x.dtype;
    let ok = match kind {
        Add | Multiply | Maximum | Minimum => !(d.is_complex() && matches!(kind, Maximum | Minimum)),
        And | Or | Xor => d.is_int() || d == DType::Bool,
        ShiftLeft | ShiftRightArithmetic | ShiftRightLogical => d.is_int(),
        Complex => matches!(d, DType::F16 | DType::F32 | DType::F64),
        Atan2 => d.is_float() || d.is_complex(),
        Remainder => d.is_int() || d.is_float(),
        Divide | Power | Subtract => d != DType::Bool,
    };
    supported(ok, name, d)?;
    let dtype = match (kind, d) {
        (Complex, _) => d.complex(),
        _ => d,
    };
    Ok(TensorType { dtype, dims: x.dims.clone() })
}

pub fn compare(dir: CompareDir, x: &TensorType, y: &TensorType) -> Inferred {
    check!(x.dtype == y.dtype, "compare", "compare_c1", "operands are {x} and {y}");
    check!(x.dims == y.dims, "compare", "compare_c2", "operands are {x} and {y}");
    let ordered = !matches!(dir, CompareDir::Eq | CompareDir::Ne);
    check!(!(ordered && x.dtype.is_complex()), "compare", "compare_c3", "complex numbers have no order");
    Ok(TensorType { dtype: DType::Bool, dims: x.dims.clone() })
}

pub fn select(p: &TensorType, t: &TensorType, f: &TensorType) -> Inferred {
    check!(
        p.dtype == DType::Bool && (p.rank() == 0 || p.dims == t.dims),
        "select",
        "select_c1",
        "predicate is {p}, operands are {t}"
    );
    check!(t == f, "select", "select_c2", "operands are {t} and {f}");
    Ok(t.clone())
}

pub fn clamp(lo: &TensorType, x: &TensorType, hi: &TensorType) -> Inferred {
    check!(lo.rank() == 0 || lo.dims == x.dims, "clamp", "clamp_c1", "min is {lo}, operand is {x}");
    check!(hi.rank() == 0 || hi.dims == x.dims, "clamp", "clamp_c2", "max is {hi}, operand is {x}");
    check!(
        lo.dtype == x.dtype && hi.dtype == x.dtype,
        "clamp",
        "clamp_c3",
        "operands are {lo}, {x} and {hi}"
    );
    supported(!x.dtype.is_complex(), "clamp", x.dtype)?;
    Ok(x.clone())
}

pub fn convert(x: &TensorType, want: &TensorType) -> Inferred {
    check!(x.dims == want.dims, "convert", "convert_c1", "operand is {x}, result is {want}");
    Ok(want.clone())
}

pub fn bitcast_convert(x: &TensorType, want: &TensorType) -> Inferred {
    check!(
        x.dims == want.dims && x.dtype.size() == want.dtype.size(),
        "bitcast_convert",
        "bitcast_convert_c1",
        "operand is {x}, result is {want}"
    );
    check!(
        x.dtype.is_complex() == want.dtype.is_complex(),
        "bitcast_convert",
        "bitcast_convert_c2",
        "operand is {x}, result is {want}"
    );
    let bool_on_one_side = (x.dtype == DType::Bool) != (want.dtype == DType::Bool);
    supported(!bool_on_one_side, "bitcast_convert", DType::Bool)?;
    Ok(want.clone())
}
