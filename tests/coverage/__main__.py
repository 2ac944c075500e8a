"""Command line of the coverage tool; see the package's description."""

import os

# The device starts in the workers, which are forked from here.
os.environ |= {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "TORCH_NEURONX_FALLBACK": "error", "OMP_NUM_THREADS": "1"}

import argparse
import collections
import hashlib
import json
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = ROOT / "target" / "coverage" / "results.jsonl"


def arguments():
    p = argparse.ArgumentParser(prog="python -m tests.coverage", description=__doc__)
    p.add_argument("--kind", default="", help="databases, comma-separated; all when empty")
    p.add_argument("--only", default="", help="operators, comma-separated, by full name or by name without variant")
    p.add_argument("--dtypes", default="", help="dtypes (or `errors`), comma-separated")
    p.add_argument("--checks", default="", help="values, gradients, noncontiguous, inplace, out")
    p.add_argument("--samples", type=int, default=0, help="at most so many samples; all when 0")
    p.add_argument("--quick", action="store_true", help="3 samples")
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--limit", type=float, default=180, help="seconds that one (operator, dtype) may take")
    p.add_argument("--fresh", action="store_true", help="forget the results of an interrupted run")
    p.add_argument("--verbose", action="store_true", help="every failure, not one an operator and dtype")
    p.add_argument("--gaps", help="write what is missing to this file")
    return p.parse_args()


def split(text):
    return [part for part in text.split(",") if part]


def selected(options):
    from .databases import DATABASES, database

    dtypes = split(options.dtypes)
    for kind in split(options.kind) or DATABASES:
        for name in database(kind).names():
            if options.only and not {name, database(kind).family(name)} & set(split(options.only)):
                continue
            chosen = [d for d in database(kind).dtypes(name) if not dtypes or d in dtypes]
            if chosen:
                yield kind, name, chosen


class Results:
    """Records of this run and, where nothing has changed, of the interrupted one before."""

    def __init__(self, options, identity):
        self.path = RESULTS if not options.only else None
        self.records = {}
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        head = json.dumps({"identity": identity})
        if self.path.exists() and not options.fresh:
            lines = self.path.read_text().splitlines()
            if lines and lines[0] == head:
                for line in lines[1:]:
                    try:
                        self.add(json.loads(line))
                    except ValueError:
                        pass  # the line that was being written when the run was interrupted
        self.file = self.path.open("w", buffering=1)
        self.file.write(head + "\n")
        for record in self.records.values():
            self.file.write(json.dumps(record) + "\n")

    def add(self, record):
        self.records[record["kind"], record["op"], record["dtype"]] = record

    def write(self, record):
        self.add(record)
        if self.path:
            self.file.write(json.dumps(record) + "\n")


def identity(settings):
    """Changes when the extension, the tool or the settings do."""
    h = hashlib.sha256(repr(settings).encode())
    for path in sorted((ROOT / "tests" / "coverage").glob("*.py")) + sorted((ROOT / "torch_neuronx").glob("_C*.so")):
        stat = path.stat()
        h.update(f"{path.name} {stat.st_size} {stat.st_mtime_ns}".encode())
    return h.hexdigest()[:16]


def show(record, verbose):
    if verbose and not record["failures"]:
        print(f"{record['status'].upper()} {record['op']} {record['dtype']} {record['passed']} in {record['seconds']} s", flush=True)
    for f in record["failures"] if verbose else record["failures"][:1]:
        print(f"{record['status'].upper()} {record['op']} {record['dtype']} {f['check']} #{f['sample']} (x{f['count']}) "
            f"{f['error']}: {f['text'][:400 if verbose else 200]}", flush=True)


def main():
    options = arguments()
    from . import gaps, pool

    settings = {"samples": options.samples or (3 if options.quick else 0), "checks": split(options.checks) or None}
    results = Results(options, identity(settings))
    wanted = [(k, n, [d for d in ds if (k, n, d) not in results.records]) for k, n, ds in selected(options)]
    total = sum(len(ds) for _, _, ds in wanted)
    tasks = [{"kind": k, "op": n, "dtypes": ds, "options": settings, "limit": options.limit} for k, n, ds in wanted if ds]
    began, count = time.monotonic(), 0

    def done(kind, op, record):
        nonlocal count
        record = {"kind": kind, "op": op, **record}
        results.write(record)
        count += 1
        show(record, options.verbose)
        if count % 500 == 0:
            print(f"{count} of {total} cases, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)

    pool.run(tasks, options.jobs, done)
    records = list(results.records.values())
    if options.gaps:
        pathlib.Path(options.gaps).write_text(gaps.text(records))
    statuses = collections.Counter(r["status"] for r in records)
    print(f"{sum(statuses.values())} cases in {time.monotonic() - began:.0f} s: " + ", ".join(f"{n} {s}" for s, n in statuses.items()))
    return any(s in statuses for s in ("fails", "fallback"))


if __name__ == "__main__":
    sys.exit(main())
