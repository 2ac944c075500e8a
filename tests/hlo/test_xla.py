"""The reference interpreter against XLA, which nobody here wrote.

`cargo run --example stablehlo_cases` prints each text case, and each op for each element type, with its StableHLO
module, its arguments and the interpreter's results; XLA's CPU client compiles the module and must give the same values.
Needs jax and jaxlib (0.10.2). `HLO_CASES` names a file with the program's output, to skip cargo.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("jax", reason="XLA comes with jax and jaxlib, test requirements")
ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.xla import engine  # noqa: E402

# Error relative to the greatest element of the result: some units in the last place for XLA's own polynomials, and one
# more rounding for reduced floats, whose intermediate values XLA may keep in f32.
TOLERANCE = {
    "f64": 4e-13, "complex<f64>": 4e-13, "f32": 4e-6, "complex<f32>": 4e-6, "f16": 2e-3, "bf16": 1.6e-2,
    "f8E4M3FN": 0.13, "f8E4M3FNUZ": 0.13, "f8E5M2": 0.26, "f8E5M2FNUZ": 0.26,
}


def cases():
    path = os.environ.get("HLO_CASES")
    if path:
        text = Path(path).read_text()
    else:
        command = ["cargo", "run", "--quiet", "-p", "tnrs-hlo", "--example", "stablehlo_cases", "--", str(Path(__file__).parent / "cases")]
        text = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [json.loads(line) for line in text.splitlines()]


def array(tensor):
    return engine.array(bytes.fromhex(tensor["data"]), tensor["dtype"], tensor["dims"])


def disagreement(found, wanted, dtype):
    """Why two arrays differ, or None."""
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return f"{found.dtype}{found.shape} instead of {wanted.dtype}{wanted.shape}"
    if dtype not in TOLERANCE:
        return None if np.array_equal(found, wanted) else "values differ"
    wide = np.complex128 if np.iscomplexobj(wanted) else np.float64
    f, w = found.astype(wide), wanted.astype(wide)
    if dtype == "f8E4M3FN":
        # The type has no infinity: where arithmetic leaves its range, XLA gives NaN, PyTorch and the interpreter 448.
        w = np.where(np.isnan(f) & (np.abs(w) == 448), f, w)
    for part in (np.real, np.imag):
        a, b = part(f), part(w)
        if not np.array_equal(np.isnan(a), np.isnan(b)):
            return "NaN in different places"
        if not np.array_equal(np.where(np.isinf(a), a, 0), np.where(np.isinf(b), b, 0)):
            return "infinities in different places"
        finite = np.isfinite(a)
        scale = np.max(np.abs(w[np.isfinite(w)]), initial=0.0)
        error = np.max(np.abs(a[finite] - b[finite]), initial=0.0)
        if error > TOLERANCE[dtype] * scale:
            return f"error {error:.3g} at scale {scale:.3g}"
    return None


def pytest_generate_tests(metafunc):
    if "item" in metafunc.fixturenames:
        items = cases()
        metafunc.parametrize("item", items, ids=[c["name"] for c in items])


def test_xla_agrees(item):
    for call in item["runs"]:
        found = engine.run(item["module"], [array(a) for a in call["args"]])
        for i, (f, w) in enumerate(zip(found, call["results"], strict=True)):
            why = disagreement(f, array(w), w["dtype"])
            assert why is None, f"result {i}: {why}\nXLA {f}\ninterpreter {array(w)}\n{item['module']}"
