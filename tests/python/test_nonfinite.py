"""NaN and infinity go where the CPU's kernels take them."""

import pytest
import torch
import torch.nn.functional as F

import torch_neuronx  # noqa: F401

NAN, INF = float("nan"), float("inf")
Z = [complex(a, b) for a in (1.5, -2.0, 0.0, INF, -INF, NAN) for b in (0.5, -1.0, INF, -INF, NAN)]


def kinds(t):
    t = t.cpu().resolve_conj()
    t = torch.view_as_real(t) if t.is_complex() else t
    return torch.where(t.isnan(), 2.0, torch.where(t.isinf(), t.sign(), torch.zeros(()))).double()


def check(f, *args):
    expected, actual = f(*args), f(*[a.to("neuron") for a in args])
    for e, a in zip(*[r if isinstance(r, tuple) else (r,) for r in (expected, actual)]):
        torch.testing.assert_close(kinds(a), kinds(e), rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
@pytest.mark.parametrize(
    "f",
    [
        torch.logaddexp,
        lambda x, y: torch.stack([x, y]).cumprod(0),
        lambda x, y: torch.stack([x, y]).logcumsumexp(0),
        lambda x, y: torch.stack([x, y], -1).prod(-1),
        lambda x, y: torch.linalg.vector_norm(torch.stack([x, y]), 2, 0),
        lambda x, y: torch._foreach_add([x], [y])[0],
        lambda x, y: torch.addr(x.reshape(30, 30), x[:30], y[:30]),
        lambda x, y: torch.bmm(x[:, None, None], y[:, None, None]),
        lambda x, y: torch.exp2(x),
    ],
)
def test_complex(f, dtype):
    z = torch.tensor(Z, dtype=dtype)
    check(f, z.repeat_interleave(len(Z)), z.repeat(len(Z)))


@pytest.mark.parametrize("value", [NAN, INF])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64])
@pytest.mark.parametrize(
    "f",
    [
        lambda x, w: F.conv2d(x, w, padding=1),
        lambda x, w: F.conv_transpose2d(x, w, stride=2),
        lambda x, w: F.conv_transpose2d(x, w, stride=1, padding=1),
    ],
)
def test_kernel_of_a_convolution(f, dtype, value):
    w = torch.ones(2, 2, 3, 3, dtype=dtype)
    w[0, 0, 0, 1] = value
    check(f, torch.ones(1, 2, 5, 5, dtype=dtype), w)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_statistics(dtype):
    x = torch.ones(3, 4, 5, dtype=dtype)
    x[0, 0, 4], x[1, 2, 1], x[2, 1, 0] = INF, -INF, NAN
    check(lambda x: torch.var_mean(x, 2), x)
    w, b = torch.tensor([INF, 1, 2, -INF], dtype=dtype), torch.tensor([1, INF, NAN, 0], dtype=dtype)
    y = torch.arange(60, dtype=dtype).reshape(3, 4, 5)
    check(lambda x, w, b: F.batch_norm(x, None, None, w, b, True), y, w, b)
    check(lambda x, w, b: torch.native_group_norm(x, w, b, 3, 4, 5, 2, 1e-5), x, w, b)


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_positions_of_a_grid(mode):
    grid = torch.zeros(1, 2, 3, 2)
    grid[0, 0, 0, 0], grid[0, 1, 1, 1] = NAN, INF
    check(lambda x, g: F.grid_sample(x, g, mode, align_corners=False), torch.ones(1, 2, 4, 4), grid)


def test_resizing_reads_its_support_only():
    x = torch.ones(1, 1, 4, 4)
    x[0, 0, 3, 3] = NAN
    check(lambda x: F.interpolate(x, (6, 7), mode="bilinear", antialias=True), x)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: F.binary_cross_entropy(x, torch.zeros_like(x)),
        lambda x: F.binary_cross_entropy(torch.zeros_like(x), x),
        lambda x: torch.histogram(x, 4),
    ],
)
def test_refused(f):
    with pytest.raises(RuntimeError, match="should be between 0 and 1|not finite"):
        f(torch.tensor([0.5, NAN], device="neuron"))
        torch.neuron.synchronize()
