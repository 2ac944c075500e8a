"""Square and skinny matrix products."""

import torch

from benches.timing import Case


def product(m, n, k, dtype):
    def build(device):
        generator = torch.Generator().manual_seed(0)
        a = torch.randn(m, k, generator=generator).to(dtype).to(device)
        b = torch.randn(k, n, generator=generator).to(dtype).to(device)
        return lambda: a @ b

    return build


def case(m, n, k, dtype, bar):
    name = f"matmul {str(dtype).removeprefix('torch.')} {m}x{n}x{k}"
    return Case(name, product(m, n, k, dtype), bar, 2 * m * n * k, "GF")


SQUARE = (256, 512, 1024, 2048)
CASES = [
    *(case(n, n, n, torch.float32, 0.48) for n in SQUARE),
    *(case(n, n, n, torch.bfloat16, 1.0) for n in SQUARE),
    case(8, 4096, 4096, torch.float32, 0.5),
    case(8, 4096, 4096, torch.bfloat16, 0.5),
]
