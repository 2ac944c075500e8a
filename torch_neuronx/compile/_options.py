"""What ``mode=`` and ``options=`` of ``torch.compile(..., backend="neuron")`` may say."""

import dataclasses

MODES = {
    "default": "one program per graph and shape",
    "reduce-overhead": "as default: a graph is one launch already, with nothing to capture",
    "max-autotune": "as default: kernels are chosen by cost, not by trial",
    "max-autotune-no-cudagraphs": "as max-autotune",
}


@dataclasses.dataclass(frozen=True)
class Options:
    """Settings of one compiled function."""

    plans: int = dataclasses.field(default=256, metadata={"help": "plans (input shapes) that a graph keeps; the oldest goes first"})
    fallback_execution: bool = dataclasses.field(
        default=True,
        metadata={"help": "run what cannot be compiled operator by operator; False: raise, naming the operator"},
    )
    recompute: bool = dataclasses.field(
        default=True,
        metadata={"help": "recompute cheap values in the backward graph instead of saving them"},
    )


OPTIONS = {f.name: (f.default, f.metadata["help"]) for f in dataclasses.fields(Options)}


def parse(mode, options):
    """The settings, or an error that lists what there is: ``ValueError`` for a mode, ``RuntimeError`` for an option."""
    if mode is not None and mode not in MODES:
        raise ValueError(f"backend 'neuron' has no mode {mode!r}; its modes are {', '.join(MODES)}")
    options = {k.replace("-", "_"): v for k, v in (options or {}).items()}
    for name, value in options.items():
        if name not in OPTIONS:
            raise RuntimeError(f"backend 'neuron' has no option {name!r}; its options are {', '.join(OPTIONS)}")
        kind = type(OPTIONS[name][0])
        if type(value) is not kind:
            raise RuntimeError(f"option {name!r} of backend 'neuron' is of type {kind.__name__}, not {type(value).__name__}")
    parsed = Options(**options)
    if parsed.plans < 1:
        raise RuntimeError("option 'plans' of backend 'neuron' must be positive")
    return parsed
