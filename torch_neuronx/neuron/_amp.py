"""What ``torch.autocast("neuron")`` asks. Its default type is bfloat16."""

import torch


def get_amp_supported_dtype() -> list[torch.dtype]:
    """Types that autocast accepts."""
    return [torch.bfloat16, torch.float16]


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether bfloat16 is supported, which it is natively."""
    return True
