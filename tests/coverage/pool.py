"""Workers that survive a crash or a hang of a case: it is charged to the case, and the rest goes on in a new process."""

import collections
import mmap
import multiprocessing
import multiprocessing.connection
import tempfile
import time

from . import worker

FORK = multiprocessing.get_context("fork")
# Seconds a new process may take until it is ready, beyond the limit of its first case.
START = 120


class Worker:
    def __init__(self):
        self.now = mmap.mmap(-1, worker.NOW)
        self.log = tempfile.TemporaryFile()
        self.connection, theirs = FORK.Pipe()
        self.process = FORK.Process(target=worker.main, args=(theirs, self.now, self.log), daemon=True)
        self.process.start()
        theirs.close()

    def give(self, task):
        self.task, self.dtype = task, next(iter(task["dtypes"]))
        self.deadline = time.monotonic() + task["limit"] + START
        self.connection.send(task)

    def begins(self, dtype):
        self.dtype, self.deadline = dtype, time.monotonic() + self.task["limit"]

    def lost(self, error, text):
        """The record of the case that this process did not survive."""
        check, _, sample = bytes(self.now).decode(errors="replace").strip(" \0").rpartition(" ")
        if not sample.isdigit():
            check, sample = f"{check} {sample}".strip(), "0"
        failure = dict(check=check, sample=int(sample), error=error, text=text, missing=None, count=1)
        return dict(dtype=self.dtype, status="fails", passed={}, failed={check: 1}, refused=0, failures=[failure], seconds=0)

    def last_words(self):
        self.log.seek(0)
        lines = self.log.read().decode(errors="replace").splitlines()[-60:]
        return " ".join(line for line in lines if any(w in line for w in ("Fatal", "terminate", "panicked", "what()")))[:200]

    def end(self):
        self.process.kill()
        self.process.join()
        self.connection.close()
        self.log.close()


def run(tasks, jobs, done):
    """Runs tasks {kind, op, dtypes: {dtype: number of samples}, checks, limit}; calls `done(kind, op, record)` for each dtype.
    `limit` is the seconds that one case may take."""
    todo = collections.deque(tasks)
    busy = {}

    def next_task(w):
        if todo:
            w = w or Worker()
            w.give(todo.popleft())
            busy[w.connection] = w
        elif w:
            del busy[w.connection]
            w.end()

    def dead(w, error, text):
        task = w.task
        done(task["kind"], task["op"], w.lost(error, text))
        order = list(task["dtypes"])
        rest = {d: task["dtypes"][d] for d in order[order.index(w.dtype) + 1 :]}
        if rest:
            todo.appendleft({**task, "dtypes": rest})
        del busy[w.connection]
        w.end()
        next_task(None)

    for _ in range(min(jobs, len(todo))):
        next_task(None)
    while busy:
        for connection in multiprocessing.connection.wait(list(busy), timeout=1):
            w = busy[connection]
            try:
                reply = connection.recv()
            except (EOFError, ConnectionResetError):
                w.process.join()
                dead(w, "Crash", f"the process ended with {w.process.exitcode}. {w.last_words()}")
                continue
            if reply is None:
                next_task(w)
            elif "begins" in reply:
                w.begins(reply["begins"])
            else:
                done(w.task["kind"], w.task["op"], reply)
        for w in list(busy.values()):
            if time.monotonic() > w.deadline:
                dead(w, "Hang", f"not done after {w.task['limit']:.0f} s")
