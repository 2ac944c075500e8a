//! Names of scalar functions, shared by the IR that uses them and the kernels that compute them.

/// Elementwise functions of one operand. Names are StableHLO's, or CHLO's where StableHLO has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each variant is the StableHLO or CHLO op of the same name")]
pub enum UnaryKind {
    Abs,
    Cbrt,
    Ceil,
    CountLeadingZeros,
    Cosine,
    Exponential,
    ExponentialMinusOne,
    Floor,
    Imag,
    IsFinite,
    Log,
    LogPlusOne,
    Logistic,
    Negate,
    Not,
    Popcnt,
    Real,
    RoundNearestAfz,
    RoundNearestEven,
    Rsqrt,
    Sign,
    Sine,
    Sqrt,
    Tan,
    Tanh,
    // CHLO
    Acos,
    Acosh,
    Asin,
    Asinh,
    Atan,
    Atanh,
    Conj,
    Cosh,
    Digamma,
    Erf,
    Erfc,
    ErfInv,
    IsInf,
    IsNan,
    Lgamma,
    Sinh,
    Trunc,
}

/// Elementwise functions of two operands of equal type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each variant is the StableHLO op of the same name")]
pub enum BinaryKind {
    Add,
    And,
    Atan2,
    Complex,
    Divide,
    Maximum,
    Minimum,
    Multiply,
    Or,
    Power,
    Remainder,
    ShiftLeft,
    ShiftRightArithmetic,
    ShiftRightLogical,
    Subtract,
    Xor,
}

/// Direction of `compare`. Floats compare by IEEE (NaN is unequal to everything), complex only EQ and NE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "StableHLO's comparison directions")]
pub enum CompareDir {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// The body of a `reduce`, with its neutral element: 0, 1, -inf (or the least integer), +inf, true, false, 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "named after the StableHLO op in the reduction body")]
pub enum ReduceKind {
    Add,
    Multiply,
    Maximum,
    Minimum,
    And,
    Or,
    Xor,
}

/// The body of a `scatter`: how an update meets the element. `Set` with repeated indices keeps the last update.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "named after the StableHLO op in the scatter body")]
pub enum ScatterKind {
    Set,
    Add,
    Multiply,
    Maximum,
    Minimum,
}

/// Which discrete Fourier transform. The inverse ones divide by the number of elements of the transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FftKind {
    /// Complex to complex, exponent −2πi.
    Fft,
    /// Complex to complex, exponent +2πi.
    Ifft,
    /// Real to the first ⌊n/2⌋ + 1 complex elements of the last dim.
    Rfft,
    /// The first ⌊n/2⌋ + 1 complex elements of the last dim to real.
    Irfft,
}
