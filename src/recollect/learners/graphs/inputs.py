"""From ids to what a network over a graph takes: the samples' places in what may be seen now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn

from recollect.errors import UsageError
from recollect.learners.base import Array, Setting, State
from recollect.learners.devices import to_tensor
from recollect.learners.graphs.products import Surroundings
from recollect.learners.graphs.sampling import SAMPLERS, Sampled, pyg_lib
from recollect.streams.graphs.view import View

PIECE_OF_IDS = 1 << 16
PIECE_OF_GRAPHS = 1 << 12
PARTS_KEPT = 8
# The shape of one sample where it is not one id: a link has two.
_ENDS = {"links": (2,)}
# Where the nodes of two graphs begin, where samples are graphs.
_OFFSETS = {"graphs": np.array([0, 1, 3])}


@dataclass(frozen=True, eq=False)
class Seen:
    """Samples by their places in a graph, and the graph."""

    places: Tensor
    graph: Surroundings

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the places: one number for each node, two for each link."""
        return tuple(self.places.shape)

    @property
    def dtype(self) -> str:
        """What a sample is, in words, for messages."""
        return "ids"


class GraphInputs:
    """Turns ids into their places in the view of the step; `see` gives the view.

    With `neighbours`, one number for each layer, training sees at most so many neighbours of a node, drawn at random;
    answers are always given from the whole view.
    """

    def __init__(
        self,
        setting: Setting,
        device: torch.device,
        neighbours: Sequence[int] | None = None,
        seed: int = 0,
        drawn_by: str = "own",
    ) -> None:
        if neighbours is not None and setting.samples in _OFFSETS:
            raise UsageError("The option neighbours is for nodes and links; of whole graphs all is seen. Leave it out.")
        if drawn_by != "own":
            if neighbours is None:
                raise UsageError("The option drawn_by says who draws neighbours; give neighbours, or leave it out.")
            pyg_lib()
        self._draw = SAMPLERS[drawn_by]
        self._device = device
        self._neighbours = None if neighbours is None else tuple(neighbours)
        self._rng = np.random.default_rng(seed)
        self._n_features, self._n_edge_features = setting.n_features, setting.n_edge_features
        self._per_sample = _ENDS.get(setting.samples, ())
        self._offsets = _OFFSETS.get(setting.samples)
        self._view: View | None = None
        self._graph: Surroundings | None = None
        self._parts: dict[bytes, Surroundings] = {}

    def see(self, view: View) -> None:
        """Take what may be seen from now on; what is made of it is made once."""
        if view is not self._view:
            self._view = view
            self._parts = {}
            self._graph = Surroundings.of(view, self._device)

    def tensor(self, x: Array) -> Seen:
        """What the network takes; of many graphs only those of the samples, for no other has a part in the answers."""
        if self._view is None or self._graph is None:
            raise UsageError("A learner over a graph is shown what it may see first: learner.see(view).")
        if self._view.offsets is not None:
            ids = np.unique(x)
            return Seen(to_tensor(np.searchsorted(ids, x), self._device), self._part(self._view, ids))
        return Seen(to_tensor(self._view.places(x), self._device), self._graph)

    def training(self, x: Array) -> Seen:
        """The same, or what was drawn around the samples."""
        if self._neighbours is None or self._view is None:
            return self.tensor(x)
        seeds, place = np.unique(self._view.places(x), return_inverse=True)
        drawn = self._draw(self._view.adjacency, seeds, self._neighbours, self._rng)
        graph = Sampled.around(self._view, drawn, self._device)
        return Seen(to_tensor(place.reshape(x.shape), self._device), graph)

    @property
    def mixes(self) -> bool:
        """Nodes are not mixed."""
        return False

    def mix(self, images: Any) -> Any:
        """Nodes are not mixed."""
        raise NotImplementedError

    def _part(self, view: View, ids: Array) -> Surroundings:
        """The graphs with these ids, kept while the same are asked for: a pass over a task, a memory."""
        key = ids.tobytes()
        if key not in self._parts:
            made = Surroundings.of(view.part(ids), self._device)
            self._parts = {**dict(list(self._parts.items())[1 - PARTS_KEPT :]), key: made}
        return self._parts[key]

    def example(self) -> Seen:
        """Two samples in a graph of three nodes, to try a network on."""
        adjacency = sparse.csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], np.float32))
        features = np.zeros((3, self._n_features), np.float32)
        places = np.zeros((2, *self._per_sample), np.int64)
        about = np.zeros((adjacency.nnz, self._n_edge_features), np.float32) if self._n_edge_features else None
        view = View(np.arange(2), adjacency, features, 3, self._offsets, about)
        return Seen(to_tensor(places, self._device), Surroundings.of(view, self._device))

    def fold(self, network: nn.Module) -> Callable[[Seen], Tensor] | None:
        """One pass over the whole graph, from which every sample is answered: good for the weights of this moment.

        Of many graphs those that are asked are passed, and no others.
        """
        encode, decode = getattr(network, "encode", None), getattr(network, "decode", None)
        if encode is None or decode is None or self._graph is None or self._graph.offsets is not None:
            return None
        network.eval()
        with torch.inference_mode():
            table = encode(self._graph)
        network.train()
        return lambda seen: decode(table, seen.places)

    def piece(self, network: nn.Module) -> int:
        """How many samples are scored at once."""
        return PIECE_OF_IDS if self._graph is None or self._graph.offsets is None else PIECE_OF_GRAPHS

    def reseed(self, seed: int) -> None:
        """Start what is drawn anew."""
        self._rng = np.random.default_rng(seed)

    def state(self) -> State:
        """What is drawn next; the view comes from the stream."""
        return {} if self._neighbours is None else {"rng": dict(self._rng.bit_generator.state)}

    def restore(self, state: State) -> None:
        """Go on from there."""
        if self._neighbours is not None:
            self._rng.bit_generator.state = state["rng"]


def refuse_image_options(options: Any) -> None:
    """Raise UsageError for options that are for images."""
    for name, plain in (("normalise", None), ("augment", "none"), ("cutmix", 0.0)):
        if getattr(options, name, plain) != plain:
            raise UsageError(f"The option {name} is for images; samples of this stream are in a graph. Leave it out.")
