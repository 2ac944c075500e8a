"""What compilation did: counters of the process, and an explanation of one function."""

import collections
import threading

import torch

_lock = threading.Lock()
_counts = collections.Counter()


def count(name, n=1):
    with _lock:
        _counts[name] += n


def get_dynamo_metrics():
    """Counters since the start, or the last reset.

    ``graphs``: graphs of Dynamo; ``runners``: graphs after AOTAutograd (forward, backward, inference); ``plans``: programs made,
    one per runner and shape; ``calls``: operator calls in them; ``instructions``: hlo instructions after the passes;
    ``eager_nodes``: nodes that run by themselves; ``plan_ns``: nanoseconds spent in passes and planning; ``record_ns``: in
    recording; ``graph_breaks``: Dynamo's, with reasons.
    """
    from torch._dynamo.utils import counters

    with _lock:
        metrics = {name: _counts[name] for name in _NAMES}
    metrics["graph_breaks"] = dict(counters["graph_break"])
    return metrics


_NAMES = ("graphs", "runners", "plans", "calls", "instructions", "eager_nodes", "plan_ns", "record_ns")


def reset_dynamo_metrics():
    """Sets the counters to zero."""
    with _lock:
        _counts.clear()


def explain(fn, *args, **kwargs):
    """Compiles ``fn`` anew, runs it once on these arguments, and says as text what became of it."""
    from torch._dynamo.utils import counters

    torch._dynamo.reset()
    counters.clear()
    before = get_dynamo_metrics()
    torch.compile(fn, backend="neuron")(*args, **kwargs)
    after = get_dynamo_metrics()
    lines = [f"{name}: {after[name] - before[name]}" for name in _NAMES if not name.endswith("_ns")]
    lines += [f"{name[:-3]}: {(after[name] - before[name]) / 1e6:.3f} ms" for name in _NAMES if name.endswith("_ns")]
    lines += [f"graph break ({n}x): {reason}" for reason, n in after["graph_breaks"].items()] or ["no graph break"]
    return "\n".join(lines)
