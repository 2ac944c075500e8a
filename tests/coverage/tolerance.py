"""PyTorch's own tolerances: by dtype, and an OpInfo's overrides for tests that compare devices."""

import torch
from torch.testing._comparison import default_tolerances
from torch.testing._internal.common_device_type import precisionOverride, toleranceOverride

from .tables import WIDER

# Test classes whose overrides say how far an operator's results may be apart on two backends or layouts.
CLASSES = {None, "TestCommon", "TestCompositeCompliance", "TestMathBits", "TestUnaryUfuncs", "TestOperators", "TestConsistency",
    "TestModule"}
# Devices whose overrides do not speak for another backend.
OTHERS = {"mps", "meta"}


OVERRIDES = {}


def overrides(info):
    """dtype to (atol, rtol) that the OpInfo's decorators allow; the widest of each."""
    if id(info) in OVERRIDES:
        return OVERRIDES[id(info)]
    found = OVERRIDES[id(info)] = {}
    for entry in info.decorators:
        if getattr(entry, "cls_name", None) not in CLASSES or getattr(entry, "device_type", None) in OTHERS:
            continue
        for decorator in getattr(entry, "decorators", [entry]):
            if isinstance(decorator, toleranceOverride):
                pairs = {d: (t.atol, t.rtol) for d, t in decorator.d.items()}
            elif isinstance(decorator, precisionOverride):
                pairs = {d: (atol, 0.0) for d, atol in decorator.d.items()}
            else:
                continue
            for dtype, (atol, rtol) in pairs.items():
                old = found.get(dtype, (0.0, 0.0))
                found[dtype] = max(old[0], atol), max(old[1], rtol)
    return found


def tolerance(info, name, *dtypes):
    """The widest (atol, rtol) of results of these dtypes, as keyword arguments of `torch.allclose`."""
    rtol, atol = default_tolerances(*dtypes)
    for dtype in dtypes:
        for wider in (overrides(info).get(dtype), WIDER.get((name, dtype))):
            if wider:
                atol, rtol = max(atol, wider[0]), max(rtol, wider[1])
    return {"atol": atol, "rtol": rtol}
