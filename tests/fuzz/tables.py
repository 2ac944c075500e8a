"""What the fuzzer leaves alone, with the reason."""

# Operators whose results on legal arguments PyTorch leaves open beyond what tests/coverage excepts.
UNDEFINED = {
    "linalg.eig": "eigenvectors are free in their phase",
    "linalg.eigh": "eigenvectors are free in their phase",
    "linalg.svd": "singular vectors are free in their phase",
    "svd": "singular vectors are free in their phase",
    "linalg.qr": "columns of dependent matrices are free",
    "geqrf": "reflectors are free where columns are zero",
    "linalg.lstsq": "solutions of singular systems are free",
    "linalg.lstsq.grad_oriented": "solutions of singular systems are free",
    "pca_lowrank": "random projections",
    "svd_lowrank": "random projections",
    "empty_like": "unset memory",
    "argsort": "equal elements have no order",
    "msort": "equal elements have no order",
    "unique_consecutive": "the CPU's indices of unsorted dims are unset",
    "index_put": "which of two values for one place is kept is open",
    "scatter": "which of two values for one place is kept is open",
    "index_copy": "which of two values for one place is kept is open",
    "put": "which of two values for one place is kept is open",
    "special.airy_ai": "the CPU errs by 3e-6",
}

# (operators, part of the CPU's message): calls that the CPU refuses and the device need not.
ACCEPTED = [
    # As on other devices whose kernels do not wait: the quotient is open.
    (
        {"fmod", "remainder", "floor_divide", "div.floor_rounding", "div.trunc_rounding", "__rmod__"},
        "ZeroDivisionError",
    ),
    # What a kernel of the CPU says when it takes a row of nothing apart; the device names the index.
    (
        {"index_reduce.amax", "index_reduce.amin", "index_reduce.mean", "index_reduce.prod", "index_fill", "index_add"},
        "setStorage",
    ),
]


def open_results(name, arguments):
    """Whether the CPU leaves the results of a call unset, or to chance."""
    first, args, named = arguments
    shared = lambda t: any(s == 0 and n > 1 for s, n in zip(t.stride(), t.shape))
    if name in ("grid_sampler_2d", "grid_sampler_3d"):
        return not all(m in (0, 1, 2) for m in args[1:3])
    if name in ("median", "nanmedian"):  # partitions the memory of the operand, whose elements may be shared
        return shared(first)
    if name == "_segment_reduce.offsets":  # the CPU's kernel reads where the offsets say, and dies
        offsets, axis = named["offsets"], named.get("axis", 0)
        size = first.shape[axis] if -first.dim() <= axis < first.dim() else 0
        return offsets.numel() > 0 and not offsets.is_complex() and bool((offsets > size).any())
    if name == "nn.functional.batch_norm":  # several elements would be written to one place
        return any(shared(t) for t in args[:2] if hasattr(t, "stride"))
    if name == "max.reduction_no_dim" or name == "min.reduction_no_dim":  # out= of nothing stays unset
        return first.numel() == 0
    return False
