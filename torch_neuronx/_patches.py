"""Two places where PyTorch lists devices by name and so misses a renamed one."""

import functools

import torch

# kDLExtDev of dlpack.h: the device type that PyTorch's exporter gives to out-of-tree devices.
_EXT_DEV = 12


def _patch_dlpack() -> None:
    """``Tensor.__dlpack_device__`` knows the backend only by its unrenamed name."""
    original = torch.Tensor.__dlpack_device__

    @functools.wraps(original)
    def __dlpack_device__(self):
        if self.device.type == "neuron" and not torch.overrides.has_torch_function_unary(self):
            return torch.utils.dlpack.DLDeviceType(_EXT_DEV), self.device.index
        return original(self)

    torch.Tensor.__dlpack_device__ = __dlpack_device__


def _patch_printing() -> None:
    """Printing runs dozens of small operators, among them some whose result size depends on the data; PyTorch copies
    tensors of such devices to the CPU first."""
    original = torch._tensor_str._tensor_str

    @functools.wraps(original)
    def _tensor_str(self, indent):
        return original(self.cpu() if self.device.type == "neuron" else self, indent)

    torch._tensor_str._tensor_str = _tensor_str


def install() -> None:
    """Applies both. Once per process."""
    _patch_dlpack()
    _patch_printing()
