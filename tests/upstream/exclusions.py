"""Tests of PyTorch's that fail on the neuron device, each with its reason. All of them still run."""

import re

import pytest
import torch
from torch.testing._internal.opinfo.core import DecorateInfo

from tests.coverage.ledger import reasons

# (file, class without its device, test): reason. The test is a method as it is written, or one of those made from it.
EXPECTED = {
    ("test_generic.py", "TestGeneric", "test_error_of_an_index_is_the_cpus"): "an index out of range is found later than the call",
}

# The same of tests that end the process. Each runs in one of its own (test_exclusions.py), and has to end it.
FATAL = {
    ("test_exclusions.py", "TestFatal", "test_aborts"): "aborts on purpose, to show that a fatal exclusion still runs",
}

# (class, test): whether the ledger says of an operator and dtype that it fails there.
FROM_LEDGER = {("TestDatabases", "test_first_sample"): "values #0"}


def keys(item):
    """Under which names a collected test may stand in the table."""
    if item.cls is None:
        return
    cls = re.sub("(PRIVATEUSE1|NEURON)$", "", item.cls.__name__)
    yield item.path.name, cls, item.name
    yield item.path.name, cls, item.obj.__name__


def allowed(ledger):
    """Full names of the operators that were measured; without a ledger, all."""
    return {line["op"] for kind in ("op_db", "python_ref_db", "foreach") for line in ledger.get(kind, ())} or None


def overrides(ledger):
    """operator -> decorators, for tests that repeat what the ledger has as failing."""
    found = {}
    for line in ledger.get("op_db", ()):
        for dtype, why in reasons(line).items():
            for (cls, test), start in FROM_LEDGER.items():
                if dtype != "errors" and why.startswith(start):
                    mark = pytest.mark.xfail(strict=True, reason=why)
                    found.setdefault(line["op"], []).append(DecorateInfo(mark, cls, test, dtypes=[getattr(torch, dtype)]))
    return found


def fatal():
    """PyTorch's form of the tests that are not to be made in this process."""
    found = {}
    for _, cls, test in FATAL:
        found.setdefault(cls, []).append(test)
    return found
