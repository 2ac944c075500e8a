"""complex32, quantized and nested tensors, and splitting by indices that are on the device, against the CPU."""

import pytest
import torch

DEV = "neuron"


def numbers(*shape):
    n = torch.Size(shape).numel()
    return (torch.arange(n, dtype=torch.float32) * 0.7 + 0.3).sin().mul(3).reshape(shape)


def narrow(*shape):
    return torch.complex(numbers(*shape), numbers(*shape).cos()).to(torch.complex32)


COMPLEX_HALF = {
    "copy": lambda x: x.clone(),
    "to_wider": lambda x: x.to(torch.complex64),
    "from_real": lambda x: x.real.to(torch.complex32),
    "conj": lambda x: x.conj().to(torch.complex64),
    "conj_clone": lambda x: x.conj().clone(),
    "imag_of_conj": lambda x: x.conj().imag,
    "add": lambda x: x + x,
    "mul": lambda x: x * x.flip(0),
    "scalar": lambda x: x * 2,
    "abs": lambda x: x.abs(),
    "eq": lambda x: x == x,
    "fill": lambda x: x.clone().fill_(1 + 2j),
    "in_place": lambda x: x.clone().add_(x),
    "transpose": lambda x: x.t().contiguous(),
    "zeros": lambda x: torch.zeros_like(x),
    "complex": lambda x: torch.complex(x.real, x.imag),
    "view_as_complex": lambda x: torch.view_as_complex(torch.view_as_real(x)),
    "promoted": lambda x: x + x.real.float(),
}


@pytest.mark.parametrize("case", COMPLEX_HALF)
@pytest.mark.filterwarnings("ignore:ComplexHalf")
def test_complex_half(case):
    f, x = COMPLEX_HALF[case], narrow(3, 4)
    actual, expected = f(x.to(DEV)), f(x)
    assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
    wide = torch.complex64 if expected.is_complex() else expected.dtype
    torch.testing.assert_close(actual.cpu().to(wide), expected.to(wide), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("where", [torch.tensor([1, 3]), torch.tensor(3), torch.tensor([], dtype=torch.long)], ids=str)
def test_tensor_split_by_indices_on_the_device(where):
    x = numbers(5, 2)
    parts = torch.tensor_split(x.to(DEV).requires_grad_(), where.to(DEV))
    for actual, expected in zip(parts, torch.tensor_split(x, where), strict=True):
        assert actual.grad_fn is not None
        torch.testing.assert_close(actual.detach().cpu(), expected)


@pytest.mark.parametrize("dtype", [torch.qint8, torch.quint8, torch.qint32], ids=str)
def test_quantize_per_tensor(dtype):
    x = torch.cat([numbers(40), torch.tensor([1e6, -1e6, 0.0, 0.025, 0.075])])
    q, expected = (torch.quantize_per_tensor(t, 0.05, 10, dtype) for t in (x.to(DEV), x))
    assert q.device.type == DEV and (q.q_scale(), q.q_zero_point()) == (0.05, 10)
    assert torch.equal(q.int_repr().cpu(), expected.int_repr())
    assert torch.equal(q.cpu().int_repr(), expected.int_repr())
    torch.testing.assert_close(q.dequantize().cpu(), expected.dequantize())


@pytest.mark.parametrize("axis", [0, 1])
def test_quantize_per_channel(axis):
    x = numbers(3, 4)
    scales, zeros = torch.linspace(0.01, 0.1, x.size(axis), dtype=torch.float64), torch.arange(x.size(axis))
    q, expected = (torch.quantize_per_channel(t, scales, zeros, axis, torch.qint8) for t in (x.to(DEV), x))
    assert torch.equal(q.int_repr().cpu(), expected.int_repr())
    torch.testing.assert_close(q.dequantize().cpu(), expected.dequantize())


QUANTIZED = {
    "relu": lambda q: torch.relu(q),
    "clone": lambda q: q.clone(),
    "view": lambda q: q.view(-1),
    "index_select": lambda q: q.index_select(0, torch.tensor([1, 0], device=q.device)),
    "max_pool2d": lambda q: torch.quantized_max_pool2d(q.view(1, 1, 4, 6), [2, 2]),
    "cat": lambda q: torch.cat([q, q]),
}


@pytest.mark.parametrize("case", QUANTIZED)
def test_quantized_operators(case):
    x = numbers(4, 6)
    q, expected = (QUANTIZED[case](torch.quantize_per_tensor(t, 0.05, 10, torch.quint8)) for t in (x.to(DEV), x))
    assert torch.equal(q.int_repr().cpu(), expected.int_repr())


def test_fake_quantize():
    outs = []
    for device in ("cpu", DEV):
        x = numbers(4, 6).to(device).requires_grad_()
        y = torch.fake_quantize_per_tensor_affine(x, 0.02, 3, -128, 127)
        z = torch.fake_quantize_per_channel_affine(
            x, torch.linspace(0.01, 0.04, 4).to(device), torch.arange(4, dtype=torch.int32).to(device), 0, -128, 127
        )
        (y + z).sum().backward()
        outs.append([y.detach().cpu(), z.detach().cpu(), x.grad.cpu()])
    torch.testing.assert_close(outs[1], outs[0])


NESTED = {
    "abs": lambda n: n.abs(),
    "add": lambda n: n + n,
    "scale": lambda n: n * 2,
    "relu": lambda n: n.relu(),
    "linear": lambda n: torch.nn.functional.linear(n, numbers(5, 4).to(n.device)),
    "softmax": lambda n: n.softmax(-1),
    "layer_norm": lambda n: torch.nn.functional.layer_norm(n, (4,), numbers(4).to(n.device), numbers(4).to(n.device)),
    "transpose": lambda n: n.transpose(1, 2).contiguous(),
    "sum": lambda n: n.sum(-1, keepdim=True),
}


@pytest.mark.parametrize("case", NESTED)
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_nested(case):
    parts = [numbers(2, 4), numbers(3, 4), numbers(1, 4)]
    actual, expected = (
        NESTED[case](torch.nested.nested_tensor([p.to(d) for p in parts], device=d)) for d in (DEV, "cpu")
    )
    assert actual.is_nested and actual.device.type == DEV
    for a, e in zip(actual.unbind(), expected.unbind(), strict=True):
        torch.testing.assert_close(a.cpu(), e)
    torch.testing.assert_close(actual.to_padded_tensor(0).cpu(), expected.to_padded_tensor(0))


@pytest.mark.parametrize("heads_first", [False, True])
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_attention_of_jagged_tensors(heads_first):
    offsets = torch.tensor([0, 3, 4, 9])
    outs = []
    for device in (DEV, "cpu"):
        leaves = [(numbers(9, 2, 8) * k).to(device).detach().requires_grad_() for k in (0.3, 0.5, 1.0)]
        parts = [torch.nested.nested_tensor_from_jagged(x, offsets=offsets.to(device)) for x in leaves]
        if heads_first:
            parts = [x.transpose(1, 2) for x in parts]
        out = torch.nn.functional.scaled_dot_product_attention(*parts)
        values = (out.transpose(1, 2) if heads_first else out).values()
        values.square().sum().backward()
        outs.append([x.cpu() for x in (values.detach(), *(x.grad for x in leaves))])
    torch.testing.assert_close(*outs)
