"""gelu(x·w + b) + r, eagerly."""

import torch
import torch.nn.functional as F

from benches.timing import Case


def chain(n, approximate):
    def build(device):
        generator = torch.Generator().manual_seed(0)
        x, w, b, r = (torch.randn(n, generator=generator).to(device) for _ in range(4))
        return lambda: F.gelu(x * w + b, approximate=approximate) + r

    return build


CASES = [
    Case(f"gelu({kind}) chain, {n:.0e} elements", chain(int(n), kind), 0.6, 20 * n, "GB")
    for kind in ("none", "tanh")
    for n in (1e4, 1e6, 1e7)
]
