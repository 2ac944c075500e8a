"""What ran natively, what fell back to the CPU, what was compiled, and the settings."""

import contextlib
import os

from torch_neuronx import _C
from torch_neuronx.neuron._device import synchronize


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


@contextlib.contextmanager
def dump_programs(folder: str | os.PathLike, data: bool = False):
    """Within this context every compiled program is written to a subfolder of ``folder``, as ``TORCH_NEURONX_DUMP`` does for
    a whole process.

    Each holds ``program.json`` (operator, rule, operands, types), ``0-lowered.hlo`` and ``stablehlo.mlir``, and with ``data``
    the dense elements of the operands and results of the program's first run (``parameter-0.bin``, ``result-0.bin``, ...).
    Compiled programs are forgotten before and after, so that everything that runs inside is compiled there.
    """
    _C.set_dump(os.fspath(folder), data)
    try:
        yield
    finally:
        _C.set_dump(None, False)
        for device in range(_C.device_count()):
            synchronize(device)
