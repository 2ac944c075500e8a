"""What the device compiled and ran, as `torch.neuron.dump_programs` writes it."""

import dataclasses
import functools
import json
import pathlib
import re

CUSTOM = re.compile(r'call_target_name = "tnrs\.(\w+)"')
SUMS = re.compile(r"stablehlo\.(reduce|dot_general|convolution|scatter|fft)\"")
TYPE = re.compile(r"(\w+|complex<\w+>)\[[\d,]*\]")


@dataclasses.dataclass
class Program:
    """One program with the data of its first run."""

    folder: pathlib.Path

    def __post_init__(self):
        about = json.loads((self.folder / "program.json").read_text())
        self.operator, self.rule, self.operands = about["operator"], about["rule"], about["operands"]
        self.parameters, self.results, self.problem = about["parameters"], about["results"], about["verifier"]

    @functools.cached_property
    def hlo(self):
        return (self.folder / "0-lowered.hlo").read_text()

    @functools.cached_property
    def module(self):
        return (self.folder / "stablehlo.mlir").read_text()

    @property
    def is_identity(self):
        """It computes nothing: a copy, or a view made real."""
        return self.hlo.count("\n") <= 3

    @property
    def custom_calls(self):
        """Names of the routines that it calls."""
        return sorted(set(CUSTOM.findall(self.module)))

    @property
    def sums(self):
        """It adds up: where terms cancel, the result is as exact as its terms, not as itself."""
        return bool(SUMS.search(self.module))

    @property
    def dtypes(self):
        """Element types of its values."""
        return set(TYPE.findall(self.hlo))

    def data(self, kind):
        """Dense bytes of each `parameter` or `result`; None if the run ended with a fault."""
        count = len(self.parameters if kind == "parameter" else self.results)
        paths = [self.folder / f"{kind}-{i}.bin" for i in range(count)]
        return [p.read_bytes() for p in paths] if all(p.exists() for p in paths) else None


def programs(folder):
    """The programs in a folder, in the order of their compilation."""
    return [Program(path) for path in sorted(pathlib.Path(folder).iterdir())]
