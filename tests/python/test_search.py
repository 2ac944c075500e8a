"""Searches in sorted sequences and the first few of each row, around the lengths where another way is taken."""

import pytest
import torch


@pytest.mark.parametrize("length", [1, 16, 17, 31, 32, 100])
@pytest.mark.parametrize("right", [False, True])
def test_positions_in_sorted_rows(length, right):
    generator = torch.Generator().manual_seed(length)
    rows = torch.randint(20, (3, 4, length), generator=generator).float().sort().values
    queries = torch.randint(-1, 22, (3, 4, 9), generator=generator).float()
    want = torch.searchsorted(rows, queries, right=right)
    assert torch.equal(torch.searchsorted(rows.to("neuron"), queries.to("neuron"), right=right).cpu(), want)
    row = rows[0, 0].contiguous()
    want = torch.bucketize(queries, row, right=right)
    assert torch.equal(torch.bucketize(queries.to("neuron"), row.to("neuron"), right=right).cpu(), want)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64, torch.int32, torch.uint8])
@pytest.mark.parametrize("length", [5, 33, 129, 1000])
def test_the_first_few_are_those_of_a_stable_sort(dtype, length):
    x = torch.randint(12, (5, length), generator=torch.Generator().manual_seed(length)).to(dtype)
    x[1], x[2] = torch.arange(length).to(dtype), torch.arange(length).flip(0).to(dtype)
    if dtype.is_floating_point:
        x[3, length // 2 :], x[4] = float("nan"), float("-inf")
    for largest in (False, True):
        values, indices = torch.sort(x, dim=1, descending=largest, stable=True)
        for k in (0, 1, length // 5, length // 2):
            got = torch.topk(x.to("neuron"), k, dim=1, largest=largest)
            assert torch.equal(got.indices.cpu(), indices[:, :k])
            torch.testing.assert_close(got.values.cpu(), values[:, :k], rtol=0, atol=0, equal_nan=True)
