"""Workers that survive a crash or a hang of a case: it is charged to the case, and the rest goes on in a new process."""

import collections
import json
import os
import selectors
import subprocess
import sys
import tempfile
import time

from .worker import NOW


class Worker:
    def __init__(self, env):
        self.now = tempfile.NamedTemporaryFile()
        self.now.write(b" " * NOW)
        self.now.flush()
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.coverage.worker", self.now.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            env=env,
        )
        self.buffer = b""
        self.task = None

    def give(self, task):
        self.task = task
        self.dtype, self.deadline = task["dtypes"][0], time.monotonic() + task["limit"] + 60
        self.process.stdin.write(json.dumps(task).encode() + b"\n")
        self.process.stdin.flush()

    def lines(self):
        """Replies that have arrived; None when the process has ended."""
        data = os.read(self.process.stdout.fileno(), 1 << 20)
        *whole, self.buffer = (self.buffer + data).split(b"\n")
        return [json.loads(line) for line in whole] if data else None

    def doing(self):
        self.now.seek(0)
        return self.now.read().decode(errors="replace").strip(" \0")

    def last_words(self):
        self.log.seek(0, os.SEEK_END)
        self.log.seek(max(0, self.log.tell() - 4000))
        lines = self.log.read().decode(errors="replace").splitlines()
        told = [line for line in lines if "Fatal" in line or "terminate" in line or "panicked" in line or "what()" in line]
        return " ".join(told)[:200]

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def run(tasks, jobs, done):
    """Runs tasks {kind, op, dtypes, options, limit}; calls `done(kind, op, record)` for each dtype. `limit` is the seconds
    that one case may take."""
    env = {**os.environ, "TORCH_NEURONX_FALLBACK": "error", "OMP_NUM_THREADS": "1"}
    todo = collections.deque(tasks)
    selector = selectors.DefaultSelector()

    def start(worker=None):
        if not todo:
            return worker and stop(worker)
        if worker is None:
            worker = Worker(env)
            selector.register(worker.process.stdout, selectors.EVENT_READ, worker)
        worker.give(todo.popleft())

    def stop(worker):
        selector.unregister(worker.process.stdout)
        worker.end()

    def dead(worker, error, text):
        task = worker.task
        check, _, sample = worker.doing().rpartition(" ")
        number = int(sample) if sample.isdigit() else 0
        failure = {"check": check or "set up", "sample": number, "error": error, "text": text, "missing": None, "count": 1}
        record = {"dtype": worker.dtype, "status": "fails", "passed": {}, "failed": {failure["check"]: 1}, "refused": 0,
            "failures": [failure], "seconds": task["limit"]}
        done(task["kind"], task["op"], record)
        rest = task["dtypes"][task["dtypes"].index(worker.dtype) + 1 :]
        if rest:
            todo.appendleft({**task, "dtypes": rest})
        stop(worker)
        start()

    for _ in range(min(jobs, len(todo))):
        start()
    while selector.get_map():
        for key, _ in selector.select(timeout=1):
            worker = key.data
            replies = worker.lines()
            if replies is None:
                code = worker.process.wait()
                dead(worker, "Crash", f"process ended with {code}. {worker.last_words()}")
                continue
            for reply in replies:
                if not reply:
                    start(worker)
                elif "begins" in reply:
                    worker.dtype, worker.deadline = reply["begins"], time.monotonic() + worker.task["limit"]
                else:
                    done(worker.task["kind"], worker.task["op"], reply)
        for key in list(selector.get_map().values()):
            if time.monotonic() > key.data.deadline:
                dead(key.data, "Hang", f"not done after {key.data.task['limit']} s")
