"""One case of one of PyTorch's databases: what it makes the device compile, run again on XLA."""

import collections
import math
import tempfile
import time

import torch

from tests.coverage.compare import near, plain, report
from tests.coverage.databases import database
from tests.coverage.outcome import one_line
from tests.coverage.tolerance import tolerance

from . import engine, programs
from .statuses import AGREES, CUSTOM, DIFFERS, NO_TYPE, NOTHING, ORDER, REFUSED
from .tables import ABSENT_TYPES

# Numbers of samples where the first one computes nothing but single numbers.
MORE = (3, 12)
# The derivatives of operators on lists are those of operators on tensors.
CHECKS = {"foreach": ["values"], "optim_db": None}
TORCH = {
    "i1": torch.bool, "ui8": torch.uint8, "i8": torch.int8, "ui16": torch.uint16, "i16": torch.int16,
    "ui32": torch.uint32, "i32": torch.int32, "ui64": torch.uint64, "i64": torch.int64, "f16": torch.float16,
    "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64, "complex<f32>": torch.complex64,
    "complex<f64>": torch.complex128, "f8E4M3FN": torch.float8_e4m3fn, "f8E5M2": torch.float8_e5m2,
    "f8E4M3FNUZ": torch.float8_e4m3fnuz, "f8E5M2FNUZ": torch.float8_e5m2fnuz, "f8E8M0FNU": torch.float8_e8m0fnu,
}


class Findings:
    """What XLA says of the programs of one case."""

    def __init__(self):
        self.began = time.perf_counter()
        self.refused = False
        # Whether a program has taken or given more than one element.
        self.arrays = False
        self.counts = collections.Counter()
        self.custom, self.failures = set(), []
        self.rules = collections.defaultdict(set)

    def add(self, program, status):
        self.counts[status] += 1
        self.arrays |= any(math.prod(v["dims"]) > 1 for v in (*program.parameters, *program.results))
        self.rules[program.rule].add(status)

    def record(self):
        return {
            "status": next((s for s in ORDER if self.counts[s]), REFUSED if self.refused else NOTHING),
            "counts": dict(self.counts),
            "custom": sorted(self.custom),
            "rules": {rule: sorted(statuses) for rule, statuses in self.rules.items()},
            "failures": self.failures,
            "seconds": round(time.perf_counter() - self.began, 3),
        }


def check(kind, name, dtype, samples, tick):
    """Runs values and gradients of the first samples on the device, then every program that this compiled on XLA. Where these
    samples compute nothing, or only single numbers, more are taken."""
    for count in dict.fromkeys((samples, *MORE)):
        findings = Findings()
        with tempfile.TemporaryDirectory() as folder:
            with torch.neuron.dump_programs(folder, data=True):
                outcome = database(kind).run(name, dtype, count, CHECKS.get(kind, ["values", "gradients"]), tick)
            seen = set()
            for program in programs.programs(folder):
                if program.is_identity or program.module in seen:
                    continue
                seen.add(program.module)
                tick(f"{program.operator} 0")
                judge(findings, program, database(kind).infos[name], name, getattr(torch, dtype))
        findings.refused = not outcome.passed and not outcome.failures
        if findings.arrays:
            break
    return findings


def judge(findings, program, info, name, dtype):
    if program.problem:
        findings.add(program, DIFFERS)
        findings.failures.append(failure(program, f"verifier: {program.problem}"))
    elif program.custom_calls:
        findings.add(program, CUSTOM)
        findings.custom.update(program.custom_calls)
    elif program.dtypes & set(ABSENT_TYPES):
        findings.add(program, NO_TYPE)
    elif (results := program.data("result")) is None:
        findings.add(program, NOTHING)
    else:
        try:
            difference = disagreement(program, results, info, name, dtype)
        except Exception as e:
            difference = f"{type(e).__name__}: {e}"
        findings.add(program, DIFFERS if difference else AGREES)
        if difference:
            findings.failures.append(failure(program, difference))


def failure(program, text):
    return {"operator": program.operator, "rule": program.rule, "operands": program.operands, "text": one_line(text)}


def disagreement(program, results, info, name, dtype):
    """How XLA's results differ from the device's, or None."""
    arguments = [engine.array(d, p["dtype"], p["dims"]) for d, p in zip(program.data("parameter"), program.parameters)]
    found = [tensor(x.tobytes(), r) for x, r in zip(engine.run(program.module, arguments), program.results, strict=True)]
    wanted = [tensor(d, r) for d, r in zip(results, program.results)]
    for nth, (f, w, r) in enumerate(zip(found, wanted, program.results)):
        if bound := r.get("bounded"):
            f, w = (t.narrow(bound["dim"], 0, int(all[bound["count"]])) for t, all in ((f, found), (w, wanted)))
        allowed = tolerance(info, name, dtype, w.dtype)
        if f.shape != w.shape:
            return f"result {nth}: {list(w.shape)}, XLA has {list(f.shape)}"
        if not near(w, f, allowed) and not (program.sums and near_at_scale(w, f, allowed)):
            try:
                report(w, f, allowed, nth, len(found))
            except AssertionError as e:
                return str(e)
    return None


def near_at_scale(w, f, allowed):
    """Whether the error is within the tolerance of the greatest element. What is not finite has to be equal."""
    w, f = plain(w), plain(f)
    if not (f.dtype.is_floating_point or f.dtype.is_complex):
        return False
    wide = torch.complex128 if f.dtype.is_complex else torch.float64
    w, f = w.to(wide), f.to(wide)
    finite = torch.isfinite(w) & torch.isfinite(f)
    if not torch.allclose(w[~finite], f[~finite], equal_nan=True, rtol=0, atol=0) or not finite.any():
        return False
    w, f = w[finite], f[finite]
    return bool((w - f).abs().max() <= allowed["atol"] + allowed["rtol"] * f.abs().max())


def tensor(data, about):
    if not data:
        return torch.empty(about["dims"], dtype=TORCH[about["dtype"]])
    return torch.frombuffer(bytearray(data), dtype=TORCH[about["dtype"]]).reshape(about["dims"])
