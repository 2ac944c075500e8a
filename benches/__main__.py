"""Prints a table of our time ÷ PyTorch CPU's.

    python -m benches [--threads N] [--only WORD] [--json FILE]

For one thread, pin the process as well: `taskset -c 0 python -m benches --threads 1`. One thread is timed by the CPU time
of the process, which other processes on the machine disturb less; more threads by the wall clock.
"""

import argparse
import json
import os
import subprocess
import time

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
parser.add_argument("--only", default="", help="only rows whose name holds this")
parser.add_argument("--json", help="append one JSON line per row to this file")
parser.add_argument("--no-peaks", action="store_true", help="do not measure the machine's peaks")
options = parser.parse_args()
os.environ["TORCH_NEURONX_SOFTCORE_THREADS"] = str(options.threads)

import torch  # noqa: E402  (the thread count is read when the device starts)

from benches.cases import ALL  # noqa: E402
from benches.timing import measure  # noqa: E402

torch.set_num_threads(options.threads)


def human(seconds):
    for scale, unit in ((1, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= scale:
            return f"{seconds / scale:.2f} {unit}"
    return f"{seconds / 1e-9:.0f} ns"


def peaks():
    command = ["cargo", "run", "--quiet", "--release", "-p", "tnrs-kernels", "--example", "peak"]
    environment = {**os.environ, "TORCH_NEURONX_SOFTCORE_THREADS": str(options.threads)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()


def main():
    print(f"torch {torch.__version__} CPU against neuron ({torch.neuron.get_device_name()}), {options.threads} thread(s)")
    print(f"load of the machine: {os.getloadavg()[0]:.1f}")
    if not options.no_peaks:
        print(peaks())
    print(f"{'row':46} {'ours':>10} {'torch':>10} {'ratio':>7} {'bar':>6}       rate")
    clock = time.process_time if options.threads == 1 else time.perf_counter
    missed = []
    for case in ALL:
        if options.only not in case.name:
            continue
        result = measure(case, torch.neuron.synchronize, clock, 0 if options.threads == 1 else 0.02)
        rate = f"{case.work / result.ours / 1e9:8.1f} {case.unit}/s" if case.unit else ""
        verdict = "" if case.bar is None else ("ok" if result.ratio <= case.bar else "MISS")
        if verdict == "MISS":
            missed.append(case.name)
        print(
            f"{case.name:46} {human(result.ours):>10} {human(result.theirs):>10} {result.ratio:7.3f} {case.bar or '':>6} {verdict:5} {rate}",
            flush=True,
        )
        if options.json:
            with open(options.json, "a") as out:
                out.write(json.dumps({"row": case.name, "threads": options.threads, **vars(result)}) + "\n")
    print(f"missed: {', '.join(missed) or 'none'}; fallbacks: {torch.neuron.fallback_ops() or 'none'}")


main()
