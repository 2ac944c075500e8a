"""PyTorch's databases of operators on tensor lists and of optimizers, against the CPU."""

import itertools

import pytest
import torch
from torch.testing._internal import common_methods_invocations as operators
from torch.testing._internal.common_optimizers import optim_db

import opinfo

LISTS = [info for name in dir(operators) if name.startswith("foreach_") and name.endswith("_db") for info in getattr(operators, name)]
SAMPLES = 3


@pytest.mark.parametrize("info", LISTS, ids=lambda info: info.name)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.complex64], ids=str)
@pytest.mark.parametrize("variant", ["method_variant", "inplace_variant"])
@pytest.mark.filterwarnings("ignore")
def test_lists(info, dtype, variant):
    op = getattr(info, variant)
    if op is None or dtype not in info.supported_dtypes("cpu"):
        pytest.skip("there is no such operator")
    torch.manual_seed(0)
    for sample in itertools.islice(info.sample_inputs("cpu", dtype), SAMPLES):
        here = (sample.input, sample.args, sample.kwargs)
        there = opinfo.to_device(here)
        lists = [[t.clone() for t in x[0]] for x in (here, there)]
        try:
            want = op(lists[0], *here[1], **here[2])
        except (RuntimeError, TypeError):
            continue
        got = op(lists[1], *there[1], **there[2])
        results = (lists[1], lists[0]) if variant == "inplace_variant" else (got, want)
        opinfo.compare(*results, info.name, dtype)


def optimizers():
    for info in optim_db:
        # LBFGS searches along lines, where a last bit decides; SparseAdam takes sparse gradients.
        if info.optim_cls.__name__ in ("LBFGS", "SparseAdam"):
            continue
        for form in ({}, {"foreach": True}, {"fused": True}):
            if all(name in info.supported_impls for name in form) and ("fused" not in form or "cpu" in info.supports_fused_on):
                yield pytest.param(info, form, id=f"{info.optim_cls.__name__}-{'-'.join(form) or 'plain'}")


@pytest.mark.parametrize("info,form", optimizers())
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_optimizers(info, form, dtype):
    for given in info.optim_inputs_func(device="cpu"):
        options = {**given.kwargs, **form}
        outs = []
        for device in ("cpu", "neuron"):
            torch.manual_seed(0)
            parameters = [torch.nn.Parameter(torch.randn(n, 4, dtype=dtype).to(device)) for n in (3, 4, 1)]
            try:
                optimizer = info.optim_cls(parameters, **options)
                for _ in range(3):
                    for p in parameters:
                        p.grad = p.detach() * 0.1 + torch.randn(p.shape, dtype=dtype).to(device)
                    optimizer.step()
                outs.append([p.detach().cpu() for p in parameters])
            except (RuntimeError, ValueError) as e:
                outs.append(type(e))
        if isinstance(outs[0], type):
            assert outs[1] is outs[0], options
        else:
            torch.testing.assert_close(outs[1], outs[0], msg=lambda m: f"{options}: {m}")
