"""Which devices there are, and which one is current."""

from typing import NamedTuple

import torch
from torch_neuronx import _C


class NeuronDeviceProperties(NamedTuple):
    """What a device is."""

    name: str
    """Such as ``softcore (AVX-512, 2 threads)``."""
    total_memory: int
    """Bytes of memory."""
    multi_processor_count: int
    """Threads or engines that execute programs."""
    major: int
    """NeuronCore generation."""
    minor: int
    """Revision of the generation."""


def index_of(device, optional: bool = True) -> int:
    """The index that a device argument means: ``None`` or a device without index is the current one."""
    if device is None:
        if optional:
            return current_device()
        raise ValueError("expected a neuron device or its index, got None")
    if isinstance(device, int):
        return device if device >= 0 else current_device()
    device = torch.device(device)
    if device.type != "neuron":
        raise ValueError(f"expected a neuron device, got {device}")
    return current_device() if device.index is None else device.index


def is_available() -> bool:
    """Whether there is a device. Never raises."""
    return _C.device_count() > 0


def is_initialized() -> bool:
    """Whether the runtime is up, which it is since the import."""
    return True


def init() -> None:
    """Does nothing: importing the package has started the runtime."""


def _lazy_init() -> None:
    """Raises in a process forked from one that uses the device."""
    if _is_in_bad_fork():
        raise RuntimeError(
            "Cannot re-initialize neuron in a forked subprocess. To use neuron with multiprocessing, you must use "
            "the 'spawn' start method"
        )


def _is_in_bad_fork() -> bool:
    """Whether this process was forked from one that uses the device, and so cannot use it."""
    return _C.is_in_bad_fork()


def device_count() -> int:
    """Number of devices; ``NEURON_RT_NUM_CORES`` or ``NEURON_RT_VISIBLE_CORES`` sets it."""
    return _C.device_count()


def current_device() -> int:
    """Index of the calling thread's current device."""
    return _C.current_device()


def set_device(device) -> None:
    """Makes a device the calling thread's current one. A negative index does nothing."""
    if isinstance(device, int) and device < 0:
        return
    _exchange_device(index_of(device, optional=False))


def _exchange_device(index: int) -> int:
    """Makes a device current and returns the previous one. A negative index changes nothing."""
    return _C.exchange_device(index)


def _maybe_exchange_device(index: int) -> int:
    """As ``_exchange_device``: switching costs nothing here, so there is nothing to avoid."""
    return _C.exchange_device(index)


class device:
    """Context manager that makes a device current. A negative index or ``None`` changes nothing."""

    def __init__(self, device):
        self.idx = -1 if device is None else device if isinstance(device, int) else index_of(device)
        self.prev_idx = -1

    def __enter__(self):
        self.prev_idx = _C.exchange_device(self.idx)

    def __exit__(self, *exc):
        self.idx = _C.exchange_device(self.prev_idx)
        return False


class device_of(device):
    """Context manager that makes the device of a tensor or storage current; nothing for other devices."""

    def __init__(self, obj):
        super().__init__(obj.device.index if obj.device.type == "neuron" else -1)


def synchronize(device=None) -> None:
    """Waits for all work of a device, and raises what that work recorded as an error."""
    torch.accelerator.synchronize(torch.device("neuron", index_of(device)))


def get_device_properties(device=None) -> NeuronDeviceProperties:
    """What a device is."""
    return NeuronDeviceProperties(*_C.device_properties(index_of(device)))


def get_device_name(device=None) -> str:
    """Name of a device."""
    return get_device_properties(device).name


def get_device_capability(device=None) -> tuple[int, int]:
    """NeuronCore generation (major, minor) that a device is, or stands for."""
    properties = get_device_properties(device)
    return properties.major, properties.minor


def can_device_access_peer(device, peer_device) -> bool:
    """Whether one device can read the other's memory; devices of one process can."""
    count = device_count()
    for index in (index_of(device), index_of(peer_device)):
        if not 0 <= index < count:
            raise AssertionError(f"Invalid device id {index}: there are {count} neuron devices")
    return index_of(device) != index_of(peer_device)
