"""``torch.neuron``: devices, streams, memory, random numbers and statistics of NeuronCores.

The names and their meaning are those of ``torch.cuda``; ``torch.accelerator`` works too.
"""

from torch_neuronx.neuron._amp import get_amp_supported_dtype, is_bf16_supported
from torch_neuronx.neuron._device import (
    NeuronDeviceProperties,
    _exchange_device,
    _is_in_bad_fork,
    _lazy_init,
    _maybe_exchange_device,
    can_device_access_peer,
    current_device,
    device,
    device_count,
    device_of,
    get_device_capability,
    get_device_name,
    get_device_properties,
    init,
    is_available,
    is_initialized,
    set_device,
    synchronize,
)
from torch_neuronx.neuron._memory import (
    empty_cache,
    host_memory_stats,
    max_memory_allocated,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    memory_snapshot,
    memory_stats,
    memory_summary,
    reset_accumulated_memory_stats,
    reset_peak_memory_stats,
    set_per_process_memory_fraction,
)
from torch_neuronx.neuron._random import (
    _get_generator,
    default_generators,
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from torch_neuronx.neuron._stats import (
    dump_programs,
    executed_ops,
    fallback_ops,
    flags,
    native_ops,
    reset_executed_ops,
    reset_fallback_ops,
)
from torch_neuronx.neuron._stream import (
    Event,
    Stream,
    StreamContext,
    current_stream,
    default_stream,
    set_stream,
    stream,
)


def get_dynamo_metrics():
    """Counters of ``torch.compile(..., backend="neuron")``: see :func:`torch_neuronx.compile.get_dynamo_metrics`."""
    from torch_neuronx.compile import get_dynamo_metrics  # Dynamo takes seconds to import

    return get_dynamo_metrics()


# `torch.utils.checkpoint` saves the generators' state only where it finds this.
_initialized = True

__all__ = [
    "Event",
    "NeuronDeviceProperties",
    "Stream",
    "StreamContext",
    "can_device_access_peer",
    "current_device",
    "current_stream",
    "default_generators",
    "default_stream",
    "device",
    "device_count",
    "device_of",
    "dump_programs",
    "empty_cache",
    "executed_ops",
    "fallback_ops",
    "flags",
    "get_amp_supported_dtype",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_dynamo_metrics",
    "get_rng_state",
    "get_rng_state_all",
    "host_memory_stats",
    "init",
    "initial_seed",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "native_ops",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_summary",
    "reset_accumulated_memory_stats",
    "reset_executed_ops",
    "reset_fallback_ops",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "synchronize",
]
