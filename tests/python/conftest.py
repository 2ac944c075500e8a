"""Settings for every test: operators without a native rule raise, so that no CPU fallback can count as a pass."""

import os
import pathlib
import subprocess
import sys

# Tests share the checks of tests/coverage.
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
os.environ["TORCH_NEURONX_FALLBACK"] = "error"

import pytest  # noqa: E402
import torch  # noqa: E402, F401  (loads the device)


@pytest.fixture
def run_python():
    """Runs a program in a process of its own with extra environment variables; returns the finished process."""

    def run(code, *, check=True, timeout=300, **env):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, **env},
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done

    return run


@pytest.fixture(autouse=True)
def _first_device_and_stream():
    """Every test starts on device 0 and its default stream, and leaves no fault behind for the next one."""
    torch.neuron.set_device(0)
    yield
    for index in range(torch.neuron.device_count()):
        torch.neuron.set_stream(torch.neuron.default_stream(index))
    torch.neuron.set_device(0)
    for index in range(torch.neuron.device_count()):
        torch.neuron.synchronize(index)
