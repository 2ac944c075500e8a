"""Tests that device `cpu` passes and `neuron` does not, with the reason. Checked both ways: a failure that no entry
covers fails the run, and so does an entry that covers no failure of a full run.

Each key is a regular expression, searched in the test's name; its value is the reason.
"""

_GELU = "the CPU's vectorized GELU of infinity is NaN; the limit is infinity, which the device returns"
_ROWS = "the CPU's fused attention returns 0 for a row of scores that is NaN; the device keeps the NaN"
_GEMM = "infinity times a complex number: which parts are NaN depends on the order of the partial sums in the library"
_CONV = "the CPU's bfloat16 convolution spreads NaN over whole blocks; the device keeps it to the window"
_STAT = "the saved statistics stay float32, as on CUDA; the CPU rounds them to the input's type"
_LINE = "which of a line's coefficients NaN reaches is the order of the library's butterflies; every one depends on it"
_SORT = "the CPU's mode sorts unstably, by a comparison that NaN breaks: the index among equals and NaN are by position"
_LOG1P = "the CPU's complex log1p of a finite and an infinite part is NaN for some finite parts; the limit is infinity"
_TAIL = "the CPU treats NaN and infinity in its vectors otherwise than in the elements that fill none"
_VOXEL = "the CPU's bfloat16 kernel converts a position of NaN to an integer, which is undefined, and reads a pixel there"
_SUMS = "the CPU rounds every partial sum to 16 bits; the device rounds once"
_GAMMA = "the CPU's derivative is a rational approximation of five digits; the device integrates"
_OVERLAP = "the suite's copy of an operand to another device has no overlap left, so that no error can be expected"
_STRIDES = "the suite takes it that a copy on another device keeps gaps and offset, as one on the same device does"
_GENERATOR = "the suite passes a generator of the CPU, which PyTorch refuses for tensors of another device"
_RANDOM = "random numbers are those of the device's own generator"
_DIRICHLET = "the CPU's rational approximation is good to three digits"
_UNSET = "the CPU leaves what lies behind the end of a target as it found the memory"
_CONSTRUCTOR = "PyTorch makes the tensor on the CPU where no device is named; so does CUDA, for operands on the device"
_LAST_DIGIT = "equal to the last digit is asked of logarithms"
_CANCELS = "float32 weights are added in another order, and their sum less twice another cancels"
_BOOL_POWER = "PyTorch's inference takes powers of truth values for integers"
_EXP = "the CPU's matrix_exp of half types is NaN or infinite even for small norms; the device's is exact to rounding"
_SINGLE = "the CPU's float32 matrix_exp is off by up to 4e-5 of the exact value, the device's by 6e-8"
_NOISE = "the suite compares memory that it never set"
_OUT = "the CPU's out= overload averages over memory that it is writing: it returns the first loss"
_START = "the iteration starts from random numbers of the device's own generator; its gradients depend on them"
_ENDS = "whether LAPACK's iteration ends for infinite complex data, in NaN or in an error, is an accident of its rounding"

_SPECIAL = r"test_op_forward\[has_(nan|inf)-"

EXPECTED = {
    _SPECIAL + r"nn\.functional\.gelu-torch\.(float32|bfloat16)\]": _GELU,
    r"variant\[gelu(_|\.out)\[": _GELU,
    _SPECIAL + r"(nn\.functional\.scaled_dot_product|torch\.ops\.aten\._scaled_dot_product_flash)_attention": _ROWS,
    _SPECIAL + r"(addbmm-torch\.complex64|baddbmm-torch\.complex)": _GEMM,
    _SPECIAL + r"nn\.functional\.(conv[12]d|conv_transpose[123]d)-torch\.bfloat16\]": _CONV,
    r"variant\[_?convolution(\.deprecated|\.out)?\[": _CONV,
    _SPECIAL + r"native_layer_norm-torch\.(b?float16)\]": _STAT,
    _SPECIAL + r"(fft\.|stft-|istft-torch\.complex)": _LINE,
    r"test_op_(forward\[(clean|has_nan)-|backward\[)mode-": _SORT,
    _SPECIAL + r"log1p-torch\.complex": _LOG1P,
    r"variant\[log1p(_|\.out)\[": _LOG1P,
    r"variant\[(sgn_?(\.out)?|_add_relu_?\.(Tensor|Scalar|Scalar_out|out))\[": _TAIL,
    r"test_op_forward\[has_nan-grid_sampler_3d-torch\.bfloat16\]": _VOXEL,
    r"test_op_backward\[grid_sampler_(2d-torch\.bfloat16|3d-torch\.b?float16)\]": _SUMS,
    r"test_op_forward\[clean-(addbmm-torch\.bfloat16|nn\.functional\.conv_transpose3d-torch\.float16)\]": _SUMS,
    r"variant\[_standard_gamma_grad(\.out)?\[": _GAMMA,
    r"test_op_errors\[(bernoulli|index_select|masked_select|take)\]": _OVERLAP,
    r"test_generated_view_alias\[ravel|test_stride_and_storage_offset_metadata": _STRIDES,
    r"variant\[(_sample_dirichlet|binomial)(\.out)?\[|variant\[poisson\.out\[": _GENERATOR,
    r"\[(clean-)?nn\.functional\.rrelu-torch\.(bfloat16|float32|float64)\]": _RANDOM,
    r"variant\[_dirichlet_grad(\.out)?\[": _DIRICHLET,
    r"variant\[_ctc_loss\[": _UNSET,
    r"test_sparse_low_level_constructor_overloads": _CONSTRUCTOR,
    r"test_quantize_out_variants|test_quantize_tensor_list_and_dequantize_out_variants": _CONSTRUCTOR,
    r"test_make_quantized_out_and_empty_quantized|test_quantized_(batch_norm_out|max_pool_variants)": _CONSTRUCTOR,
    r"test_sparse_low_level_reduction_and_softmax_variants": _LAST_DIGIT,
    r"test_op_backward\[cov-torch\.float64\]": _CANCELS,
    r"_foreach_pow_\.ScalarList\[L4\]-torch\.bool": _BOOL_POWER,
    r"test_op_(forward|backward)\[(clean-)?matrix_exp-torch\.b?float16\]": _EXP,
    r"test_op_forward\[clean-matrix_exp-torch\.float32\]": _SINGLE,
    r"variant\[linalg_matrix_exp(\.out)?\[": _EXP,
    r"test_rrelu_train_false_variants": _NOISE,
    r"variant\[binary_cross_entropy\.out\[": _OUT,
    r"test_op_backward\[(svd|pca)_lowrank-": _START,
    _SPECIAL + r"linalg\.polar-torch\.complex": _ENDS,
}
