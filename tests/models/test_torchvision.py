"""Image classifiers of torchvision with random weights: ResNet-18, MobileNetV3, ViT-B/16."""

import pytest
import torch
import torchvision
from agreement import Case, check_gradients, check_training, names

CLASSES = 10


def images(size, count=2):
    return lambda: {"x": torch.randn(count, 3, size, size)}


def loss(out, inputs):
    labels = torch.arange(len(out), device=out.device) * 3 % CLASSES
    return torch.nn.functional.cross_entropy(out, labels), out


def vit():
    # 224 pixels are 196 patches; 64 are 16, and the width and depth stay those of ViT-B/16.
    return torchvision.models.vit_b_16(image_size=64, num_classes=CLASSES)


CASES = [
    Case("resnet18", lambda: torchvision.models.resnet18(num_classes=CLASSES), images(64, 4), loss),
    Case(
        "mobilenet_v3",
        lambda: torchvision.models.mobilenet_v3_small(num_classes=CLASSES, dropout=0),
        images(64, 4),
        loss,
    ),
    Case("vit_b_16", vit, images(64), loss, lr=1e-4),
]


@pytest.mark.parametrize(**names(CASES))
def test_gradients(case):
    check_gradients(case)


@pytest.mark.parametrize(**names(CASES))
def test_gradients_in_evaluation_mode(case):
    check_gradients(case, train=False)


@pytest.mark.slow
@pytest.mark.parametrize(**names(CASES))
def test_training(case):
    check_training(case)
