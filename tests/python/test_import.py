"""Loading: `import torch` alone suffices, any import order works, a wrong torch version is refused with words."""

import pytest
import torch
import torch_neuronx
from torch_neuronx import _register


@pytest.mark.parametrize("imports", ["import torch", "import torch_neuronx, torch", "import torch, torch_neuronx"])
def test_every_import_order_makes_the_device(run_python, imports):
    code = f"{imports}\nx = torch.empty(2, device='neuron'); print(x.device, torch.neuron.is_available(), x.is_neuron)"
    assert run_python(code).stdout.split() == ["neuron:0", "True", "True"]


def test_import_of_the_package_works_without_autoload(run_python):
    code = "import torch\nassert not hasattr(torch, 'neuron')\nimport torch_neuronx\nprint(torch.neuron.device_count())"
    assert run_python(code, TORCH_DEVICE_BACKEND_AUTOLOAD="0", NEURON_RT_NUM_CORES="3").stdout.strip() == "3"


def test_another_torch_minor_version_is_refused(monkeypatch):
    monkeypatch.setattr(torch, "__version__", "2.99.0+cpu")
    with pytest.raises(ImportError, match=r"built for torch 2\.\d+\..*torch 2\.99\.0\+cpu is installed.*[Rr]einstall|rebuild"):
        _register._load()


def test_registering_twice_does_nothing():
    _register.register()
    torch_neuronx._autoload()
    assert torch.neuron is torch_neuronx.neuron


def test_device_module_and_generated_methods():
    assert torch.get_device_module("neuron") is torch.neuron
    assert torch.get_device_module() is torch.neuron
    x = torch.ones(2).neuron()
    assert x.is_neuron and x.device == torch.device("neuron", 0)
    assert x.untyped_storage().is_neuron
    assert next(torch.nn.Linear(2, 2).neuron().parameters()).is_neuron


def test_visible_cores_choose_the_devices(run_python):
    code = "import torch; print(torch.neuron.device_count())"
    assert run_python(code, NEURON_RT_VISIBLE_CORES="0-3", NEURON_RT_NUM_CORES="1").stdout.strip() == "4"
    bad = run_python(code, check=False, NEURON_RT_NUM_CORES="many")
    assert bad.returncode != 0 and "NEURON_RT_NUM_CORES" in bad.stderr


def test_first_import_does_not_load_dynamo(run_python):
    code = "import sys, torch; print('torch._dynamo' in sys.modules)"
    assert run_python(code).stdout.strip() == "False"
