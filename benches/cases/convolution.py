"""Convolutions of ResNet-18, pooling, normalisation over channels, and the whole network."""

import torch
import torch.nn.functional as F

from benches.timing import Case

# (batch, channels in, channels out, height and width, kernel, stride)
RESNET = [(1, 64, 64, 56, 3, 1), (8, 64, 64, 56, 3, 1), (8, 128, 128, 28, 3, 1), (8, 256, 256, 14, 3, 1), (8, 512, 512, 7, 3, 1), (8, 3, 64, 224, 7, 2), (8, 64, 128, 56, 1, 2)]


def image(device, *sizes):
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(0)).to(device)


def convolution(n, ci, co, size, kernel, stride, backward=False):
    def build(device):
        x, w = image(device, n, ci, size, size), image(device, co, ci, kernel, kernel)
        if not backward:
            return lambda: F.conv2d(x, w, None, stride, kernel // 2)
        y = F.conv2d(x.requires_grad_(), w.requires_grad_(), None, stride, kernel // 2)
        seed = torch.ones_like(y)
        return lambda: torch.autograd.grad(F.conv2d(x, w, None, stride, kernel // 2), (x, w), seed)

    out = -(-size // stride)
    work = 2 * n * ci * co * kernel * kernel * out * out * (3 if backward else 1)
    name = f"conv{kernel}x{kernel}/{stride} {n}x{ci}x{size}^2 -> {co}{' forward+backward' if backward else ''}"
    return Case(name, build, 1.0, work, "GF")


def over_image(function, *sizes):
    def build(device):
        x = image(device, *sizes)
        return lambda: function(x)

    return build


def resnet18(device, wrap=lambda model: model):
    import torchvision

    torch.manual_seed(0)
    model = wrap(torchvision.models.resnet18(weights=None).eval().to(device))
    x = image(device, 8, 3, 224, 224)

    def run():
        with torch.inference_mode():
            return model(x)

    return run


def channel_norm(make):
    def build(device):
        layer, x = make().to(device), image(device, 8, 64, 56, 56)
        return lambda: layer(x)

    return build


SIZES = 8, 64, 112, 112
CASES = [
    *(convolution(*shape) for shape in RESNET),
    convolution(8, 128, 128, 28, 3, 1, backward=True),
    Case("max_pool3x3/2 8x64x112^2", over_image(lambda x: F.max_pool2d(x, 3, 2, 1), *SIZES), 0.2),
    Case("avg_pool2x2 8x64x112^2", over_image(lambda x: F.avg_pool2d(x, 2), *SIZES), 1.0),
    Case("batch_norm training 8x64x56^2", channel_norm(lambda: torch.nn.BatchNorm2d(64)), 1.0),
    Case("batch_norm evaluation 8x64x56^2", channel_norm(lambda: torch.nn.BatchNorm2d(64).eval()), 1.0),
    Case("group_norm 8x64x56^2", channel_norm(lambda: torch.nn.GroupNorm(8, 64)), 1.0),
    Case("instance_norm 8x64x56^2", channel_norm(lambda: torch.nn.InstanceNorm2d(64)), 1.0),
    Case("ResNet-18 batch 8 inference, eager", resnet18, None),
]
