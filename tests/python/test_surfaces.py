"""Operators that others are made of: their side results, their errors and their `out=` overloads, as on the CPU."""

import pytest
import torch

aten = torch.ops.aten


def there(x):
    if isinstance(x, torch.Tensor):
        return x.clone().to("neuron")
    return type(x)(map(there, x)) if isinstance(x, (list, tuple)) else x


def same(f, *args, **kwargs):
    """Equal results, and equal arguments afterwards."""
    here = [a.clone() if isinstance(a, torch.Tensor) else a for a in args]
    moved = [there(a) for a in args]
    want, got = f(*here, **kwargs), f(*moved, **{k: there(v) for k, v in kwargs.items()})
    torch.testing.assert_close(to_host(got), to_host(want), rtol=1e-4, atol=1e-5, equal_nan=True)
    torch.testing.assert_close(to_host(moved), to_host(here), rtol=1e-4, atol=1e-5, equal_nan=True)


def to_host(x):
    return [t.cpu() for t in ([x] if isinstance(x, torch.Tensor) else x) if isinstance(t, torch.Tensor)]


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("dtype,param", [("bfloat16", "bfloat16"), ("bfloat16", "float32"), ("float32", "float32")])
def test_types_and_sizes_of_saved_statistics(dtype, param, training):
    x = torch.randn(4, 3, 5).to(getattr(torch, dtype))
    params = [torch.rand(3).to(getattr(torch, param)) + 0.5 for _ in range(4)]
    for f in (aten.native_batch_norm, aten._native_batch_norm_legit_functional):
        want = f(x, *[p.clone() for p in params], training, 0.1, 1e-5)
        got = f(there(x), *map(there, params), training, 0.1, 1e-5)
        assert [(t.dtype, t.shape) for t in got] == [(t.dtype, t.shape) for t in want]


@pytest.mark.parametrize("padding", [-1, 2])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_side_results_of_embedding_bags(dtype, mode, last, padding):
    weight, indices = torch.randn(7, 4, dtype=dtype), torch.tensor([0, 2, 1, 4, 6, 2])
    offsets = torch.tensor([0, 2, 2, 5] + [6] * last)
    same(aten._embedding_bag, weight, indices, offsets, False, mode, False, None, last, padding)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_gradients_of_embedding_bags(mode, sparse):
    if sparse and mode == "max":
        pytest.skip("PyTorch has no sparse gradient of a maximum")
    weight, scale = torch.randn(7, 4), torch.rand(6)
    grads = []
    for device in ("cpu", "neuron"):
        w, s = weight.clone().to(device).requires_grad_(), scale.clone().to(device).requires_grad_()
        indices, offsets = torch.tensor([0, 2, 1, 4, 6, 2], device=device), torch.tensor([0, 2, 2, 5], device=device)
        per_sample = s if mode == "sum" else None
        y = torch.nn.functional.embedding_bag(
            indices, w, offsets, mode=mode, sparse=sparse, per_sample_weights=per_sample, padding_idx=2
        )
        y.pow(2).sum().backward()
        grads.append([(w.grad.to_dense() if sparse else w.grad).cpu()] + ([s.grad.cpu()] if mode == "sum" else []))
    torch.testing.assert_close(grads[1], grads[0])


def test_gradients_of_learnable_quantizers():
    x, dy = torch.linspace(-20, 20, 24).reshape(4, 6), torch.randn(4, 6)
    one = torch.tensor([0.1]), torch.tensor([3.3])
    same(aten._fake_quantize_learnable_per_tensor_affine_backward, dy, x, *one, -128, 127, 0.5)
    scale, zero = torch.rand(6) * 0.1 + 0.05, torch.randn(6) * 5
    same(aten._fake_quantize_learnable_per_channel_affine_backward, dy, x, scale, zero, 1, -128, 127, 2.0)
    same(aten._fake_quantize_learnable_per_channel_affine, x, scale, zero, 1, -128, 127, 2.0)


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("per_row", [False, True])
def test_observed_quantization(per_row, symmetric):
    n, x = 3 if per_row else 1, torch.randn(3, 5)
    state = [torch.ones(1, dtype=torch.long), torch.ones(1, dtype=torch.long), torch.full((n,), float("inf"))]
    state += [torch.full((n,), -float("inf")), torch.ones(n), torch.zeros(n, dtype=torch.int32)]
    same(aten._fused_moving_avg_obs_fq_helper, x, *state, 0.01, 0, 255, 0, per_row, symmetric)
    state[2:4] = [torch.full((n,), -0.5), torch.full((n,), 0.75)]
    same(aten._fused_moving_avg_obs_fq_helper, x, *state, 0.25, 0, 255, 0, per_row, symmetric)


def test_batch_normalization_in_steps():
    x, dy, weight = torch.randn(8, 3, 4, 4), torch.randn(8, 3, 4, 4), torch.rand(3)
    here, w, b = x.clone().requires_grad_(), weight.clone().requires_grad_(), torch.zeros(3, requires_grad=True)
    running = [torch.zeros(3), torch.ones(3)]
    want = torch.nn.functional.batch_norm(here, *running, w, b, training=True)
    want.backward(dy)

    halves = there(x).chunk(2)
    stats = [aten.batch_norm_stats(h, 1e-5) for h in halves]
    new = [torch.zeros(3, device="neuron"), torch.ones(3, device="neuron")]
    joint = [torch.stack(s) for s in zip(*stats)]
    counts = torch.tensor([64.0, 64.0], device="neuron")
    mean, invstd = aten.batch_norm_gather_stats_with_counts(halves[0], *joint, *new, 0.1, 1e-5, counts)
    torch.testing.assert_close(to_host(new), running)
    y = aten.batch_norm_elemt(there(x), there(weight), None, mean, invstd, 1e-5)
    torch.testing.assert_close(y.cpu(), want.detach(), rtol=1e-4, atol=1e-5)
    sums = aten.batch_norm_backward_reduce(there(dy), there(x), mean, invstd, there(weight), True, True, True)
    torch.testing.assert_close(to_host(sums[2:]), [w.grad, b.grad], rtol=1e-4, atol=1e-4)
    count = torch.tensor([128], dtype=torch.int32, device="neuron")
    dx = aten.batch_norm_backward_elemt(there(dy), there(x), mean, invstd, there(weight), *sums[:2], count)
    torch.testing.assert_close(dx.cpu(), here.grad, rtol=1e-4, atol=1e-5)


def test_operators_below_others():
    a, b = torch.randn(2, 3), torch.randn(2, 3)
    same(aten._aminmax, a)
    same(aten._aminmax.dim, a, 1, True)
    same(aten._add_relu.Tensor, a, b, alpha=2)
    same(aten._add_relu.Scalar, a, 0.5)
    same(aten._compute_linear_combination, torch.randn(4, 2, 3), torch.randn(5, 4))
    same(aten.isin.Scalar_Tensor, 6.0, torch.tensor([1.0, 6.0]))
    same(aten._padded_dense_to_jagged_forward, torch.randn(2, 3, 4), [torch.tensor([0, 2, 3])])
    same(aten.embedding_renorm, torch.randn(5, 3, dtype=torch.complex64), torch.tensor([0, 3]), 1.0, 2.0)
    same(aten.glu_backward_jvp, torch.randn(2, 6), b, torch.randn(2, 6), a, torch.randn(2, 6), 1)
    for helper in (aten._cummax_helper, aten._cummin_helper):
        places = torch.zeros(2, 3), torch.zeros(2, 3).long()
        same(lambda x, v, i, helper=helper: helper(x, v, i, 1) or (v, i), a, *places)
    out = torch.empty(0, device="neuron")
    assert aten._stack.out([there(a), there(b)], 0, out=out) is out and out.shape == (2, 2, 3)
    x = there(a)
    assert x.is_set_to(x[:]) and not x.is_set_to(there(a))
    assert aten._resize_output(x, [4, 5], x.device).shape == (4, 5)


def test_sparse_helpers():
    diagonals, offsets = torch.tensor([[1.0, 2, 3], [4, 5, 6]]), torch.tensor([0, -1])
    want = torch.sparse.spdiags(diagonals, offsets, (4, 3)).to_dense()
    assert torch.equal(torch.sparse.spdiags(there(diagonals), there(offsets), (4, 3)).to_dense().cpu(), want)
    a, b = torch.tensor([[0.0, 3.0], [4.0, 0.0]]), torch.randn(2, 3)
    want = torch.smm(a.to_sparse(), b).to_dense()
    torch.testing.assert_close(torch.smm(there(a).to_sparse(), there(b)).to_dense().cpu(), want)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("to", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64])
def test_floats_that_no_integer_holds(dtype, to):
    special = [1e10, -1e10, 3e9, -3e9, 300, -129.5, 1e19, float("inf"), float("nan"), -float("inf"), 0.5, -0.5]
    x = torch.tensor(special * 5).to(dtype)
    assert torch.equal(there(x).to(to).cpu(), x.to(to))


@pytest.mark.parametrize(
    "call",
    [
        lambda d: torch.amax(torch.ones(3, device=d), 0, out=torch.ones((), dtype=torch.int32, device=d)),
        lambda d: torch.aminmax(torch.ones(3, device=d), dim=0, out=(torch.ones((), device=d).double(),) * 2),
        lambda d: torch.complex(torch.ones(3, device=d), torch.ones(3, device=d).int()),
        lambda d: torch.complex(torch.ones(3, device=d), torch.ones(3, device=d).double()),
        lambda d: torch.ones(3, device=d).masked_fill(torch.ones(3, device=d) > 0, 1j),
        lambda d: torch.ones(3, device=d).masked_scatter(torch.ones(3, device=d), torch.ones(3, device=d)),
        lambda d: torch.multinomial(torch.ones(3, 3, 3, device=d), 2),
        lambda d: torch.multinomial(torch.ones(3, device=d), -1),
        lambda d: torch.multinomial(torch.ones(3, device=d), 1, out=torch.ones(1, device=d)),
        lambda d: torch.narrow_copy(torch.ones((), device=d), 0, 0, 1),
        lambda d: torch.nn.functional.multi_margin_loss(torch.ones(5, 0, device=d), torch.zeros(5, device=d).long()),
        lambda d: torch.nn.functional.multi_margin_loss(torch.ones(5, 4, device=d), torch.zeros(5, device=d)),
        lambda d: torch.ormqr(torch.ones(4, 3, device=d), torch.ones(2, device=d), torch.ones(4, 3, device=d)),
        lambda d: torch.round(torch.ones(3, device=d), out=torch.ones(3, device=d).double()),
        lambda d: torch.take(torch.ones(3, device=d), torch.tensor([0], device=d), out=torch.ones(1, device=d).double()),
    ],
)
def test_errors_in_the_words_of_the_cpu(call):
    with pytest.raises(Exception) as want:
        call("cpu")
    with pytest.raises(type(want.value)) as got:
        call("neuron")
    assert str(got.value) == str(want.value)


def test_reversed_quantized_tensor():
    x = torch.arange(6.0).reshape(2, 3)
    want = torch.quantize_per_tensor(x, 0.5, 1, torch.qint8).flip(0, 1)
    got = torch.quantize_per_tensor(there(x), 0.5, 1, torch.qint8).flip(0, 1)
    assert torch.equal(got.int_repr().cpu(), want.int_repr())
