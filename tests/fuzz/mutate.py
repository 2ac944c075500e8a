"""Changes to the arguments of a call."""

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

DTYPES = [
    torch.float32,
    torch.float64,
    torch.bfloat16,
    torch.float16,
    torch.int64,
    torch.int32,
    torch.int8,
    torch.uint8,
    torch.bool,
    torch.complex64,
]
MOST_ELEMENTS = 4096


def is_tensor(x):
    return isinstance(x, torch.Tensor) and x.layout == torch.strided


def is_number(x):
    return isinstance(x, (int, float)) and not isinstance(x, bool)


def fresh(like, sizes, dtype=None):
    """Small numbers of other sizes; indices stay near zero."""
    dtype = dtype or like.dtype
    n = torch.Size(sizes).numel()
    base = torch.arange(n) % 7
    if dtype.is_floating_point or dtype.is_complex:
        return ((base - 3) * 0.37).reshape(sizes).to(dtype)
    return (base % 2).reshape(sizes).to(dtype)


def other_sizes(x, rng):
    """The tensor with one dim changed, one more or one less, or of any sizes up to 8 dims."""
    sizes = list(x.shape)
    kind = rng.randrange(4)
    if kind == 0 and sizes:
        sizes[rng.randrange(len(sizes))] = rng.choice([0, 1, 2, 5])
    elif kind == 1:
        sizes.insert(rng.randrange(len(sizes) + 1), rng.choice([0, 1, 2, 3]))
    elif kind == 2 and sizes:
        sizes.pop(rng.randrange(len(sizes)))
    else:
        sizes = [rng.choice([0, 1, 1, 2, 3]) for _ in range(rng.randrange(9))]
    return fresh(x, sizes) if torch.Size(sizes).numel() <= MOST_ELEMENTS else x


def other_strides(x, rng):
    """The same elements with gaps, in another order of memory, or shared by broadcasting."""
    if x.dim() == 0 or x.numel() == 0:
        return x
    kind = rng.randrange(3)
    if kind == 0:
        wide = torch.zeros((*x.shape, 2), dtype=x.dtype)
        wide[..., 1] = x
        return wide[..., 1]
    if kind == 1:
        order = list(range(x.dim()))
        rng.shuffle(order)
        back = [order.index(d) for d in range(x.dim())]
        return x.permute(order).contiguous().permute(back)
    d = rng.randrange(x.dim())
    return x.narrow(d, 0, 1).expand(x.shape)


def other_dtype(x, rng):
    return x.to(rng.choice(DTYPES))


def other_number(x, rng):
    if isinstance(x, int):
        return rng.choice([0, 1, -1, 2, -2, x + 1, x - 1, 100, -100, 2**40])
    return rng.choice([0.0, -1.0, 0.5, -x, x * 1e6, float("inf"), float("nan")])


LEGAL = [other_strides]
WRONG = [other_sizes, other_sizes, other_dtype, other_strides]


def mutate(arguments, rng, wrong):
    """The arguments with one to three changes; with `wrong` also such that may be refused."""
    leaves, spec = tree_flatten(arguments)
    for _ in range(rng.randint(1, 3)):
        tensors = [i for i, x in enumerate(leaves) if is_tensor(x)]
        numbers = [i for i, x in enumerate(leaves) if is_number(x)]
        if wrong and numbers and rng.random() < 0.35:
            i = rng.choice(numbers)
            leaves[i] = other_number(leaves[i], rng)
        elif tensors:
            i = rng.choice(tensors)
            x = rng.choice(WRONG if wrong else LEGAL)(leaves[i].detach(), rng)
            able = x.dtype.is_floating_point or x.dtype.is_complex
            leaves[i] = x.detach().requires_grad_(leaves[i].requires_grad and able)
    first, args, kwargs = tree_unflatten(leaves, spec)
    if wrong and args and rng.random() < 0.05:
        args = args[:-1]
    return first, args, kwargs
