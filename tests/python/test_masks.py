"""Boolean masks as indices, and comparisons that return a number: sizes and values that only the data decides."""

import pytest
import torch


def both(f):
    """The result with the operands on the device, and on the CPU."""
    return f("neuron").cpu(), f("cpu")


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8])
@pytest.mark.parametrize("shape,mask_dims,at", [((6,), 1, 0), ((4, 5, 3), 1, 0), ((4, 5, 3), 2, 0), ((4, 5, 3), 1, 1)])
@pytest.mark.filterwarnings("ignore:indexing with dtype torch.uint8")
def test_values_go_where_the_mask_says_in_order(shape, mask_dims, at, dtype):
    def put(device):
        torch.manual_seed(0)
        x, mask = torch.zeros(shape), torch.rand(shape[at : at + mask_dims]) > 0.4
        index = (slice(None),) * at + (mask.to(dtype).to(device),)
        values = torch.arange(x[(slice(None),) * at + (mask,)].numel(), dtype=x.dtype) + 1
        x = x.to(device)
        x[index] = values.reshape(*shape[:at], int(mask.sum()), *shape[at + mask_dims :]).to(device)
        return x

    got, want = both(put)
    assert want.max() > 1 and torch.equal(got, want)


@pytest.mark.parametrize("count", [0, 2, 4])
def test_as_many_values_as_selected_elements(count):
    mask = torch.tensor([True, False, True, True])
    x = torch.zeros(4, device="neuron")
    # How many are selected shows on the device, after the call.
    with pytest.raises(RuntimeError, match="shape mismatch"):
        x[mask.to("neuron")] = torch.ones(count, device="neuron")
        torch.neuron.synchronize()


def test_a_mask_that_selects_nothing():
    x = torch.arange(3.0, device="neuron")
    x[torch.zeros(3, dtype=torch.bool, device="neuron")] = torch.ones(0, device="neuron")
    assert x.tolist() == [0, 1, 2]


def test_reading_through_a_mask(run_python):
    code = """
import torch
x = torch.arange(6.0, device="neuron", requires_grad=True)
y = x[x > 2]
y.sum().backward()
print(y.tolist(), x.grad.tolist(), torch.repeat_interleave(torch.tensor([2, 1], device="neuron")).tolist())
"""
    done = run_python(code, TORCH_NEURONX_FALLBACK="error")
    assert done.stdout.strip() == "[3.0, 4.0, 5.0] [0.0, 0.0, 0.0, 1.0, 1.0, 1.0] [0, 0, 1]"


def test_equal():
    x = torch.arange(6.0, device="neuron")
    assert torch.equal(x, x.clone())
    assert not torch.equal(x, x + 1)
    assert not torch.equal(x, x[:5])
    assert torch.equal(x[:0], x[6:])
    assert not torch.equal(x * float("nan"), x * float("nan"))
    with pytest.raises(RuntimeError, match="same device"):
        torch.equal(x, x.cpu())
