"""Moving modules and tensors keeps their identity."""

import torch


def test_module_to_keeps_parameter_objects():
    m = torch.nn.Linear(2, 2)
    before = list(m.parameters())
    m.to("neuron")
    assert all(p is q and q.is_neuron for p, q in zip(before, m.parameters()))
    m.cpu()
    assert all(p is q and q.is_cpu for p, q in zip(before, m.parameters()))


def test_an_optimizer_made_before_the_move_trains_the_module():
    m = torch.nn.Linear(2, 1, bias=False)
    o = torch.optim.SGD(m.parameters(), lr=1.0)
    m.to("neuron")
    w = m.weight.detach().cpu().clone()
    m(torch.ones(1, 2, device="neuron")).sum().backward()
    o.step()
    torch.testing.assert_close(m.weight.detach().cpu(), w - 1)


def test_data_assignment():
    p = torch.nn.Parameter(torch.ones(2))
    p.data = p.data.to("neuron")
    assert p.is_neuron and p.tolist() == [1, 1]


def test_dtype_and_device_at_once():
    m = torch.nn.Linear(2, 2).to("neuron", torch.bfloat16)
    assert m.weight.is_neuron and m.weight.dtype == torch.bfloat16
    x = torch.arange(3).to("neuron", torch.float16)
    assert x.dtype == torch.float16 and x.tolist() == [0, 1, 2]


def test_to_the_same_device_is_no_copy():
    x = torch.ones(2, device="neuron")
    assert x.to("neuron") is x and x.to("neuron:0") is x
    y = x.to("neuron", copy=True)
    assert y.data_ptr() != x.data_ptr()


def test_buffers_and_tied_weights_move():
    m = torch.nn.Sequential(torch.nn.Embedding(4, 3), torch.nn.Linear(3, 4, bias=False), torch.nn.BatchNorm1d(4))
    m[1].weight = m[0].weight
    m.to("neuron")
    assert m[1].weight is m[0].weight and m[2].running_mean.is_neuron
