"""Exceptions of the checks, each with its reason."""

import torch

# (operator, dtype): (atol, rtol), where PyTorch's own are too narrow.
WIDER = {
    # The CPU filters bytes with integer weights of 16 bits.
    ("_upsample_bilinear2d_aa", torch.uint8): (1, 0),
    # Operands of 10⁴ leave e^x few digits: the CPU is as far from the gradients in f64.
    ("logcumsumexp", torch.float32): (1e-2, 1e-2),
    # The CPU errs by up to 3e-6 of scipy, the device by 2e-14 (test_special.py).
    ("special.airy_ai", torch.float64): (1e-5, 1e-5),
    ("special.bessel_j0", torch.float64): (1e-6, 1e-5),
    ("special.bessel_j1", torch.float64): (1e-6, 1e-5),
    ("special.bessel_y0", torch.float64): (1e-6, 1e-5),
    ("special.bessel_y1", torch.float64): (1e-6, 1e-5),
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
    "nn.functional.fractional_max_pool2d",
    "nn.functional.fractional_max_pool3d",
    "nn.functional.rrelu",
    "normal",
    "normal.in_place",
    "normal.number_mean",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "resize_",
    "resize_as_",
    "svd_lowrank",  # projects at random
    "uniform",
}

# Operators that look at the memory behind their operand: a view of other memory is another operand.
MEMORY = {"as_strided", "as_strided.partial_views", "as_strided_copy", "as_strided_scatter", "resize_", "resize_as_"}

# Operators whose operands but the first PyTorch wants on the CPU for every device.
HOST_OPERANDS = {"tensor_split"}

# Modules whose results are random in training.
RANDOM_IN_TRAINING = {
    "nn.AlphaDropout",
    "nn.Dropout",
    "nn.Dropout1d",
    "nn.Dropout2d",
    "nn.Dropout3d",
    "nn.FeatureAlphaDropout",
    "nn.FractionalMaxPool2d",
    "nn.FractionalMaxPool3d",
    "nn.RReLU",
    "nn.Transformer",
    "nn.TransformerDecoderLayer",
    "nn.TransformerEncoder",
    "nn.TransformerEncoderLayer",
}

# Whether a sample of these drops elements at random, and is left out.
DROPOUT = {
    "nn.functional.multi_head_attention_forward": lambda sample: sample.kwargs.get("training", False),
    "nn.functional.scaled_dot_product_attention": lambda sample: sample.kwargs.get("dropout_p", 0.0) > 0,
}

# Operators that return statistics after the result. The CPU keeps them in the operand's dtype; PyTorch's meta kernels and
# other devices return f32.
STATISTICS = {"native_layer_norm"}

# Operators that leave open which of equal elements they find; the value is the dim they search.
TIES = {
    "kthvalue": lambda k, dim=-1, keepdim=False: dim,
    "mode": lambda dim=-1, keepdim=False: dim,
    "sort": lambda dim=-1, descending=False, stable=False: dim,
    "topk": lambda k, dim=-1, largest=True, sorted=True: dim,
}

# Operators that determine their results only up to a factor, or a rotation, of the vectors. PyTorch's own samples say which
# part of the results, or which function of them, is determined.
UNDETERMINED = {"linalg.eig", "linalg.eigh", "linalg.svd", "pca_lowrank", "svd", "svd_lowrank"}

# Operator and check: why it differs from the CPU, for the ledger. An entry that no failure needs is an error.
_UNSTABLE = "the CPU's default sort is not stable; the device's is, so among equal elements it finds others"
EXPECTED = {
    "argsort values": _UNSTABLE,
    "msort gradients": _UNSTABLE,
}
