"""Command line of the coverage tool; see the package's description."""

import os

# The device starts in the workers, which are forked from here.
os.environ |= {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "TORCH_NEURONX_FALLBACK": "error", "OMP_NUM_THREADS": "1"}

import argparse
import collections
import pathlib
import sys
import time

from . import gaps, ledger, pool, slice
from .databases import DATABASES, database
from .results import Results


def arguments():
    p = argparse.ArgumentParser(prog="python -m tests.coverage", description=__doc__)
    p.add_argument("--kind", default="", help=f"databases, comma-separated; all when empty: {', '.join(DATABASES)}")
    p.add_argument("--only", default="", help="operators, comma-separated, by full name or by name without variant")
    p.add_argument("--dtypes", default="", help="dtypes (or `errors`), comma-separated")
    p.add_argument("--checks", default="", help="values, gradients, noncontiguous, inplace, out")
    p.add_argument("--samples", type=int, default=0, help="at most so many samples; all when 0")
    p.add_argument("--quick", action="store_true", help="3 samples")
    p.add_argument("--slice", action="store_true", help="the fixed part that is run for each change, against docs/coverage.json")
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--limit", type=float, default=300, help="seconds that one (operator, dtype) may take")
    p.add_argument("--fresh", action="store_true", help="forget the results of an interrupted run")
    p.add_argument("--verbose", action="store_true", help="what passes, and every failure")
    p.add_argument("--gaps", help="write what is missing, by ATen operator, to this file")
    options = p.parse_args()
    for name in ("kind", "only", "dtypes", "checks"):
        setattr(options, name, [part for part in getattr(options, name).split(",") if part])
    if options.quick and not options.samples:
        options.samples = 3
    return options


def selected(options):
    """(kind, op, {dtype: samples})."""
    if options.slice:
        yield from slice.cases()
        return
    for kind in options.kind or DATABASES:
        for name in database(kind).names():
            if options.only and not {name, database(kind).family(name)} & set(options.only):
                continue
            chosen = [d for d in database(kind).dtypes(name) if not options.dtypes or d in options.dtypes]
            if chosen:
                yield kind, name, dict.fromkeys(chosen, options.samples)


def show(record, verbose):
    what = f"{record['status'].upper()} {record['op']} {record['dtype']}"
    if verbose and not record["failures"]:
        print(what, record["passed"], f"in {record['seconds']} s", flush=True)
    for f in record["failures"] if verbose else record["failures"][:1]:
        text = f"{f['check']} #{f['sample']} (x{f['count']}) {f['error']}: {f['text'][:400 if verbose else 200]}"
        print(what, text, flush=True)


def measure(options):
    """Runs what is selected; the records, and how long it took."""
    whole = not (options.only or options.slice)
    results = Results("results.jsonl" if whole else None, (options.samples, options.checks), options.fresh)
    tasks = []
    for kind, op, dtypes in selected(options):
        todo = {d: n for d, n in dtypes.items() if (kind, op, d) not in results.records}
        if todo:
            tasks.append(dict(kind=kind, op=op, dtypes=todo, checks=options.checks or None, limit=options.limit))
    total, began, count = sum(len(t["dtypes"]) for t in tasks), time.monotonic(), 0

    def done(kind, op, record):
        nonlocal count
        results.add({"kind": kind, "op": op, **record})
        if not options.slice:
            show({"op": op, **record}, options.verbose)
        count += 1
        if count % 500 == 0:
            print(f"{count} of {total} cases, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)

    pool.run(tasks, options.jobs, done)
    return list(results.records.values()), time.monotonic() - began


def main():
    options = arguments()
    records, seconds = measure(options)
    statuses = collections.Counter(r["status"] for r in records)
    print(f"{len(records)} cases in {seconds:.0f} s: " + ", ".join(f"{n} {s}" for s, n in statuses.most_common()))
    if options.gaps:
        pathlib.Path(options.gaps).write_text(gaps.text(records))
    if options.slice:
        found, better = slice.differences(records)
        print(*found, *better, sep="\n")
        return bool(found)
    if options.only or options.dtypes or options.checks or options.samples:
        return any(s in statuses for s in ("fails", "fallback"))
    record = ledger.write([r for r in records if not options.kind or r["kind"] in options.kind])
    if left := ledger.unused(record):
        print("known differences in tests/coverage/tables.py that no failure needs:", *left, sep="\n  ")
    print("written: docs/coverage.json, docs/coverage.md")
    return bool(left)


if __name__ == "__main__":
    sys.exit(main())
