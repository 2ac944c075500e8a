"""What a case found."""

import dataclasses
import re
import time

import torch

NATIVE, FALLBACK, FAILS, ABSENT = "native", "fallback", "fails", "not in PyTorch"
# An error of an operator without a native rule names this variable, or says that no kernel is registered.
NO_RULE = re.compile(
    r"([\w.:]+) is not implemented natively on device 'neuron'|Could not run '([\w.:]+)'|([\w.:]+) has neither a rule for neuron"
)
KINDS_OF_FAILURE = 4


class Refused(Exception):
    """The CPU refuses this as well: nothing to compare."""


@dataclasses.dataclass
class Failure:
    check: str
    sample: int
    error: str
    text: str
    missing: str | None
    count: int = 1


class Outcome:
    """Passes and failures of one (operator, dtype); `tick` says what is about to run, for whoever finds the process dead."""

    def __init__(self, tick=lambda text: None):
        self.tick = tick
        self.passed = {}
        self.failed = {}
        self.refused = 0
        self.failures = []
        self.began = time.perf_counter()

    def attempt(self, check, sample, call):
        """Runs one check of one sample; whether it passed."""
        self.tick(f"{check} {sample}")
        try:
            call()
        except Refused:
            self.refused += 1
            return True
        except Exception as e:
            self.fail(check, sample, e)
            return False
        self.passed[check] = self.passed.get(check, 0) + 1
        return True

    def fail(self, check, sample, error):
        self.failed[check] = self.failed.get(check, 0) + 1
        text = one_line(str(error))
        missing = missing_operator(str(error))
        alike = shape(text)
        for f in self.failures:
            if f.check == check and f.error == type(error).__name__ and shape(f.text) == alike:
                f.count += 1
                break
        else:
            if sum(f.check == check for f in self.failures) < KINDS_OF_FAILURE:
                self.failures.append(Failure(check, sample, type(error).__name__, text, missing))
        try:
            torch.neuron.synchronize()
        except Exception:
            pass

    def status(self):
        on_cpu = torch.neuron.fallback_ops()
        torch.neuron.reset_fallback_ops()
        if on_cpu:
            self.failures.append(Failure("fallback", 0, "Fallback", "ran on the CPU", sorted(on_cpu)[0]))
        if any(f.missing is None for f in self.failures):
            return FAILS
        if self.failures:
            return FALLBACK
        return NATIVE if self.passed else ABSENT

    def record(self):
        return {
            "status": self.status(),
            "passed": self.passed,
            "failed": self.failed,
            "refused": self.refused,
            "failures": [dataclasses.asdict(f) for f in self.failures],
            "seconds": round(time.perf_counter() - self.began, 3),
        }


def shape(text):
    """The message without its numbers: failures alike are counted together."""
    return re.sub(r"[\d., e+-]+", "#", text)


def one_line(text):
    """The first sentence of a message, without paths and addresses."""
    text = text.split("Exception raised from")[0].split(" and TORCH_NEURONX_FALLBACK=error forbids")[0]
    text = text.split(". This could be because")[0]
    text = " ".join(text.split())
    text = re.sub(r"/[\w./+-]+/", "", text)
    return re.sub(r"0x[0-9a-f]+", "0x", text)[:400]


def missing_operator(text):
    """The ATen operator without a native rule that an error is about, if it is about that."""
    found = NO_RULE.search(text)
    return next((g for g in found.groups() if g), None) if found else None
