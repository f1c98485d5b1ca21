"""Networks: the MLP, the residual networks of online continual learning, and the user's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from recollect.errors import UsageError
from recollect.learners.architecture import GRAPH_NETWORKS, hidden_of, network_of
from recollect.learners.backbones import LIBRARIES, from_library, furnished
from recollect.learners.base import Setting
from recollect.learners.options import NETWORKS, Network
from recollect.paths import import_path, refuse_call


class MLP(nn.Module):
    """Linear layers with rectifiers between them; images are flattened.

    >>> MLP(64, (100, 100), 10)(torch.zeros(2, 1, 8, 8)).shape
    torch.Size([2, 10])
    """

    def __init__(self, n_features: int, hidden: Sequence[int], n_classes: int) -> None:
        super().__init__()
        widths = [n_features, *hidden]
        self.body = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(widths))
        self.head = nn.Linear(widths[-1], n_classes)

    def features(self, x: Tensor) -> Tensor:
        """What the last layer sees."""
        x = x.flatten(1)
        for layer in self.body:
            x = F.relu(layer(x))
        return x

    def forward(self, x: Tensor) -> Tensor:
        """The logits."""
        logits: Tensor = self.head(self.features(x))
        return logits


class Block(nn.Module):
    """Two 3 x 3 convolutions with batch norm around a shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.short: nn.Conv2d | None = None
        self.short_bn: nn.BatchNorm2d | None = None
        if stride != 1 or inputs != outputs:
            self.short = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.short_bn = nn.BatchNorm2d(outputs)

    def forward(self, x: Tensor) -> Tensor:
        """One residual step."""
        inner = F.relu(self.bn1(self.conv1(x)))
        inner = self.bn2(self.conv2(inner))
        if self.short is not None and self.short_bn is not None:
            x = self.short_bn(self.short(x))
        return F.relu(inner + x)


class ResNet18(nn.Module):
    """ResNet-18 for small images: a 3 x 3 stem, no max-pooling, four stages of two blocks.

    `width` 20 is the reduced network of GEM, MIR and the survey of online continual learning; 64 the usual
    one. The last feature map is averaged whole, so images of any size (32, 64, 84) give 8 * width features.

    >>> sum(p.numel() for p in ResNet18(3, 20, 100).parameters())
    1109240
    """

    def __init__(self, channels: int, width: int, n_classes: int) -> None:
        super().__init__()
        self.stem = nn.Conv2d(channels, width, 3, 1, 1, bias=False)
        self.stem_bn = nn.BatchNorm2d(width)
        blocks, inputs = [], width
        for stage in range(4):
            outputs = width * 2**stage
            blocks += [Block(inputs, outputs, 1 if stage == 0 else 2), Block(outputs, outputs, 1)]
            inputs = outputs
        self.blocks = nn.ModuleList(blocks)
        self.head = nn.Linear(inputs, n_classes)

    def features(self, x: Tensor) -> Tensor:
        """What the last layer sees."""
        x = F.relu(self.stem_bn(self.stem(x)))
        for block in self.blocks:
            x = block(x)
        return x.mean((2, 3))

    def forward(self, x: Tensor) -> Tensor:
        """The logits."""
        logits: Tensor = self.head(self.features(x))
        return logits


def build(options: Network, setting: Setting, seed: int) -> nn.Module:
    """The network of these options, initialised from `seed`; the global generators stay as they are.

    A torch module given by the user is copied, with the weights it has.
    """
    make = _maker(options, setting)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = make()
        if not isinstance(network, nn.Module):
            raise UsageError(f"The network {options.network!r} made a {type(network).__name__}, not a torch module.")
        return furnished(network, options)


def _maker(options: Network, setting: Setting) -> Callable[[], Any]:
    chosen = network_of(options, setting)
    if isinstance(chosen, str) and chosen.partition(":")[0] in LIBRARIES and ":" in chosen:
        return lambda: from_library(chosen, setting, options)
    if isinstance(chosen, str) and ":" in chosen:
        chosen = import_path(chosen, "network")
    if not isinstance(chosen, str):
        make = _own_maker(chosen, options)
        return make if setting.samples == "arrays" else lambda: _on_graph(make())
    if chosen in GRAPH_NETWORKS or setting.samples != "arrays":
        return _graph_maker(chosen, options, setting)
    shape = setting.input_shape
    is_image = len(shape) == 3
    if chosen == "mlp":
        return lambda: MLP(setting.n_features, hidden_of(options, setting), setting.n_outputs)
    if chosen in ("reduced_resnet18", "resnet18"):
        if not is_image:
            raise UsageError(f"{chosen} takes images (channels, height, width); the stream has samples of {shape}.")
        width = 20 if chosen == "reduced_resnet18" else 64
        return lambda: ResNet18(shape[0], width, setting.n_outputs)
    raise UsageError(f"There is no network named {chosen!r}. There are: {', '.join(NETWORKS)}.")


def _own_maker(chosen: Any, options: Network) -> Callable[[], Any]:
    if isinstance(chosen, nn.Module):
        return lambda: deepcopy(chosen)
    name = options.network if isinstance(options.network, str) else getattr(chosen, "__name__", repr(chosen))
    refuse_call(chosen, name, "network", {})
    return lambda: chosen()


def _graph_maker(kind: str, options: Network, setting: Setting) -> Callable[[], Any]:
    if setting.samples == "arrays":
        raise UsageError(f"The network {kind} is for graphs; the stream has samples of shape {setting.input_shape}.")
    if kind not in GRAPH_NETWORKS:
        raise UsageError(
            f"The network {kind} takes arrays, and the samples of this stream are {setting.samples}; for these there"
            f" are {', '.join(GRAPH_NETWORKS)}, and a module of your own that takes (x, edge_index)."
        )
    from recollect.learners.graphs.networks import READERS

    layers = len(hidden_of(options, setting)) + 1
    if options.neighbours is not None and len(options.neighbours) != layers:
        raise UsageError(
            f"The option neighbours has one number for each layer, here {layers}; got {list(options.neighbours)}."
        )
    return lambda: READERS[setting.samples](kind, setting.n_features, hidden_of(options, setting), setting.n_outputs)


def _on_graph(network: Any) -> Any:
    from recollect.learners.graphs.networks import OwnNetwork

    return OwnNetwork(network) if isinstance(network, nn.Module) and not hasattr(network, "decode") else network
