"""PyTorch on AWS Trainium: the device ``neuron`` and the module ``torch.neuron``.

No import is needed, because ``import torch`` loads this package through the entry-point group ``torch.backends``.
Importing it first works as well.
"""


def _autoload() -> None:
    """Entry point of ``import torch``. Importing this module has registered the device already."""


# Defined before `import torch`: that import calls `_autoload` while this module is still half-imported, when the
# user imports this package first.
from torch_neuronx import _register  # noqa: E402

_register.register()

from torch_neuronx import neuron  # noqa: E402
from torch_neuronx._C import __version__  # noqa: E402

__all__ = ["neuron", "__version__"]
