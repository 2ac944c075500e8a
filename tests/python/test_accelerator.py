"""torch.accelerator and the current device."""

import threading

import pytest
import torch


def test_the_accelerator_is_neuron():
    assert torch.accelerator.is_available()
    assert torch.accelerator.current_accelerator() == torch.device("neuron")
    assert torch.accelerator.device_count() == torch.neuron.device_count() == 2


def test_set_device_index():
    torch.accelerator.set_device_index(1)
    assert torch.accelerator.current_device_index() == torch.neuron.current_device() == 1
    assert torch.empty(1, device="neuron").device.index == 1


def test_device_contexts_restore():
    with torch.accelerator.device_index(1):
        assert torch.neuron.current_device() == 1
    with torch.neuron.device(1):
        assert torch.neuron.current_device() == 1
        with torch.neuron.device("neuron:0"):
            assert torch.neuron.current_device() == 0
        with torch.neuron.device(None):
            assert torch.neuron.current_device() == 1
    assert torch.neuron.current_device() == 0
    with torch.neuron.device_of(torch.empty(1, device="neuron:1")):
        assert torch.neuron.current_device() == 1
    with torch.neuron.device_of(torch.empty(1)):
        assert torch.neuron.current_device() == 0


def test_an_exception_in_a_context_restores_the_device():
    with pytest.raises(KeyError):
        with torch.neuron.device(1):
            raise KeyError
    assert torch.neuron.current_device() == 0


def test_the_current_device_is_per_thread():
    seen = []

    def other():
        seen.append(torch.neuron.current_device())
        torch.neuron.set_device(1)

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert seen == [0] and torch.neuron.current_device() == 0


@pytest.mark.parametrize("make", [lambda: torch.empty(1, device="neuron:9"), lambda: torch.neuron.set_device(9)])
def test_a_device_that_does_not_exist_is_refused(make):
    with pytest.raises(RuntimeError, match="Invalid device ordinal 9: there are 2 neuron devices"):
        make()


def test_properties():
    p = torch.neuron.get_device_properties(1)
    assert p.total_memory > 0 and p.multi_processor_count >= 1 and "softcore" in p.name
    assert torch.neuron.get_device_name() == torch.neuron.get_device_properties(0).name
    assert torch.neuron.get_device_capability() == (p.major, p.minor)
    assert torch.float32 in torch.accelerator.get_device_capability()["supported_dtypes"]


def test_default_device():
    with torch.device("neuron"):
        assert torch.ones(2).is_neuron and torch.nn.Linear(2, 2).weight.is_neuron
    torch.set_default_device("neuron")
    try:
        assert torch.zeros(1).is_neuron
    finally:
        torch.set_default_device(None)


def test_index_arguments():
    with pytest.raises(ValueError, match="expected a neuron device, got cpu"):
        torch.neuron.memory_allocated("cpu")
    assert torch.neuron.can_device_access_peer(0, 1)
    assert not torch.neuron.can_device_access_peer(0, 0)
