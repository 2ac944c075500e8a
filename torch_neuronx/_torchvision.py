"""Operators of torchvision that have no kernel for the device: their registration waits until torchvision is imported."""

import math

import torch

_library = torch.library.Library("torchvision", "IMPL")


def _below(threshold: float, dtype: torch.dtype) -> float:
    """The greatest number of the dtype that is not above the threshold: `x > threshold` in exact arithmetic, as
    torchvision compares, is `x > _below(threshold)` in the dtype."""
    rounded = torch.tensor(threshold, dtype=dtype)
    if rounded.item() > threshold:
        rounded = torch.nextafter(rounded, torch.tensor(-math.inf, dtype=dtype))
    return rounded.item()


def _overlaps(boxes: torch.Tensor) -> torch.Tensor:
    """Intersection over union of every two boxes: (n, 4) of corners → (n, n)."""
    left, top, right, bottom = boxes.unbind(1)
    areas = (right - left) * (bottom - top)

    def extent(low, high):
        return (torch.minimum(high[:, None], high) - torch.maximum(low[:, None], low)).clamp_min(0)

    common = extent(left, right) * extent(top, bottom)
    return common / (areas[:, None] + areas - common)


def nms(dets: torch.Tensor, scores: torch.Tensor, iou_threshold: float) -> torch.Tensor:
    """Non-maximum suppression, torchvision's operator: indices of the boxes (n, 4) that overlap no kept box of a higher
    score (n,) by more than the threshold, in order of falling scores.

    Whether a box is kept depends on the boxes before it. All are decided at once, from the guess that every box is
    kept, again and again until nothing changes: a box is right at the latest one round after all that precede it.
    """
    if dets.dim() != 2:
        raise RuntimeError(f"boxes should be a 2d tensor, got {dets.dim()}D")
    if dets.size(1) != 4:
        raise RuntimeError(f"boxes should have 4 elements in dimension 1, got {dets.size(1)}")
    if scores.dim() != 1:
        raise RuntimeError(f"scores should be a 1d tensor, got {scores.dim()}D")
    if dets.size(0) != scores.size(0):
        raise RuntimeError(
            "boxes and scores should have same number of elements in dimension 0, "
            f"got {dets.size(0)} and {scores.size(0)}"
        )
    if dets.dtype != scores.dtype:
        raise RuntimeError("dets should have the same type as scores")
    order = scores.argsort(stable=True, descending=True)
    overlapping = _overlaps(dets.index_select(0, order)) > _below(iou_threshold, dets.dtype)
    # suppresses[i, j]: if box i is kept, the later box j is not.
    suppresses = overlapping.triu(1).to(torch.float32)
    keep = torch.ones_like(scores, dtype=torch.float32)
    while True:
        after = (keep @ suppresses == 0).to(torch.float32)
        if torch.equal(after, keep):
            break
        keep = after
    return order.masked_select(keep > 0)


def install() -> None:
    """Registers them. Once per process."""
    _library.impl("nms", nms, "PrivateUse1")
