"""scaled_dot_product_attention takes the fused operator where it exists, and agrees with the decomposition."""

import pytest
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

FUSED = "aten::_scaled_dot_product_fused_attention_overrideable"
TOLERANCE = {torch.float32: (1e-4, 1e-4), torch.bfloat16: (3e-2, 3e-2), torch.float16: (5e-3, 5e-3)}


def operands(dtype, heads=4, kv_heads=4, n=33, m=33, d=16):
    g = torch.Generator().manual_seed(0)
    make = lambda h, s: torch.randn(2, h, s, d, generator=g).to(dtype)  # noqa: E731
    return make(heads, n), make(kv_heads, m), make(kv_heads, m)


def both(dtype, grad=True, **kw):
    shapes = {k: kw.pop(k) for k in ("heads", "kv_heads", "n", "m", "d") if k in kw}
    results = []
    for device in ("cpu", "neuron"):
        q, k, v = (t.to(device).requires_grad_(grad) for t in operands(dtype, **shapes))
        mask = kw.get("attn_mask")
        arguments = {**kw, "attn_mask": mask.to(device)} if mask is not None else kw
        out = F.scaled_dot_product_attention(q, k, v, **arguments)
        if grad:
            out.float().square().sum().backward()
        results.append([out.detach().cpu()] + ([t.grad.cpu() for t in (q, k, v)] if grad else []))
    rtol, atol = TOLERANCE[dtype]
    for expected, actual in zip(*results):
        torch.testing.assert_close(actual, expected, rtol=rtol, atol=atol * 10)


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("causal", [False, True])
def test_fused_attention_agrees_with_the_cpu(dtype, causal):
    torch.neuron.reset_executed_ops()
    both(dtype, is_causal=causal)
    assert torch.neuron.executed_ops().get(FUSED) == 1


@pytest.mark.parametrize("mask", [torch.rand(33, 33) > 0.3, torch.randn(2, 1, 33, 33)], ids=["bool", "float"])
def test_masks(mask):
    both(torch.float32, attn_mask=mask)


def test_different_lengths_and_scale():
    both(torch.float32, n=7, m=40, scale=0.3)


def test_grouped_queries():
    both(torch.float32, heads=8, kv_heads=2, enable_gqa=True, grad=False)


def test_dropout_keeps_the_expectation():
    q, k, v = (t.to("neuron") for t in operands(torch.float32, n=64, m=64))
    torch.manual_seed(0)
    mean = torch.stack([F.scaled_dot_product_attention(q, k, v, dropout_p=0.3) for _ in range(200)]).mean(0)
    expected = F.scaled_dot_product_attention(q, k, v)
    assert (mean - expected).abs().mean().item() < 0.05


def test_the_user_may_choose_the_decomposition():
    q, k, v = (t.to("neuron") for t in operands(torch.float32))
    fused = F.scaled_dot_product_attention(q, k, v)
    torch.neuron.reset_executed_ops()
    with sdpa_kernel(SDPBackend.MATH):
        plain = F.scaled_dot_product_attention(q, k, v)
    assert FUSED not in torch.neuron.executed_ops()
    torch.testing.assert_close(plain.cpu(), fused.cpu(), rtol=1e-4, atol=1e-4)


def test_types_without_a_fused_operator_use_the_decomposition():
    q = torch.randn(1, 2, 5, 8, dtype=torch.float64)
    torch.testing.assert_close(
        F.scaled_dot_product_attention(*[q.to("neuron")] * 3).cpu(), F.scaled_dot_product_attention(q, q, q)
    )
