"""Products of quantised matrices, and 8-bit floats, against the CPU."""

import pytest
import torch

FLOATS = [torch.float32, torch.bfloat16, torch.float16]
FP8 = [torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz, torch.float8_e8m0fnu]
OTHERS = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int8, torch.int32, torch.int64, torch.uint8,
          torch.uint16, torch.uint32, torch.uint64, torch.bool, torch.complex32, torch.complex64, torch.complex128]


def device(*xs):
    return [x.to("neuron") for x in xs]


def close(got, want, tolerance=2e-2):
    assert got.device.type == "neuron" and got.dtype == want.dtype
    torch.testing.assert_close(got.cpu().float(), want.float(), rtol=tolerance, atol=tolerance)


def test_int_mm():
    torch.manual_seed(0)
    a, b = torch.randint(-128, 128, (20, 32), dtype=torch.int8), torch.randint(-128, 128, (32, 24), dtype=torch.int8)
    assert torch.equal(torch._int_mm(*device(a, b)).cpu(), torch._int_mm(a, b))
    out = torch.empty(20, 24, dtype=torch.int32, device="neuron")
    torch._int_mm(*device(a, b), out=out)
    assert torch.equal(out.cpu(), torch._int_mm(a, b))


@pytest.mark.parametrize("dtype", FLOATS)
def test_8_bit_weights(dtype):
    torch.manual_seed(0)
    x, w = torch.randn(5, 32, dtype=dtype), torch.randint(-128, 128, (24, 32), dtype=torch.int8)
    scales = torch.rand(24, dtype=dtype) * 0.01
    close(torch._weight_int8pack_mm(*device(x, w, scales)), torch._weight_int8pack_mm(x, w, scales))


@pytest.mark.parametrize("dtype", FLOATS)
def test_4_bit_weights(dtype):
    torch.manual_seed(0)
    x, w = torch.randn(5, 64, dtype=dtype), torch.randint(0, 16, (32, 64), dtype=torch.int32)
    scales = torch.rand(2, 32, 2, dtype=dtype) * 0.1
    here = torch._convert_weight_to_int4pack_for_cpu(w, 1)
    there = torch._convert_weight_to_int4pack_for_cpu(w.to("neuron"), 1)
    assert there.shape == here.shape and there.dtype == here.dtype
    want = torch._weight_int4pack_mm_for_cpu(x, here, 32, scales)
    close(torch._weight_int4pack_mm_for_cpu(x.to("neuron"), there, 32, scales.to("neuron")), want)


@pytest.mark.parametrize("block", [32, 64])
@pytest.mark.parametrize("with_bias", [False, True])
def test_dynamic_quantisation(block, with_bias):
    torch.manual_seed(0)
    n, k = 16, 64
    x, w = torch.randn(5, k), torch.randint(0, 256, (n, k // 2), dtype=torch.uint8)
    scales = torch.rand(n, k // block) * 0.1
    bias = torch.randn(n) if with_bias else None
    here = torch.ops.aten._dyn_quant_pack_4bit_weight(w, scales, bias, block, k, n)
    there = torch.ops.aten._dyn_quant_pack_4bit_weight(*device(w, scales), bias if bias is None else bias.to("neuron"), block, k, n)
    want = torch.ops.aten._dyn_quant_matmul_4bit(x, here, block, k, n)
    close(torch.ops.aten._dyn_quant_matmul_4bit(x.to("neuron"), there, block, k, n), want, 1e-4)


@pytest.mark.parametrize("out", [torch.bfloat16, torch.float32, torch.float16])
@pytest.mark.parametrize("rowwise", [False, True])
@pytest.mark.parametrize("with_bias", [False, True])
def test_scaled_products(out, rowwise, with_bias):
    torch.manual_seed(0)
    a = torch.randn(16, 32).to(torch.float8_e4m3fn)
    b = torch.randn(24, 32).to(torch.float8_e4m3fn).t()
    sa = torch.rand(16, 1) if rowwise else torch.tensor(0.5)
    sb = torch.rand(1, 24) if rowwise else torch.tensor(0.25)
    bias = torch.randn(24, dtype=out) if with_bias else None
    arguments = lambda move: ([move(t) for t in (a, b, sa, sb)], dict(bias=bias if bias is None else move(bias), out_dtype=out))  # noqa: E731
    here, there = arguments(lambda t: t), arguments(lambda t: t.to("neuron"))
    close(torch._scaled_mm(*there[0], **there[1]), torch._scaled_mm(*here[0], **here[1]))


def bits(x):
    return x.cpu().view(torch.uint8).to(torch.int16)


@pytest.mark.parametrize("small", FP8, ids=str)
def test_casts_of_8_bit_floats(small):
    codes = torch.arange(256, dtype=torch.uint8).view(small)
    torch.manual_seed(0)
    for other in OTHERS + FP8:
        there = codes.to("neuron").to(other).cpu()
        want = codes.to(other)
        fits = torch.ones(256, dtype=torch.bool)
        if not (other.is_floating_point or other.is_complex or other == torch.bool):
            # What no integer holds is undefined.
            value = codes.double()
            info = torch.iinfo(other)
            fits = (value >= max(info.min, -2.0**62)) & (value <= min(info.max, 2.0**62))
        if other in FP8:
            assert torch.equal(bits(there), bits(want)), f"{small} to {other}"
            continue
        assert torch.equal(torch.nan_to_num(there[fits].to(torch.complex128).abs()), torch.nan_to_num(want[fits].to(torch.complex128).abs())), f"{small} to {other}"
        source = torch.randn(999).mul(100).to(other) if other.is_floating_point or other.is_complex else torch.randint(0, 100, (999,)).to(other)
        assert torch.equal(bits(source.to("neuron").to(small)), bits(source.to(small))), f"{other} to {small}"
    exact = torch.tensor([0.0, -0.0, 1.0, 1.5, -1.5, 3.0, 6.0, 2.0**-127, 1.5 * 2.0**-127, 2.0**-149, 3e38, float("inf"), -float("inf"), float("nan")])
    assert torch.equal(bits(exact.to("neuron").to(small)), bits(exact.to(small)))


def test_complex_half():
    torch.manual_seed(0)
    x, y = torch.randn(3, 4, dtype=torch.complex32), torch.randn(3, 4, dtype=torch.complex32)
    a, b = device(x, y)
    for f in (lambda x, y: x + y, lambda x, y: x * y, lambda x, y: x - y, lambda x, y: x == y, lambda x, y: x.abs(),
              lambda x, y: x.real, lambda x, y: torch.where(x == y, x, y), lambda x, y: torch.view_as_real(x).sum(-1),
              lambda x, y: torch.complex(x.real.contiguous(), y.real.contiguous()), lambda x, y: x.to(torch.complex128),
              lambda x, y: x.conj().resolve_conj(), lambda x, y: torch.cat([x, y]).t().contiguous(),
              lambda x, y: x.real.contiguous() * 1j, lambda x, y: x * 2.5, lambda x, y: x.bool()):
        got, want = f(a, b), f(x, y)
        assert got.dtype == want.dtype
        wide = torch.complex128 if want.is_complex() else torch.float64
        torch.testing.assert_close(got.cpu().to(wide), want.to(wide), rtol=2e-3, atol=2e-3)
