"""Results whose sizes the data decides: values, sizes and memory as on the CPU."""

import pytest
import torch

DEV = "neuron"


def same(call, *arguments):
    """The call gives on the device what it gives on the CPU."""
    want = call(*arguments)
    got = call(*(a.to(DEV) if isinstance(a, torch.Tensor) else a for a in arguments))
    if isinstance(want, torch.Tensor):
        want, got = (want,), (got,)
    assert len(got) == len(want)
    for g, w in zip(got, want):
        assert g.device.type == DEV and g.dtype == w.dtype and g.shape == w.shape
        torch.testing.assert_close(g.cpu(), w, rtol=0, atol=0, equal_nan=True)


def mask(*sizes, density=0.4):
    return torch.rand(sizes, generator=torch.Generator().manual_seed(len(sizes))) < density


@pytest.mark.parametrize("density", [0.0, 0.01, 0.4, 1.0])
@pytest.mark.parametrize("sizes", [(), (0,), (1,), (1000,), (30, 41), (0, 3), (7, 5, 6), (2, 3, 4, 5)])
def test_nonzero_and_masked_select(sizes, density):
    m, x = mask(*sizes, density=density), torch.randn(sizes)
    same(torch.nonzero, m)
    same(lambda m: torch.nonzero(m, as_tuple=True), m)
    same(torch.masked_select, x, m)
    same(torch.where, m)
    same(lambda x, m: x[m], x, m)


def test_masked_select_broadcasts_both():
    same(torch.masked_select, torch.randn(4, 1, 5), mask(3, 1))
    same(torch.masked_select, torch.randn(5), mask(3, 5))


def test_a_result_owns_no_more_memory_than_it_uses():
    x = torch.zeros(10000, device=DEV)
    x[:3] = 1
    assert x.nonzero().untyped_storage().nbytes() == 3 * 8
    x[:] = 1
    assert x[:9999].masked_select(x[:9999] > 0).untyped_storage().nbytes() == 9999 * 4


def test_out_is_resized():
    m = mask(5, 6)
    out = torch.empty(0, dtype=torch.long, device=DEV)
    assert torch.nonzero(m.to(DEV), out=out) is out
    assert torch.equal(out.cpu(), m.nonzero())
    strided = torch.zeros(m.sum(), 4, dtype=torch.long, device=DEV)[:, ::2]
    torch.nonzero(m.to(DEV), out=strided)
    assert strided.stride() == (4, 2) and torch.equal(strided.cpu(), m.nonzero())
    with pytest.warns(UserWarning, match="was resized"):
        torch.nonzero(m.to(DEV), out=torch.zeros(1, 2, dtype=torch.long, device=DEV))


@pytest.mark.parametrize("dim", [None, 0, 1, 2])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.uint8, torch.bool])
def test_unique(dim, dtype):
    x = torch.randint(0, 2, (4, 5, 3), generator=torch.Generator().manual_seed(0)).to(dtype)
    same(lambda x: torch.unique(x, dim=dim, return_inverse=True, return_counts=True), x)
    same(lambda x: torch.unique_consecutive(x, dim=dim, return_inverse=True, return_counts=True), x)
    same(lambda x: torch.unique(x, dim=dim), x)


def test_every_nan_is_a_value_of_its_own():
    x = torch.tensor([1.0, float("nan"), 1.0, float("nan")])
    same(lambda x: torch.unique(x, return_inverse=True, return_counts=True), x)


def test_masks_as_indices():
    x, rows, columns = torch.randn(6, 7, 3), mask(6), mask(7)
    same(lambda x, r: x[r], x, rows)
    same(lambda x, c: x[:, c], x, columns)
    same(lambda x, m: x[m], x, mask(6, 7))
    same(lambda x, r, i: x[r, i], x, rows, torch.arange(int(rows.sum())))
    same(lambda x, r: x[r, :, 0], x, rows)
    same(lambda x, r: x[r][:, r[:3]], x.new_ones(6, 3), rows)
    same(lambda x, m: x[..., m], x, mask(3))


def test_masks_as_places():
    x, rows = torch.randn(6, 7, 3), mask(6)
    n = int(rows.sum())

    def put(x, *indices_and_value):
        *indices, value = indices_and_value
        x = x.clone()
        x[tuple(indices)] = value
        return x

    same(put, x, rows, torch.randn(n, 7, 3))
    same(put, x, rows, torch.randn(7, 1))
    same(put, x, rows, 2.5)
    same(put, x, rows, torch.arange(n), torch.randn(n, 3))
    same(put, x, mask(6, 7, 3), torch.randn(int(mask(6, 7, 3).sum())))


def test_bytes_as_masks():
    with pytest.warns(UserWarning, match="uint8"):
        same(lambda x, m: x[m], torch.randn(6, 2), mask(6).to(torch.uint8))


def test_sizes_by_a_number_from_the_device():
    same(torch.bincount, torch.tensor([3, 0, 3, 1]))
    same(lambda x, w: torch.bincount(x, w, minlength=7), torch.tensor([3, 0, 3, 1]), torch.rand(4))
    same(torch.repeat_interleave, torch.tensor([2, 0, 3]))
    same(lambda r: torch.repeat_interleave(r, output_size=5), torch.tensor([2, 0, 3]))
    same(lambda x, r: x.repeat_interleave(r, dim=1), torch.randn(2, 3), torch.tensor([2, 0, 3]))
    same(lambda x, i: x.tensor_split(i, dim=1), torch.randn(2, 9), torch.tensor([2, 5]))
    x = torch.randn(2, 9, device=DEV, requires_grad=True)
    x.tensor_split(torch.tensor([2, 5]), dim=1)[1].sum().backward()
    assert x.grad.sum(0).tolist() == [0, 0, 2, 2, 2, 0, 0, 0, 0]


@pytest.mark.parametrize("batch_first", [False, True])
def test_packed_sequences(batch_first):
    x = torch.randn(3, 5, 2) if batch_first else torch.randn(5, 3, 2)
    lengths = torch.tensor([2, 5, 3])

    def there_and_back(x):
        packed = torch.nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=batch_first, enforce_sorted=False)
        padded, sizes = torch.nn.utils.rnn.pad_packed_sequence(packed, batch_first=batch_first, padding_value=-1.0)
        assert sizes.tolist() == lengths.tolist()
        return packed.data, padded

    same(there_and_back, x)


def test_gradients():
    x, m = torch.randn(5, 6), mask(5, 6)
    for call in (torch.masked_select, lambda x, m: x[m], lambda x, m: x[m[:, 0]]):
        grads = []
        for device in ("cpu", DEV):
            leaf = x.to(device, copy=True).requires_grad_()
            (call(leaf, m.to(device)) ** 2).sum().backward()
            grads.append(leaf.grad.cpu())
        torch.testing.assert_close(*grads)
