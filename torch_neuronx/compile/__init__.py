"""``torch.compile(model, backend="neuron")``.

Dynamo finds :func:`backend` through the entry-point group ``torch_dynamo_backends``, without an import.
"""

from torch_neuronx.compile._backend import backend
from torch_neuronx.compile._metrics import explain, get_dynamo_metrics, reset_dynamo_metrics
from torch_neuronx.compile._options import MODES, OPTIONS

__all__ = ["MODES", "OPTIONS", "backend", "explain", "get_dynamo_metrics", "reset_dynamo_metrics"]
