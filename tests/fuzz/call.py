"""One numbered call: what it is, and whether the device agrees with the CPU."""

import random

import torch
from torch.testing._internal.common_methods_invocations import op_db

from tests.coverage.compare import Difference, compare, raised, same_error
from tests.coverage.moving import lift, tensors, to_device
from tests.coverage.operators import full_name
from tests.coverage.tables import DROPOUT, HOST_OPERANDS, MEMORY, RANDOM, STATISTICS, TIES

from . import forms
from .mutate import mutate
from .tables import ACCEPTED, UNDEFINED, open_results

SAMPLES = 8
# What the CPU says about dtypes and forms that it lacks, and about its memory.
LACKS = ("not implemented for", "can't allocate memory", "bad allocation", "not supported on CPU", "MKL FFT error")


# Operators without a tensor among arguments and results.
NO_DEVICE = {"broadcast_shapes"}


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


def samples(info, dtype, grad):
    key = full_name(info), dtype, grad
    if key not in KEPT:
        torch.manual_seed(0)
        taken = []
        for sample in info.sample_inputs("cpu", dtype, requires_grad=grad):
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
    """The call of a number. Operators take turns, in another order every round."""

    def __init__(self, number, infos, wrong):
        rng = random.Random(number)
        turn, place = divmod(number, len(infos))
        self.number = number
        self.info = random.Random(turn).sample(infos, len(infos))[place]
        self.name = full_name(self.info)
        self.dtype = rng.choice(sorted(self.info.supported_dtypes("cpu"), key=str))
        self.form = forms.chosen(self.info, self.dtype, rng)
        self.kind = rng.choice(forms.OUTS)
        given = samples(self.info, self.dtype, self.form == "grad")
        self.here = None
        if given:
            first, args, kwargs = mutate(rng.choice(given), rng, rng.random() < wrong)
            self.here = (forms.apart(first) if self.form == "inplace" else first), args, kwargs

    def __str__(self):
        first, args, kwargs = self.here
        named = [f"{k}={describe(v)}" for k, v in kwargs.items()]
        form = {"plain": "", "out": f".out_{self.kind}"}.get(self.form, f".{self.form}")
        text = ", ".join([describe(first), *map(describe, args), *named])
        return f"#{self.number} {self.name}{form}({text})"

    def run(self):
        """Nothing when there is nothing to compare, else "equal" or "refused"; raises a Difference."""
        if self.here is None or open_results(self.name, self.here):
            return None
        like = []
        if self.form == "out":
            plain = lambda: forms.run(self.info, self.dtype, "plain", None, to_device(self.here, "cpu"), "cpu", [], {})
            raised(lambda: like.extend(tensors(plain())))
        got, want = [], []
        wrong = raised(lambda: want.append(self.call("cpu", like)))
        torch.neuron.reset_fallback_ops()
        ours = raised(lambda: got.append(self.call("neuron", like)))
        if wrong is not None or ours is not None:
            if ours is not None and "internal error" in str(ours):
                raise Difference(f"{type(ours).__name__}({str(ours)[:300]!r})")
            if wrong is None:
                raise Difference(f"raises {type(ours).__name__}({str(ours)[:200]!r}), the CPU nothing")
            if isinstance(wrong, NotImplementedError) or any(text in str(wrong) for text in LACKS):
                return None
            if any(self.name in names and text in str(wrong) for names, text in ACCEPTED):
                return None
            same_error(ours, wrong)
            return "refused"
        try:
            return self.compared(got, want)
        except RuntimeError as e:  # results too large to look at
            if "can't allocate memory" in str(e):
                return None
            raise

    def compared(self, got, want):
        if ops := torch.neuron.fallback_ops():
            raise Difference(f"ran on the CPU: {', '.join(ops)}")
        if tensors(want):
            compare(self.info, self.name, self.dtype, got, want, self.exact)
        elif got != want and not (got[0] != got[0] and want[0] != want[0]):
            raise Difference(f"{got[0]!r}, not {want[0]!r}")
        return "equal"

    def call(self, device, like):
        arguments = to_device(self.here, device)
        factory = device != "cpu" and not tensors(self.here) and self.info.name not in NO_DEVICE
        more = {"device": device} if factory and "device" not in arguments[2] else {}
        return forms.run(self.info, self.dtype, self.form, self.kind, arguments, device, like, more)

    def exact(self):
        form = "grad" if self.form == "grad" else "plain"
        try:
            return tensors(forms.run(self.info, self.dtype, form, None, lift(self.here), "cpu", [], {}))
        except Exception:
            return None
