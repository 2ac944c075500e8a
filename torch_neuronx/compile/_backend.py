"""The backend that Dynamo calls: AOTAutograd, then one runner per graph."""

import torch
from torch._dynamo import trace_rules
from torch._dynamo.backends.common import aot_autograd
from torch._functorch._aot_autograd.utils import register_graphsafe_rng_device_type
from torch._functorch.partitioners import default_partition, min_cut_rematerialization_partition

from torch_neuronx.compile import _metrics, _options
from torch_neuronx.compile._runner import compile_graph


# Dropout inside activation checkpointing needs generators whose state a graph can carry.
register_graphsafe_rng_device_type("neuron")
# The module `torch.neuron` runs as it is, like `torch.cuda`.
trace_rules.add("torch_neuronx")


def backend(gm: torch.fx.GraphModule, example_inputs, *, mode=None, options=None):
    """Compiles a graph of Dynamo's. See :data:`MODES` and :data:`OPTIONS` for what may be asked.

    Raises ``ValueError`` for an unknown mode and ``RuntimeError`` for an unknown option.
    """
    settings = _options.parse(mode, options)
    _metrics.count("graphs")

    def compiler(kind):
        return lambda graph, inputs: compile_graph(graph, settings, kind)

    return aot_autograd(
        fw_compiler=compiler("forward"),
        bw_compiler=compiler("backward"),
        inference_compiler=compiler("inference"),
        partition_fn=min_cut_rematerialization_partition if settings.recompute else default_partition,
        keep_inference_input_mutations=True,
    )(gm, example_inputs)
