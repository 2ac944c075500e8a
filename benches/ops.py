"""Every operator at about 10⁶ elements against PyTorch's CPU: the slowest, by ratio.

    python -m benches.ops [--threads N] [--only WORD] [--worst 20] [--dtype float32] [--json FILE]

Operands come from PyTorch's operator database where it describes elementwise functions and reductions, and from the table
below for the rest. For one thread: `taskset -c 0 python -m benches.ops --threads 1`.
"""

import argparse
import json
import os
import time
import warnings

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
parser.add_argument("--only", default="")
parser.add_argument("--worst", type=int, default=20, help="rows to print")
parser.add_argument("--dtype", default="float32")
parser.add_argument("--budget", type=float, default=0.15, help="seconds of measuring per side")
parser.add_argument("--json", help="append one JSON line per row to this file")
options = parser.parse_args()
os.environ["TORCH_NEURONX_SOFTCORE_THREADS"] = str(options.threads)

import torch  # noqa: E402  (the thread count is read when the device starts)
from torch.testing._internal import common_methods_invocations as database  # noqa: E402
from torch.testing._internal.opinfo.core import BinaryUfuncInfo, ReductionOpInfo, UnaryUfuncInfo  # noqa: E402

from benches.op_table import TABLE, values  # noqa: E402
from benches.timing import Case, measure  # noqa: E402

torch.set_num_threads(options.threads)
DTYPE = getattr(torch, options.dtype)
BAR = 1.5


def on(device, function, *operands):
    there = [x.to(device) if isinstance(x, torch.Tensor) else x for x in operands]
    return lambda: function(*there)


def from_database():
    for info in database.op_db:
        if DTYPE not in info.dtypes or info.name.startswith(("jiterator", "sparse", "masked.")):
            continue
        name = f"{info.name}.{info.variant_test_name}" if info.variant_test_name else info.name
        if isinstance(info, UnaryUfuncInfo):
            low, high = info.domain
            low, high = (-3.0 if low is None else low), (3.0 if high is None else high)
            x = values(1000, 1000, dtype=DTYPE, low=low + 0.01, high=high - 0.01 if high > low + 1 else high)
            extra = info.sample_kwargs("cpu", DTYPE, x)[0]
            yield name, lambda d, f=info.op, x=x, k=extra: on(d, lambda t: f(t, **k), x)
        elif isinstance(info, BinaryUfuncInfo):
            x, y = (values(1000, 1000, dtype=DTYPE, low=0.1, high=3.0) for _ in range(2))
            yield name, lambda d, f=info.op, x=x, y=y: on(d, f, x, y)
        elif isinstance(info, ReductionOpInfo):
            x = values(1000, 1000, dtype=DTYPE, low=0.5, high=1.5)
            yield f"{name} rows", lambda d, f=info.op, x=x: on(d, lambda t: f(t, dim=1), x)
            yield f"{name} columns", lambda d, f=info.op, x=x: on(d, lambda t: f(t, dim=0), x)


def from_table():
    for name, (function, *operands) in TABLE.items():
        yield name, lambda d, f=function, o=operands: on(d, f, *o)


def main():
    warnings.simplefilter("ignore")
    clock = time.process_time if options.threads == 1 else time.perf_counter
    rows, skipped = [], []
    for name, build in [*from_database(), *from_table()]:
        if options.only not in name:
            continue
        try:
            build("cpu")()
        except (RuntimeError, TypeError, NotImplementedError):
            continue  # not for these sizes or this dtype on the CPU either
        try:
            result = measure(Case(name, build, BAR, budget=options.budget), torch.neuron.synchronize, clock, 0)
        except (RuntimeError, NotImplementedError) as error:
            skipped.append(f"{name}: {str(error).splitlines()[0]}")
            continue
        rows.append((result.ratio, name, result))
        if options.json:
            with open(options.json, "a") as out:
                out.write(json.dumps({"row": name, "threads": options.threads, **vars(result)}) + "\n")
    rows.sort(key=lambda row: row[0], reverse=True)
    print(f"{len(rows)} operators, {options.dtype}, {options.threads} thread(s); load {os.getloadavg()[0]:.1f}")
    print(f"slower than {BAR} x torch CPU: {sum(r > BAR for r, *_ in rows)}; faster than it: {sum(r < 1 for r, *_ in rows)}")
    for ratio, name, result in rows[: options.worst]:
        print(f"{ratio:8.2f}  {name:50} {result.ours * 1e6:10.1f} us  {result.theirs * 1e6:10.1f} us")
    for line in skipped:
        print("failed:", line)
    print("fallbacks:", torch.neuron.fallback_ops() or "none")


main()
