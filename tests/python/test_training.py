"""Small models train as on the CPU, with every optimizer variant and without a fallback."""

import copy

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F

OPTIMIZERS = {
    "sgd": (torch.optim.SGD, {"lr": 1e-2}),
    "sgd-momentum": (torch.optim.SGD, {"lr": 1e-2, "momentum": 0.9, "nesterov": True, "weight_decay": 1e-3}),
    "sgd-fused": (torch.optim.SGD, {"lr": 1e-2, "momentum": 0.9, "fused": True}),
    "adam": (torch.optim.Adam, {"lr": 1e-2}),
    "adam-amsgrad": (torch.optim.Adam, {"lr": 1e-2, "amsgrad": True}),
    "adamw": (torch.optim.AdamW, {"lr": 1e-2}),
    "adamw-loop": (torch.optim.AdamW, {"lr": 1e-2, "foreach": False}),
    "adamw-foreach": (torch.optim.AdamW, {"lr": 1e-2, "foreach": True}),
    "adamw-fused": (torch.optim.AdamW, {"lr": 1e-2, "fused": True}),
}


def mlp():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 3))


def train(model, device, optimizer, steps=4):
    make, options = optimizer
    model = copy.deepcopy(model).to(device)
    g = torch.Generator().manual_seed(1)
    x, y = torch.randn(12, 8, generator=g).to(device), torch.randint(0, 3, (12,), generator=g).to(device)
    o = make(model.parameters(), **options)
    losses = []
    for _ in range(steps):
        o.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        o.step()
        losses.append(loss.item())
    return losses, [p.detach().cpu() for p in model.parameters()]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name):
    optimizer = OPTIMIZERS[name]
    expected = train(mlp(), "cpu", optimizer)
    actual = train(mlp(), "neuron", optimizer)
    assert actual[0] == pytest.approx(expected[0], rel=1e-4)
    assert actual[0][-1] < actual[0][0]
    for p, q in zip(actual[1], expected[1]):
        torch.testing.assert_close(p, q, rtol=1e-3, atol=1e-4)


def test_a_schedule_does_not_recompile_or_diverge():
    losses = []
    for device in ("cpu", "neuron"):
        torch.manual_seed(0)
        m = nn.Linear(4, 1).to(device)
        o = torch.optim.AdamW(m.parameters(), lr=0.1)
        s = torch.optim.lr_scheduler.CosineAnnealingLR(o, 10)
        x = torch.linspace(-1, 1, 32).view(8, 4).to(device)
        for _ in range(10):
            o.zero_grad()
            loss = m(x).square().mean()
            loss.backward()
            o.step()
            s.step()
        losses.append(loss.item())
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)


def test_a_transformer_layer_trains_and_infers(monkeypatch):
    # The fused inference operator of this one module has no rule; the layers it is made of have.
    monkeypatch.setattr(torch.backends.mha, "_is_fastpath_enabled", False)
    outs = []
    for device in ("cpu", "neuron"):
        torch.manual_seed(0)
        m = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True).to(device)
        x = torch.linspace(-1, 1, 2 * 5 * 16).view(2, 5, 16).to(device).requires_grad_()
        m(x).square().sum().backward()
        m.eval()
        with torch.no_grad():
            y = m(x)
        outs.append((x.grad.cpu(), y.cpu()))
    for a, b in zip(*outs):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-3)


def test_convolution_and_batch_norm():
    outs = []
    for device in ("cpu", "neuron"):
        torch.manual_seed(0)
        m = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU()).to(device)
        x = torch.linspace(-1, 1, 2 * 3 * 8 * 8).view(2, 3, 8, 8).to(device).requires_grad_()
        m(x).square().sum().backward()
        outs.append([x.grad.cpu(), m[0].weight.grad.cpu(), m[1].running_var.cpu()])
    for a, b in zip(*outs):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-3)


def test_inference_mode():
    m = mlp().to("neuron")
    x = torch.ones(2, 8, device="neuron")
    with torch.inference_mode():
        y = m(x)
        assert y.is_inference()
        y.add_(1)
    torch.testing.assert_close(y.cpu() - 1, m(x).detach().cpu())


def test_no_fallbacks_were_taken():
    assert torch.neuron.fallback_ops() == {}
