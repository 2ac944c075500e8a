"""Sparse tensors against the CPU: every layout, conversions between them, arithmetic, products, reductions, gradients."""

import itertools

import pytest
import torch

DEV = "neuron"
COMPRESSED = {"csr": (), "csc": (), "bsr": ((2, 2),), "bsc": ((2, 2),)}
MASK = torch.tensor([[0, 0, 1, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]], dtype=torch.bool)


def numbers(*shape, dtype=torch.float32, start=0.3):
    """Distinct values that no operation rounds away."""
    n = torch.Size(shape).numel()
    return (torch.arange(n, dtype=torch.float64) * 0.7 + start).sin().mul(3).reshape(shape).to(dtype)


def dense(dtype=torch.float32, start=0.3):
    return numbers(4, 4, dtype=dtype, start=start) * MASK


def coo(dtype=torch.float32, extra=(), start=0.3):
    """With an entry that comes twice, and out of order."""
    indices = torch.tensor([[0, 1, 1, 2, 0], [2, 0, 2, 1, 2]])
    return torch.sparse_coo_tensor(indices, numbers(5, *extra, dtype=dtype, start=start), (4, 4, *extra))


def to(x, device):
    return x.to(device) if isinstance(x, torch.Tensor) else x


def flat(x):
    return list(itertools.chain(*map(flat, x))) if isinstance(x, (tuple, list)) else [x]


def same(f, *operands):
    for actual, expected in zip(flat(f(*(to(x, DEV) for x in operands))), flat(f(*operands)), strict=True):
        if not isinstance(expected, torch.Tensor):
            assert actual == expected
            continue
        assert actual.device.type == DEV
        assert (actual.layout, actual.shape, actual.dtype) == (expected.layout, expected.shape, expected.dtype)
        actual = actual.cpu()
        if expected.layout != torch.strided:
            actual, expected = actual.to_dense(), expected.to_dense()
        torch.testing.assert_close(actual, expected, equal_nan=True)


UNARY = "abs asin atan ceil erf expm1 floor log1p neg relu round sgn sign sin sinh sqrt tan tanh trunc".split()


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("layout", ["coo", "csr", "csc"])
def test_functions_of_one_tensor(name, layout):
    f = getattr(torch, name)
    same(lambda x: f(x), coo() if layout == "coo" else getattr(dense() / 4, f"to_sparse_{layout}")())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.complex64, torch.int64, torch.bool], ids=str)
@pytest.mark.parametrize("extra", [(), (3,)])
def test_coalesce_and_to_dense(dtype, extra):
    same(lambda x: (x.coalesce().indices(), x.coalesce().values(), x.to_dense()), coo(dtype, extra))


@pytest.mark.parametrize("extra", [(), (3,)])
def test_coo_arithmetic(extra):
    a, b, d = coo(extra=extra), coo(extra=extra, start=1.1).coalesce(), numbers(4, 4, *extra)
    same(lambda a, b: (a + b, a - b, a * b, a.coalesce() + b, torch.add(a, b, alpha=2)), a, b)
    same(lambda a, d: (d + a, a * d, d * a, a * 2.5, a / 2, a**2), a, d)
    same(lambda a, b: (a.clone().add_(b), a.clone().mul_(3), a.clone().zero_()), a, b)


def test_coo_shapes():
    a, b = coo(), coo(start=1.1)
    same(lambda a, b: (torch.cat([a, b]), a.t(), a.unsqueeze(0), a.narrow_copy(0, 1, 2), a[1], a.select(1, 2)), a, b)
    same(lambda a, i: (a.index_select(1, i), a.index_select(0, i)), a, torch.tensor([2, 0, 2]))
    same(lambda a: (a.is_coalesced(), a.sparse_dim(), a.dense_dim(), a._nnz()), a)


def test_coo_masks_and_sums():
    a, b, d = coo(), coo(start=1.1).coalesce(), numbers(4, 4)
    same(lambda a, b, d: (d.sparse_mask(b), a.sparse_mask(b), a.coalesce().sparse_mask(b)), a, b, d)
    same(lambda a: (torch.sparse.sum(a), torch.sparse.sum(a, 0), torch.sparse.sum(a, 1), a.norm(), a.any()), a)
    for dim in (0, 1):
        same(lambda a: (torch.sparse.softmax(a, dim), torch.sparse.log_softmax(a, dim)), a)


def test_coo_products():
    a, b, d = coo(), coo(start=1.1), numbers(4, 5)
    same(lambda a, b: torch.sparse.mm(a, b), a, b)
    same(lambda a, d: (torch.sparse.mm(a, d), a @ d, a.mv(d[:, 0].contiguous()), torch.hspmm(a, d)), a, d)
    same(lambda c, a, d: torch.sparse.addmm(c, a, d, beta=0.5, alpha=2.0), numbers(4, 5, start=2.0), a, d)
    batch = (numbers(2, 4, 4) * MASK).to_sparse()
    same(torch.bmm, batch, numbers(2, 4, 3))


@pytest.mark.parametrize("layout", COMPRESSED)
def test_compressed_conversions(layout):
    def convert(x):
        return getattr(x, f"to_sparse_{layout}")(*COMPRESSED[layout])

    same(lambda x: (convert(x), convert(x.to_sparse()), convert(x).to_dense(), convert(x).to_sparse()), dense())
    same(lambda x: convert(x.to_sparse_csr()), dense())
    for part in ("crow_indices", "col_indices") if layout in ("csr", "bsr") else ("ccol_indices", "row_indices"):
        same(lambda x: getattr(convert(x), part)(), dense())
    same(lambda x: convert(x).values(), dense())


def test_csr_arithmetic():
    a, b, d = dense().to_sparse_csr(), dense(start=1.7).to_sparse_csr(), numbers(4, 5)
    same(lambda a, b: (a + b, a * b, a * 3, torch.sparse.mm(a, b)), a, b)
    same(lambda a, d: (a @ d, torch.mv(a, d[:, 0].contiguous()), d.t() @ a), a, d)
    same(lambda c, a, d: torch.addmm(c, a, d, beta=0.5, alpha=2.0), numbers(4, 5, start=2.0), a, d)
    same(lambda a, x, y: torch.sparse.sampled_addmm(a, x, y, beta=0.3, alpha=2.0), a, numbers(4, 7), numbers(7, 4))
    same(lambda a: (torch.sparse.sum(a.to_sparse(), 1), a.t(), a[1]), a)


@pytest.mark.parametrize("how", ["sum", "mean", "amax", "amin"])
def test_products_that_reduce(how):
    outs = []
    for device in ("cpu", DEV):
        a = dense().to_sparse_csr().to(device).requires_grad_()
        d = numbers(4, 5).to(device).requires_grad_()
        y = torch.sparse.mm(a, d, how)
        y.sum().backward()
        outs.append([y.detach().cpu(), a.grad.values().cpu(), d.grad.cpu()])
    torch.testing.assert_close(outs[1], outs[0])


@pytest.mark.parametrize("case", ["mm", "sum", "mul", "to_dense", "sparse_mask", "softmax"])
def test_gradients(case):
    f = {
        "mm": lambda a, d: torch.sparse.mm(a, d),
        "sum": lambda a, d: torch.sparse.sum(a, 0).to_dense() * d[0],
        "mul": lambda a, d: (a * d).to_dense(),
        "to_dense": lambda a, d: a.to_dense() * d,
        "sparse_mask": lambda a, d: d.sparse_mask(a.detach()).to_dense(),
        "softmax": lambda a, d: torch.sparse.softmax(a, 1).to_dense() * d,
    }[case]
    outs = []
    for device in ("cpu", DEV):
        a, d = coo().coalesce().to(device).requires_grad_(), numbers(4, 4).to(device).requires_grad_()
        (f(a, d) * numbers(4, 4, start=0.9).to(device)).sum().backward()
        outs.append([x.grad.to_dense().cpu() for x in (a, d) if x.grad is not None])
    torch.testing.assert_close(outs[1], outs[0])


BAD = {
    "first": ([1, 2, 3], [0, 1, 2], "crow_indices\\[..., 0\\] == 0"),
    "last": ([0, 1, 2], [0, 1, 2], "crow_indices\\[..., -1\\] == nnz"),
    "decreasing": ([0, 2, 1, 3], [0, 1, 2], "<= ncols"),
    "outside": ([0, 1, 2, 3], [0, 1, 9], "0 <= col_indices < ncols"),
    "unsorted": ([0, 2, 2, 3], [2, 1, 0], "sorted and distinct"),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("device", ["cpu", DEV])
def test_invariants_are_checked(case, device):
    rows, columns, message = BAD[case]
    with pytest.raises(RuntimeError, match=message):
        torch.sparse_csr_tensor(
            torch.tensor(rows, device=device), torch.tensor(columns, device=device), torch.ones(3, device=device),
            (len(rows) - 1, 3), check_invariants=True,
        )  # fmt: skip
