"""The checks of one operator on lists of tensors (a ForeachFuncInfo) in one dtype: those of `operators`, but that the in-place
variant writes to the tensors of a list and returns nothing of its own."""

import torch

from . import operators
from .moving import spread
from .outcome import Refused


class Sample(operators.Sample):
    def has_out(self):
        return False  # the OpInfo's flag means another thing here

    @torch.no_grad()
    def inplace(self):
        op = self.info.inplace_variant
        want = [t.clone() for t in self.here[0]]
        try:
            op(want, *self.here[1], **self.here[2])
        except Exception:
            raise Refused from None
        for target in ([t.clone() for t in self.there[0]], spread(self.there[0])):
            op(target, *self.there[1], **self.there[2])
            self.compare(target, want)


def check(info, dtype, limit=10**9, checks=None, tick=lambda text: None):
    """All checks of a foreach operator in a dtype; samples that the CPU refuses in this dtype are left out."""
    return operators.check(info, dtype, limit, checks, tick, Sample)
