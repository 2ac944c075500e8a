"""Gradients, optimizers, checkpoints."""

import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

DEVICE = "neuron"


def model():
    return nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.LayerNorm(32), nn.Dropout(0.1), nn.Linear(32, 8)).to(DEVICE)


def losses(m, forward, optimizer, steps=5):
    torch.manual_seed(3)
    out = []
    for _ in range(steps):
        x = torch.randn(4, 16, device=DEVICE)
        loss = forward(x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        out.append(loss.item())
    return out, [p.detach().cpu() for p in m.parameters()]


def both(make_optimizer, wrap=lambda m: m, **kw):
    a = model()
    b = copy.deepcopy(a)
    eager = losses(a, wrap(a), make_optimizer(a.parameters()))
    compiled = losses(b, torch.compile(wrap(b), backend="neuron", **kw), make_optimizer(b.parameters()))
    assert eager[0] == compiled[0]
    for p, q in zip(eager[1], compiled[1]):
        assert torch.equal(p, q)


def test_training_is_bit_for_bit_that_of_eager():
    both(lambda p: torch.optim.AdamW(p, 1e-2, fused=True))
    both(lambda p: torch.optim.SGD(p, 1e-2, momentum=0.9), dynamic=True)


def test_without_recomputation():
    both(lambda p: torch.optim.Adam(p, 1e-2), options={"recompute": False})


def test_dropout_inside_a_checkpoint():
    """The backward graph computes dropout anew, with the same mask."""
    f = torch.compile(lambda x: checkpoint(lambda y: F.dropout(y.sin(), 0.5).cos() * 1, x, use_reentrant=False), backend="neuron")
    x = torch.randn(50, device=DEVICE, requires_grad=True)
    masks = []
    for _ in range(2):
        y = f(x)
        (gradient,) = torch.autograd.grad(y.sum(), x)
        with torch.no_grad():
            dropped = y == 1
            want = torch.where(dropped, 0.0, -(x.sin() * 2).sin() * 2 * x.cos())
        torch.testing.assert_close(gradient, want)
        masks.append(dropped.cpu())
    assert not torch.equal(*masks)


def test_the_optimizer_compiled():
    for make in (
        lambda p: torch.optim.AdamW(p, 1e-2),
        lambda p: torch.optim.SGD(p, 1e-2, momentum=0.9),
        lambda p: torch.optim.Adam(p, torch.tensor(1e-2), capturable=False),
    ):
        torch._dynamo.reset()
        a = model()
        b = copy.deepcopy(a)
        for p, q in zip(a.parameters(), b.parameters()):
            p.grad = torch.randn_like(p)
            q.grad = p.grad.clone()
        first, second = make(a.parameters()), make(b.parameters())
        step = torch.compile(second.step, backend="neuron")
        for _ in range(3):
            first.step()
            step()
        for p, q in zip(a.parameters(), b.parameters()):
            torch.testing.assert_close(p, q)


def test_convolution_network_with_running_statistics():
    def make():
        torch.manual_seed(1)
        return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 5)).to(DEVICE)

    a, b = make(), make()
    f = torch.compile(b, backend="neuron")
    for _ in range(3):
        x = torch.randn(2, 3, 8, 8, device=DEVICE)
        la, lb = F.cross_entropy(a(x), torch.tensor([1, 2], device=DEVICE)), F.cross_entropy(f(x), torch.tensor([1, 2], device=DEVICE))
        assert torch.equal(la.cpu(), lb.cpu())
        la.backward()
        lb.backward()
    for p, q in zip(a.parameters(), b.parameters()):
        torch.testing.assert_close(p.grad, q.grad)
    for p, q in zip(a.buffers(), b.buffers()):
        assert torch.equal(p.cpu(), q.cpu())
