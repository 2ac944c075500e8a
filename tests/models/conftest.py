"""Settings for every model test: no CPU fallback can count as a pass, and nothing is downloaded."""

import os

os.environ["TORCH_NEURONX_FALLBACK"] = "error"
os.environ["HF_HUB_OFFLINE"] = "1"

import pytest  # noqa: E402
import torch  # noqa: E402  (loads the device)


@pytest.fixture(autouse=True)
def _no_fallback():
    """Every test starts with an empty ledger of fallbacks and ends with one."""
    torch.neuron.reset_fallback_ops()
    yield
    torch.neuron.synchronize()
    assert torch.neuron.fallback_ops() == {}
