"""What ran natively, what fell back to the CPU, and the settings."""

from torch_neuronx import _C


def fallback_ops() -> dict[str, int]:
    """Operators that ran on the CPU because they have no native rule, with how often."""
    return _C.fallback_ops()


def reset_fallback_ops() -> None:
    """Forgets what ``fallback_ops`` has counted."""
    _C.reset_fallback_ops()


def executed_ops() -> dict[str, int]:
    """Operators that ran natively, with how often."""
    return _C.executed_ops()


def reset_executed_ops() -> None:
    """Forgets what ``executed_ops`` has counted."""
    _C.reset_executed_ops()


def native_ops() -> list[str]:
    """Names of the ATen overloads that have a native rule, such as ``aten::add.Tensor``, sorted.

    The in-place and ``out=`` overloads that follow from them are not listed.
    """
    return sorted(_C.row_names())


def flags() -> dict[str, tuple[str, str]]:
    """The environment variables that the backend reads: name to (value in effect, what it does)."""
    return {name: (value, help_) for name, value, help_ in _C.flags()}
