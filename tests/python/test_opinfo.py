"""A fixed slice of PyTorch's operator database against the CPU: results, gradients, variants and errors.

The exceptions in `opinfo_tables` are strict: one that passes fails here.
"""

import pytest
import torch

import opinfo
from opinfo_tables import EXPECTED, NOT_NATIVE

# Samples of operators with rules of their own; of the others, and of variants, there is one less.
SAMPLES = 3
# Operators that PyTorch composes from others are checked in the first of these dtypes only.
DTYPES = {
    "values": (torch.float32, torch.bfloat16, torch.int64, torch.bool),
    "noncontiguous": (torch.float32,),
    "inplace": (torch.float32,),
    "out": (torch.float32,),
    "errors": (torch.float32,),
    "forward": (torch.float64,),
    "double": (torch.float64,),
}


def case(info, check, dtype, reason):
    marks = [pytest.mark.xfail(strict=True, reason=reason)] if reason else []
    return pytest.param(info, check, dtype, id=opinfo.case_name(info, check, dtype), marks=marks)


def covered():
    for info in opinfo.covered():
        for check, dtypes in DTYPES.items():
            if not opinfo.applies(info, check) or not (opinfo.has_row(info) or check == "values"):
                continue
            for dtype in dtypes if opinfo.has_row(info) else dtypes[:1]:
                if dtype in info.supported_dtypes("cpu"):
                    yield case(info, check, dtype, EXPECTED.get(opinfo.case_name(info, check, dtype)))


def not_covered():
    for reason, names in NOT_NATIVE.items():
        for info in opinfo.op_db:
            if opinfo.full_name(info) in names:
                yield case(info, "values", torch.float32, f"no native rule: {reason}")


CASES = [*covered(), *not_covered()]


@pytest.mark.parametrize("info,check,dtype", CASES)
@pytest.mark.filterwarnings("ignore")
def test_equals_the_cpu(info, check, dtype):
    torch.manual_seed(0)
    samples = SAMPLES if check == "values" and opinfo.has_row(info) else SAMPLES - 1
    if not opinfo.CHECKS[check](info, dtype, samples):
        pytest.skip("no sample applies")


def test_every_exception_is_of_a_case():
    assert set(EXPECTED) <= {case.id for case in CASES}
    named = {name for names in NOT_NATIVE.values() for name in names}
    assert named <= {opinfo.full_name(info) for info in opinfo.op_db}
