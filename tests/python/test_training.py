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


def test_a_transformer_layer_trains_and_infers():
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


CAUSAL = torch.ones(5, 5, dtype=torch.bool).triu(1)
PADDING = torch.arange(5) >= torch.tensor([[5], [3]])


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("padded", [False, True])
def test_transformer_inference_takes_the_fused_path(norm_first, causal, padded):
    layer = nn.TransformerEncoderLayer(16, 2, 32, activation="gelu", batch_first=True, norm_first=norm_first).eval()
    x = torch.linspace(-1, 1, 2 * 5 * 16).view(2, 5, 16).sin()
    outs = []
    for device in ("cpu", "neuron"):
        masks = (CAUSAL.to(device) if causal else None, PADDING.to(device) if padded else None)
        with torch.no_grad():
            outs.append(layer.to(device)(x.to(device), *masks).cpu())
    torch.testing.assert_close(*outs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("masks", [(None, None), (CAUSAL, None), (CAUSAL, PADDING)], ids=["", "causal", "both"])
def test_attention_weights_in_inference(average, masks):
    m = nn.MultiheadAttention(16, 2, batch_first=True).eval()
    x = torch.linspace(-1, 1, 2 * 5 * 16).view(2, 5, 16).sin()
    outs = []
    for device in ("cpu", "neuron"):
        causal, padding = (None if mask is None else mask.to(device) for mask in masks)
        q = x.to(device)
        with torch.no_grad():
            outs.append(m.to(device)(q, q, q, padding, attn_mask=causal, average_attn_weights=average))
    for a, b in zip(*outs):
        torch.testing.assert_close(a, b.cpu(), rtol=1e-4, atol=1e-5)


def test_an_encoder_stack_with_padding():
    stack = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 2, enable_nested_tensor=True)
    x = torch.linspace(-1, 1, 2 * 5 * 16).view(2, 5, 16).sin()
    outs = []
    for device in ("cpu", "neuron"):
        with torch.no_grad():
            outs.append(stack.eval().to(device)(x.to(device), src_key_padding_mask=PADDING.to(device)).cpu())
    torch.testing.assert_close(outs[0], outs[1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("eps", [None, 1e-3])
def test_rms_norm_is_fused(dtype, weighted, eps):
    outs = []
    torch.neuron.reset_executed_ops()
    for device in ("cpu", "neuron"):
        x = torch.linspace(-3, 2, 3 * 64).view(3, 64).to(device, dtype).requires_grad_()
        w = torch.linspace(0.5, 1.5, 64).to(device, dtype).requires_grad_() if weighted else None
        y = F.rms_norm(x, (64,), w, eps)
        (y * torch.linspace(-1, 1, 64).to(device, dtype)).sum().backward()
        outs.append([y.detach().cpu(), x.grad.cpu()] + ([w.grad.cpu()] if weighted else []))
    for actual, expected in zip(outs[1], outs[0]):
        torch.testing.assert_close(actual, expected)
    executed = torch.neuron.executed_ops()
    assert executed["aten::_fused_rms_norm"] == executed["aten::_fused_rms_norm_backward"] == 1


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
