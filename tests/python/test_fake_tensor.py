"""FakeTensorMode and meta tensors."""

import torch
from torch._subclasses.fake_tensor import FakeTensorMode


def test_fake_tensors_say_neuron():
    with FakeTensorMode():
        x = torch.empty(3, 4, device="neuron")
        y = torch.mm(x, x.t()) + 1
        assert y.device == torch.device("neuron", 0) and y.shape == (3, 3)
        i = torch.arange(3, device="neuron")
        assert x[i].device.type == "neuron"


def test_real_tensors_become_fake():
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        x = mode.from_tensor(torch.ones(2, 2, device="neuron:1"))
        assert (x @ x).device == torch.device("neuron", 1)


def test_a_fake_model_costs_no_memory():
    before = torch.neuron.memory_allocated()
    with FakeTensorMode(), torch.device("neuron"):
        m = torch.nn.Linear(100_000, 100_000)
        assert m(torch.empty(2, 100_000)).shape == (2, 100_000)
    assert torch.neuron.memory_allocated() == before


def test_to_empty_from_meta():
    with torch.device("meta"):
        m = torch.nn.Linear(3, 3)
    m.to_empty(device="neuron")
    assert m.weight.is_neuron and m.weight.shape == (3, 3)
