"""Tests that device `cpu` passes and `neuron` does not, with the reason. Checked both ways: a failure that no entry
covers fails the run, and so does an entry that covers no failure of a full run.

Each key is a regular expression, searched in the test's name; its value is the reason.
"""

_GELU = "the CPU's vectorized GELU of infinity is NaN; the limit is infinity, which the device returns"
_ROWS = "the CPU's fused attention returns 0 for a row of scores that is NaN; the device keeps the NaN"
_GEMM = "infinity times a complex number: which parts are NaN depends on the order of the partial sums in the library"
_CONV = "the CPU's bfloat16 convolution spreads NaN over whole blocks; the device keeps it to the window"
_STAT = "the saved statistics stay float32, as on CUDA; the CPU rounds them to the input's type"
_EXP = "the CPU's matrix_exp of half types is NaN or infinite even for small norms; the device's is exact to rounding"

EXPECTED = {
    r"test_op_forward\[has_(nan|inf)-nn\.functional\.gelu-torch\.(float32|bfloat16)\]": _GELU,
    r"test_op_forward\[has_(nan|inf)-nn\.functional\.scaled_dot_product_attention-": _ROWS,
    r"test_op_forward\[has_(nan|inf)-(add?bmm|addmm|baddbmm|bmm|mm|dot|vdot)-torch\.complex": _GEMM,
    r"test_op_forward\[has_(nan|inf)-nn\.functional\.conv[12]d-torch\.bfloat16\]": _CONV,
    r"test_op_forward\[has_(nan|inf)-native_layer_norm-torch\.(b?float16)\]": _STAT,
    r"_batch_norm_with_update_functional|_native_batch_norm_legit\.no_stats": _STAT,
    r"test_op_(forward|backward)\[(clean-)?matrix_exp-torch\.b?float16\]": _EXP,
}
