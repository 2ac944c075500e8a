"""Calls that the fuzzer found: results and refusals are the CPU's."""

import pytest
import torch
import torch.nn.functional as F

DEV = "neuron"
f, g, h = torch.float32, torch.float64, torch.float16
i8, i32, i64, u8, b = torch.int8, torch.int32, torch.int64, torch.uint8, torch.bool


def ones(d, *sizes, dtype=f):
    return torch.ones(sizes, dtype=dtype, device=d)


# Each call takes the device.
CALLS = {
    "fill u8 300": lambda d: torch.full((2,), 300, dtype=u8, device=d),
    "fill u8 -1": lambda d: torch.full((2,), -1, dtype=u8, device=d),
    "fill i32 nan": lambda d: torch.full((2,), float("nan"), dtype=i32, device=d),
    "fill f32 1e300": lambda d: torch.full((2,), 1e300, device=d),
    "fill f32 inf": lambda d: torch.full((2,), float("inf"), device=d),
    "fill f32 complex": lambda d: ones(d, 2).fill_(1j),
    "fill nothing": lambda d: torch.full((0,), 300, dtype=u8, device=d),
    "a single f16 takes any number": lambda d: torch.scalar_tensor(1e6, dtype=h, device=d),
    "add alpha i8": lambda d: torch.add(ones(d, 2, dtype=i8), ones(d, 2, dtype=i8), alpha=300),
    "add alpha f16": lambda d: torch.add(ones(d, 2, dtype=h), ones(d, 2, dtype=h), alpha=1e6),
    "add a number": lambda d: torch.add(ones(d, 2, dtype=i8), 300),
    "addcmul value f16": lambda d: torch.addcmul(*[ones(d, 2, dtype=h)] * 3, value=1e6),
    "addmm beta": lambda d: torch.addmm(*[ones(d, 2, 2, dtype=i8)] * 3, beta=300),
    "clamp f16": lambda d: torch.clamp(ones(d, 2, dtype=h), max=1e6),
    "threshold i32": lambda d: F.threshold(ones(d, 2, dtype=i32), -6, 1 << 40),
    "pad i8": lambda d: F.pad(ones(d, 2, dtype=i8), (1, 1), value=300),
    "pow f16": lambda d: torch.pow(ones(d, 2, dtype=h), 1e6),
    "foreach pow": lambda d: torch._foreach_pow([ones(d, 2, dtype=i32)], -1)[0],
    "linspace u8": lambda d: torch.linspace(0, 300, 3, dtype=u8, device=d),
    "isin of any number": lambda d: torch.isin(ones(d, 2, dtype=u8), 300),
    "isin of a number": lambda d: torch.isin(1, ones(d, 2, 2)),
    "stack of other ranks": lambda d: torch.stack([ones(d, 1, 2, 1, 4), ones(d, 2, 1, 4)], -1),
    "stack of nothing": lambda d: torch.stack([]),
    "median of no integer": lambda d: torch.median(ones(d, 0, dtype=i64)),
    "nansum of complex": lambda d: torch.nansum(ones(d, 2, dtype=torch.complex64)),
    "adaptive pool of nothing": lambda d: F.adaptive_avg_pool3d(ones(d, 8, 4, 3, 0), (None, None, None)),
    "bce of two types": lambda d: F.binary_cross_entropy(ones(d, 2), ones(d, 2, dtype=b)),
    "bce with f64 weight": lambda d: F.binary_cross_entropy(ones(d, 2), ones(d, 2), weight=ones(d, 2, dtype=g)),
    "huber of two types": lambda d: F.huber_loss(ones(d, 2), ones(d, 2, dtype=g)),
    "huber into integers": lambda d: F.huber_loss(ones(d, 2, dtype=i32), ones(d, 2, dtype=g)),
    "huber delta": lambda d: F.huber_loss(ones(d, 2), ones(d, 2), delta=-1.0),
    "soft margin of two types": lambda d: F.soft_margin_loss(ones(d, 2, dtype=h), ones(d, 2, dtype=g)),
    "nll weight of another type": lambda d: F.nll_loss(
        ones(d, 2, 3), torch.zeros(2, dtype=i64, device=d), weight=ones(d, 3, dtype=g)
    ),
    "polar of two types": lambda d: torch.polar(ones(d, 2), ones(d, 2, dtype=g)),
    "polar of integers": lambda d: torch.polar(ones(d, 2, dtype=i64), ones(d, 2)),
    "norm of complex order": lambda d: torch.dist(ones(d, 2), ones(d, 2), 1j),
    "norm of one number": lambda d: torch.linalg.vector_norm(ones(d, 1) * 2, float("nan")),
    "round to many decimals": lambda d: torch.round(ones(d, 2), decimals=1 << 40),
    "unpool into nothing": lambda d: F.max_unpool3d(
        ones(d, 1, 2, 1, 2, 2), ones(d, 1, 2, 1, 2, 2, dtype=i64), 3, None, 1, output_size=(1, 2, 0, 6, 5)
    ),
    "groups that do not divide": lambda d: F.group_norm(ones(d, 2, 2, 2), 0),
    "mask of numbers": lambda d: ones(d, 2).masked_fill_(ones(d, 2), 1),
    "softmax of no integer": lambda d: F.log_softmax(ones(d, 0, 5, dtype=i32), -2),
    "mm of bool and u8": lambda d: torch.mm(ones(d, 2, 2, dtype=b), ones(d, 2, 2, dtype=u8)),
    "cholesky_inverse of a row": lambda d: torch.cholesky_inverse(ones(d, 5)),
    "alpha of another kind": lambda d: torch.rsub(ones(d, 2, dtype=i32), ones(d, 2, dtype=i32), alpha=1.5),
    "renorm of integers": lambda d: torch.renorm(ones(d, 2, 2, dtype=i32), 2, 0, 1.0),
}


def outcome(call, device):
    try:
        result = call(device)
        torch.neuron.synchronize()
        return result.cpu()
    except Exception as e:
        return type(e)


@pytest.mark.parametrize("name", CALLS)
def test_as_on_the_cpu(name):
    want, got = outcome(CALLS[name], "cpu"), outcome(CALLS[name], DEV)
    if isinstance(want, type):
        assert got is want
    else:
        torch.testing.assert_close(got, want, equal_nan=True)


@pytest.mark.parametrize("bad", [-1, float("nan")])
def test_ranges_are_checked_on_every_call(bad):
    # A call of the same key has been compiled before.
    x = ones(DEV, 2, 2)
    torch.renorm(x, 2, 0, 1.0)
    F.softshrink(x, 0.5)
    with pytest.raises(RuntimeError, match="maxnorm"):
        torch.renorm(x, 2, 0, float(bad))
    with pytest.raises(RuntimeError, match="lambda"):
        F.softshrink(x, float(bad))
