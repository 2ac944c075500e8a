"""Arguments of an operator: on the device, as views with gaps, in higher precision."""

import torch
from torch.utils._pytree import tree_flatten, tree_map

LIFTED = {
    torch.float16: torch.float64,
    torch.bfloat16: torch.float64,
    torch.float32: torch.float64,
    torch.complex32: torch.complex128,
    torch.complex64: torch.complex128,
}


def tensors(x):
    return [t for t in tree_flatten(x)[0] if isinstance(t, torch.Tensor)]


def differentiable(x):
    return [t for t in tensors(x) if t.requires_grad and (t.dtype.is_floating_point or t.dtype.is_complex)]


def to_device(value, device="neuron"):
    """A copy of the arguments on the device: tensors keep their strides, and go on sharing memory where they do."""
    memories, moved = {}, {}

    def move(x):
        if isinstance(x, torch.Tensor):
            if id(x) not in moved:
                moved[id(x)] = move_tensor(x, memories, device)
            return moved[id(x)]
        if isinstance(x, torch.device) or (isinstance(x, str) and x == "cpu"):
            return device
        return x

    return tree_map(move, value)


def move_tensor(x, memories, device):
    if x.device.type != "cpu":
        return x
    if x.layout != torch.strided or x.is_conj() or x.is_neg() or x.numel() == 0:
        return x.detach().to(device, copy=True).requires_grad_(x.requires_grad)
    memory = x.untyped_storage()
    key = memory.data_ptr(), x.dtype
    if key not in memories:
        whole = torch.empty(0, dtype=x.dtype).set_(memory, 0, (memory.nbytes() // x.element_size(),))
        memories[key] = whole.to(device, copy=True)
    there = memories[key].as_strided(x.shape, x.stride(), x.storage_offset())
    return there.requires_grad_(x.requires_grad)


def spread(value):
    """The same arguments as views with gaps: every second element of a twice as wide tensor, rows before columns."""

    def move(x):
        if not isinstance(x, torch.Tensor) or x.layout != torch.strided:
            return x
        if x.dim() == 0:
            return x.detach().clone().requires_grad_(x.requires_grad)
        t = x.detach().transpose(0, -1)
        wide = torch.zeros((*t.shape, 2), dtype=t.dtype, device=t.device)
        wide[..., 1] = t
        return wide[..., 1].transpose(0, -1).requires_grad_(x.requires_grad)

    return tree_map(move, value)


def lift(value):
    """The same arguments with twice the digits; dtypes among the arguments follow."""

    def up(x):
        if isinstance(x, torch.Tensor) and x.dtype in LIFTED:
            return x.detach().to(LIFTED[x.dtype]).requires_grad_(x.requires_grad)
        return LIFTED.get(x, x) if isinstance(x, torch.dtype) else x

    return tree_map(up, value)
