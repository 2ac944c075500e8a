"""Copies and casts: every pair of types, any strides, both directions."""

import pytest
import torch

DTYPES = [
    torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint32, torch.uint64,
    torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128,
    torch.float8_e4m3fn, torch.float8_e5m2,
]  # fmt: skip


@pytest.mark.parametrize("dst", DTYPES, ids=str)
@pytest.mark.parametrize("src", DTYPES, ids=str)
@pytest.mark.filterwarnings("ignore:Casting complex values to real")
def test_every_cast_agrees_with_the_cpu(src, dst):
    values = torch.tensor([0.0, 1.0, 2.0, 3.0, 100.0, 0.5, 7.0]).to(src)
    expected = values.to(dst)
    assert torch.equal(values.to("neuron").to(dst).cpu().view(torch.uint8), expected.view(torch.uint8))
    assert torch.equal(values.to("neuron", dst).cpu().view(torch.uint8), expected.view(torch.uint8))


@pytest.mark.filterwarnings("ignore:Casting complex values to real")
@pytest.mark.parametrize("dst", [torch.float16, torch.bfloat16, torch.float64, torch.float8_e4m3fn, torch.float8_e5m2, torch.bool], ids=str)
def test_special_values_keep_their_bits(dst):
    x = torch.tensor([0.0, -0.0, float("inf"), float("-inf"), 1e-40, -1e-45, 65504.0, 65520.0, 448.0, 1.0 + 2**-9])
    assert torch.equal(x.to("neuron").to(dst).cpu().view(torch.uint8), x.to(dst).view(torch.uint8))
    assert torch.tensor([float("nan")]).to("neuron").to(dst).float().isnan().item() == (dst != torch.bool)


@pytest.mark.parametrize("shape,make", [
    ((5, 7), lambda x: x.t()),
    ((64, 65), lambda x: x.t()),
    ((4, 6), lambda x: x[::2, 1::2]),
    ((3, 4, 5), lambda x: x.permute(2, 0, 1)),
    ((1, 5), lambda x: x.expand(4, 5)),
    ((0, 3), lambda x: x),
    ((), lambda x: x),
])  # fmt: skip
def test_strides(shape, make):
    cpu = torch.arange(1.0, 1.0 + torch.Size(shape).numel()).view(shape)
    x = make(cpu.to("neuron"))
    assert torch.equal(x.cpu(), make(cpu))
    assert torch.equal(x.contiguous().cpu(), make(cpu))
    back = torch.zeros_like(make(cpu).contiguous())
    back.copy_(x)
    assert torch.equal(back, make(cpu))
    there = torch.zeros(make(cpu).shape, device="neuron")
    there.copy_(make(cpu))
    assert torch.equal(there.cpu(), make(cpu))


def test_copy_broadcasts():
    x = torch.zeros(2, 3, device="neuron")
    x.copy_(torch.tensor([1.0, 2.0, 3.0]))
    assert x.tolist() == [[1, 2, 3]] * 2
    x.copy_(torch.tensor([[5], [6]], device="neuron"))
    assert x.tolist() == [[5, 5, 5], [6, 6, 6]]


def test_a_large_copy_survives():
    n = (1 << 24) + 3
    x = torch.arange(n, dtype=torch.int32)
    y = x.to("neuron")
    assert torch.equal((y + 0).cpu(), x)


def test_numbers_come_back():
    assert torch.tensor(3, device="neuron").item() == 3
    assert torch.tensor(True, device="neuron").item() is True
    assert torch.tensor(2.5, dtype=torch.bfloat16, device="neuron").item() == 2.5
    assert torch.tensor(1 + 2j, device="neuron").item() == 1 + 2j
    assert float(torch.ones(3, device="neuron").sum()) == 3.0
    assert bool(torch.zeros(1, device="neuron")) is False


def test_overlapping_copy_within_a_tensor():
    x = torch.arange(8.0, device="neuron")
    x[1:].copy_(x[:-1].clone())
    assert x.tolist() == [0, 0, 1, 2, 3, 4, 5, 6]
