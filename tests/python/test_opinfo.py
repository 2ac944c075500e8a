"""A fixed slice of PyTorch's operator database: every operator with a native rule, forward and backward."""

import pytest
import torch

import opinfo

SAMPLES = 3
DTYPES = [torch.float32, torch.bfloat16, torch.int64, torch.bool]
CASES = [
    pytest.param(info, dtype, id=f"{info.name}{'-' + info.variant_test_name if info.variant_test_name else ''}-{str(dtype)[6:]}")
    for info in opinfo.covered()
    for dtype in DTYPES
    if dtype in info.supported_dtypes("cpu")
]


@pytest.mark.parametrize("info,dtype", CASES)
@pytest.mark.filterwarnings("ignore")
def test_equals_the_cpu(info, dtype):
    torch.manual_seed(0)
    backward = dtype == torch.float32 and info.supports_autograd
    assert opinfo.check(info, dtype, SAMPLES, backward) > 0
