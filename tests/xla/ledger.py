"""The committed record: `docs/xla.json`, one line an operator, and `docs/xla.md`, made from it."""

import collections
import json
import pathlib

from .statuses import AGREES, CUSTOM, DIFFERS, KNOWN, NO_TYPE, NOTHING, REFUSED
from .tables import ABSENT_TYPES, known

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
JSON, MARKDOWN = DOCS / "xla.json", DOCS / "xla.md"
KINDS = ("op_db", "foreach", "module_db", "optim_db")
COLUMNS = {
    AGREES: "agree",
    CUSTOM: "custom calls",
    NO_TYPE: "type not in XLA",
    NOTHING: "nothing to compile",
    REFUSED: "not in PyTorch",
    KNOWN: "known difference",
    DIFFERS: "differ",
}


def unexplained(record):
    """The failures of a record that `tables` has no reason for."""
    return [f for f in record["failures"] if not known(record["op"], record["dtype"], f)]


def status(record):
    if unexplained(record) or (not record["failures"] and record["status"] == DIFFERS):
        return DIFFERS
    return KNOWN if record["failures"] else record["status"]


def entry(op, records):
    """What one operator's line says: dtypes by status, with the routines called and the differences found."""
    line = {"op": op, "programs": sum(r["counts"].get(AGREES, 0) for r in records)}
    for wanted in COLUMNS:
        if dtypes := sorted(r["dtype"] for r in records if status(r) == wanted):
            line[wanted] = dtypes
    if routines := sorted({c for r in records for c in r["custom"]}):
        line["routines"] = routines
    differences = collections.defaultdict(set)
    for r in records:
        for f in r["failures"]:
            reason = known(r["op"], r["dtype"], f) or f["text"][:160]
            differences[f"{f.get('operator', '')}: {reason}"].add(r["dtype"])
    if differences:
        line["differences"] = {text: sorted(dtypes) for text, dtypes in sorted(differences.items())}
    return line


def rules(records):
    """How far the rules have been compared: rule to the best of its statuses."""
    best = {}
    for r in records:
        for rule, statuses in r["rules"].items():
            order = (AGREES, NOTHING, NO_TYPE, CUSTOM, DIFFERS)
            best[rule] = min([*statuses, *([best[rule]] if rule in best else [])], key=order.index)
    return best


def write(records, names):
    """Replaces the databases that the records are about. `names` are all rules."""
    kinds = collections.defaultdict(lambda: collections.defaultdict(list))
    for r in records:
        kinds[r["kind"]][r["op"]].append(r)
    ledger = {kind: [entry(op, ops[op]) for op in sorted(ops)] for kind, ops in kinds.items()}
    best = rules(records)
    table = {s: sorted(n for n in names if best.get(n) == s) for s in (CUSTOM, NO_TYPE, DIFFERS)}
    table["never"] = sorted(n for n in names if n not in best or best[n] == NOTHING)
    parts = [f'"{kind}": [\n' + ",\n".join(json.dumps(line) for line in lines) + "\n]" for kind, lines in ledger.items()]
    parts.append(f'"rules": {json.dumps({"all": len(names), **table})}')
    JSON.write_text("{\n" + ",\n".join(parts) + "\n}\n")
    MARKDOWN.write_text(markdown(ledger, table, len(names)))


def markdown(ledger, table, count):
    import jaxlib
    import torch

    out = [
        "# The programs of every operator on XLA",
        "",
        f"Written by `make xla`, with PyTorch {torch.__version__.split('+')[0]} and jaxlib {jaxlib.__version__}. A case is one operator of PyTorch's databases in one dtype of those",
        "that the CPU supports. One sample of it, with its gradients, runs on the device; every program that this compiles passes the",
        "verifier, is run again as StableHLO on XLA's CPU client with the same operands (composites as their decompositions, random",
        "numbers from the same counters), and has to give the device's results within PyTorch's tolerances; in programs that add up,",
        "where terms may cancel, relative to the greatest element. Results whose size the data decides are compared up to that size.",
        "",
        "- *custom calls*: a program of the case calls a routine that has no decomposition; its other programs agree.",
        *(f"- *type not in XLA*: {name}: {why}." for name, why in ABSENT_TYPES.items()),
        "- *nothing to compile*: views, copies and allocations.",
        f"- Databases that have not been run with this record: {', '.join(f'`{k}`' for k in KINDS if k not in ledger) or 'none'}.",
        "",
        "| database | cases | " + " | ".join(COLUMNS.values()) + " | programs that agree |",
        "|---|" + "---|" * (len(COLUMNS) + 2),
    ]
    for kind, lines in ledger.items():
        n = {s: sum(len(line.get(s, ())) for line in lines) for s in COLUMNS}
        programs = sum(line["programs"] for line in lines)
        out.append(f"| `{kind}` | {sum(n.values())} | " + " | ".join(map(str, n.values())) + f" | {programs} |")
    differences = [(line, text, d) for lines in ledger.values() for line in lines for text, d in line.get("differences", {}).items()]
    if differences:
        out += ["", "## Differences", "", "| operator | dtypes | program and reason |", "|---|---|---|"]
        out += [f"| {line['op']} | {' '.join(d)} | {text.replace('|', '/')} |" for line, text, d in differences]
    out += ["", "## Custom calls", "", "| routine | operators |", "|---|---|"]
    callers = collections.defaultdict(list)
    for lines in ledger.values():
        for line in lines:
            for routine in line.get("routines", ()):
                callers[routine].append(line["op"])
    out += [f"| `{routine}` | {', '.join(sorted(set(ops)))} |" for routine, ops in sorted(callers.items())]
    done = count - sum(map(len, table.values()))
    out += ["", "## Rules", "", f"Of {count} rules, the programs of {done} have been run on XLA in at least one dtype and agree."]
    titles = {CUSTOM: "Only with custom calls", NO_TYPE: "Only with a type that XLA lacks", DIFFERS: "Differ", "never": "Compiled by no sample"}
    out += [f"{title} ({len(table[s])}): {', '.join(f'`{n}`' for n in table[s]) or 'none'}." for s, title in titles.items()]
    return "\n".join(out) + "\n"
