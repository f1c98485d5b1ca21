"""A network small enough for a hundred tasks on two cores."""

from __future__ import annotations

from torch import nn


def small_network(classes: int = 200, width: int = 32) -> nn.Module:
    """Three convolutions with batch norm, for 32 x 32 colour images; by default the 200 classes of Tiny ImageNet.

    >>> sum(p.numel() for p in small_network().parameters())
    119272
    """
    layers: list[nn.Module] = []
    inputs = 3
    for outputs in (width, 2 * width, 4 * width):
        layers += [
            nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(),
            nn.MaxPool2d(2),
        ]
        inputs = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes))


def small_network_100() -> nn.Module:
    """The same for the 100 classes of CIFAR-100."""
    return small_network(100)


def wide_network_100() -> nn.Module:
    """Twice as many channels in every layer, for the 100 classes of CIFAR-100."""
    return small_network(100, width=64)
