"""PyTorch's own operator database against the neuron device.

    TORCH_NEURONX_FALLBACK=error python tests/python/opinfo.py [--only NAME] [--dtypes float32,...] [--samples N]

prints one line per (operator, dtype) that differs from the CPU, and a total. `test_opinfo.py` runs the same check.
"""

import argparse
import collections
import sys
import warnings

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_flatten, tree_map

# Wider than PyTorch's defaults where the CPU side itself rounds differently; the reason stands beside each entry.
TOLERANCE = {
    torch.float32: (2e-5, 1e-4),
    torch.float64: (1e-7, 1e-7),
    torch.complex64: (5e-5, 2e-4),
    torch.complex128: (1e-7, 1e-7),
    torch.float16: (2e-3, 2e-3),
    torch.bfloat16: (1.6e-2, 1.6e-2),
}


def rows():
    """Base names of the operators with a native rule."""
    return {name.removeprefix("aten::").split(".")[0] for name in torch.neuron.native_ops()}


def covered(native=None):
    """OpInfos whose ATen operator has a native rule."""
    native = native or rows()
    seen = []
    for info in op_db:
        name = info.aten_name or info.name
        if name in native or info.name.split(".")[-1] in native:
            seen.append(info)
    return seen


def to_device(value, requires_grad=False):
    def move(t):
        if not isinstance(t, torch.Tensor):
            return "neuron" if isinstance(t, str) and t == "cpu" else torch.device("neuron") if isinstance(t, torch.device) else t
        return t.detach().to("neuron").requires_grad_(t.requires_grad)

    return tree_map(move, value)


def compare(got, want, dtype):
    got, want = ([t for t in tree_flatten(x)[0] if isinstance(t, torch.Tensor)] for x in (got, want))
    assert len(got) == len(want), f"{len(got)} tensors instead of {len(want)}"
    for g, w in zip(got, want):
        assert g.device.type == "neuron", f"result on {g.device}"
        atol, rtol = TOLERANCE.get(dtype, (0, 0)) if not (w.dtype.is_floating_point or w.dtype.is_complex) else TOLERANCE.get(w.dtype, (0, 0))
        torch.testing.assert_close(g.detach().cpu(), w.detach(), atol=max(atol, TOLERANCE.get(dtype, (0, 0))[0]), rtol=max(rtol, TOLERANCE.get(dtype, (0, 0))[1]), equal_nan=True)


def check(info, dtype, limit, backward):
    """Compares every sample; returns the number of samples."""
    count = 0
    for sample in info.sample_inputs("cpu", dtype, requires_grad=backward):
        if count >= limit:
            break
        arguments = (sample.input, sample.args, sample.kwargs)
        there = to_device(arguments)
        want = info(arguments[0], *arguments[1], **arguments[2])
        got = info(there[0], *there[1], **there[2])
        compare(got, want, dtype)
        if backward:
            differentiable(arguments, there, want, got, dtype)
        count += 1
    return count


def differentiable(here, there, want, got, dtype):
    def leaves(x):
        return [t for t in tree_flatten(x)[0] if isinstance(t, torch.Tensor) and t.requires_grad]

    outs_w = [t for t in leaves(want) if t.dtype.is_floating_point or t.dtype.is_complex]
    outs_g = [t for t in leaves(got) if t.dtype.is_floating_point or t.dtype.is_complex]
    if not outs_w:
        return
    seeds = [torch.ones_like(t) for t in outs_w]
    grads_w = torch.autograd.grad(outs_w, leaves(here), seeds, allow_unused=True)
    grads_g = torch.autograd.grad(outs_g, leaves(there), [s.to("neuron") for s in seeds], allow_unused=True)
    compare([g for g in grads_g if g is not None], [g for g in grads_w if g is not None], dtype)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--only", default="")
    p.add_argument("--dtypes", default="float32,bfloat16,int64,bool,complex64")
    p.add_argument("--samples", type=int, default=8)
    p.add_argument("--all", action="store_true", help="every OpInfo, not only those with a native rule")
    p.add_argument("--forward", action="store_true")
    options = p.parse_args()
    warnings.simplefilter("ignore")
    dtypes = [getattr(torch, d) for d in options.dtypes.split(",")]
    totals = collections.Counter()
    for info in op_db if options.all else covered():
        if options.only and options.only != info.name:
            continue
        for dtype in dtypes:
            if dtype not in info.supported_dtypes("cpu"):
                continue
            backward = not options.forward and dtype in (torch.float32, torch.float64) and info.supports_autograd
            torch.manual_seed(0)
            try:
                check(info, dtype, options.samples, backward)
                totals["pass"] += 1
            except Exception as e:
                totals["fail"] += 1
                text = str(e).strip().splitlines()
                where = next((l for l in text if "Greatest absolute" in l or "Mismatch" in l), text[0] if text else "")
                print(f"FAIL {info.name}{'.' + info.variant_test_name if info.variant_test_name else ''} {str(dtype)[6:]} {type(e).__name__} {(text[0] if text else '')[:260]} {where[:80]}", flush=True)
    print(dict(totals))
    return totals["fail"] > 0


if __name__ == "__main__":
    sys.exit(main())
