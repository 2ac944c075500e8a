"""Compiled work: ``torch.compile`` with backend ``neuron`` on the device against Inductor on the CPU."""

import torch
import torch.nn.functional as F

from benches.cases import convolution, gpt
from benches.timing import Case

BACKEND = {"neuron": "neuron", "cpu": "inductor"}


def compiled(make, *sizes):
    """A function of tensors of these sizes."""

    def build(device):
        generator = torch.Generator().manual_seed(0)
        operands = [torch.randn(*s, generator=generator).to(device) for s in sizes]
        f = torch.compile(make(), backend=BACKEND[device])
        return lambda: f(*operands)

    return build


def mlp(device):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.GELU(), torch.nn.Linear(2048, 512)).to(device)
    x = torch.randn(64, 512, generator=torch.Generator().manual_seed(0)).to(device)
    f = torch.compile(model, backend=BACKEND[device])

    def run():
        f(x).square().mean().backward()
        model.zero_grad()

    return run


def gpt_step(amp):
    def build(device):
        return gpt.step(amp, lambda f: torch.compile(f, backend=BACKEND[device]))(device)

    return build


def resnet18(device):
    return convolution.resnet18(device, lambda model: torch.compile(model, backend=BACKEND[device]))


def chain(x, w, b, r):
    return F.gelu(x * w + b) + r


CASES = [
    *(Case(f"compiled gelu chain, {n:.0e} elements", compiled(lambda: chain, *[(int(n),)] * 4), 0.9) for n in (1e4, 1e6, 1e7)),
    Case("compiled softmax of 4096x1024", compiled(lambda: lambda x: (x * 0.5).softmax(-1), (4096, 1024)), 0.9),
    Case("compiled layer_norm and gelu, 4096x1024", compiled(lambda: lambda x: F.gelu(F.layer_norm(x, (1024,))), (4096, 1024)), 0.9),
    Case("compiled MLP forward+backward, 64x512x2048", mlp, 0.9),
    Case("compiled GPT step f32", gpt_step(False), 0.5, inner=1, budget=10),
    Case("compiled GPT step bf16 autocast", gpt_step(True), 0.7, inner=1, budget=10),
    Case("compiled ResNet-18 batch 8 inference", resnet18, 0.9, inner=1, budget=5),
]
