"""Pinned host memory and asynchronous copies."""

import torch
from torch.utils.data import DataLoader, TensorDataset


def test_pinning():
    x = torch.ones(4)
    assert not x.is_pinned()
    p = x.pin_memory()
    assert p.is_pinned() and torch.equal(p, x) and p.device.type == "cpu"
    assert p[1:].is_pinned()
    assert torch.empty(3, pin_memory=True).is_pinned()


def test_asynchronous_copies_keep_pinned_memory_alive():
    n = 1 << 20
    stream = torch.neuron.Stream()
    for round_ in range(8):
        source = torch.full((n,), float(round_)).pin_memory()
        with torch.neuron.stream(stream):
            target = source.to("neuron", non_blocking=True)
        del source
        # Would be handed the freed block at once if the pending copy did not hold it.
        torch.full((n,), -1.0).pin_memory()
        stream.synchronize()
        assert (target.cpu() == round_).all()


def test_asynchronous_copies_to_pinned_memory():
    x = torch.arange(1 << 18, dtype=torch.float32, device="neuron")
    host = torch.empty(1 << 18, pin_memory=True)
    host.copy_(x * 2, non_blocking=True)
    torch.neuron.synchronize()
    assert torch.equal(host, torch.arange(1 << 18, dtype=torch.float32) * 2)


def test_copies_to_pageable_memory_are_done_when_they_return():
    x = torch.arange(1 << 18, dtype=torch.float32, device="neuron")
    host = torch.empty(1 << 18)
    host.copy_(x + 1, non_blocking=True)
    assert torch.equal(host, torch.arange(1 << 18, dtype=torch.float32) + 1)


def test_asynchronous_copies_to_new_memory_pin_it():
    x = torch.arange(1 << 18, dtype=torch.float32, device="neuron")
    host = (x + 1).to("cpu", non_blocking=True)
    assert host.is_pinned()
    torch.neuron.synchronize()
    assert torch.equal(host, torch.arange(1 << 18, dtype=torch.float32) + 1)


def test_data_loader_pins():
    data = TensorDataset(torch.arange(16.0), torch.arange(16))
    loader = DataLoader(data, batch_size=4, pin_memory=True, num_workers=1)
    seen = []
    for values, labels in loader:
        assert values.is_pinned() and labels.is_pinned()
        seen += values.to("neuron", non_blocking=True).cpu().tolist()
    assert seen == list(range(16))


def test_statistics():
    before = torch.neuron.host_memory_stats()
    p = torch.empty(1 << 20, dtype=torch.uint8, pin_memory=True)
    after = torch.neuron.host_memory_stats()
    assert after["allocation.current"] == before["allocation.current"] + 1
    assert after["allocated_bytes.current"] >= before["allocated_bytes.current"] + p.nbytes
    del p
    assert torch.neuron.host_memory_stats()["allocation.current"] == before["allocation.current"]
