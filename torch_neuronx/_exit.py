"""An orderly end: autograd's device threads go idle before the interpreter is torn down.

The thread that ran the last backward may still hold its graph task when the main thread leaves. Dropping the task
takes the GIL, and a thread that asks for the GIL during finalization is terminated inside C++ frames, which aborts the
process. So at exit we wait, with the GIL free, until every such thread sleeps.
"""

import atexit
import pathlib
import time

_LIMIT = 2.0  # seconds
_TASKS = pathlib.Path("/proc/self/task")


def _busy():
    """Whether an autograd device thread is running or waiting for a CPU."""
    for task in _TASKS.iterdir():
        try:
            name, _, rest = (task / "stat").read_text().partition("(")[2].rpartition(")")
        except OSError:
            continue
        if name.startswith("pt_autograd") and rest.split()[0] == "R":
            return True
    return False


def _wait_for_autograd():
    calm, deadline = 0, time.monotonic() + _LIMIT
    while calm < 2 and time.monotonic() < deadline and _TASKS.exists():
        time.sleep(0.001)  # releases the GIL to whoever waits for it
        calm = 0 if _busy() else calm + 1


def install():
    """Registers the wait; once per process."""
    atexit.register(_wait_for_autograd)
