"""copy.deepcopy and pickle."""

import copy
import pickle

import torch


def test_deepcopy_keeps_device_layout_and_grad_flag():
    x = torch.arange(6.0, device="neuron:1").view(2, 3).t().requires_grad_()
    y = copy.deepcopy(x)
    assert y.device == x.device and y.stride() == x.stride() and y.requires_grad
    assert torch.equal(y.detach().cpu(), x.detach().cpu()) and y.data_ptr() != x.data_ptr()


def test_deepcopy_of_a_model_shares_nothing():
    m = torch.nn.Linear(2, 2).to("neuron")
    n = copy.deepcopy(m)
    with torch.no_grad():
        n.weight.zero_()
    assert m.weight.abs().sum().item() > 0 and n.weight.is_neuron


def test_pickle():
    x = torch.arange(4, device="neuron")
    y = pickle.loads(pickle.dumps(x))
    assert y.is_neuron and y.tolist() == [0, 1, 2, 3]
    p = pickle.loads(pickle.dumps(torch.nn.Parameter(torch.ones(2, device="neuron"))))
    assert isinstance(p, torch.nn.Parameter) and p.is_neuron and p.requires_grad


def test_printing_needs_no_fallback():
    x = torch.tensor([1.0, float("nan"), 1e6], device="neuron")
    assert repr(x) == repr(x.cpu())[:-1] + ", device='neuron:0')"
    assert "..." in repr(torch.zeros(5000, device="neuron"))
    assert repr(torch.ones(2, dtype=torch.complex64, device="neuron")).startswith("tensor([1.+0.j, 1.+0.j]")
