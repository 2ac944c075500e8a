"""Streams and events. Wrappers over ``torch.Stream`` and ``torch.accelerator``, so that Dynamo can trace them."""

import torch
from torch_neuronx.neuron._device import index_of


class Stream(torch.Stream):
    """An in-order queue of work on a device. Work of different streams may overlap; events order it.

    Args:
        device: the device; the current one by default.
        priority: a negative number asks for precedence over streams of priority 0.
    """

    def __new__(cls, device=None, priority=0, **kwargs):
        if kwargs:
            # The form that pickling and ``torch.Stream`` itself use: stream_id, device_index, device_type.
            return super().__new__(cls, priority=priority, **kwargs)
        return super().__new__(cls, device=torch.device("neuron", index_of(device)), priority=priority)

    def wait_event(self, event) -> None:
        """Work submitted to this stream from now on waits for the event."""
        super().wait_event(event)

    def wait_stream(self, stream) -> None:
        """Work submitted to this stream from now on waits for all work submitted to the other so far."""
        super().wait_stream(stream)


class _EventType(type):
    """Makes ``isinstance(e, torch.neuron.Event)`` true for the events that the class makes."""

    def __instancecheck__(cls, instance) -> bool:
        return isinstance(instance, torch.Event) and instance.device.type == "neuron"


class Event(metaclass=_EventType):
    """A point in a stream. Calling the class makes a ``torch.Event``, whose methods accept no subclass.

    Args:
        enable_timing: whether ``elapsed_time`` may be asked of it.
        blocking: accepted for compatibility; ``synchronize`` always sleeps.
        interprocess: not supported.
    """

    def __new__(cls, enable_timing=False, blocking=False, interprocess=False):
        if interprocess:
            raise NotImplementedError("events of neuron devices cannot be shared between processes")
        return torch.Event(device="neuron", enable_timing=enable_timing)


class StreamContext:
    """Context manager that makes a stream, and its device, current. ``None`` changes nothing."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        if self.stream is not None:
            self.stream.__enter__()
        return self.stream

    def __exit__(self, *exc):
        if self.stream is not None:
            self.stream.__exit__(*exc)
        return False


def stream(stream) -> StreamContext:
    """Context manager that makes a stream current."""
    return StreamContext(stream)


def current_stream(device=None) -> torch.Stream:
    """The calling thread's current stream on a device."""
    return torch.accelerator.current_stream(torch.device("neuron", index_of(device)))


def default_stream(device=None) -> torch.Stream:
    """The stream that is current on a device until another is chosen."""
    return torch.Stream(
        stream_id=0,
        device_index=index_of(device),
        device_type=torch._C._autograd.DeviceType.PrivateUse1.value,
    )


def set_stream(stream) -> None:
    """Makes a stream, and its device, current. ``None`` changes nothing."""
    if stream is not None:
        torch.accelerator.set_stream(stream)
