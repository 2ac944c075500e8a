"""A fixed part of every database, for each change: what it finds has to be what `docs/coverage.json` says."""

import zlib

from . import ledger
from .databases import ERRORS, database
from .outcome import ABSENT, FAILS, FALLBACK, NATIVE

SAMPLES = 2
# Every operator is run in this dtype and in one more; other databases in this one.
FIRST = "float32"
# Of these databases every so many-th operator is taken.
EVERY = {"op_db": 1, "python_ref_db": 3, "foreach": 1, "module_db": 1, "optim_db": 1, "gradcheck": 5}


def choose(kind, name, dtypes):
    """The dtypes of an operator that are in the slice: the usual one, one that its name picks, and the refused operands."""
    if zlib.crc32(name.encode()) % EVERY[kind]:
        return []
    rest = [d for d in dtypes if d not in (FIRST, ERRORS)]
    chosen = [d for d in (FIRST, ERRORS) if d in dtypes]
    if rest and (kind == "op_db" or not chosen):
        chosen.append(rest[zlib.crc32(name[::-1].encode()) % len(rest)])
    return chosen


def cases():
    """(kind, op, {dtype: samples}): a few samples, but of a case that the ledger has as failing, all up to the one that fails."""
    recorded = ledger.read()
    for kind in EVERY:
        lines = {line["op"]: line for line in recorded.get(kind, ())}
        for name in database(kind).names():
            known = ledger.reasons(lines.get(name, {}))
            chosen = choose(kind, name, database(kind).dtypes(name))
            if chosen:
                yield kind, name, {d: max(SAMPLES, ledger.sample(known[d]) + 1) if d in known else SAMPLES for d in chosen}


def differences(records):
    """What the records say otherwise than the ledger, each a line that says what to do: what is worse, and what is better."""
    recorded = ledger.statuses(ledger.read())
    found, better = [], []
    for r in records:
        case = f"{r['kind']} {r['op']} {r['dtype']}"
        was = recorded.get((r["kind"], r["op"], r["dtype"]))
        now = r["status"]
        if now == ABSENT and (was in (None, ABSENT) or r["refused"]):
            continue
        if was is None:
            found.append(f"{case} is not in docs/coverage.json (it is {now} now): run `make coverage`")
        elif was in (NATIVE, ABSENT) and now in (FALLBACK, FAILS):
            found.append(f"{case} was {was} and now {now}: {ledger.reason(r)}")
        elif was in (FALLBACK, FAILS) and now == NATIVE:
            # A few samples, and processors that round otherwise, do not make this an error.
            better.append(f"{case} is listed as {was} and passes here: run `make coverage`")
    return found, better
