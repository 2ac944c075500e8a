"""Command line of the comparison with XLA; see the package's description."""

import os

# The device starts in the workers, which are forked from here.
os.environ |= {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "TORCH_NEURONX_FALLBACK": "error", "OMP_NUM_THREADS": "1"}

import argparse
import collections
import pathlib
import sys
import time

from tests.coverage import pool
from tests.coverage.databases import DATABASES, ERRORS, database
from tests.coverage.results import Results

from . import ledger, slice

# Cases of so many operators share a process, which keeps XLA's code for their programs.
OPERATORS_A_PROCESS = 40


class OnXla:
    """A database of tests/coverage, whose cases are compared with XLA instead of the CPU."""

    def __init__(self, kind):
        self.kind = kind

    def run(self, name, dtype, samples, checks, tick):
        from .check import check

        return check(self.kind, name, dtype, samples, tick)


for kind in ledger.KINDS:
    DATABASES[f"xla {kind}"] = lambda kind=kind: OnXla(kind)


def arguments():
    p = argparse.ArgumentParser(prog="python -m tests.xla", description=__doc__)
    p.add_argument("--kind", default=",".join(ledger.KINDS), help="databases, comma-separated")
    p.add_argument("--only", default="", help="operators, comma-separated, by full name or by name without variant")
    p.add_argument("--dtypes", default="", help="dtypes, comma-separated")
    p.add_argument("--samples", type=int, default=1, help="samples of each case")
    p.add_argument("--slice", action="store_true", help="the fixed part that is run for each change")
    p.add_argument("--jobs", type=int, default=1)
    p.add_argument("--limit", type=float, default=600, help="seconds that one case may take")
    p.add_argument("--fresh", action="store_true", help="forget the results of an interrupted run")
    options = p.parse_args()
    for name in ("kind", "only", "dtypes"):
        setattr(options, name, [part for part in getattr(options, name).split(",") if part])
    return options


def selected(options):
    """(kind, op, [dtype])."""
    if options.slice:
        yield from slice.cases()
        return
    for kind in options.kind:
        for name in database(kind).names():
            if options.only and not {name, database(kind).family(name)} & set(options.only):
                continue
            dtypes = [d for d in database(kind).dtypes(name) if d != ERRORS and d in (options.dtypes or [d])]
            if dtypes:
                yield kind, name, dtypes


def show(record):
    for f in ledger.unexplained(record):
        print("DIFFERS", record["kind"], record["op"], record["dtype"], f.get("operator", ""), f["text"][:300], f.get("operands", "")[:200], flush=True)


def measure(options):
    """One record a case, and how long it took. A run of everything goes on where it was interrupted."""
    tool = [path.read_text() for path in sorted(pathlib.Path(__file__).parent.glob("*.py"))]
    results = Results(None if options.only or options.slice else "xla.jsonl", (options.samples, tool), options.fresh)
    tasks = []
    for kind, op, dtypes in selected(options):
        todo = {d: options.samples for d in dtypes if (kind, op, d) not in results.records}
        if todo:
            tasks.append(dict(kind=f"xla {kind}", op=op, dtypes=todo, checks=None, limit=options.limit))
    total, began, count = sum(len(t["dtypes"]) for t in tasks), time.monotonic(), 0

    def done(kind, op, record):
        nonlocal count
        record = {"kind": kind.removeprefix("xla "), "op": op, "counts": {}, "custom": [], "rules": {}, **record}
        results.add(record)
        show(record)
        count += 1
        if count % 200 == 0:
            print(f"{count} of {total} cases, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)

    for first in range(0, len(tasks), OPERATORS_A_PROCESS):
        pool.run(tasks[first : first + OPERATORS_A_PROCESS], options.jobs, done)
    return list(results.records.values()), time.monotonic() - began


def main():
    options = arguments()
    records, seconds = measure(options)
    statuses = collections.Counter(map(ledger.status, records))
    print(f"{len(records)} cases in {seconds:.0f} s: " + ", ".join(f"{n} {s}" for s, n in statuses.most_common()))
    if not (options.slice or options.only or options.dtypes):
        from torch_neuronx import _C

        ledger.write([r for r in records if r["kind"] in options.kind], _C.row_names())
        print("written: docs/xla.json, docs/xla.md")
    return any(map(ledger.unexplained, records))


if __name__ == "__main__":
    sys.exit(main())
