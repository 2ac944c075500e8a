//! StableHLO and CHLO names of the functions, with the labels of their type constraint.

use tnrs_types::{BinaryKind, CompareDir, FftKind, ReduceKind, ScatterKind, UnaryKind};

use crate::Op;

macro_rules! table {
    ($(#[$doc:meta])* $table:ident, $get:ident, $enum:ident: $($kind:ident = $name:literal;)*) => {
        $(#[$doc])*
        pub const $table: &[($enum, &str)] = &[$(($enum::$kind, $name),)*];

        /// The name and the label `<name>_c1`.
        pub(crate) fn $get(kind: $enum) -> (&'static str, &'static str) {
            match kind { $($enum::$kind => ($name, concat!($name, "_c1")),)* }
        }
    };
}

table! {
    /// Every unary function with its StableHLO or CHLO name.
    UNARY, unary, UnaryKind:
    Abs = "abs";
    Cbrt = "cbrt";
    Ceil = "ceil";
    CountLeadingZeros = "count_leading_zeros";
    Cosine = "cosine";
    Exponential = "exponential";
    ExponentialMinusOne = "exponential_minus_one";
    Floor = "floor";
    Imag = "imag";
    IsFinite = "is_finite";
    Log = "log";
    LogPlusOne = "log_plus_one";
    Logistic = "logistic";
    Negate = "negate";
    Not = "not";
    Popcnt = "popcnt";
    Real = "real";
    RoundNearestAfz = "round_nearest_afz";
    RoundNearestEven = "round_nearest_even";
    Rsqrt = "rsqrt";
    Sign = "sign";
    Sine = "sine";
    Sqrt = "sqrt";
    Tan = "tan";
    Tanh = "tanh";
    Acos = "acos";
    Acosh = "acosh";
    Asin = "asin";
    Asinh = "asinh";
    Atan = "atan";
    Atanh = "atanh";
    Conj = "conj";
    Cosh = "cosh";
    Digamma = "digamma";
    Erf = "erf";
    Erfc = "erfc";
    ErfInv = "erf_inv";
    IsInf = "is_inf";
    IsNan = "is_nan";
    Lgamma = "lgamma";
    Sinh = "sinh";
    Trunc = "trunc";
}

table! {
    /// Every binary function with its StableHLO name.
    BINARY, binary, BinaryKind:
    Add = "add";
    And = "and";
    Atan2 = "atan2";
    Complex = "complex";
    Divide = "divide";
    Maximum = "maximum";
    Minimum = "minimum";
    Multiply = "multiply";
    Or = "or";
    Power = "power";
    Remainder = "remainder";
    ShiftLeft = "shift_left";
    ShiftRightArithmetic = "shift_right_arithmetic";
    ShiftRightLogical = "shift_right_logical";
    Subtract = "subtract";
    Xor = "xor";
}

/// Every comparison direction with its StableHLO name.
pub const COMPARE: &[(CompareDir, &str)] = &[
    (CompareDir::Eq, "EQ"),
    (CompareDir::Ne, "NE"),
    (CompareDir::Lt, "LT"),
    (CompareDir::Le, "LE"),
    (CompareDir::Gt, "GT"),
    (CompareDir::Ge, "GE"),
];

/// Every reduction with the name of its body's op.
pub const REDUCE: &[(ReduceKind, &str)] = &[
    (ReduceKind::Add, "add"),
    (ReduceKind::Multiply, "multiply"),
    (ReduceKind::Maximum, "maximum"),
    (ReduceKind::Minimum, "minimum"),
    (ReduceKind::And, "and"),
    (ReduceKind::Or, "or"),
    (ReduceKind::Xor, "xor"),
];

/// Every scatter body with the name of its op (`set` returns the update).
pub const SCATTER: &[(ScatterKind, &str)] = &[
    (ScatterKind::Set, "set"),
    (ScatterKind::Add, "add"),
    (ScatterKind::Multiply, "multiply"),
    (ScatterKind::Maximum, "maximum"),
    (ScatterKind::Minimum, "minimum"),
];

/// Every Fourier transform with its StableHLO name.
pub const FFT: &[(FftKind, &str)] =
    &[(FftKind::Fft, "FFT"), (FftKind::Ifft, "IFFT"), (FftKind::Rfft, "RFFT"), (FftKind::Irfft, "IRFFT")];

/// Name of a member of one of the tables of this module.
pub(crate) fn name_of<T: PartialEq>(table: &[(T, &'static str)], member: &T) -> &'static str {
    table.iter().find(|(m, _)| m == member).map_or("?", |(_, name)| name)
}

impl Op {
    /// The op's StableHLO name, CHLO name, or `composite`.
    pub fn name(&self) -> &'static str {
        match self {
            Op::Constant(_) => "constant",
            Op::Iota { .. } => "iota",
            Op::Unary(kind) => unary(*kind).0,
            Op::Binary(kind) => binary(*kind).0,
            Op::Compare(_) => "compare",
            Op::Select => "select",
            Op::Clamp => "clamp",
            Op::Convert => "convert",
            Op::BitcastConvert => "bitcast_convert",
            Op::BroadcastInDim { .. } => "broadcast_in_dim",
            Op::Reshape => "reshape",
            Op::Transpose { .. } => "transpose",
            Op::Slice { .. } => "slice",
            Op::DynamicSlice => "dynamic_slice",
            Op::DynamicUpdateSlice => "dynamic_update_slice",
            Op::Pad { .. } => "pad",
            Op::Concatenate { .. } => "concatenate",
            Op::Reverse { .. } => "reverse",
            Op::DotGeneral(_) => "dot_general",
            Op::Convolution(_) => "convolution",
            Op::Reduce { .. } => "reduce",
            Op::Gather(_) => "gather",
            Op::Scatter { .. } => "scatter",
            Op::Sort { .. } => "sort",
            Op::Fft { .. } => "fft",
            Op::Composite(_) => "composite",
            Op::CustomCall(_) => "custom_call",
        }
    }
}
