"""Fourier transforms: rows, one long row, an image."""

import torch

from benches.timing import Case


def of(function, *sizes, dtype=torch.complex64):
    def build(device):
        x = torch.randn(*sizes, dtype=dtype, generator=torch.Generator().manual_seed(0)).to(device)
        return lambda: function(x)

    return build


def flops(count, n):
    """The customary 5·n·log₂ n operations of a complex transform."""
    return 5 * count * n * torch.tensor(float(n)).log2().item()


CASES = [
    Case("fft 64x256", of(torch.fft.fft, 64, 256), 1.0, flops(64, 256), "GF"),
    Case("fft 64x1024", of(torch.fft.fft, 64, 1024), 1.0, flops(64, 1024), "GF"),
    Case("fft 16x4096", of(torch.fft.fft, 16, 4096), 1.0, flops(16, 4096), "GF"),
    Case("fft 1000000", of(torch.fft.fft, 1_000_000), 1.0, flops(1, 1_000_000), "GF"),
    Case("fft2 512x512", of(torch.fft.fft2, 512, 512), 1.0, 2 * flops(512, 512), "GF"),
    Case("rfft 64x1024", of(torch.fft.rfft, 64, 1024, dtype=torch.float32), 1.0, flops(64, 1024) / 2, "GF"),
]
