"""Random numbers: Philox4x32-10, one default generator a device. Its state is 16 bytes: seed and offset."""

from collections.abc import Sequence

import torch
from torch_neuronx import _C
from torch_neuronx.neuron._device import current_device, device_count, index_of


class _DefaultGenerators(Sequence):
    """The default generators, by device index."""

    def __getitem__(self, index):
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        if index < 0:
            index += len(self)
        if not 0 <= index < len(self):
            raise IndexError(f"there are {len(self)} neuron devices, no device {index}")
        return torch._C._accelerator_getDefaultGenerator(index)

    def __len__(self) -> int:
        return _C.device_count()


default_generators = _DefaultGenerators()


def _get_generator(device) -> torch.Generator:
    """The default generator of a device."""
    return default_generators[index_of(device)]


def get_rng_state(device="neuron") -> torch.Tensor:
    """State of a device's default generator, as a ByteTensor on the CPU."""
    return _get_generator(device).get_state()


def set_rng_state(new_state: torch.Tensor, device="neuron") -> None:
    """Sets the state of a device's default generator, as ``get_rng_state`` returned it."""
    _get_generator(device).set_state(new_state)


def get_rng_state_all() -> list[torch.Tensor]:
    """States of all devices."""
    return [get_rng_state(i) for i in range(device_count())]


def set_rng_state_all(new_states) -> None:
    """Sets the states of all devices."""
    for i, state in enumerate(new_states):
        set_rng_state(state, i)


def manual_seed(seed: int) -> None:
    """Seeds the current device. ``torch.manual_seed`` seeds all devices and the CPU."""
    default_generators[current_device()].manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seeds all devices."""
    for generator in default_generators:
        generator.manual_seed(int(seed))


def seed() -> int:
    """Seeds the current device with a random number, and returns it."""
    return default_generators[current_device()].seed()


def seed_all() -> int:
    """Seeds all devices with one random number, and returns it."""
    number = seed()
    manual_seed_all(number)
    return number


def initial_seed() -> int:
    """Seed of the current device."""
    return default_generators[current_device()].initial_seed()
