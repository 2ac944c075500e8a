//! What an attention call is: sizes and strides that a plan builds once, and the pointers of one run.

use tnrs_types::DType;

/// Element strides of a (batch, head, row, inner) tensor.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Strides4 {
    /// Between batches.
    pub b: isize,
    /// Between heads.
    pub h: isize,
    /// Between rows (queries or keys).
    pub r: isize,
    /// Between elements of a row.
    pub d: isize,
}

/// Scaled dot-product attention over q (B,H,M,D), k (B,Hk,N,D), v (B,Hk,N,Dv); see [`forward`](super::forward).
#[derive(Clone, Debug, PartialEq)]
pub struct AttentionDesc {
    /// Element type of q, k, v, out and their gradients: F32, BF16, F16 (or F64, by a plain loop).
    pub dtype: DType,
    /// B.
    pub batch: usize,
    /// H, a multiple of `kv_heads`; query head h reads key head h / (H / Hk).
    pub heads: usize,
    /// Hk.
    pub kv_heads: usize,
    /// M.
    pub queries: usize,
    /// N.
    pub keys: usize,
    /// D.
    pub head_dim: usize,
    /// Dv.
    pub value_dim: usize,
    /// Strides of q.
    pub q: Strides4,
    /// Strides of k.
    pub k: Strides4,
    /// Strides of v.
    pub v: Strides4,
    /// Strides of out.
    pub out: Strides4,
    /// Multiplies q·kᵀ.
    pub scale: f64,
    /// Mask keys j > i.
    pub causal: bool,
    /// Element type and strides (b, h, i, j) of the additive bias; strides may be 0.
    pub bias: Option<(DType, Strides4)>,
    /// Probability of dropping a weight, in [0, 1].
    pub dropout: f64,
}

/// Memory of one forward run.
#[derive(Clone, Copy, Debug)]
pub struct ForwardPtrs {
    /// q.
    pub q: *const u8,
    /// k.
    pub k: *const u8,
    /// v.
    pub v: *const u8,
    /// The bias, or null.
    pub bias: *const u8,
    /// out.
    pub out: *mut u8,
    /// lse: dense (B,H,M); f32 (f64 for F64).
    pub lse: *mut u8,
    /// Philox key; read only with dropout.
    pub seed: u64,
    /// Philox offset; read only with dropout.
    pub offset: u64,
}

/// Strides of the operands that only the backward has.
#[derive(Clone, Debug, PartialEq)]
pub struct BackwardDesc {
    /// The forward.
    pub forward: AttentionDesc,
    /// Strides of dout.
    pub dout: Strides4,
    /// Strides of dq.
    pub dq: Strides4,
    /// Strides of dk.
    pub dk: Strides4,
    /// Strides of dv.
    pub dv: Strides4,
    /// Element type (the bias's or F32) and strides of dbias, which has the full sizes (B,H,M,N); no stride is 0.
    pub dbias: Option<(DType, Strides4)>,
}

/// Memory of one backward run.
#[derive(Clone, Copy, Debug)]
pub struct BackwardPtrs {
    /// The forward's operands and results (read).
    pub forward: ForwardPtrs,
    /// dout.
    pub dout: *const u8,
    /// dq.
    pub dq: *mut u8,
    /// dk.
    pub dk: *mut u8,
    /// dv.
    pub dv: *mut u8,
    /// dbias, or null.
    pub dbias: *mut u8,
}
