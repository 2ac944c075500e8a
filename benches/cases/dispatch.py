"""Cost of one call from Python on a 1-element tensor."""

import torch

from benches.timing import Case


def binary(op):
    def build(device):
        a, b = torch.ones(1, device=device), torch.ones(1, device=device)
        return lambda: op(a, b)

    return build


def chain(device):
    a = torch.ones(1, device=device)

    def run():
        x = a
        for _ in range(10):
            x = x + a
        return x

    return run


CASES = [
    Case("dispatch add, 1 element", binary(torch.add), 0.75, inner=20_000),
    Case("dispatch mul, 1 element", binary(torch.mul), 0.75, inner=20_000),
    Case("dispatch chain of 10 adds", chain, 0.75, inner=2_000),
]
