"""The checks of one optimizer (an OptimizerInfo) in one dtype: parameters and state after some steps, in every implementation
that the optimizer has, against the CPU's. Only accelerators have `capturable`: there the CPU runs without it."""

import warnings

import torch

from .compare import compare, raised, same_error
from .moving import lift, to_device
from .operators import seed
from .outcome import Outcome

STEPS = 3
SIZES = ((4, 5), (3, 3), (7, 2))


def implementations(info):
    yield "for-loop", {"foreach": False} if "foreach" in info.supported_impls else {}
    for name in ("foreach", "fused"):
        if name in info.supported_impls:
            yield name, {name: True}


def dtypes(info):
    real = ["bfloat16", "float32", "float64"]
    return real + ["complex64"] if info.supports_complex else real


def check(info, dtype, limit=10**9, checks=None, tick=lambda text: None):
    outcome = Outcome(tick)
    inputs = info.optim_inputs_func(device="cpu")
    described = {i.desc for i in inputs}
    captured = [i for i in info.optim_inputs_func(device="cuda") if i.desc not in described]
    for nth, given in enumerate([*inputs, *captured][:limit]):
        for name, flags in implementations(info):
            run_one(info, dtype, nth, name, {**given.kwargs, **flags}, outcome)
    return outcome


def run_one(info, dtype, nth, name, kwargs, outcome):
    on_cpu = {k: v for k, v in kwargs.items() if k != "capturable"}
    try:
        want = steps(info, dtype, on_cpu, "cpu")
    except Exception:
        outcome.refused += 1
        return

    def exact():
        try:
            return steps(info, dtype, lift(on_cpu), "cpu", lift)
        except Exception:
            return None

    def call():
        got = steps(info, dtype, kwargs, "neuron")
        compare(info, info.name, dtype, got, want, exact)

    outcome.attempt(name, nth, call)


def steps(info, dtype, kwargs, device, raise_to=lambda x: x):
    """Parameters and state after the steps, with gradients drawn on the CPU."""
    seed()
    sizes = SIZES if info.name != "SparseAdam" else ((7, 2),)
    params = [torch.nn.Parameter(raise_to(torch.randn(size, dtype=dtype)).to(device)) for size in sizes]
    targets = [raise_to(torch.randn(size, dtype=dtype)).to(device) for size in sizes]
    optimizer = info.optim_cls(params, **kwargs)

    sign = -1 if kwargs.get("maximize") else 1  # bounded in the direction that a line search goes

    def closure():
        for p, target in zip(params, targets):
            if info.step_requires_closure:  # a line search wants gradients of what the closure returns
                p.grad = 2 * sign * (p.detach() - target)
                continue
            grad = torch.randn(p.shape, dtype=dtype)
            if info.only_supports_sparse_grads:
                grad = grad.to_sparse()
            p.grad = raise_to(grad).to(device)
        return sign * sum(((p.detach() - target).abs() ** 2).sum() for p, target in zip(params, targets))

    for _ in range(STEPS):
        if info.step_requires_closure:
            optimizer.step(closure)
        else:
            closure()
            optimizer.step()
    state = [v for p in params for _, v in sorted(optimizer.state[p].items()) if isinstance(v, torch.Tensor) and v.dim()]
    return [p.detach() for p in params] + state


def check_errors(info, tick=lambda text: None):
    """Arguments that the optimizer refuses on the CPU are refused alike."""
    outcome = Outcome(tick)
    for nth, bad in enumerate(info.optim_error_inputs_func(device="cpu", dtype=torch.float32)):
        given = bad.optimizer_error_input
        if given.params is None:
            given.params = [torch.nn.Parameter(torch.randn(1, 1))]

        def make(params):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                info.optim_cls(params, **given.kwargs)

        want = raised(lambda: make(given.params))
        if want is None:
            outcome.refused += 1
        else:
            outcome.attempt("errors", nth, lambda: same_error(raised(lambda: make(to_device(given.params))), want))
    return outcome
