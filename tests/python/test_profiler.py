"""The profilers see the operators, and device time is measured."""

import json

import torch
from torch.profiler import ProfilerActivity, profile


def work():
    x = torch.rand(256, 256, device="neuron")
    for _ in range(3):
        x = x @ x * 1e-2
    return x


def test_torch_profiler(tmp_path):
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1], profile_memory=True) as p:
        work()
    calls = {e.key: e.count for e in p.key_averages()}
    assert calls["aten::mm"] == 3 and calls["aten::mul"] == 3
    path = tmp_path / "trace.json"
    p.export_chrome_trace(str(path))
    names = {e.get("name") for e in json.loads(path.read_text())["traceEvents"]}
    assert "aten::mm" in names


def test_autograd_profiler_measures_the_device():
    work()
    with torch.autograd.profiler.profile(use_device="neuron") as p:
        work()
    mm = [e for e in p.key_averages() if e.key == "aten::mm"]
    assert len(mm) == 1 and mm[0].count == 3 and mm[0].device_time_total > 0


def test_operators_still_work_after_profiling():
    with torch.autograd.profiler.profile(use_device="neuron"):
        pass
    assert work().shape == (256, 256)
