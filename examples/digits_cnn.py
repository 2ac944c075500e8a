"""Train a small convolutional network on real handwritten digits: the 1,797 images of scikit-learn's `load_digits`.

    python examples/digits_cnn.py
    python examples/digits_cnn.py --device cpu

Needs the PyPI package `scikit-learn`, which ships the images.
"""

import argparse
import time

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn


class CNN(nn.Module):
    """Images (batch, 1, 8, 8) → logits (batch, 10)."""

    def __init__(self, width=24):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, padding=1),
            nn.BatchNorm2d(2 * width),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(2 * width, 2 * width, 3, padding=1),
            nn.BatchNorm2d(2 * width),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.head = nn.Sequential(nn.Flatten(), nn.Dropout(0.3), nn.Linear(8 * width, 10))

    def forward(self, images):
        return self.head(self.features(images))


def data():
    """Images for training and for the test, then labels of both: four of five images train. Grey values from 0 to 1."""
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
    labels = torch.tensor(digits.target)
    return train_test_split(images, labels, test_size=0.2, stratify=labels, random_state=0)


def train(device="neuron", epochs=8, batch=64, seed=0, report=lambda *_: None):
    """Trains on `device`; the share of test images that the network then reads correctly."""
    torch.manual_seed(seed)
    model = CNN().to(device)
    images, test_images, labels, test_labels = (part.to(device) for part in data())
    steps = epochs * -(-len(images) // batch)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=5e-3, total_steps=steps)
    for epoch in range(1, epochs + 1):
        model.train()
        for chosen in torch.randperm(len(images)).to(device).split(batch):
            loss = F.cross_entropy(model(images[chosen]), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        model.eval()
        with torch.no_grad():
            right = (model(test_images).argmax(1) == test_labels).float().mean().item()
        report(epoch, loss.item(), right)
    return right


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--device", default="neuron")
    p.add_argument("--epochs", type=int, default=8)
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args()

    def report(epoch, loss, right):
        print(f"epoch {epoch:2}  loss {loss:.4f}  test accuracy {right:.2%}", flush=True)

    started = time.perf_counter()
    right = train(args.device, args.epochs, seed=args.seed, report=report)
    print(f"test accuracy {right:.2%} after {time.perf_counter() - started:.1f} s on {args.device}")
    if args.device.startswith("neuron"):
        print(f"operators that fell back to the CPU: {torch.neuron.fallback_ops() or 'none'}")


if __name__ == "__main__":
    main()
