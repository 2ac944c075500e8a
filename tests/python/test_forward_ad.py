"""Forward-mode derivatives and second derivatives of PyTorch's operator database, on the device and on the CPU, in f64.

The coverage tool has first derivatives, and gradcheck; these are the derivative formulas that only those modes run.
"""

import pytest
import torch
from torch.autograd import forward_ad
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_map

from tests.coverage.moving import tensors, to_device
from tests.coverage.operators import full_name
from tests.coverage.tables import DROPOUT, RANDOM

SAMPLES = 2
# Eigenvectors are free in their phase, and so are their derivatives; linalg.eigvals and eigvalsh have the rest.
FREE = {"linalg.eig", "linalg.eigh"}


def chosen(able):
    """Operators of tensors in f64 that repeat their results."""
    for info in op_db:
        name = full_name(info)
        usual = name not in RANDOM and name not in DROPOUT and name not in FREE and not name.startswith(("jiterator", "sparse"))
        if usual and info.supports_autograd and able(info) and torch.float64 in info.supported_dtypes("cpu"):
            yield pytest.param(info, id=name)


def samples(info):
    torch.manual_seed(0)
    for nth, sample in enumerate(info.sample_inputs("cpu", torch.float64, requires_grad=True)):
        if nth == SAMPLES:
            return
        yield sample.input, sample.args, sample.kwargs


def is_leaf(x):
    return isinstance(x, torch.Tensor) and x.requires_grad


def tangents(info, arguments, directions):
    """The derivatives of all results as the differentiable operands move in these directions."""
    rest = iter(directions)
    with forward_ad.dual_level():
        dual = tree_map(lambda x: forward_ad.make_dual(x.detach(), next(rest)) if is_leaf(x) else x, arguments)
        first, args, kwargs = dual
        outs = [t for t in tensors(info(first, *args, **kwargs)) if t.is_floating_point() or t.is_complex()]
        return [forward_ad.unpack_dual(t).tangent for t in outs]


def second(info, arguments):
    """Gradients of the gradients by the operands and by the first seeds; zeros where there is no dependence."""
    first, args, kwargs = arguments
    outs = [t for t in tensors(info(first, *args, **kwargs)) if t.requires_grad]
    inputs = [t for t in tensors(arguments) if is_leaf(t)]
    numbers = torch.Generator().manual_seed(2)

    def random(t):
        return torch.randn(t.shape, dtype=t.dtype, generator=numbers).to(t.device)

    seeds = [random(t).requires_grad_() for t in outs]
    grads = torch.autograd.grad(outs, inputs, seeds, create_graph=True, allow_unused=True)
    grads = [g for g in grads if g is not None and g.requires_grad]
    if not grads:
        return []
    again = torch.autograd.grad(grads, inputs + seeds, [random(g) for g in grads], allow_unused=True)
    return [torch.zeros_like(x) if g is None else g for g, x in zip(again, inputs + seeds)]


def same(got, want):
    assert [t is None for t in got] == [t is None for t in want]
    for g, w in zip(got, want):
        if w is not None:
            assert g.device.type == "neuron"
            torch.testing.assert_close(g.detach().cpu(), w.detach(), rtol=1e-6, atol=1e-7, equal_nan=True)


@pytest.mark.parametrize("info", chosen(lambda info: info.supports_forward_ad))
@pytest.mark.filterwarnings("ignore")
def test_forward_mode_equals_the_cpu(info):
    for here in samples(info):
        there = to_device(here)
        directions = [torch.randn_like(t) for t in tensors(here) if is_leaf(t)]
        same(tangents(info, there, [d.to("neuron") for d in directions]), tangents(info, here, directions))


@pytest.mark.parametrize("info", chosen(lambda info: info.supports_gradgrad))
@pytest.mark.filterwarnings("ignore")
def test_second_derivatives_equal_the_cpu(info):
    for here in samples(info):
        there = to_device(here)
        try:
            want = second(info, here)
        except RuntimeError:
            continue
        same(second(info, there), want)
