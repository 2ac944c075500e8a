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

_SPECIAL = r"test_op_forward\[has_(nan|inf)-"

EXPECTED = {
    _SPECIAL + r"nn\.functional\.gelu-torch\.(float32|bfloat16)\]": _GELU,
    r"variant\[gelu(_|\.out)\[": _GELU,
    _SPECIAL + r"(nn\.functional\.scaled_dot_product|torch\.ops\.aten\._scaled_dot_product_flash)_attention": _ROWS,
    _SPECIAL + r"(addbmm-torch\.complex64|baddbmm-torch\.complex)": _GEMM,
    _SPECIAL + r"nn\.functional\.(conv[12]d|conv_transpose[123]d)-torch\.bfloat16\]": _CONV,
    r"variant\[_?convolution(\.deprecated|\.out)?\[": _CONV,
    _SPECIAL + r"native_layer_norm-torch\.(b?float16)\]": _STAT,
    r"_batch_norm_with_update_functional|_native_batch_norm_legit\.no_stats": _STAT,
    _SPECIAL + r"(fft\.|stft-|istft-torch\.complex)": _LINE,
    r"test_op_(forward\[(clean|has_nan)-|backward\[)mode-": _SORT,
    _SPECIAL + r"log1p-torch\.complex": _LOG1P,
    r"variant\[log1p(_|\.out)\[": _LOG1P,
    r"variant\[(sgn_?(\.out)?|_add_relu_?\.(Tensor|Scalar))\[": _TAIL,
    r"test_op_forward\[has_nan-grid_sampler_3d-torch\.bfloat16\]": _VOXEL,
    r"test_op_backward\[grid_sampler_(2d-torch\.bfloat16|3d-torch\.b?float16)\]": _SUMS,
    r"test_op_forward\[clean-(addbmm-torch\.bfloat16|nn\.functional\.conv_transpose3d-torch\.float16)\]": _SUMS,
    r"variant\[_standard_gamma_grad(\.out)?\[": _GAMMA,
}
