"""What XLA does otherwise, each with its reason."""

# Element types that XLA lacks or computes otherwise.
ABSENT_TYPES = {
    "complex<f16>": "XLA has no complex number of two f16",
}

def known(name, program, dtype):
    return None
