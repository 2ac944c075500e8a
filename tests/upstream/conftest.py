"""PyTorch's device-generic tests on the neuron device: whatever test file stands beside this one is instantiated for it.

PyTorch's own means are set up here: `op_allowlist` from docs/coverage.json, `op_overrides` and `test_exclusions` from
`exclusions.py`. What is excluded still runs, as a strict expected failure: one that passes fails the suite.
"""

import os
import pathlib
import sys

os.environ["PYTORCH_TESTING_DEVICE_ONLY_FOR"] = "privateuse1"
os.environ["TORCH_NEURONX_FALLBACK"] = "error"
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

import pytest  # noqa: E402
import torch  # noqa: E402, F401  (loads the device)
from torch.testing._internal.common_device_type import PrivateUse1TestBase  # noqa: E402

import exclusions  # noqa: E402
from tests.coverage import ledger  # noqa: E402

PrivateUse1TestBase.set_test_configs(
    op_allowlist=exclusions.allowed(ledger.read()),
    op_overrides=exclusions.overrides(ledger.read()),
    test_exclusions=None if os.environ.get("NEURON_RUN_FATAL") else exclusions.fatal(),
)


def pytest_collection_modifyitems(items):
    """Marks what `exclusions.EXPECTED` names, whether PyTorch parametrized it by dtype, operator, module or not at all."""
    used = set()
    for item in items:
        for key in exclusions.keys(item):
            if key in exclusions.EXPECTED:
                used.add(key)
                item.add_marker(pytest.mark.xfail(strict=True, reason=exclusions.EXPECTED[key]))
    files = {name.split("::")[0] for name in map("::".join, exclusions.EXPECTED)} & {item.path.name for item in items}
    whole = not any(arg for arg in sys.argv[1:] if "::" in arg or arg.startswith("-k"))
    unknown = [key for key in exclusions.EXPECTED if key[0] in files and key not in used] if whole else []
    if unknown:
        raise pytest.UsageError(f"exclusions.py names tests that do not exist: {unknown}")


@pytest.fixture(autouse=True)
def _no_fault_left_behind(request):
    """What the device only finds after the call fails the test that caused it, not the next one."""
    yield
    try:
        torch.neuron.synchronize()
    except Exception:
        if not request.node.get_closest_marker("xfail"):
            raise
