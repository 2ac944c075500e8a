"""The process that makes the calls, and how to watch it."""

import multiprocessing
import resource
import time
import warnings

import torch

from tests.coverage.compare import Difference

from .call import Call, operators

HANG = 60  # seconds
# Bytes that a call may take beyond what the process has, and those of a core: enormous sizes are refused on both sides.
ROOM, CORE = 6 << 30, "2G"


def limit_memory():
    with open("/proc/self/statm") as f:
        pages = int(f.read().split()[0])
    most = pages * resource.getpagesize() + ROOM
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def work(connection, first, seconds, only, wrong):
    """Sends the number and text of each call before it runs, and what came of it after."""
    warnings.simplefilter("ignore")
    torch.neuron.synchronize()
    limit_memory()
    infos = list(operators(only))
    ends = time.monotonic() + seconds
    number = first
    while time.monotonic() < ends:
        call = Call(number, infos, wrong)
        connection.send(("begin", number, str(call) if call.here else ""))
        try:
            verdict, text = call.run(), ""
        except Difference as e:
            verdict, text = "different", str(e)
        except Exception as e:  # the harness cannot say what this is, so a person has to
            verdict, text = "different", f"{type(e).__name__}: {e}"
        connection.send(("end", verdict, text))
        number += 1
    connection.send(("done", number, ""))


class Worker:
    def __init__(self, *arguments):
        self.ours, theirs = multiprocessing.Pipe()
        self.process = multiprocessing.get_context("spawn").Process(target=work, args=(theirs, *arguments))
        self.process.start()
        theirs.close()

    def next(self):
        """The next message; None when the process died, "hang" when it says nothing."""
        try:
            return self.ours.recv() if self.ours.poll(HANG) else "hang"
        except EOFError:
            return None

    def stop(self):
        self.process.kill()
        self.process.join()
        return self.process.exitcode
