"""The committed record: `docs/coverage.json`, one line an operator, and `docs/coverage.md`, made from it."""

import collections
import json
import pathlib
import re

from .outcome import ABSENT, FAILS, FALLBACK, NATIVE
from .tables import EXPECTED

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
JSON, MARKDOWN = DOCS / "coverage.json", DOCS / "coverage.md"
TEXT = 160
WHAT = {
    "op_db": "operators (OpInfo): values, gradients, views with gaps, in-place, `out=`, refused operands",
    "python_ref_db": "PyTorch's reference implementations in Python, run on the device",
    "foreach": "operators on lists of tensors",
    "module_db": "`torch.nn` modules: results and gradients, in training and in evaluation",
    "optim_db": "optimizers: parameters and state after three steps, every implementation",
    "gradcheck": "first and second derivatives against finite differences, 100 operators in float64",
}


def entry(op, records):
    """What one operator's line says: dtypes by status, and of those that are not native by reason."""
    line = {"op": op}
    by_status = collections.defaultdict(list)
    for r in records:
        by_status[r["status"]].append(r["dtype"])
    for status in (NATIVE, ABSENT):
        if by_status[status]:
            line[status] = sorted(by_status[status])
    for status in (FALLBACK, FAILS):
        reasons = collections.defaultdict(list)
        for r in sorted(records, key=lambda r: r["dtype"]):
            if r["status"] == status:
                reasons[reason(r)].append(r["dtype"])
        if reasons:
            line[status] = dict(reasons)
    return line


def reason(record):
    """The first failure, and where that is about a missing rule also the first other one; as written by hand if it is."""
    first = record["failures"][0]
    other = next((f for f in record["failures"] if f["missing"] is None), first)
    said = [describe(record["op"], f) for f in ([first] if other is first else [first, other])]
    return "; ".join(said)


def describe(op, failure):
    where = f"{failure['check']} #{failure['sample']}"
    if failure["missing"]:
        return f"{where}: no rule for {failure['missing']}"
    known = EXPECTED.get(f"{op} {failure['check']}")
    return f"{where}: {f'known: {known}' if known else failure['error'] + ': ' + failure['text'][:TEXT]}"


def sample(reason):
    """The number of the first sample that a reason is about."""
    return int(re.search(r" #(\d+): ", reason).group(1))


def unused(ledger):
    """Entries of the table of known differences that no failure needs, where the operators have been measured."""
    if "op_db" not in ledger:
        return []
    needed = {
        f"{line['op']} {check}"
        for lines in ledger.values()
        for line in lines
        for why in line.get(FAILS, {})
        for check in re.findall(r"(?:^|; )([\w -]+) #\d+: ", why)
    }
    return sorted(set(EXPECTED) - needed)


def build(records):
    """kind -> [entry], sorted."""
    grouped = collections.defaultdict(lambda: collections.defaultdict(list))
    for r in records:
        if not (r["status"] == ABSENT and r["dtype"] == "errors"):
            grouped[r["kind"]][r["op"]].append(r)
    return {kind: [entry(op, ops[op]) for op in sorted(ops)] for kind, ops in grouped.items()}


def read():
    return json.loads(JSON.read_text()) if JSON.exists() else {}


def statuses(ledger):
    """(kind, op, dtype) -> status."""
    return {
        (kind, line["op"], dtype): status
        for kind, lines in ledger.items()
        for line in lines
        for status in (NATIVE, FALLBACK, FAILS, ABSENT)
        for dtype in (line.get(status, ()) if status in (NATIVE, ABSENT) else reasons(line, status))
    }


def reasons(line, *statuses):
    """dtype -> why it is not native."""
    return {d: why for s in statuses or (FALLBACK, FAILS) for why, dtypes in line.get(s, {}).items() for d in dtypes}


def write(records):
    """Replaces what the records are about; other databases keep their lines. The whole ledger."""
    ledger = {**read(), **build(records)}
    DOCS.mkdir(exist_ok=True)
    parts = []
    for kind in sorted(ledger, key=lambda k: list(WHAT).index(k)):
        lines = ",\n".join(json.dumps(line, ensure_ascii=False) for line in ledger[kind])
        parts.append(f'"{kind}": [\n{lines}\n]')
    JSON.write_text("{\n" + ",\n".join(parts) + "\n}\n")
    MARKDOWN.write_text(markdown(ledger))
    return ledger


def markdown(ledger):
    import torch

    out = [
        "# Coverage of PyTorch's databases",
        "",
        f"Written by `make coverage`, with PyTorch {torch.__version__.split('+')[0]}. Device `neuron`, CPU fallback forbidden, the CPU as the oracle,",
        "PyTorch's own samples and tolerances. A case is one operator in one dtype of those that the CPU supports, over all its samples;",
        "it is native only if every check of every sample passes. `errors` stands for the operands that the CPU refuses.",
        "",
        "| database | what | cases | native | needs the CPU | fails | not in PyTorch | wholly native |",
        "|---|---|---|---|---|---|---|---|",
    ]
    total = collections.Counter()
    for kind, what in WHAT.items():
        if kind not in ledger:
            continue
        lines = ledger[kind]
        n = collections.Counter(s for (k, _, _), s in statuses({kind: lines}).items())
        whole = sum(FALLBACK not in line and FAILS not in line for line in lines)
        total.update(n)
        total["lines"] += len(lines)
        total["whole"] += whole
        cases = sum(n.values())
        out.append(f"| `{kind}` | {what} | {cases} | {n[NATIVE]} | {n[FALLBACK]} | {n[FAILS]} | {n[ABSENT]} | {whole} of {len(lines)} |")
    cases = sum(total[s] for s in (NATIVE, FALLBACK, FAILS, ABSENT))
    out.append(f"| **total** | | {cases} | {total[NATIVE]} | {total[FALLBACK]} | {total[FAILS]} | {total[ABSENT]} | {total['whole']} of {total['lines']} |")
    for kind, lines in ledger.items():
        gaps = [line for line in lines if FALLBACK in line or FAILS in line]
        if not gaps:
            continue
        out += ["", f"## `{kind}`: not wholly native", "", "| operator | status | dtypes | first reason |", "|---|---|---|---|"]
        for line in gaps:
            for status in (FALLBACK, FAILS):
                for why, dtypes in line.get(status, {}).items():
                    why = why.replace("|", "\\|").replace("`", "'")
                    out.append(f"| {line['op']} | {status} | {' '.join(dtypes)} | {why} |")
    return "\n".join(out) + "\n"

