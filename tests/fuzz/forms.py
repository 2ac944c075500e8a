"""The forms of a call: plain, in place, into `out=`, with the gradients."""

import torch

from tests.coverage.moving import differentiable, spread, tensors

FORMS = ("plain", "plain", "inplace", "out", "grad")
OUTS = ("fits", "grows", "gaps", "dtype")


def chosen(info, dtype, rng):
    """A form that the operator has."""
    form = rng.choice(FORMS)
    lacks = {
        "inplace": info.inplace_variant is None,
        "out": not info.supports_out,
        "grad": not info.supports_autograd or dtype not in info.supported_backward_dtypes("cpu"),
    }
    return "plain" if lacks.get(form) else form


def apart(x):
    """The tensor, without elements that share memory: what is written there depends on the order of writing."""
    shared = isinstance(x, torch.Tensor) and any(s == 0 and n > 1 for s, n in zip(x.stride(), x.shape))
    return x.clone(memory_format=torch.contiguous_format) if shared else x


def seeds(outs):
    """Gradients to start from: numbers from -1 to 1."""
    return [((torch.arange(t.numel()) % 9 - 4) / 4).reshape(t.shape).to(t.dtype) for t in outs]


def destinations(like, kind, device):
    """What `out=` gets."""
    outs = []
    for t in like:
        dtype = torch.float32 if kind == "dtype" else t.dtype
        out = torch.zeros((0,) if kind == "grows" else t.shape, dtype=dtype, device=device)
        outs.append(spread(out) if kind == "gaps" else out)
    return outs


def run(info, dtype, form, kind, arguments, device, like, more):
    """The call's results; `like` are the plain call's on the CPU, empty where that is refused."""
    first, args, kwargs = arguments
    if form == "inplace":
        return info.inplace_variant(first, *args, **kwargs)
    if form == "out":
        # Where the plain call is refused, its error is what counts, not another one of `out=`.
        outs = destinations(like, kind, device) if like else [torch.zeros(0, dtype=dtype, device=device)]
        info(first, *args, **kwargs, **more, out=outs if len(outs) > 1 else outs[0])
        return outs
    result = info(first, *args, **kwargs, **more)
    if form != "grad":
        return result
    outs, inputs = differentiable(result), differentiable(arguments)
    if not outs or not inputs:
        return result
    starts = [s.to(device) for s in seeds(outs)]
    grads = torch.autograd.grad(outs, inputs, starts, allow_unused=True)
    return tensors(result), list(grads)
