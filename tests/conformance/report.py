"""The score: what `neuron` passes of what `cpu` passes, by suite, with every skip and failure by its reason."""

import collections
import importlib.metadata
import json
import re

import torch
from expected import EXPECTED
from manifest import NOT_CLAIMED, manifest

FAILED = ("failed", "crash", "hang")


def entries(record):
    with open(record) as f:
        return [json.loads(line) for line in f]


def outcomes(record):
    """The last entry of every test."""
    return {e["id"]: e for e in entries(record) if "outcome" in e}


def versions():
    return f"torchcts {importlib.metadata.version('torchcts')}, torch {torch.__version__.split('+')[0]}"


def write_oracle(record, path):
    """Only what the CPU does not pass is listed; all other tests of these versions it passes."""
    tests = outcomes(record)
    passed = sum(e["outcome"] == "passed" for e in tests.values())
    lines = [f"# {versions()}: {len(tests)} tests, {passed} passed. Tests that device cpu does not pass. Recorded by run.py."]
    lines += sorted(f"{e['outcome']}\t{name}" for name, e in tests.items() if e["outcome"] != "passed")
    path.write_text("\n".join(lines) + "\n")


def read_oracle(path):
    if not path.exists():
        raise SystemExit(f"{path.name}, what the CPU passes, is not recorded yet: run with --device cpu first")
    head, *lines = path.read_text().splitlines()
    if not head.startswith(f"# {versions()}:"):
        raise SystemExit(f"{path.name} is of other versions ({head}); record it again with --device cpu")
    return {name: outcome for outcome, name in (line.split("\t") for line in lines)}, int(re.search(r"(\d+) passed", head)[1])


def suite(name):
    path = name.split("::")[0]
    folder, _, file = path.partition("/")
    if folder in ("opinfo", "generated"):
        return f"{folder}/" + re.sub(r"^test_(opinfo_|generated_)?|\.py$", "", file)
    return folder


def brief(why):
    """A reason without what differs between tests of one cause."""
    first = (why or "").strip().split("\n")[0].replace("|", "\\|")
    first = re.sub(r"\(operands: .*|; operands: .*", "", first)
    return re.sub(r"0x\w+|\d+(\.\d+)?(e[-+]?\d+)?", "#", first)[:140]


def declared_out(entry):
    """Whether a test was skipped because it needs what the manifest does not claim."""
    return entry["outcome"] == "skipped" and "requires capabilities" in (entry.get("why") or "")


def suites_table(tests, oracle):
    rows = collections.defaultdict(collections.Counter)
    for name, e in tests.items():
        row = rows[suite(name)]
        row["tests"] += 1
        row[e["outcome"]] += 1
        row["cpu"] += name not in oracle
        row["both"] += name not in oracle and e["outcome"] == "passed"
    total = sum(rows.values(), collections.Counter())
    yield "| suite | tests | passed | failed | crashed or hung | skipped | cpu passes | and neuron too |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    for name, r in [*sorted(rows.items()), ("**all**", total)]:
        yield (
            f"| {name} | {r['tests']} | {r['passed']} | {r['failed']} | {r['crash'] + r['hang']} | {r['skipped']} "
            f"| {r['cpu']} | {r['both']} |"
        )


def reasons_table(tests, kinds):
    count = collections.Counter((suite(n), brief(e.get("why"))) for n, e in tests.items() if e["outcome"] in kinds)
    yield "| suite | tests | reason |"
    yield "|---|---:|---|"
    for (name, why), n in sorted(count.items(), key=lambda item: (item[0][0], -item[1], item[0][1])):
        yield f"| {name} | {n} | {why} |"


def document(tests, oracle, cpu_passed):
    shared = [n for n in tests if n not in oracle]
    undeclared = [n for n in shared if declared_out(tests[n])]
    lost = {n: tests[n] for n in shared if tests[n]["outcome"] != "passed" and not declared_out(tests[n])}
    skipped = sum(e["outcome"] == "skipped" for e in lost.values())
    claimed = sum(manifest["capabilities"].values())
    yield "# TorchCTS\n"
    yield f"Written by `make conformance` ({versions()}, level 8, fallback to the CPU forbidden). Do not edit.\n"
    yield f"- Device `neuron` passes **{sum(e['outcome'] == 'passed' for e in tests.values())} of {len(tests)}** tests."
    yield (
        f"- Of the {cpu_passed} tests that PyTorch's CPU backend passes, {len(undeclared)} belong to capabilities that are not claimed; "
        f"of the other {len(shared) - len(undeclared)}, `neuron` passes **{len(shared) - len(undeclared) - len(lost)}**, fails "
        f"{len(lost) - skipped}, and {skipped} the suite skips on it by its own rules."
    )
    yield f"- Capabilities claimed: {claimed} of {len(manifest['capabilities'])}."
    yield "".join(f" Not claimed: `{name}`, because {why}." for name, why in NOT_CLAIMED.items()) + "\n"
    yield from suites_table(tests, oracle)
    yield "\n## Passed by the CPU, not by neuron\n"
    yield from reasons_table(lost, ("skipped", *FAILED))
    yield "\n## All failures\n"
    yield from reasons_table(tests, FAILED)
    yield "\n## All skips\n"
    yield from reasons_table(tests, ("skipped",))


def conclude(record, oracle_path, path):
    """Prints the verdict, writes the document when `path` is given. 1 when the table of exceptions does not fit."""
    tests = outcomes(record)
    oracle, cpu_passed = read_oracle(oracle_path)
    # What the suite skips on the device it gives a reason for; the document lists them.
    lost = [n for n, e in tests.items() if n not in oracle and e["outcome"] in FAILED]
    unexpected = [n for n in lost if not any(re.search(p, n) for p in EXPECTED)]
    stale = [p for p in EXPECTED if path and not any(re.search(p, n) for n in lost)]
    if path:
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(document(tests, oracle, cpu_passed)) + "\n")
    for name in unexpected:
        print(f"{tests[name]['outcome']}: {name}\n    {(tests[name].get('why') or '').strip()[:300]}")
    for pattern in stale:
        print(f"expected.py: nothing fails for {pattern!r}; delete the entry")
    count = collections.Counter(e["outcome"] for e in tests.values())
    print(f"{len(tests)} tests: {dict(count)}; {len(lost)} that the CPU passes do not pass, {len(unexpected)} unexpectedly")
    return 1 if unexpected or stale else 0
