"""The CPU fallback: counted, warned about once, refusable, and without copies where there is an alias."""

import pytest
import torch

# A user's operator that only the CPU computes.
DEFINE = """
import torch
torch.library.define("test_fallback::positive", "(Tensor x) -> Tensor")
torch.library.impl("test_fallback::positive", "CPU", lambda x: torch.nonzero(x > 0))
"""
NAME = "test_fallback::positive"
OP = "torch.ops.test_fallback.positive(torch.tensor([0., 1., 2.], device='neuron'))"


def test_warn_counts_and_warns_once(run_python):
    code = f"""{DEFINE}
y = {OP}; y = {OP}
assert y.is_neuron and y.tolist() == [[1], [2]], y
ops = torch.neuron.fallback_ops()
assert ops == {{"{NAME}": 2}}, ops
torch.neuron.reset_fallback_ops()
assert torch.neuron.fallback_ops() == {{}}
"""
    # Operators called through torch.ops warn on stderr, those with a Python binding by the warnings module.
    warnings = run_python(code, TORCH_NEURONX_FALLBACK="warn").stderr
    assert warnings.count(f"{NAME} has no native implementation") == 1 and "float32[3] on neuron:0" in warnings, warnings


def test_silent_counts(run_python):
    code = f"{DEFINE}\nimport warnings\nwarnings.simplefilter('error')\n{OP}\nprint(torch.neuron.fallback_ops())"
    assert run_python(code, TORCH_NEURONX_FALLBACK="silent").stdout.strip() == f"{{'{NAME}': 1}}"


def test_error_names_operator_operands_and_remedy():
    with torch.library._scoped_library("test_fallback", "FRAGMENT") as library:
        library.define("refused(Tensor x) -> Tensor")
        library.impl("refused", lambda x: x.clone(), "CPU")
        with pytest.raises(NotImplementedError) as e:
            torch.ops.test_fallback.refused(torch.ones(3, device="neuron"))
    text = str(e.value)
    assert "test_fallback::refused" in text and "float32[3] on neuron:0" in text and "TORCH_NEURONX_FALLBACK" in text
    assert torch.neuron.fallback_ops() == {}


def test_an_operator_without_any_kernel_says_so(run_python):
    code = """
import torch
x = torch.randn(2, 3, device="neuron")
try:
    torch.ops.aten.cudnn_grid_sampler(x.view(1, 1, 2, 3), x.view(1, 1, 3, 2))
except NotImplementedError as e:
    print(e)
"""
    out = run_python(code, TORCH_NEURONX_FALLBACK="silent").stdout
    assert "neither a rule for neuron devices nor a CPU kernel" in out and "aten::cudnn_grid_sampler" in out


def test_a_result_without_elements_may_have_any_strides(run_python):
    code = """
import torch
torch.library.define("test_fallback::none", "(Tensor x) -> Tensor")
torch.library.impl("test_fallback::none", "CPU", lambda x: x.new_empty(0).as_strided((0, 3), (1, 0)))
y = torch.ops.test_fallback.none(torch.ones(2, device="neuron"))
assert y.is_neuron and y.shape == (0, 3) and y.stride() == (1, 0), y
"""
    run_python(code, TORCH_NEURONX_FALLBACK="silent")


ALIASES = """
import torch
from torch.testing import assert_close
x = torch.randn(5, 7, dtype=torch.float64, device="neuron")
r = x.cpu()
# A result, a result tuple and an out= argument that grows.
def define(schema, function):
    torch.library.define("test_fallback::" + schema, function[0])
    torch.library.impl("test_fallback::" + schema, "CPU", function[1])
define("det", ("(Tensor x) -> Tensor", torch.linalg.det))
define("qr", ("(Tensor x) -> (Tensor, Tensor)", lambda x: tuple(torch.linalg.qr(x))))
define("nonzero_out", ("(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", lambda x, out: torch.nonzero(x, out=out)))
define("draw", ("(Tensor x, *, Generator? generator=None) -> Tensor", lambda x, generator=None: torch.poisson(x, generator=generator)))
ops = torch.ops.test_fallback
assert_close(ops.det(x[:5, :5]).cpu(), torch.linalg.det(r[:5, :5]))
q, t = ops.qr(x.t()); assert q.is_neuron
assert_close((q @ t).cpu(), r.t())
out = torch.empty(0, dtype=torch.int64, device="neuron")
assert ops.nonzero_out(x > 0, out=out) is out and out.is_neuron
assert torch.equal(out.cpu(), torch.nonzero(r > 0))
# Random numbers of a fallback follow the device's generator.
p = torch.tensor([10.0, 20.0, 70.0], device="neuron")
torch.manual_seed(3); a = ops.draw(p)
state = torch.neuron.get_rng_state()
b = ops.draw(p)
torch.neuron.set_rng_state(state)
assert torch.equal(ops.draw(p).cpu(), b.cpu()) and not torch.equal(a.cpu(), b.cpu())
# It waits for what the device still computes.
y = torch.rand(512, 512, device="neuron")
for _ in range(10): y = y @ y * 1e-2
assert_close(ops.det(torch.eye(512, device="neuron") * (y > 0)).item(), 1.0)
assert torch.neuron.fallback_ops()
"""


def test_results_and_arguments_survive_the_way_through_the_cpu(run_python):
    run_python(ALIASES, TORCH_NEURONX_FALLBACK="silent")
