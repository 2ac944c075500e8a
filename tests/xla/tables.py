"""What XLA does otherwise, each with its reason."""

# Element types that XLA lacks or computes otherwise.
ABSENT_TYPES = {
    "complex<f16>": "XLA has no complex number of two f16",
}

# (rule, dtype or None for every dtype): why its programs differ.
KNOWN = {
    ("aten::_scaled_dot_product_flash_attention_for_cpu_backward", "float32"): "in the first rows of the causal mask dP - delta is a "
    "difference of equal numbers of 50: the device and XLA both err by 1.2e-5 of the gradient in f64, in other places",
}


def known(op, dtype, failure):
    """The reason for a failure of a case, or None."""
    rule = failure.get("rule")
    return KNOWN.get((rule, dtype)) or KNOWN.get((rule, None))
