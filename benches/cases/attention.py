"""Causal scaled dot-product attention, (4, 12, 512, 64)."""

import torch
import torch.nn.functional as F

from benches.timing import Case

SHAPE = (4, 12, 512, 64)


def attention(dtype, backward):
    def build(device):
        generator = torch.Generator().manual_seed(0)
        q, k, v = (torch.randn(SHAPE, generator=generator).to(dtype).to(device) for _ in range(3))
        if not backward:
            return lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True)
        q, k, v = (t.requires_grad_() for t in (q, k, v))
        grad = torch.ones(SHAPE, dtype=dtype).to(device)

        def run():
            q.grad = k.grad = v.grad = None
            F.scaled_dot_product_attention(q, k, v, is_causal=True).backward(grad)

        return run

    return build


FLOPS = 2 * 2 * 4 * 12 * 512 * 512 * 64 / 2
CASES = [
    Case("sdpa causal f32, forward", attention(torch.float32, False), 0.4, FLOPS, "GF"),
    Case("sdpa causal bf16, forward", attention(torch.bfloat16, False), 0.4, FLOPS, "GF"),
    Case("sdpa causal f32, forward+backward", attention(torch.float32, True), 0.6, 3.5 * FLOPS, "GF"),
    Case("sdpa causal bf16, forward+backward", attention(torch.bfloat16, True), 0.6, 3.5 * FLOPS, "GF"),
]
