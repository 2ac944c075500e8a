"""What is missing, by ATen operator and by failing operator, for whoever fills the gaps."""

import collections

from .outcome import shape

RERUN = "`TORCH_NEURONX_FALLBACK=error python -m tests.coverage --only OP [--dtypes float32,...] --verbose`"


def text(records):
    """Markdown of the records {kind, op, dtype, status, failures, ...}."""
    missing = collections.defaultdict(lambda: collections.defaultdict(set))
    failing = collections.defaultdict(dict)
    for r in records:
        for f in r["failures"]:
            if f["missing"]:
                missing[f["missing"]][f"{r['op']}"].add(r["dtype"])
            else:
                key = f["error"], shape(f["text"])[:40]
                kind = failing[r["op"]].setdefault(key, {"dtypes": {}, "checks": {}, "first": f})
                kind["dtypes"][r["dtype"]] = kind["checks"][f["check"]] = None
    statuses = collections.Counter(r["status"] for r in records)
    lines = ["# Gaps", "", f"Cases: {dict(statuses)}. Rerun one operator: {RERUN}", ""]
    lines += [f"## No native rule: {len(missing)} ATen operators", ""]
    for aten, ops in sorted(missing.items(), key=lambda x: -sum(map(len, x[1].values()))):
        count = sum(map(len, ops.values()))
        named = ", ".join(f"{op} ({len(d)})" for op, d in sorted(ops.items())[:8])
        lines.append(f"- `{aten}`: {count} cases: {named}{', ...' if len(ops) > 8 else ''}")
    lines += ["", f"## Failing operators: {len(failing)}", ""]
    for op, kinds in sorted(failing.items()):
        lines.append(f"### {op}")
        for (error, _), k in sorted(kinds.items()):
            f = k["first"]
            lines.append(f"- {', '.join(k['checks'])} [{' '.join(k['dtypes'])}] sample {f['sample']} {error}: {f['text'][:220]}")
    return "\n".join(lines) + "\n"
