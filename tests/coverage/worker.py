"""A process that runs cases: takes tasks from a connection, answers with one record a case.

It is forked from a parent that has PyTorch and its databases, but not the device: a device cannot cross a fork. What is
running now stands in memory shared with the parent, so that it can be named when this process is dead.
"""

import ctypes
import faulthandler
import os
import signal
import warnings

NOW = 256
PR_SET_PDEATHSIG = 1  # linux/prctl.h: a worker does not outlive its parent


def main(connection, now, log):
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.dup2(log.fileno(), 1)
    os.dup2(log.fileno(), 2)
    faulthandler.enable()
    warnings.simplefilter("ignore")
    import torch
    import torch_neuronx  # noqa: F401

    from .databases import database
    from .outcome import Outcome

    torch.set_num_threads(1)

    def tick(text):
        now[:] = text.encode()[:NOW].ljust(NOW)

    while task := connection.recv():
        for dtype, samples in task["dtypes"].items():
            tick("set up")
            connection.send({"begins": dtype})
            try:
                outcome = database(task["kind"]).run(task["op"], dtype, samples, task["checks"], tick)
            except Exception as e:
                outcome = Outcome()
                outcome.fail("harness", 0, e)
            connection.send({"dtype": dtype, **outcome.record()})
        connection.send(None)
    os._exit(0)
