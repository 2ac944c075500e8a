"""Two devices in one process."""

import pytest
import torch

SAME = r"Expected all tensors to be on the same device, but found at least two devices, neuron:0 and {}!"


def test_copies_between_devices():
    x = torch.arange(1000, dtype=torch.float32, device="neuron:0")
    y = x.to("neuron:1")
    assert y.device.index == 1 and torch.equal(y.cpu(), x.cpu())
    z = torch.zeros(1000, dtype=torch.int32, device="neuron:0")
    z.copy_(y)
    assert torch.equal(z.cpu(), torch.arange(1000, dtype=torch.int32))


def test_results_stay_on_their_device():
    x = torch.ones(4, device="neuron:1")
    assert torch.neuron.current_device() == 0
    y = (x + x).relu().sum()
    assert y.device.index == 1 and y.item() == 8
    assert torch.empty_like(x).device.index == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda a, b: a + b,
        lambda a, b: a @ b,
        lambda a, b: torch.cat([a, b]),
        lambda a, b: a.add_(b),
        lambda a, b: torch.add(a, a, out=b),
        lambda a, b: torch.where(a > 0, a, b),
    ],
)
@pytest.mark.parametrize("other", ["neuron:1", "cpu"])
def test_mixing_is_refused(call, other):
    a, b = torch.ones(3, 3, device="neuron"), torch.ones(3, 3, device=other)
    with pytest.raises(RuntimeError, match=SAME.format(other)):
        call(a, b)
    assert a.sum().item() == 9


def test_a_zero_dimensional_cpu_tensor_is_a_number():
    a = torch.ones(3, device="neuron")
    assert (a * torch.tensor(2.0)).tolist() == [2, 2, 2]
    assert (torch.tensor(2.0, dtype=torch.float64) + a).dtype == torch.float32
    assert torch.where(a > 0, torch.tensor(5.0), a).tolist() == [5, 5, 5]


def test_backward_across_devices():
    a = torch.ones(3, device="neuron:0", requires_grad=True)
    ((a * 2).to("neuron:1") * 3).sum().backward()
    assert a.grad.device.index == 0 and a.grad.tolist() == [6, 6, 6]


def test_indices_may_come_from_the_cpu():
    a = torch.arange(10.0, device="neuron")
    assert a[torch.tensor([1, 3])].tolist() == [1, 3]
    a[torch.tensor([0])] = 5
    assert a[0].item() == 5
