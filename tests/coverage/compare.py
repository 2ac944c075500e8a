"""Equality of results with the CPU's, and of exceptions."""

import torch

from .moving import tensors
from .tables import RANDOM, STATISTICS, TIES
from .tolerance import tolerance


class Difference(AssertionError):
    """A result that is not the CPU's."""


def compare(info, name, dtype, got, want, exact=lambda: None, ties=True):
    """Equal structure, device, sizes, dtypes and values, but for what the tables except. A result may differ from the CPU's
    if it is as near to what `exact` computes in higher precision."""
    got, want = tensors(got), tensors(want)
    if len(got) != len(want):
        raise Difference(f"{len(got)} tensors instead of {len(want)}")
    for nth, (g, w) in enumerate(zip(got, want)):
        if g.device.type != "neuron":
            raise Difference(f"result on {g.device}")
        if g.layout != w.layout:
            raise Difference(f"{g.layout}, not {w.layout}")
        if nth > 0 and name in STATISTICS:
            if w.numel() == 0:
                continue
            w = w.to(g.dtype)
        if g.dtype != w.dtype or g.shape != w.shape:
            raise Difference(f"{short(g)}, not {short(w)}")
        if name in RANDOM or (nth > 0 and ties and name in TIES):
            continue
        g, w = g.detach().cpu(), w.detach()
        allowed = tolerance(info, name, dtype, w.dtype)
        if near(g, w, allowed):
            continue
        best = exact()
        if best is not None and nth < len(best) and as_near(g, w, best[nth]):
            continue
        report(g, w, allowed, nth, len(got))


def short(t):
    return f"{str(t.dtype).removeprefix('torch.')}{list(t.shape)}"


def plain(t):
    """The tensor in a type that PyTorch's comparisons know."""
    if t.layout != torch.strided:
        t = t.to_dense()
    if t.dtype == torch.complex32:
        return t.to(torch.complex64)
    return t.float() if t.dtype.is_floating_point and t.dtype.itemsize == 1 else t


def near(g, w, allowed):
    g, w = plain(g), plain(w)
    if g.dtype.is_floating_point or g.dtype.is_complex:
        return torch.allclose(g, w, equal_nan=True, **allowed)
    if allowed["atol"] >= 1 and g.dtype != torch.bool:
        return bool(((g.double() - w.double()).abs() <= allowed["atol"]).all())
    return torch.equal(g, w)


def report(g, w, allowed, nth, count):
    try:
        torch.testing.assert_close(plain(g), plain(w), equal_nan=True, **allowed)
    except AssertionError as e:
        lines = str(e).strip().splitlines()
        facts = [line for line in lines[1:] if line.startswith(("Mismatch", "Greatest", "Expected"))]
        which = f"result {nth} of {count}, " if count > 1 else ""
        raise Difference(f"{which}{short(w)}: {'; '.join(facts or lines)[:300]}") from None


def as_near(got, cpu, exact):
    """Whether the largest error, relative to the largest value, is within twice the CPU's or one unit in the last place.
    What is not finite, or has no finite exact value, has to be the CPU's."""
    if not (got.dtype.is_floating_point or got.dtype.is_complex) or got.shape != exact.shape or got.dtype.itemsize == 1:
        return False
    wide = torch.complex128 if got.dtype.is_complex else torch.float64
    eps = torch.finfo(got.dtype).eps
    g, w, e = (plain(x.detach()).to(wide) for x in (got, cpu, exact))
    finite = torch.isfinite(g) & torch.isfinite(e)
    if not torch.allclose(g[~finite], w[~finite], equal_nan=True, rtol=0, atol=0):
        return False
    g, w, e = g[finite], w[finite], e[finite]
    if e.numel() == 0:
        return True
    cpus = (w - e).abs()[torch.isfinite(w)]
    allowed = max(2 * cpus.max() if cpus.numel() else 0, e.abs().max() * eps)
    return bool((g - e).abs().max() <= allowed)


def raised(call):
    """What the call raises, its asynchronous part included."""
    try:
        call()
        torch.neuron.synchronize()
    except Exception as e:
        return e
    return None


def same_error(got, want):
    if type(got) is not type(want):
        if got is not None and "TORCH_NEURONX_FALLBACK" in str(got):
            raise got
        what = "nothing" if got is None else f"{type(got).__name__}({str(got)[:150]!r})"
        raise Difference(f"raises {what} instead of {type(want).__name__}({str(want)[:150]!r})")
