"""DLPack, both ways, without copies."""

import torch
from torch.utils import dlpack


def test_device():
    kind, index = torch.empty(1, device="neuron:1").__dlpack_device__()
    assert int(kind) == 12 and index == 1
    assert int(torch.empty(1).__dlpack_device__()[0]) == 1


def test_from_dlpack_shares_memory():
    x = torch.arange(6.0, device="neuron").view(2, 3)
    y = torch.from_dlpack(x)
    assert y.is_neuron and y.data_ptr() == x.data_ptr() and y.shape == x.shape
    y.add_(1)
    assert x.tolist() == [[1, 2, 3], [4, 5, 6]]


def test_capsules():
    x = torch.arange(6, device="neuron:1")[::2]
    y = dlpack.from_dlpack(dlpack.to_dlpack(x))
    assert y.device == x.device and y.stride() == x.stride() and y.tolist() == [0, 2, 4]


def test_the_memory_lives_as_long_as_the_import():
    x = torch.full((1 << 18,), 5.0, device="neuron")
    capsule = x.__dlpack__()
    del x
    torch.full((1 << 18,), 7.0, device="neuron")
    assert (dlpack.from_dlpack(capsule).cpu() == 5).all()
