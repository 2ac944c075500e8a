"""Cross-entropy over a large vocabulary."""

import torch
import torch.nn.functional as F

from benches.timing import Case


def cross_entropy(device):
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(1024, 50257, generator=generator).to(device).requires_grad_()
    target = torch.randint(50257, (1024,), generator=generator).to(device)

    def run():
        logits.grad = None
        F.cross_entropy(logits, target).backward()

    return run


CASES = [Case("cross-entropy 1024x50257, forward+backward", cross_entropy, 0.4, 4 * 7 * 1024 * 50257, "GB", budget=6)]
