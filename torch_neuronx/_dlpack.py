"""DLPack for a renamed device: ``Tensor.__dlpack_device__`` knows the backend only by its unrenamed name."""

import functools

import torch

# kDLExtDev of dlpack.h: the device type that PyTorch's exporter gives to out-of-tree devices.
_EXT_DEV = 12


def install() -> None:
    """Wraps ``Tensor.__dlpack_device__``."""
    original = torch.Tensor.__dlpack_device__

    @functools.wraps(original)
    def __dlpack_device__(self):
        if type(self) is torch.Tensor or not torch.overrides.has_torch_function_unary(self):
            if self.device.type == "neuron":
                return torch.utils.dlpack.DLDeviceType(_EXT_DEV), self.device.index
        return original(self)

    torch.Tensor.__dlpack_device__ = __dlpack_device__
