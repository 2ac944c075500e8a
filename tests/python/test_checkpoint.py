"""Activation checkpointing replays random numbers."""

import pytest
import torch
from torch.utils.checkpoint import checkpoint


def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(16, 64), torch.nn.GELU(), torch.nn.Dropout(0.5), torch.nn.Linear(64, 1)
    ).to("neuron")


@pytest.mark.parametrize("reentrant", [False, True])
def test_gradients_equal_those_without_checkpointing(reentrant):
    grads = []
    for run in (lambda m, x: m(x), lambda m, x: checkpoint(m, x, use_reentrant=reentrant)):
        m = model()
        x = torch.ones(32, 16, device="neuron", requires_grad=True)
        torch.manual_seed(1)
        run(m, x).sum().backward()
        grads.append([x.grad.cpu()] + [p.grad.cpu() for p in m.parameters()])
    for plain, checkpointed in zip(*grads):
        torch.testing.assert_close(plain, checkpointed, rtol=0, atol=0)


def test_the_generator_ends_where_it_would_have():
    m = model()
    x = torch.ones(32, 16, device="neuron", requires_grad=True)
    torch.manual_seed(1)
    m(x)
    plain = torch.neuron.get_rng_state()
    torch.manual_seed(1)
    checkpoint(m, x, use_reentrant=False).sum().backward()
    assert torch.equal(torch.neuron.get_rng_state(), plain)
