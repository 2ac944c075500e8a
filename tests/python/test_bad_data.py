"""What only the data shows to be wrong: the exception has the CPU's type, now or at the next synchronisation."""

import warnings

import pytest
import torch
import torch.nn.functional as F

from tests.coverage.compare import raised

DEV = "neuron"
FAR = 99


def cases(d):
    """Illegal calls by name, on a device."""
    x, s = torch.ones(3, 4, device=d), torch.ones(3, 4, device=d)
    i, grid, rows = torch.tensor([0, FAR], device=d), torch.full((3, 4), FAR, device=d), torch.ones(2, 4, device=d)
    ones = torch.ones(3, 4, dtype=torch.bool, device=d)

    def t(*values):
        return torch.tensor(values, device=d)

    calls = {
        "gather": lambda: torch.gather(x, 1, grid),
        "gather below": lambda: torch.gather(x, 1, -grid),
        "scatter": lambda: x.scatter(1, grid, s),
        "scatter a number": lambda: x.scatter(1, grid, 1.0),
        "scatter_add": lambda: x.scatter_add(1, grid, s),
        "scatter_reduce": lambda: x.scatter_reduce(1, grid, s, "amax"),
        "index": lambda: x[i],
        "two indices": lambda: x[i, i],
        "index_put": lambda: x.index_put((i,), rows),
        "index_put, added": lambda: x.index_put((i,), rows, accumulate=True),
        "index_select": lambda: x.index_select(0, i),
        "index_select columns": lambda: x.index_select(1, i),
        "index_add": lambda: x.index_add(0, i, rows),
        "index_add elements": lambda: x[0].index_add(0, i, rows[:, 0]),
        "index_copy": lambda: x.index_copy(0, i, rows),
        "index_fill": lambda: x.index_fill(0, i, 1.0),
        "index_reduce": lambda: x.index_reduce(0, i, rows, "mean"),
        "take": lambda: x.take(t(FAR)),
        "put": lambda: x.put(t(FAR), t(1.0)),
        "embedding": lambda: F.embedding(i, x),
        "embedding_bag": lambda: F.embedding_bag(i, x, t(0)),
        "embedding with max_norm": lambda: F.embedding(i, x.clone(), max_norm=1.0),
        "nll_loss": lambda: F.nll_loss(x, t(0, 1, FAR)),
        "cross_entropy": lambda: F.cross_entropy(x, t(0, 1, FAR)),
        "multi_margin_loss": lambda: F.multi_margin_loss(x, t(0, 1, FAR)),
        "max_unpool2d": lambda: F.max_unpool2d(x[:2, :2].view(1, 1, 2, 2), grid[:2, :2].reshape(1, 1, 2, 2), 2),
        "one_hot": lambda: F.one_hot(t(0, FAR), 3),
        "one_hot below": lambda: F.one_hot(t(0, -FAR)),
        "mask of other sizes": lambda: x[ones[:2, 0]],
        "put under a mask of other sizes": lambda: x.index_put((ones[:2, 0],), s),
        "too few values for a mask": lambda: x.index_put((ones,), t(1.0, 2.0, 3.0)),
        "masked_scatter with too few": lambda: x.masked_scatter(ones, t(1.0)),
        "masked_scatter by bytes": lambda: x.masked_scatter(ones.byte(), s),
        "masked_select by bytes": lambda: x.masked_select(ones.byte()),
        "float index": lambda: x[t(1.0)],
        "too many indices": lambda: x[i, i, i],
        "indices that do not broadcast": lambda: x[t(0, 1), t(0, 1, 2)],
        "values of another type": lambda: x.index_put((t(0, 1),), rows.double()),
        "bincount below": lambda: torch.bincount(t(0, -1)),
        "bincount of a matrix": lambda: torch.bincount(torch.ones(2, 2, dtype=torch.long, device=d)),
        "bincount of floats": lambda: torch.bincount(t(1.0)),
        "bincount with too few weights": lambda: torch.bincount(t(1, 2), weights=t(1.0)),
        "repeats below": lambda: torch.repeat_interleave(t(1, -2)),
        "repeats of floats": lambda: torch.repeat_interleave(t(1.0)),
        "repeats to another size": lambda: torch.repeat_interleave(t(1, 2), output_size=5),
        "repeats to a smaller size": lambda: torch.repeat_interleave(t(1, 2), output_size=2),
        "assertion": lambda: torch._assert_async(t(0)),
        "assertion with a message": lambda: torch._assert_async(t(0), "what is wrong"),
        "assertion of two": lambda: torch._assert_async(t(1, 1)),
        "multinomial below": lambda: torch.multinomial(t(-1.0, 1.0), 1),
        "multinomial of nothing": lambda: torch.multinomial(t(0.0, 0.0), 1),
        "multinomial of NaN": lambda: torch.multinomial(t(float("nan"), 1.0), 1),
        "bernoulli": lambda: torch.bernoulli(t(2.0, 0.5)),
        "normal": lambda: torch.normal(t(0.0, 0.0), t(-1.0, 1.0)),
        "unique complex": lambda: torch.unique(t(1j, 2j)),
        "unique empty slices": lambda: torch.unique(torch.ones(2, 0, device=d), dim=0),
        "histc of NaN": lambda: torch.histc(t(float("nan"), 1.0), 4),
        "median of nothing": lambda: torch.empty(0, 3, device=d).median(dim=0),
        # Memory that the result shares, and element types that it does not fit.
        "cat into an operand": lambda: torch.cat([x, s], out=x),
        "gather into the index": lambda: torch.gather(grid * 0, 1, grid, out=grid),
        "index_add of itself": lambda: x.index_add_(0, t(0, 1, 2), x),
        "index_select into the operand": lambda: x.index_select(0, t(0, 1, 2)).shape and torch.index_select(x, 0, t(0, 1, 2), out=x),
        "cumsum half way": lambda: torch.cumsum(x.view(-1)[:-1], 0, out=x.view(-1)[1:]),
        "nonzero into floats": lambda: torch.nonzero(x, out=torch.empty(0, device=d)),
        "take into doubles": lambda: torch.take(x, t(1), out=torch.empty(1, dtype=torch.double, device=d)),
        "round into doubles": lambda: torch.round(x, out=torch.empty(3, 4, dtype=torch.double, device=d)),
        "add into integers": lambda: torch.add(x, s, out=grid),
        "expanded out": lambda: torch.add(x, s, out=torch.ones(4, device=d).expand(3, 4)),
    }
    return calls


@pytest.mark.parametrize("name", cases("cpu"))
def test_raises_as_the_cpu(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want, got = (raised(cases(d)[name]) for d in ("cpu", DEV))
    assert want is not None, "the CPU accepts this"
    assert type(got) is type(want), f"{got!r} instead of {want!r}"
    assert (torch.ones(3, device=DEV) + 1).tolist() == [2, 2, 2]


def test_an_assertion_says_what_is_wrong():
    torch._assert_async(torch.tensor(1, device=DEV))
    with pytest.raises(RuntimeError, match="what is wrong"):
        torch._assert_async(torch.tensor(0, device=DEV), "what is wrong")
        torch.neuron.synchronize()
