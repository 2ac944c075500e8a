"""One numbered call: what it is, and whether the device agrees with the CPU."""

import random

import torch
from torch.testing._internal.common_methods_invocations import op_db

from tests.coverage.compare import Difference, compare, raised, same_error
from tests.coverage.moving import lift, tensors, to_device
from tests.coverage.operators import full_name
from tests.coverage.tables import DROPOUT, HOST_OPERANDS, MEMORY, RANDOM, STATISTICS, TIES

from .mutate import mutate
from .tables import ACCEPTED, UNDEFINED

SAMPLES = 8
# What the CPU says about dtypes and forms that it lacks, and about its memory.
LACKS = ("not implemented for", "can't allocate memory", "not supported on CPU", "MKL FFT error")


def operators(only=()):
    skipped = RANDOM | MEMORY | HOST_OPERANDS | set(DROPOUT) | set(TIES) | STATISTICS | set(UNDEFINED)
    for info in op_db:
        name = full_name(info)
        if name in skipped or name.startswith(("jiterator", "sparse", "to_sparse")):
            continue
        if not info.supported_dtypes("cpu"):
            continue
        if not only or name in only or info.name in only:
            yield info


KEPT = {}


def samples(info, dtype):
    key = full_name(info), dtype
    if key not in KEPT:
        torch.manual_seed(0)
        taken = []
        for sample in info.sample_inputs("cpu", dtype):
            taken.append((sample.input, sample.args, sample.kwargs))
            if len(taken) == SAMPLES:
                break
        KEPT[key] = taken
    return KEPT[key]


def describe(x):
    if isinstance(x, torch.Tensor):
        gaps = "" if x.is_contiguous() else f", strides {list(x.stride())}"
        return f"{str(x.dtype).removeprefix('torch.')}{list(x.shape)}{gaps}"
    if isinstance(x, (list, tuple)):
        return f"({', '.join(map(describe, x))})"
    return repr(x)[:60]


class Call:
    """The call of a number."""

    def __init__(self, number, infos, wrong):
        rng = random.Random(number)
        self.number = number
        self.info = rng.choice(infos)
        self.name = full_name(self.info)
        self.dtype = rng.choice(sorted(self.info.supported_dtypes("cpu"), key=str))
        given = samples(self.info, self.dtype)
        self.here = None
        if given:
            self.here = mutate(rng.choice(given), rng, rng.random() < wrong)

    def __str__(self):
        first, args, kwargs = self.here
        named = [f"{k}={describe(v)}" for k, v in kwargs.items()]
        return f"#{self.number} {self.name}({', '.join([describe(first), *map(describe, args), *named])})"

    def run(self):
        """Nothing when there is nothing to compare, else "equal" or "refused"; raises a Difference."""
        if self.here is None:
            return None
        there = to_device(self.here)
        factory = not tensors(self.here)
        got, want = [], []
        more = {"device": "neuron"} if factory and "device" not in there[2] else {}
        wrong = raised(lambda: want.append(self.call(self.here)))
        ours = raised(lambda: got.append(self.call(there, **more)))
        if wrong is not None or ours is not None:
            if wrong is None:
                raise Difference(f"raises {type(ours).__name__}({str(ours)[:200]!r}), the CPU nothing")
            if isinstance(wrong, NotImplementedError) or any(text in str(wrong) for text in LACKS):
                return None
            if (self.name, type(wrong).__name__, type(ours).__name__) in ACCEPTED:
                return None
            same_error(ours, wrong)
            return "refused"
        if tensors(want):
            compare(self.info, self.name, self.dtype, got, want, self.exact)
        elif got != want and not (got[0] != got[0] and want[0] != want[0]):
            raise Difference(f"{got[0]!r}, not {want[0]!r}")
        return "equal"

    def call(self, arguments, **more):
        return self.info(arguments[0], *arguments[1], **arguments[2], **more)

    def exact(self):
        try:
            return tensors(self.call(lift(self.here)))
        except Exception:
            return None
