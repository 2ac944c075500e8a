//! What a matrix multiplication is: plain numbers that a plan builds once, and the pointers of one run.

use tnrs_types::{DType, Dims};

/// Element strides of one matrix operand. Strides may be 0 (broadcast) or negative.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct MatStrides {
    /// From one row to the next.
    pub row: isize,
    /// From one column to the next.
    pub col: isize,
    /// One stride for each dim of [`GemmDesc::batch`].
    pub batch: Dims,
}

/// The function applied last but for the residual.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Activation {
    /// Identity.
    #[default]
    None,
    /// max(x, 0); NaN stays NaN.
    Relu,
    /// x·Φ(x) by erf.
    Gelu,
    /// GELU by the tanh approximation.
    GeluTanh,
    /// x·σ(x).
    Silu,
}

/// A vector added to every row or every column of the product.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bias {
    /// F32, or the element type of C.
    pub dtype: DType,
    /// Element stride; 0 repeats one element.
    pub stride: isize,
}

/// A matrix added to the product.
#[derive(Clone, Debug, PartialEq)]
pub struct Residual {
    /// F32, or the element type of C.
    pub dtype: DType,
    /// Where its elements lie; it may be C itself.
    pub strides: MatStrides,
    /// Its factor. With 0 the memory is not read.
    pub beta: f64,
}

/// `C[b] = act(alpha · A[b]·B[b] + bias_cols + bias_rows) + beta · R[b]`
///
/// A is m×k and B is k×n, both of `dtype`; C is m×n of `out`. Floats of 16 bits accumulate in f32 and round once.
/// Integers wrap and take no activation; `Bool` is not a type of this operation.
#[derive(Clone, Debug, PartialEq)]
pub struct GemmDesc {
    /// Element type of A and B.
    pub dtype: DType,
    /// Element type of C: `dtype`, or F32 for operands of 16 bits.
    pub out: DType,
    /// Rows of A and C.
    pub m: usize,
    /// Columns of B and C.
    pub n: usize,
    /// Columns of A, rows of B. With 0 the product is zero.
    pub k: usize,
    /// Batch sizes (empty: one matrix).
    pub batch: Dims,
    /// A.
    pub a: MatStrides,
    /// B.
    pub b: MatStrides,
    /// C; its elements must not overlap each other.
    pub c: MatStrides,
    /// Factor of the product (real).
    pub alpha: f64,
    /// A vector of n elements, the same for each batch.
    pub bias_cols: Option<Bias>,
    /// A vector of m elements, the same for each batch.
    pub bias_rows: Option<Bias>,
    /// The activation, for floats only.
    pub activation: Activation,
    /// The matrix added last.
    pub residual: Option<Residual>,
}

impl GemmDesc {
    /// Dense row-major `m×k · k×n` of one type, no batch and no epilogue.
    pub fn dense(dtype: DType, m: usize, n: usize, k: usize) -> GemmDesc {
        let strides = |cols: usize| MatStrides { row: cols as isize, col: 1, batch: Dims::new() };
        GemmDesc {
            dtype,
            out: dtype,
            m,
            n,
            k,
            batch: Dims::new(),
            a: strides(k),
            b: strides(n),
            c: strides(n),
            alpha: 1.0,
            bias_cols: None,
            bias_rows: None,
            activation: Activation::None,
            residual: None,
        }
    }
}

/// Base pointers of one run (element `[0, 0]` of batch 0). Unused ones are null.
#[derive(Clone, Copy, Debug)]
pub struct GemmPtrs {
    /// A.
    pub a: *const u8,
    /// B.
    pub b: *const u8,
    /// C.
    pub c: *mut u8,
    /// The bias over columns.
    pub bias_cols: *const u8,
    /// The bias over rows.
    pub bias_rows: *const u8,
    /// The residual.
    pub residual: *const u8,
}

impl GemmPtrs {
    /// Pointers of a multiplication without bias and residual.
    pub fn new(a: *const u8, b: *const u8, c: *mut u8) -> GemmPtrs {
        let none = std::ptr::null();
        GemmPtrs { a, b, c, bias_cols: none, bias_rows: none, residual: none }
    }
}
