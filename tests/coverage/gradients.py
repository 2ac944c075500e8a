"""PyTorch's numerical checks of first and second derivatives, on the device, in float64, for a fixed slice of operators."""

import torch
from torch.testing._internal.common_utils import gradcheck, gradgradcheck
from torch.utils._pytree import tree_flatten, tree_unflatten

from .moving import to_device
from .operators import full_name, samples
from .outcome import Outcome
from .tables import DROPOUT, RANDOM

OPERATORS = 100
SAMPLES = 6


def slice_of(infos):
    """Evenly spaced operators, in the database's order, among those with derivatives in float64."""
    able = [i for i in infos if i.supports_autograd and torch.float64 in i.supported_backward_dtypes("cpu")]
    able = [i for i in able if full_name(i) not in RANDOM and full_name(i) not in DROPOUT]
    return [able[n * len(able) // OPERATORS] for n in range(OPERATORS)]


def check(info, dtype, limit=10**9, checks=None, tick=lambda text: None):
    outcome = Outcome(tick)
    tick("sample generation")
    for nth, sample in enumerate(samples(info, dtype, min(limit, SAMPLES), True)):
        here = sample.input, sample.args, sample.kwargs
        if not function(info, sample, here)[1]:
            continue
        for name, test, claimed in (("gradcheck", gradcheck, True), ("gradgradcheck", gradgradcheck, info.supports_gradgrad)):
            if not claimed:
                continue

            def run(where):
                fn, inputs = function(info, sample, where)
                test(fn, inputs, nondet_tol=info.gradcheck_nondet_tol, fast_mode=info.gradcheck_fast_mode,
                    check_batched_grad=False)

            try:
                run(here)
            except Exception:
                outcome.refused += 1
                continue
            outcome.attempt(name, nth, lambda: run(to_device(here)))
    return outcome


def function(info, sample, arguments):
    """The operator as a function of its differentiable operands, and these."""
    leaves, spec = tree_flatten(arguments)
    places = [i for i, x in enumerate(leaves) if isinstance(x, torch.Tensor) and x.requires_grad]

    def call(*inputs):
        full = list(leaves)
        for place, x in zip(places, inputs):
            full[place] = x
        first, args, kwargs = tree_unflatten(full, spec)
        result = info.gradcheck_wrapper(info.op, first, *args, **kwargs)
        if sample.output_process_fn_grad is not None:
            result = sample.output_process_fn_grad(result)
        outs = [t for t in tree_flatten(result)[0] if isinstance(t, torch.Tensor)]
        return tuple(t for t in outs if t.requires_grad or not t.dtype.is_floating_point)

    return call, tuple(leaves[i] for i in places)
