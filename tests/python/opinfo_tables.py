"""Tolerances and exceptions of the operator database checks."""

import torch

# (atol, rtol) by dtype. Wider than PyTorch's defaults where the CPU itself rounds differently.
TOLERANCE = {
    torch.float32: (2e-5, 1e-4),
    torch.float64: (1e-7, 1e-7),
    torch.complex64: (5e-5, 2e-4),
    torch.complex128: (1e-7, 1e-7),
    torch.float16: (2e-3, 2e-3),
    torch.bfloat16: (1.6e-2, 1.6e-2),
}

# (operator, dtype): (atol, rtol).
WIDER = {
    # The CPU filters bytes with integer weights of 16 bits.
    ("_upsample_bilinear2d_aa", torch.uint8): (1, 0),
    # Operands of 10⁴ leave e^x few digits: the CPU is as far from the gradients in f64.
    ("logcumsumexp", torch.float32): (1e-2, 1e-2),
}

# Operators whose values are random (test_random_distributions.py looks at those) or unset: sizes and dtypes are compared.
RANDOM = {
    "bernoulli",
    "cauchy",
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "exponential",
    "geometric",
    "log_normal",
    "multinomial",
    "new_empty",
    "new_empty_strided",
    "nn.functional.alpha_dropout",
    "nn.functional.dropout",
    "nn.functional.dropout2d",
    "nn.functional.dropout3d",
    "nn.functional.feature_alpha_dropout.with_train",
    "nn.functional.rrelu",
    "normal",
    "normal.in_place",
    "normal.number_mean",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "uniform",
}

# Whether a sample of these drops elements at random, and is left out.
DROPOUT = {
    "nn.functional.multi_head_attention_forward": lambda sample: sample.kwargs.get("training", False),
    "nn.functional.scaled_dot_product_attention": lambda sample: sample.kwargs.get("dropout_p", 0.0) > 0,
}

# Operators that return statistics after the result. The CPU keeps them in the operand's dtype, and leaves them empty in
# evaluation; PyTorch's meta kernels and other devices return f32, and the running statistics.
STATISTICS = {"native_layer_norm", "native_batch_norm", "_native_batch_norm_legit", "_batch_norm_with_update"}

# Operators that leave open which of equal elements they find; the value is the dim they search.
TIES = {
    "kthvalue": lambda k, dim=-1, keepdim=False: dim,
    "sort": lambda dim=-1, descending=False, stable=False: dim,
    "topk": lambda k, dim=-1, largest=True, sorted=True: dim,
}

# Operators whose result is such indices alone; the value is again the dim they search.
ORDERS = {"argsort": lambda dim=-1, descending=False, stable=False: dim}

_SIZE = "the result's size depends on the data, which has no native rule"
_DECOMPOSITION = "matrix decompositions have no native rule"
_VIEW = "PyTorch's derivative takes a view, which fails on the CPU as well"
_SPARSE = "sparse tensors are not for this device"
_LATER = "an index out of range is found on the device, later than the call, and is an IndexError wherever it is found"
_SHARED = "out= may share memory with an operand: the device reads all before it writes"
_ARGUMENTS = "the operator takes other arguments than the OpInfo passes, on the CPU as well"
_WEIGHTS = "weights are not read back to be checked"

# Operator, dtype and check: why it differs from the CPU. Strict: an exception that passes is an error.
EXPECTED = {
    "_batch_norm_with_update float32 out": _ARGUMENTS,
    "_native_batch_norm_legit float32 out": "this out= overload has no native rule",
    "cat float32 errors": _SHARED,
    "complex float32 errors": "an out= of another dtype is converted to",
    "gather float32 errors": _LATER,
    "index_fill float32 noncontiguous": _SIZE,
    "index_fill float32 values": _SIZE,
    "index_put float32 noncontiguous": _SIZE,
    "index_put float32 values": _SIZE,
    "index_select float32 errors": "an overlapping out= of other sizes is resized before it is looked at",
    "kthvalue float32 errors": _SHARED,
    "linalg.polar float32 noncontiguous": _DECOMPOSITION,
    "linalg.polar float32 out": _DECOMPOSITION,
    "linalg.polar float32 values": _DECOMPOSITION,
    "masked_fill float32 noncontiguous": _SIZE,
    "masked_fill float32 values": _SIZE,
    "masked_scatter float32 noncontiguous": _SIZE,
    "masked_scatter float32 values": _SIZE,
    "multinomial float32 errors": _WEIGHTS,
    "nn.functional.max_unpool2d float32 noncontiguous": _VIEW,
    "nn.functional.max_unpool3d float32 noncontiguous": _VIEW,
    "nn.functional.max_unpool3d.grad float32 noncontiguous": _VIEW,
    "norm.nuc float32 noncontiguous": _DECOMPOSITION,
    "norm.nuc float32 out": _DECOMPOSITION,
    "norm.nuc float32 values": _DECOMPOSITION,
    "prod float32 noncontiguous": _SIZE,
    "prod float32 values": _SIZE,
    "scatter float32 errors": _LATER,
    "scatter_add float32 errors": _LATER,
    "sparse.mm.reduce float32 noncontiguous": _SPARSE,
    "sparse.mm.reduce bfloat16 values": _SPARSE,
    "sparse.mm.reduce float32 values": _SPARSE,
    "take float32 errors": _SHARED,
}

# Operators without a native rule, by why not. Each is still run once in f32, and is an error here if it passes.
NOT_NATIVE = {
    "matrix decompositions": (
        "cholesky_inverse",
        "cholesky_solve",
        "geqrf",
        "linalg.cholesky",
        "linalg.cholesky_ex",
        "linalg.cond",
        "linalg.det",
        "linalg.eig",
        "linalg.eigh",
        "linalg.eigvals",
        "linalg.eigvalsh",
        "linalg.householder_product",
        "linalg.inv",
        "linalg.inv_ex",
        "linalg.ldl_factor",
        "linalg.ldl_factor_ex",
        "linalg.ldl_solve",
        "linalg.lstsq",
        "linalg.lstsq.grad_oriented",
        "linalg.lu",
        "linalg.lu_factor",
        "linalg.lu_factor_ex",
        "linalg.lu_solve",
        "linalg.matrix_rank",
        "linalg.matrix_rank.hermitian",
        "linalg.matrix_sqrth",
        "linalg.pinv",
        "linalg.pinv.hermitian",
        "linalg.pinv.singular",
        "linalg.qr",
        "linalg.slogdet",
        "linalg.solve",
        "linalg.solve_ex",
        "linalg.solve_triangular",
        "linalg.svd",
        "linalg.svdvals",
        "linalg.tensorinv",
        "linalg.tensorsolve",
        "logdet",
        "lu",
        "lu_solve",
        "lu_unpack",
        "matrix_exp",
        "ormqr",
        "pca_lowrank",
        "pinverse",
        "svd",
        "svd_lowrank",
        "triangular_solve",
    ),
    "sizes that depend on the data": (
        "argwhere",
        "masked_select",
        "nonzero",
        "tensor_split",
        "unique",
        "unique_consecutive",
    ),
    "special functions and polynomials": (
        "igamma",
        "igammac",
        "special.airy_ai",
        "special.bessel_j0",
        "special.bessel_j1",
        "special.bessel_y0",
        "special.bessel_y1",
        "special.chebyshev_polynomial_t",
        "special.chebyshev_polynomial_u",
        "special.chebyshev_polynomial_v",
        "special.chebyshev_polynomial_w",
        "special.hermite_polynomial_h",
        "special.hermite_polynomial_he",
        "special.laguerre_polynomial_l",
        "special.legendre_polynomial_p",
        "special.modified_bessel_k0",
        "special.modified_bessel_k1",
        "special.scaled_modified_bessel_k0",
        "special.scaled_modified_bessel_k1",
        "special.shifted_chebyshev_polynomial_t",
        "special.shifted_chebyshev_polynomial_u",
        "special.shifted_chebyshev_polynomial_v",
        "special.shifted_chebyshev_polynomial_w",
    ),
    "sparse and segmented tensors": (
        "_segment_reduce.lengths",
        "_segment_reduce.offsets",
        "sparse.sampled_addmm",
        "to_sparse",
    ),
    "other operators": (
        "frexp",
        "hash_tensor",
        "histogram",
        "histogramdd",
        "mode",
        "nn.functional.ctc_loss",
        "nn.functional.fractional_max_pool2d",
        "nn.functional.fractional_max_pool3d",
        "nn.functional.multilabel_margin_loss",
        "nn.functional.pdist",
        "torch.ops.aten._scaled_dot_product_flash_attention_for_cpu",
    ),
}
