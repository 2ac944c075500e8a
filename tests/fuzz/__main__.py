"""Command line of the fuzzer; see the package's description."""

import argparse
import collections
import os
import sys
import time

from .worker import CORE, Worker, limit_memory  # noqa: I001

# A missing rule is found by the count of fallbacks; the refusals of the CPU behind it are the user's too.
os.environ["TORCH_NEURONX_FALLBACK"] = "silent"
os.environ.setdefault("TORCH_NEURONX_SOFTCORE_HBM", CORE)

from .call import Call, operators  # noqa: E402

def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--seconds", type=float, default=600)
    p.add_argument("--seed", type=int, default=0, help="number of the first call")
    p.add_argument("--only", default="", help="operators, comma-separated")
    p.add_argument("--wrong", type=float, default=0.5, help="share of calls that may be refused")
    p.add_argument("--counts", action="store_true", help="say how often each operator and form was compared")
    p.add_argument("--one", type=int, help="run this call only, here")
    options = p.parse_args()
    only = set(filter(None, options.only.split(",")))
    if options.one is not None:
        limit_memory()
        call = Call(options.one, list(operators(only)), options.wrong)
        print(call)
        print(call.run())
        return 0
    ends = time.monotonic() + options.seconds
    counts, number, text = collections.Counter(), options.seed, ""
    called = collections.Counter()
    seen = set()
    worker = Worker(number, options.seconds, only, options.wrong)

    def found(what, detail):
        counts[what] += 1
        operator = text.split("(")[0].split(" ")[-1]
        if (what, operator, detail[:40]) not in seen:
            seen.add((what, operator, detail[:40]))
            print(f"{what.upper()} {text}\n    {detail[:400]}", flush=True)

    while True:
        message = worker.next()
        if message in (None, "hang"):
            code = worker.stop()
            found("hang" if message else "crash", f"exit code {code}")
            if time.monotonic() > ends:
                break
            number += 1
            worker = Worker(number, ends - time.monotonic(), only, options.wrong)
            continue
        kind, value, detail = message
        if kind == "begin":
            number, text = value, detail
        elif kind == "end" and value == "different":
            found("different", detail)
        elif kind == "end" and value:
            counts[value] += 1
            called[text.split("(")[0].split(" ")[-1]] += 1
        elif kind == "done":
            break
    worker.stop()
    print(f"calls {options.seed}..{number}: {dict(counts)}")
    if options.counts:
        print("\n".join(f"{n:5} {name}" for name, n in sorted(called.items(), key=lambda item: item[1])))
    return int(any(counts[k] for k in ("crash", "hang", "different")))


if __name__ == "__main__":
    sys.exit(main())
