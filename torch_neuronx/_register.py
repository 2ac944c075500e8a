"""Loads the extension into PyTorch, once per process."""

import torch

_done = False


def _release(version: str) -> tuple[int, int]:
    major, minor = version.split("+")[0].split(".")[:2]
    return int(major), int(minor)


def _load():
    """The extension module, or an ImportError that says what to do."""
    try:
        from torch_neuronx import _C
    except ImportError as error:
        raise ImportError(
            f"the extension of torch_neuronx cannot be loaded with torch {torch.__version__}: {error}. "
            "It fits only the torch minor version it was built for; reinstall it into this environment with "
            "`pip install --no-build-isolation .` from its source."
        ) from error
    if _release(_C.__torch_version__) != _release(torch.__version__):
        raise ImportError(
            f"torch_neuronx was built for torch {_C.__torch_version__}, but torch {torch.__version__} is installed. "
            "Install a torch of the same minor version, or rebuild torch_neuronx with "
            "`pip install --no-build-isolation .` from its source. "
            "TORCH_DEVICE_BACKEND_AUTOLOAD=0 lets `import torch` work without it."
        )
    return _C


def register() -> None:
    """Makes the device ``neuron`` and the module ``torch.neuron``. Later calls do nothing."""
    global _done
    if _done:
        return
    _done = True
    extension = _load()
    torch.utils.rename_privateuse1_backend("neuron")
    extension.init()
    from torch_neuronx import _exit, _patches, _torchvision, neuron

    torch._register_device_module("neuron", neuron)
    torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)
    torch.set_autocast_dtype("neuron", torch.bfloat16)
    _patches.install()
    _torchvision.install()
    _exit.install()
