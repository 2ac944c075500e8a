"""That exclusions are strict: what is excluded still runs, and an exclusion that is no longer needed fails the suite."""

import os
import pathlib
import subprocess
import sys

import exclusions
import pytest
from torch.testing._internal.common_device_type import instantiate_device_type_tests
from torch.testing._internal.common_utils import TestCase

HERE = pathlib.Path(__file__).parent
# Excludes a test that passes, before conftest.py looks at the table.
PLUGIN = """
import sys, pytest
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems():
    sys.modules["exclusions"].EXPECTED["test_generic.py", "TestGeneric", {test!r}] = "excluded without need"
"""


class TestFatal(TestCase):
    def test_aborts(self, device):
        os.abort()


instantiate_device_type_tests(TestFatal, globals())


def run(*arguments, **env):
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", *map(str, arguments)]
    return subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True, timeout=600)


@pytest.mark.parametrize("test", ["test_amax", "test_sum_of_rows_neuron_bfloat16"])
def test_an_exclusion_that_passes_fails_the_suite(tmp_path, test):
    (tmp_path / "excludes.py").write_text(PLUGIN.format(test=test))
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = run(HERE / "test_generic.py", "-p", "excludes", PYTHONPATH=path)
    assert done.returncode == 1 and "[XPASS(strict)] excluded without need" in done.stdout, done.stdout


def test_an_exclusion_of_no_test_fails_the_suite(tmp_path):
    (tmp_path / "excludes.py").write_text(PLUGIN.format(test="test_that_is_gone"))
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = run(HERE / "test_generic.py", "-p", "excludes", PYTHONPATH=path)
    assert done.returncode != 0 and "test_that_is_gone" in done.stderr + done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("file,cls,test", exclusions.FATAL)
def test_a_fatal_test_still_ends_the_process(file, cls, test):
    done = run(HERE / file, "-k", f"{cls} and {test}", NEURON_RUN_FATAL="1")
    assert done.returncode < 0, done.stdout
