"""Fused AdamW over 25 million parameters."""

import torch

from benches.timing import Case

SIZES = [(1024, 1024)] * 24


def adamw(device):
    parameters = [torch.zeros(s, device=device, requires_grad=True) for s in SIZES]
    for p in parameters:
        p.grad = torch.full_like(p, 1e-3)
    optimizer = torch.optim.AdamW(parameters, fused=True)
    return optimizer.step


COUNT = sum(a * b for a, b in SIZES)
CASES = [Case("AdamW fused, 25 M parameters", adamw, 1.0, 28 * COUNT, "GB")]
