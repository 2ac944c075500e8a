"""pytest plugin: one JSON line when a test starts and one with its outcome, so that a record survives crashes.

Tests that the record already holds are not run again. TorchCTS's own results file is switched off: it is rewritten after
every test, which costs eight times the tests themselves. Reads CTS_RECORD (the file) and CTS_TEST_SECONDS (0: no limit).
"""

import json
import os
import signal
import sys

import pytest

_RECORD = os.environ["CTS_RECORD"]
_SECONDS = int(os.environ["CTS_TEST_SECONDS"])
_current = {}


def _write(entry):
    with open(_RECORD, "a") as f:
        f.write(json.dumps(entry) + "\n")


def _name(nodeid):
    """The test's name without the path of the environment it is installed in."""
    return nodeid.split("site-packages/")[-1].removeprefix("torchcts/")


def _recorded():
    with open(_RECORD) as f:
        return {e["id"] for e in map(json.loads, f) if "outcome" in e}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    done = _recorded()
    drop = [i for i in items if _name(i.nodeid) in done]
    items[:] = [i for i in items if _name(i.nodeid) not in done]
    config.hook.pytest_deselected(items=drop)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session):
    for module in list(sys.modules.values()):
        if (getattr(module, "__file__", None) or "").endswith("torchcts/conftest.py"):
            module.flush_results_to_disk = lambda: None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logstart(nodeid, location):
    _write({"start": _name(nodeid)})


def _too_long(*_):
    raise TimeoutError(f"the test took more than {_SECONDS} s")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item, nextitem):
    signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(_SECONDS)
    yield
    signal.alarm(0)


def _reason(report):
    if report.outcome == "skipped" and isinstance(report.longrepr, tuple):
        return report.longrepr[-1]
    crash = getattr(report.longrepr, "reprcrash", None)
    return crash.message if crash else str(report.longrepr)


def pytest_runtest_logreport(report):
    name = _name(report.nodeid)
    entry = _current.setdefault(name, {"id": name, "outcome": "passed", "seconds": 0.0})
    entry["seconds"] = round(entry["seconds"] + report.duration, 3)
    if report.outcome != "passed":
        entry["outcome"] = report.outcome
        entry["why"] = _reason(report)[:1000]
    if report.when == "teardown":
        _write(_current.pop(name))
