"""One operator of PyTorch's database in one dtype, compiled and eager, on the device: results and gradients of a sample.

    python -m tests.compile.operators [--only NAME] [--every N]     # every dtype that the CPU supports; prints the total
"""

import argparse
import collections
import sys

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_leaves

from tests.coverage.moving import differentiable, tensors, to_device
from tests.coverage.operators import full_name, samples
from tests.coverage.tables import RANDOM
from tests.coverage.tolerance import tolerance

# Operators that draw random numbers after seeding them by themselves, which Dynamo leaves out of the graph.
SEEDED = {
    "svd_lowrank",
    "pca_lowrank",
    "nn.functional.rrelu",
    "nn.functional.fractional_max_pool2d",
    "nn.functional.fractional_max_pool3d",
}


def dtypes(info):
    """The dtypes of the CPU, float32 first."""
    supported = sorted(info.supported_dtypes("cpu") - {getattr(torch, "bcomplex32", None)}, key=str)
    return sorted(supported, key=lambda d: d != torch.float32)


def run(info, f, arguments, grad):
    torch.manual_seed(0)
    results = f(arguments[0], *arguments[1], **arguments[2])
    inputs = differentiable(arguments) if grad else []
    outputs = differentiable(results)
    gradients = []
    if inputs and outputs:
        gradients = torch.autograd.grad(
            [o for o in outputs], inputs, [torch.ones_like(o) for o in outputs], allow_unused=True
        )
    return results, [g for g in gradients if g is not None]


def check(info, dtype):
    """("agrees" | "differs" | "absent", why): absent is what eager refuses as well."""
    grad = info.supports_autograd and dtype in info.supported_backward_dtypes("cpu")
    taken = samples(info, dtype, 1, grad)
    if not taken:
        return "absent", "no sample"
    arguments = to_device((taken[0].input, taken[0].args, taken[0].kwargs))
    try:
        want = run(info, info.op, arguments, grad)
    except Exception as e:
        return "absent", f"eager: {str(e).splitlines()[0]}"
    torch._dynamo.reset()
    try:
        got = run(info, torch.compile(info.op, backend="neuron"), arguments, grad)
    except Exception as e:
        return "differs", f"{type(e).__name__}: {str(e).strip()[:300]}"
    a, b = tensors(got), tensors(want)
    if len(a) != len(b) or len(tree_leaves(got)) != len(tree_leaves(want)):
        return "differs", f"{len(a)} tensors, eager {len(b)}"
    for x, y in zip(a, b):
        if x.shape != y.shape or x.dtype != y.dtype or x.device != y.device or x.layout != y.layout:
            return "differs", f"{x.dtype}{list(x.shape)} on {x.device}, eager {y.dtype}{list(y.shape)} on {y.device}"
        if full_name(info) in RANDOM or info.name in SEEDED:
            continue
        x, y = (t.detach().to_dense().cpu() if t.layout != torch.strided else t.detach().cpu() for t in (x, y))
        try:
            torch.testing.assert_close(x, y, equal_nan=True, **tolerance(info, full_name(info), dtype, y.dtype))
        except AssertionError as e:
            return "differs", str(e).replace("\n", " ")[:300]
    return "agrees", ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only")
    parser.add_argument("--every", type=int, default=1, help="take every so many-th operator")
    options = parser.parse_args()
    count = collections.Counter()
    for info in op_db[:: options.every]:
        if options.only not in (None, info.name):
            continue
        for dtype in dtypes(info):
            outcome, why = check(info, dtype)
            count[outcome] += 1
            if outcome == "differs":
                print(f"{full_name(info)} {dtype}: {why}", flush=True)
    compared = count["agrees"] + count["differs"]
    share = count["agrees"] / max(compared, 1)
    print(f"{count['agrees']} of {compared} (operator, dtype) agree, {100 * share:.2f} %; {count['absent']} are refused by eager too")
    return 0 if share >= 0.99 else 1


if __name__ == "__main__":
    sys.exit(main())
