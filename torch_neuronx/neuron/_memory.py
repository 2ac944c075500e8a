"""Memory: statistics under PyTorch's names, the cache, the limit."""

import torch
from torch_neuronx import _C
from torch_neuronx.neuron._device import device_count, index_of


def memory_stats(device=None) -> dict:
    """All statistics of a device's caching allocator, as ``torch.cuda.memory_stats`` has them."""
    return torch.accelerator.memory_stats(index_of(device))


def memory_allocated(device=None) -> int:
    """Bytes in live tensors."""
    return torch.accelerator.memory_allocated(index_of(device))


def max_memory_allocated(device=None) -> int:
    """Highest ``memory_allocated`` since the last reset of peaks."""
    return torch.accelerator.max_memory_allocated(index_of(device))


def memory_reserved(device=None) -> int:
    """Bytes that the allocator holds, in live tensors or cached."""
    return torch.accelerator.memory_reserved(index_of(device))


def max_memory_reserved(device=None) -> int:
    """Highest ``memory_reserved`` since the last reset of peaks."""
    return torch.accelerator.max_memory_reserved(index_of(device))


def reset_peak_memory_stats(device=None) -> None:
    """Peaks become the current values."""
    torch.accelerator.reset_peak_memory_stats(index_of(device))


def reset_accumulated_memory_stats(device=None) -> None:
    """Totals of allocated and freed bytes and counts become 0."""
    torch.accelerator.reset_accumulated_memory_stats(index_of(device))


def empty_cache() -> None:
    """Gives cached memory that no tensor uses back to the system."""
    torch.accelerator.empty_cache()


def mem_get_info(device=None) -> tuple[int, int]:
    """Free and total bytes of a device."""
    return torch.accelerator.get_memory_info(index_of(device))


def set_per_process_memory_fraction(fraction: float, device=None) -> None:
    """Limits this process to a fraction (0 to 1) of a device's memory; beyond it, allocation raises
    ``torch.OutOfMemoryError``."""
    if not 0.0 <= fraction <= 1.0:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0 to 1")
    _C.set_memory_fraction(index_of(device), float(fraction))


def host_memory_stats() -> dict:
    """Statistics of pinned host memory."""
    allocation, size = _C.host_memory_stats()
    names = ("current", "peak", "allocated", "freed")
    return {
        f"{kind}.{name}": value
        for kind, values in (("allocation", allocation), ("allocated_bytes", size))
        for name, value in zip(names, values)
    }


def memory_snapshot(device=None) -> list[dict]:
    """The segments of a device's allocator with their blocks; of all devices when none is given."""
    devices = range(device_count()) if device is None else [index_of(device)]
    segments = []
    for index in devices:
        for address, size, stream, blocks in _C.memory_snapshot(index):
            segments.append(
                {
                    "device": index,
                    "address": address,
                    "total_size": size,
                    "stream": stream,
                    "allocated_size": sum(b[1] for b in blocks if b[3] == "active_allocated"),
                    "active_size": sum(b[1] for b in blocks if b[3] != "inactive"),
                    "requested_size": sum(b[2] for b in blocks if b[3] == "active_allocated"),
                    "blocks": [
                        {"address": b[0], "size": b[1], "requested_size": b[2], "state": b[3]} for b in blocks
                    ],
                }
            )
    return segments


_ROWS = (
    ("Allocated memory", "allocated_bytes", True),
    ("Active memory", "active_bytes", True),
    ("Requested memory", "requested_bytes", True),
    ("Reserved memory", "reserved_bytes", True),
    ("Non-releasable memory", "inactive_split_bytes", True),
    ("Allocations", "allocation", False),
    ("Active allocations", "active", False),
    ("Reserved segments", "segment", False),
    ("Non-releasable blocks", "inactive_split", False),
)


def _bytes(n: int) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(n) < 10240 or unit == "GiB":
            return f"{n} {unit}"
        n //= 1024
    raise AssertionError("unreachable")


def memory_summary(device=None, abbreviated: bool = False) -> str:
    """A table of a device's memory statistics, for people to read. ``abbreviated`` leaves out the counts of blocks."""
    index = index_of(device)
    stats = memory_stats(index)
    width = 25 + 4 * 15
    lines = [
        "=" * width,
        f"{'Memory of neuron:' + str(index):^{width}}",
        "-" * width,
        f"out of memory: {stats['num_ooms']}, retried allocations: {stats['num_alloc_retries']}",
        "=" * width,
        f"{'':<25}{'now':>15}{'peak':>15}{'total alloc':>15}{'total freed':>15}",
        "-" * width,
    ]
    for title, key, in_bytes in _ROWS:
        if abbreviated and not in_bytes:
            continue
        values = (stats[f"{key}.all.{name}"] for name in ("current", "peak", "allocated", "freed"))
        show = _bytes if in_bytes else str
        lines.append(f"{title:<25}" + "".join(f"{show(v):>15}" for v in values))
    lines.append("=" * width)
    return "\n".join(lines)
