"""Memory: statistics, the cache, exhaustion and recovery."""

import gc

import pytest
import torch

MIB = 1 << 20


@pytest.fixture(autouse=True)
def _clean():
    gc.collect()
    torch.neuron.synchronize()
    torch.neuron.empty_cache()
    torch.neuron.reset_peak_memory_stats()


def test_allocated_follows_tensors():
    before = torch.neuron.memory_allocated()
    x = torch.empty(4 * MIB, dtype=torch.uint8, device="neuron")
    assert torch.neuron.memory_allocated() - before == 4 * MIB
    assert torch.neuron.memory_reserved() >= torch.neuron.memory_allocated()
    del x
    assert torch.neuron.memory_allocated() == before
    assert torch.neuron.max_memory_allocated() >= before + 4 * MIB
    torch.neuron.reset_peak_memory_stats()
    assert torch.neuron.max_memory_allocated() == before


def test_the_cache_keeps_and_gives_back():
    torch.empty(64 * MIB, dtype=torch.uint8, device="neuron")
    reserved = torch.neuron.memory_reserved()
    assert reserved >= 64 * MIB
    again = torch.empty(64 * MIB, dtype=torch.uint8, device="neuron")
    assert torch.neuron.memory_reserved() == reserved, "freed memory was not reused"
    del again
    torch.neuron.empty_cache()
    assert torch.neuron.memory_reserved() <= reserved - 64 * MIB


def test_stats_have_pytorchs_names():
    x = torch.empty(1000, device="neuron")
    stats = torch.neuron.memory_stats()
    for key in ("allocation", "segment", "active", "allocated_bytes", "reserved_bytes", "requested_bytes"):
        for name in ("current", "peak", "allocated", "freed"):
            assert stats[f"{key}.all.{name}"] >= 0
    assert stats["allocation.all.current"] >= 1 and stats["requested_bytes.all.current"] >= x.nbytes
    assert stats["num_ooms"] >= 0 and stats["num_device_alloc"] >= 1


def test_statistics_are_per_device():
    before = torch.neuron.memory_allocated(0)
    x = torch.empty(MIB, dtype=torch.uint8, device="neuron:1")
    assert torch.neuron.memory_allocated(0) == before
    assert torch.neuron.memory_allocated("neuron:1") >= x.nbytes


def test_accumulated_statistics_reset():
    torch.empty(MIB, dtype=torch.uint8, device="neuron")
    assert torch.neuron.memory_stats()["allocated_bytes.all.allocated"] > 0
    torch.neuron.reset_accumulated_memory_stats()
    assert torch.neuron.memory_stats()["allocated_bytes.all.allocated"] == 0


def test_memory_info():
    free, total = torch.neuron.mem_get_info()
    assert 0 < free <= total == torch.neuron.get_device_properties().total_memory


def test_exhaustion_is_an_exception_and_recoverable():
    keep = torch.arange(10, device="neuron")
    total = torch.neuron.get_device_properties().total_memory
    ooms = torch.neuron.memory_stats()["num_ooms"]
    for _ in range(3):
        with pytest.raises(torch.OutOfMemoryError, match=r"out of memory. Tried to allocate .*capacity of .*free"):
            torch.empty(total + 1, dtype=torch.uint8, device="neuron")
    assert torch.neuron.memory_stats()["num_ooms"] == ooms + 3
    assert keep.tolist() == list(range(10))
    assert (keep + 1).sum().item() == 55


def test_a_result_that_does_not_fit_is_an_exception_too():
    torch.neuron.set_per_process_memory_fraction(0.01)
    limit = torch.neuron.get_device_properties().total_memory // 100
    try:
        x = torch.ones(limit // 4 // 2, device="neuron")
        with pytest.raises(torch.OutOfMemoryError, match="memory fraction"):
            x.unsqueeze(0) + x[:64].unsqueeze(1)
        assert x[:3].tolist() == [1, 1, 1]
    finally:
        torch.neuron.set_per_process_memory_fraction(1.0)


LIMIT = """
import torch
try:
    torch.empty(3 << 30, dtype=torch.uint8, device="neuron")
except torch.OutOfMemoryError as e:
    print(e)
x = torch.ones(1000, device="neuron")
assert x.sum().item() == 1000
held = []
try:
    while True:
        held.append(torch.ones(16 << 20, device="neuron"))
except torch.OutOfMemoryError:
    pass
count = len(held)
assert 8 <= count <= 16, count
assert all(t[-1].item() == 1 for t in held)
held.clear()
assert torch.ones(100 << 20, device="neuron")[-1].item() == 1
print("usable")
"""


def test_a_large_allocation_under_a_small_limit(run_python):
    out = run_python(LIMIT, TORCH_NEURONX_SOFTCORE_HBM="1G").stdout
    assert "Tried to allocate 3.00 GiB" in out and "TORCH_NEURONX_SOFTCORE_HBM" in out
    assert out.strip().endswith("usable")


def test_snapshot_covers_its_segments():
    x = torch.empty(3 * MIB, dtype=torch.uint8, device="neuron")
    snapshot = torch.neuron.memory_snapshot(0)
    assert sum(s["total_size"] for s in snapshot) == torch.neuron.memory_reserved()
    for segment in snapshot:
        assert sum(b["size"] for b in segment["blocks"]) == segment["total_size"]
    holders = [s for s in snapshot if s["address"] <= x.data_ptr() < s["address"] + s["total_size"]]
    assert len(holders) == 1 and holders[0]["allocated_size"] >= x.nbytes


def test_summary_reads_well():
    text = torch.neuron.memory_summary()
    assert "Memory of neuron:0" in text and "Allocated memory" in text and "Allocations" in text
    assert "Allocations" not in torch.neuron.memory_summary(abbreviated=True)


def test_fraction_is_checked():
    with pytest.raises(ValueError, match="Invalid fraction"):
        torch.neuron.set_per_process_memory_fraction(2.0)


def test_training_does_not_leak():
    model = torch.nn.Linear(64, 64).to("neuron")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        model(torch.ones(8, 64, device="neuron")).square().mean().backward()
        optimizer.step()

    for _ in range(3):
        step()
    torch.neuron.synchronize()
    before = torch.neuron.memory_allocated()
    for _ in range(20):
        step()
    torch.neuron.synchronize()
    assert torch.neuron.memory_allocated() == before
