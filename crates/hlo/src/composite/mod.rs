//! Composites: named operations with a decomposition into plain ops (StableHLO's `composite`).
//!
//! An executor that knows the name runs its own kernel; any other runs [`Composite::decompose`], which is
//! therefore the definition of the operation. Softcore maps each to one fused kernel, the hardware path to the
//! compiler's custom calls, and the reference interpreter and XLA run the decomposition.
//!
//! Reduced-float operands: a decomposition upcasts to f32 first and rounds once at the end.

mod activation;
mod attention;
mod attention_grad;
mod decompose;
mod math;
mod name;
mod norm;
mod norm_grad;
mod optim;
mod pack;
mod philox;
mod scan;
mod softmax;
mod window;

/// A named operation. Operand and result lists are in the comment of each variant.
#[derive(Clone, Debug, PartialEq)]
pub enum Composite {
    /// `gelu(x)`: x·Φ(x) by erf, or the tanh approximation.
    Gelu {
        /// Use the tanh approximation.
        tanh: bool,
    },
    /// `gelu_grad(dy, x)`.
    GeluGrad {
        /// Use the tanh approximation.
        tanh: bool,
    },
    /// `silu(x)` = x·σ(x).
    Silu,
    /// `silu_grad(dy, x)`.
    SiluGrad,
    /// `softmax(x)` along a dim; the result's element type may differ from the operand's (f32 from bf16 and back).
    Softmax {
        /// The dim.
        dim: i64,
        /// Log-softmax instead.
        log: bool,
    },
    /// `softmax_grad(dy, y)` along a dim, from the forward's result.
    SoftmaxGrad {
        /// The dim.
        dim: i64,
        /// Of log-softmax instead.
        log: bool,
    },
    /// `layer_norm(x[, w, b])` over the dims from `axis` on → `(y, mean, rstd)`; mean and rstd have the leading dims
    /// and size-1 trailing dims, in f32 for reduced floats' opmath (else x's type). w and b have the trailing dims.
    LayerNorm {
        /// First normalised dim.
        axis: i64,
        /// Added to the variance.
        eps: f64,
        /// Operand w is present.
        weight: bool,
        /// Operand b is present (after w).
        bias: bool,
    },
    /// `layer_norm_grad(dy, x, mean, rstd[, w])` → `(dx, dw, db)`.
    LayerNormGrad {
        /// First normalised dim.
        axis: i64,
        /// Operand w is present.
        weight: bool,
    },
    /// `rms_norm(x[, w])` over the dims from `axis` on → `(y, rstd)`.
    RmsNorm {
        /// First normalised dim.
        axis: i64,
        /// Added to the mean square.
        eps: f64,
        /// Operand w is present.
        weight: bool,
    },
    /// `rms_norm_grad(dy, x, rstd[, w])` → `(dx, dw)`.
    RmsNormGrad {
        /// First normalised dim.
        axis: i64,
        /// Operand w is present.
        weight: bool,
    },
    /// Scaled dot-product attention: `sdpa(q, k, v[, bias][, seed, offset])` with q (B, H, M, D), k (B, Hk, N, D),
    /// v (B, Hk, N, Dv), H a multiple of Hk → `(out (B,H,M,Dv), lse f32 (B,H,M))`. `bias` is additive and has the full
    /// sizes (B, H, M, N) (its strides may be 0). With dropout, element (b,h,i,j) is kept when its Philox uniform
    /// (see [`Composite::Philox`], linear index over (B,H,M,N)) is below 1 - p, and scaled by 1/(1-p).
    /// The uniform of a word w is (w >> 8)·2⁻²⁴ in f32, and 1 - p is rounded to f32 for the comparison. A row of scores
    /// that are all -inf has weights 0 and lse -inf.
    Sdpa {
        /// Multiplies q·kᵀ.
        scale: f64,
        /// Mask j > i.
        causal: bool,
        /// Operand bias is present.
        bias: bool,
        /// Probability of dropping a weight; above 0 the operands seed and offset (u64 scalars) are present.
        dropout: f64,
    },
    /// `sdpa_grad(dout, q, k, v, out, lse[, bias][, seed, offset])` → `(dq, dk, dv[, dbias])`.
    SdpaGrad {
        /// Multiplies q·kᵀ.
        scale: f64,
        /// Mask j > i.
        causal: bool,
        /// Operand bias is present.
        bias: bool,
        /// As in the forward.
        dropout: f64,
        /// Result dbias is wanted.
        bias_grad: bool,
    },
    /// `philox(seed, offset)` (u64 scalars) → u32 of the result's sizes. Element i is word i%4 of Philox4x32-10 with
    /// key = seed (lo, hi) and counter = offset + i/4 as a 128-bit number (offset in the low 64 bits).
    Philox,
    /// One Adam or AdamW step: `(p, g, m, v[, vmax], step, lr[, grad_scale, found_inf])`, scalars rank-0 f32 (or f64
    /// for f64 tensors), `step` already incremented → `(p, m, v[, vmax])`. With found_inf ≠ 0 nothing changes.
    AdamStep {
        /// β₁.
        beta1: f64,
        /// β₂.
        beta2: f64,
        /// Weight decay.
        weight_decay: f64,
        /// Added to the denominator.
        eps: f64,
        /// AdamW: decay applied to the parameter, not the gradient.
        decoupled: bool,
        /// Maximum of all second moments.
        amsgrad: bool,
        /// Ascend.
        maximize: bool,
        /// Operands grad_scale and found_inf are present.
        scaled: bool,
    },
    /// One SGD step: `(p, g[, momentum_buffer], lr[, grad_scale, found_inf])` → `(p[, momentum_buffer])`.
    SgdStep {
        /// Weight decay.
        weight_decay: f64,
        /// Momentum; 0 means no buffer operand.
        momentum: f64,
        /// Dampening.
        dampening: f64,
        /// Nesterov momentum.
        nesterov: bool,
        /// Ascend.
        maximize: bool,
        /// The buffer is taken as the gradient, not updated from itself.
        first_step: bool,
        /// Operands grad_scale and found_inf are present.
        scaled: bool,
    },
    /// `arg_reduce(x)` along a dim → (value, i64 index) with the dim removed; ties give the first index, NaN wins.
    ArgReduce {
        /// The dim.
        dim: i64,
        /// Maximum, else minimum.
        max: bool,
    },
    /// Cumulative reduction along a dim, same sizes.
    Cumulative {
        /// The dim.
        dim: i64,
        /// Add, Multiply, Maximum or Minimum.
        kind: crate::ReduceKind,
    },
    /// `max_pool(x)` over windows of the trailing dims → (value, i64 flat position in those dims of x): the first of
    /// equals, the last NaN; the results state how many windows there are. Padding never wins.
    MaxPool {
        /// Elements of a window, per dim.
        kernel: tnrs_types::Dims,
        /// Between neighbouring windows.
        stride: tnrs_types::Dims,
        /// Positions before the data.
        padding: tnrs_types::Dims,
        /// Between the elements of a window.
        dilation: tnrs_types::Dims,
    },
    /// `compact(mask, x)`, a bool and any elements, both (n) → `(y (n), count)`: the elements where the mask holds, in
    /// order, and how many there are (i64). What follows the first `count` elements of y is unspecified.
    Compact,
    /// `nonzero(mask)` of a bool of any rank → `(at i64 (numel, rank), count)`: coordinates of the elements that hold,
    /// in row-major order, and how many there are (i64). What follows the first `count` rows is unspecified.
    Nonzero,
    /// `check_index(indices)` → indices unchanged. An executor reports a fault unless `lo <= index < hi` for all.
    CheckIndex {
        /// Least legal index.
        lo: i64,
        /// One past the greatest legal index.
        hi: i64,
        /// The operator that the message names, such as `aten::embedding`.
        site: &'static str,
        /// The dim that the message names.
        dim: i64,
        /// The exception that the fault becomes.
        raises: tnrs_types::Raises,
    },
    /// `assert(pred)` of a bool of any sizes → pred unchanged. An executor reports a fault unless all hold.
    Assert {
        /// What the fault says.
        message: &'static str,
    },
}
