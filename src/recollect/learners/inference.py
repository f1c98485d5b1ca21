"""Scores from a network: in pieces of the fastest size, by the fastest form of its forward pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from recollect.errors import UsageError
from recollect.learners.base import Array, Scores
from recollect.learners.networks import MLP, Block, ResNet18

if TYPE_CHECKING:
    from recollect.learners.inputs import Adapter

# Pieces of 512 images are slower on one thread (benchmarks/training.py measures it).
PIECE_OF_IMAGES = 128
PIECE_OF_FEATURES = 1024

# Elsewhere a piece is as large as keeps a GPU busy.
PIECE_ELSEWHERE = 1024

Convolution = tuple[Tensor, Tensor, int, int]


class FoldedResNet:
    """The forward pass of a `ResNet18` in evaluation mode, each batch norm folded into its convolution."""

    def __init__(self, network: ResNet18) -> None:
        self._stem = _fold(network.stem, network.stem_bn)
        self._blocks = [_fold_block(block) for block in network.blocks if isinstance(block, Block)]
        self._head = network.head

    def __call__(self, x: Tensor) -> Tensor:
        x = _convolve(x, self._stem).relu_()
        for first, second, short in self._blocks:
            inner = _convolve(_convolve(x, first).relu_(), second)
            x = inner.add_(x if short is None else _convolve(x, short)).relu_()
        return F.linear(x.mean((2, 3)), self._head.weight, self._head.bias)


class MLPByColumns:
    """The forward pass of an `MLP` with one column per sample: the same products, faster than one row per sample."""

    def __init__(self, network: MLP) -> None:
        layers = [layer for layer in (*network.body, network.head) if isinstance(layer, nn.Linear)]
        *self._body, self._head = [(layer.weight, layer.bias[:, None]) for layer in layers]

    def __call__(self, x: Tensor) -> Tensor:
        columns = x.flatten(1).t()
        for weight, bias in self._body:
            columns = torch.addmm(bias, weight, columns).relu_()
        weight, bias = self._head
        return torch.addmm(bias, weight, columns).t()


Folded = Callable[[Any], Tensor]


def score_all(network: nn.Module, inputs: Adapter, x: Array, n_classes: int) -> Scores:
    """Scores of the samples `x`, in evaluation mode; the network is left in training mode.

    The network is folded at every call, whoever changed its weights since: that takes less than 1 % of the time of a
    test batch, and a fold that was kept would be one of weights that are no more.
    """
    folded = inputs.fold(network)
    is_host = on_host(network)
    piece = inputs.piece(network) if is_host else max(PIECE_ELSEWHERE, inputs.piece(network))
    scores = np.empty((n_classes, len(x)), np.float32).T  # a class lies together, as the counting wants it
    if folded is None:  # a folded pass has no modes, and setting one takes longer than a small network
        network.eval()
    forward = network if folded is None else folded
    with torch.inference_mode():
        parts = (forward(inputs.tensor(x[start : start + piece])) for start in range(0, len(x), piece))
        if is_host:
            for k, part in enumerate(parts):
                scores[k * piece : k * piece + len(part)] = part.numpy()
        elif len(x):
            scores[:] = torch.cat(list(parts)).cpu().numpy()  # the one wait for the device
    if folded is None:
        network.train()
    return scores


def on_host(network: nn.Module) -> bool:
    """Whether the network is in this processor's memory, where nothing is waited for."""
    return all(weight.device.type == "cpu" for weight in network.parameters())


def features_of(network: nn.Module, inputs: Adapter, x: Array, n_outputs: int) -> NDArray[np.float64]:
    """What the last layer reads of the samples `x`, in evaluation mode; the global generators stay as they are."""
    with torch.random.fork_rng(devices=[]):
        return in_pieces(network, _before_head(network, n_outputs), inputs, x, inputs.piece(network))


def in_pieces(
    network: nn.Module, forward: Callable[[Any], Tensor], inputs: Adapter, x: Array, piece: int
) -> NDArray[np.float64]:
    """What `forward` gives of the samples, one row each; the network is left in training mode."""
    network.eval()
    try:
        with torch.inference_mode():
            parts = [
                forward(inputs.tensor(x[start : start + piece])).flatten(1).cpu().numpy()
                for start in range(0, len(x), piece)
            ]
    finally:
        network.train()
    return np.concatenate(parts).astype(np.float64)


def _before_head(network: nn.Module, n_outputs: int) -> Callable[[Any], Tensor]:
    """From samples to features: by the network's own method, else what its last linear layer is given."""
    for name in ("sample_features", "features"):
        own: Callable[[Any], Tensor] | None = getattr(network, name, None)
        if own is not None and not isinstance(own, nn.Module):
            return own
    heads = [part for part in network.modules() if isinstance(part, nn.Linear) and part.out_features == n_outputs]
    if not heads:
        raise UsageError(
            f"The features of {type(network).__name__} are not known: it has no method `features(x)` and no nn.Linear"
            f" with {n_outputs} outputs, whose inputs they would be. Give it the method, or leave `probe` out of the"
            " plan."
        )

    def forward(x: Any) -> Tensor:
        seen: list[Tensor] = []
        handle = heads[-1].register_forward_pre_hook(lambda _, given: seen.append(given[0]))
        try:
            network(x)
        finally:
            handle.remove()
        return seen[-1]

    return forward


def fold(network: nn.Module) -> Folded | None:
    """A faster forward pass where there is one; it holds for the weights of this moment, so it is not kept."""
    if not all(type(part) in _KNOWN and not _has_hooks(part) for part in network.modules()):
        return None
    with torch.no_grad():
        if isinstance(network, ResNet18):
            return FoldedResNet(network)
        return MLPByColumns(network) if isinstance(network, MLP) else None


# Of these alone the forward pass is known; a subclass, a layer that was put in place of another or a hook may do more.
_KNOWN = (ResNet18, MLP, Block, nn.ModuleList, nn.Conv2d, nn.BatchNorm2d, nn.Linear)


def _has_hooks(part: nn.Module) -> bool:
    stateless = isinstance(part, nn.BatchNorm2d) and part.running_mean is None
    return bool(part._forward_hooks or part._forward_pre_hooks) or stateless


def _fold(conv: nn.Conv2d, norm: nn.BatchNorm2d) -> Convolution:
    # In double precision: the folded weights are then the nearest floats to the exact ones.
    mean, variance = norm.running_mean, norm.running_var
    assert mean is not None
    assert variance is not None
    # mps has no doubles; there the fold is made on the cpu and sent back.
    place = "cpu" if conv.weight.device.type == "mps" else conv.weight.device
    wide = [t.detach().to(place).double() for t in (conv.weight, norm.weight, norm.bias, mean, variance)]
    scale = wide[1] / torch.sqrt(wide[4] + norm.eps)
    weight = (wide[0] * scale[:, None, None, None]).float().to(conv.weight.device)
    bias = (wide[2] - wide[3] * scale).float().to(conv.weight.device)
    weight = weight.contiguous(memory_format=torch.channels_last)
    return weight, bias, int(conv.stride[0]), int(conv.padding[0])


def _fold_block(block: Block) -> tuple[Convolution, Convolution, Convolution | None]:
    short = None
    if block.short is not None and block.short_bn is not None:
        short = _fold(block.short, block.short_bn)
    return _fold(block.conv1, block.bn1), _fold(block.conv2, block.bn2), short


def _convolve(x: Tensor, folded: Convolution) -> Tensor:
    weight, bias, stride, padding = folded
    return F.conv2d(x, weight, bias, stride, padding)
