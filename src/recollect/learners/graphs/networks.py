"""GCN, GAT, GraphSAGE and GIN: PyG's layers, fed from a matrix that is normalised once for each view."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from recollect.errors import MissingExtra
from recollect.learners.graphs.inputs import Seen
from recollect.learners.graphs.products import Sparse, Surroundings

HEADS = 8

Layer = Callable[[nn.Module, "Tensor | Sparse", Surroundings], Tensor]


def pyg() -> Any:
    """PyG's layers; one line where it is not installed."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=DeprecationWarning)
            return import_module("torch_geometric.nn")
    except ModuleNotFoundError as error:
        raise MissingExtra.of("torch-geometric", "graphs") from error


def linear(x: Tensor | Sparse, weight: Tensor) -> Tensor:
    """The product with the transposed weights, of a table or of a sparse matrix."""
    return x @ weight.t()


def _gcn(layer: Any, x: Tensor | Sparse, graph: Surroundings) -> Tensor:
    out: Tensor = graph.normalised @ linear(x, layer.lin.weight) + layer.bias
    return out


def _sage(layer: Any, x: Tensor | Sparse, graph: Surroundings) -> Tensor:
    around = graph.mean @ linear(x, layer.lin_l.weight)
    out: Tensor = around + layer.lin_l.bias + linear(x, layer.lin_r.weight)
    return out


def _gin(layer: Any, x: Tensor | Sparse, graph: Surroundings) -> Tensor:
    first, *rest = layer.nn
    own = linear(x, first.weight)
    out: Tensor = (1 + layer.eps) * own + graph.sum @ own + first.bias
    for module in rest:
        out = module(out)
    return out


def _gat(layer: Any, x: Tensor | Sparse, graph: Surroundings) -> Tensor:
    dense = x if isinstance(x, Tensor) else graph.dense_features
    out: Tensor = layer(dense, graph.edge_index)
    return out


def _make_gin(layers: Any, inputs: int, outputs: int) -> Any:
    inner = nn.Sequential(nn.Linear(inputs, outputs), nn.ReLU(), nn.Linear(outputs, outputs))
    return layers.GINConv(inner, train_eps=True)


def _make_gat(layers: Any, inputs: int, outputs: int) -> Any:
    heads = HEADS if outputs % HEADS == 0 else 1
    return layers.GATConv(inputs, outputs // heads, heads=heads)


# How a layer of each kind is made, inputs and outputs given, and what its forward pass is.
KINDS: dict[str, tuple[Callable[[Any, int, int], Any], Layer]] = {
    "gcn": (lambda layers, inputs, outputs: layers.GCNConv(inputs, outputs, normalize=False), _gcn),
    "sage": (lambda layers, inputs, outputs: layers.SAGEConv(inputs, outputs), _sage),
    "gin": (_make_gin, _gin),
    "gat": (_make_gat, _gat),
}


class GraphNetwork(nn.Module):
    """Layers of one kind with rectifiers between them; the answers are read from the nodes of the last one.

    `encode` is one pass over the graph, `decode` reads the samples from it.
    """

    def __init__(self, kind: str, n_features: int, hidden: Sequence[int], n_outputs: int) -> None:
        super().__init__()
        layers = pyg()
        make, self._layer = KINDS[kind]
        widths = [n_features, *hidden]
        body = [make(layers, a, b) for a, b in pairwise(widths)]
        last = layers.GATConv(widths[-1], n_outputs, heads=1) if kind == "gat" else make(layers, widths[-1], n_outputs)
        self.layers = nn.ModuleList([*body, last])

    def features(self, graph: Surroundings) -> Tensor:
        """What the last layer sees, of every node."""
        x: Tensor | Sparse = graph.features
        for layer in self.layers[:-1]:
            x = F.relu(self._layer(layer, x, graph))
        return x if isinstance(x, Tensor) else graph.dense_features

    def sample_features(self, seen: Seen) -> Tensor:
        """What the last layer sees of the samples."""
        return self.features(seen.graph)[seen.places]

    def encode(self, graph: Surroundings) -> Tensor:
        """The outputs of every node."""
        x: Tensor | Sparse = self.features(graph) if len(self.layers) > 1 else graph.features
        return self._layer(self.layers[-1], x, graph)

    def decode(self, table: Tensor, places: Tensor) -> Tensor:
        """The outputs of the samples."""
        return table[places]

    def forward(self, seen: Seen) -> Tensor:
        """The outputs of the samples."""
        return self.decode(self.encode(seen.graph), seen.places)


class LinkNetwork(nn.Module):
    """A network over the nodes, and a layer that reads a pair of them: both ends, and their product."""

    def __init__(self, kind: str, n_features: int, hidden: Sequence[int], n_outputs: int) -> None:
        super().__init__()
        width = hidden[-1] if hidden else n_features
        self.nodes = GraphNetwork(kind, n_features, hidden, width)
        self.pair = nn.Linear(3 * width, n_outputs)

    def features(self, graph: Surroundings) -> Tensor:
        """Where every node lies."""
        return self.nodes.encode(graph)

    def encode(self, graph: Surroundings) -> Tensor:
        """Where every node lies."""
        return self.nodes.encode(graph)

    def decode(self, table: Tensor, places: Tensor) -> Tensor:
        """What is said of each pair."""
        source, target = table[places[:, 0]], table[places[:, 1]]
        said: Tensor = self.pair(torch.cat((source, target, source * target), 1))
        return said

    def forward(self, seen: Seen) -> Tensor:
        """What is said of each pair."""
        return self.decode(self.encode(seen.graph), seen.places)


class PooledNetwork(nn.Module):
    """A network over the nodes, the mean over the nodes of each graph, and a layer that reads it."""

    def __init__(self, kind: str, n_features: int, hidden: Sequence[int], n_outputs: int) -> None:
        super().__init__()
        width = hidden[-1] if hidden else n_features
        self.nodes = GraphNetwork(kind, n_features, hidden, width)
        self.head = nn.Linear(width, n_outputs)

    def features(self, graph: Surroundings) -> Tensor:
        """Where every node lies."""
        return self.nodes.encode(graph)

    def sample_features(self, seen: Seen) -> Tensor:
        """What the last layer sees of the samples."""
        return self._pooled(seen.graph)[seen.places]

    def encode(self, graph: Surroundings) -> Tensor:
        """What is said of every graph."""
        said: Tensor = self.head(self._pooled(graph))
        return said

    def _pooled(self, graph: Surroundings) -> Tensor:
        pooled: Tensor = graph.pool @ F.relu(self.nodes.encode(graph))
        return pooled

    def decode(self, table: Tensor, places: Tensor) -> Tensor:
        """What is said of the samples."""
        return table[places]

    def forward(self, seen: Seen) -> Tensor:
        """What is said of the samples."""
        return self.decode(self.encode(seen.graph), seen.places)


# The network of each kind of samples.
READERS: dict[str, type[nn.Module]] = {"nodes": GraphNetwork, "links": LinkNetwork, "graphs": PooledNetwork}


class OwnNetwork(nn.Module):
    """A module of the user's of `(x, edge_index)`, or of `(x, adjacency)` if its argument is called so.

    Further arguments are given by their names: `edge_attr` what is known of the edges, `batch` the graph of each node.
    Where samples are graphs and `batch` is not taken, what is said of a graph is the mean over its nodes.
    """

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module
        code = getattr(type(module).forward, "__code__", None)
        names: tuple[str, ...] = code.co_varnames[: code.co_argcount] if code is not None else ()
        self._takes_adjacency = len(names) > 2 and names[2].startswith("adj")
        self._more = {"edge_attr", "batch"} & set(names[3:])

    def encode(self, graph: Surroundings) -> Tensor:
        """The outputs of every node, or of every graph."""
        edges = graph.normalised.matrix if self._takes_adjacency else graph.edge_index
        known = {"edge_attr": graph.edge_features, "batch": graph.graph_of}
        outputs: Tensor = self.module(graph.dense_features, edges, **{name: known[name] for name in self._more})
        pools = graph.offsets is not None and "batch" not in self._more and isinstance(outputs, Tensor)
        return graph.pool @ outputs if pools else outputs

    def decode(self, table: Tensor, places: Tensor) -> Tensor:
        """The outputs of the samples."""
        return table[places]

    def forward(self, seen: Seen) -> Tensor:
        """The outputs of the samples."""
        outputs = self.encode(seen.graph)
        return self.decode(outputs, seen.places) if isinstance(outputs, torch.Tensor) else outputs
