"""Runs TorchCTS on a device and records every outcome. After a crash or a hang it goes on with the next test.

    python tests/conformance/run.py                       # device neuron, everything, then docs/conformance.md
    python tests/conformance/run.py --level 1             # the quickest 455 tests; compares, writes no document
    python tests/conformance/run.py --only sparse         # pytest's -k, same
    python tests/conformance/run.py --device cpu          # the oracle: rewrites cpu.tsv

A record that exists is continued; `--fresh` starts anew, `--retry` runs again what did not pass.
"""

import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import report

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--device", default="neuron")
    p.add_argument("--level", type=int, default=8)
    p.add_argument("--only", help="pytest's -k expression")
    p.add_argument("--record", type=pathlib.Path, help="where outcomes go")
    p.add_argument("--fresh", action="store_true")
    p.add_argument("--retry", action="store_true")
    p.add_argument("--test-seconds", type=int, default=120, help="a test that takes longer fails")
    p.add_argument("--stall-seconds", type=int, default=300, help="a process without news for longer is killed")
    return p.parse_args()


def drop_failures(record):
    kept = [e for e in report.entries(record) if e.get("outcome") in ("passed", "skipped")]
    record.write_text("".join(json.dumps(e) + "\n" for e in kept))


def environment(options, record):
    env = dict(os.environ)
    env.update(
        CTS_RECORD=str(record),
        CTS_TEST_SECONDS=str(options.test_seconds),
        PYTHONPATH=os.pathsep.join([str(HERE), str(ROOT), *filter(None, [env.get("PYTHONPATH")])]),
        PYTHONDONTWRITEBYTECODE="1",
        TORCH_NEURONX_SOFTCORE_HBM="6G",  # as the manifest says
    )
    env.setdefault("TORCH_NEURONX_FALLBACK", "error")
    if options.device == "cpu":
        env["CTS_CLAIM_ALL"] = "1"
    env.setdefault("OMP_NUM_THREADS", "1")
    return env


def command(options, results):
    arguments = [sys.executable, "-m", "torchcts", "run", "--device", options.device, "--level", str(options.level)]
    # Isolation is this file's part: the suite's own runs a listed test in a process that takes a minute to collect.
    arguments += ["--non-interactive", "-q", "-p", "cts_record", "-p", "no:cacheprovider", "--results-dir", str(results)]
    arguments += ["--known-segfault-policy", "off", "--adaptive-isolation", "off"]
    return arguments + (["-k", options.only] if options.only else [])


def attend(process, record, patience):
    """Waits for the end, or kills the process when the record stops growing. The reason of a kill, or None.

    Not before the first test: collection takes half a minute, and any time on a busy machine."""
    start = size = record.stat().st_size
    since = time.monotonic()
    while True:
        try:
            process.wait(timeout=5)
            return None
        except subprocess.TimeoutExpired:
            now = record.stat().st_size
            if now != size:
                size, since = now, time.monotonic()
            elif size != start and time.monotonic() - since > patience:
                process.kill()
                process.wait()
                return f"no news for {patience} s"


def cut_short(record):
    """The test that was running when a process ended, or None."""
    last, done = None, set()
    for e in report.entries(record):
        last = e.get("start", last)
        done.add(e.get("id"))
    return last if last not in done else None


def run(options, record):
    results, log = record.with_suffix(".results"), record.with_suffix(".log")
    while True:
        # The suite's command line takes an existing directory for a path of tests.
        shutil.rmtree(results, ignore_errors=True)
        with open(log, "ab") as out:
            process = subprocess.Popen(
                command(options, results), cwd=HERE, env=environment(options, record), stdout=out, stderr=subprocess.STDOUT
            )
            killed = attend(process, record, options.stall_seconds)
        test = cut_short(record)
        if test is None:
            if process.returncode not in (0, 1, 5):
                sys.exit(f"TorchCTS ended with {process.returncode}; its output is in {log}")
            return
        code = process.returncode
        why = killed or (signal.strsignal(-code) if code < 0 else f"exit code {code}")
        with open(record, "a") as f:
            f.write(json.dumps({"id": test, "outcome": "hang" if killed else "crash", "seconds": 0.0, "why": why}) + "\n")


def main():
    options = parse()
    part = "" if options.level == 8 and not options.only else f"-level{options.level}" + ("-part" if options.only else "")
    record = options.record or ROOT / "target" / "conformance" / f"{options.device}{part}.jsonl"
    record.parent.mkdir(parents=True, exist_ok=True)
    if options.fresh or options.only and not options.record:
        record.unlink(missing_ok=True)
    record.touch()
    if options.retry:
        drop_failures(record)
    run(options, record)
    if options.device == "cpu":
        report.write_oracle(record, HERE / "cpu.tsv")
        return 0
    return report.conclude(record, HERE / "cpu.tsv", ROOT / "docs" / "conformance.md" if not part else None)


if __name__ == "__main__":
    sys.exit(main())
