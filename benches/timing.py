"""Interleaved timing of two callables."""

import statistics
import time
from dataclasses import dataclass
from typing import Callable


@dataclass
class Case:
    """One row: how to build the work on a device, and the bar on our time ÷ theirs (at one thread)."""

    name: str
    build: Callable[[str], Callable[[], object]]
    bar: float | None
    work: float = 0.0  # floating-point operations or bytes of one call
    unit: str = ""  # "GF" or "GB"
    budget: float = 3.0  # seconds of measuring per side
    inner: int = 0  # calls per sample; 0: chosen so that a sample lasts 2 ms


@dataclass
class Result:
    """Medians of both sides, in seconds per call."""

    ours: float
    theirs: float
    ours_best: float
    theirs_best: float

    @property
    def ratio(self):
        return self.ours / self.theirs


def sample(call, sync, inner, clock):
    start = clock()
    for _ in range(inner):
        call()
    sync()
    return (clock() - start) / inner


def measure(case, sync, clock, pause):
    """Builds both sides, warms them up, and times them in turn by `clock`, `pause` seconds after each other.

    The pause lets OpenMP's workers, which spin for some time after a parallel region, leave the other side's core; calls
    that are not timed then wake the side's own workers.
    """
    sides = [(case.build("neuron"), sync), (case.build("cpu"), lambda: None)]
    inners = []
    for call, wait in sides:
        once = min(sample(call, wait, 1, clock) for _ in range(3))
        inners.append(case.inner or max(1, int(2e-3 / max(once, 1e-7))))
    times = ([], [])
    started = time.perf_counter()
    while len(times[0]) < 5 or (time.perf_counter() - started < 2 * case.budget and len(times[0]) < 200):
        for side, (call, wait) in enumerate(sides):
            if pause:
                time.sleep(pause)
                sample(call, wait, inners[side], clock)
            times[side].append(sample(call, wait, inners[side], clock))
    return Result(*(statistics.median(t) for t in times), *(min(t) for t in times))
