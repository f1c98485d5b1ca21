"""Neighbour sampling: what is around some nodes, with at most so many neighbours of each drawn in every step.

A draw is uniform and without replacement (Hamilton et al. 2017). The products with a drawn matrix have the expectation
of those with the whole one: a row of which k of d entries were drawn is d / k times as heavy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from recollect.errors import UsageError
from recollect.learners.graphs.products import Sparse, Surroundings
from recollect.streams.graphs.view import View

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Drawn:
    """Nodes by their places in the view, those that were asked first; and the entries of its adjacency that were drawn.

    `rows` and `columns` are places in `nodes`; `entries` say which entries of the adjacency they are.
    """

    nodes: Ints
    rows: Ints
    columns: Ints
    entries: Ints


def draw(adjacency: Any, seeds: Ints, counts: Sequence[int], rng: np.random.Generator) -> Drawn:
    """What is up to `len(counts)` steps away from the seeds; of each node met at most that step's count is drawn."""
    place = np.full(adjacency.shape[0], -1, np.int64)
    place[seeds] = np.arange(len(seeds))
    found, parts, frontier = [seeds], [], seeds
    for count in counts:
        starts, degree = adjacency.indptr[frontier], np.diff(adjacency.indptr)[frontier]
        before = np.cumsum(degree) - degree
        row = np.repeat(np.arange(len(frontier)), degree)
        entry = np.arange(len(row)) + np.repeat(starts - before, degree)
        if degree.max(initial=0) > count:  # in each row the entries with the lowest of random numbers
            mixed = np.argsort(row + rng.random(len(row)), kind="stable")
            entry, kept = entry[mixed], np.arange(len(row)) - np.repeat(before, degree) < count
            row, entry = row[kept], entry[kept]
        ends = adjacency.indices[entry].astype(np.int64)
        new = np.unique(ends[place[ends] < 0])
        place[new] = np.arange(len(new)) + sum(map(len, found))
        parts.append((place[frontier[row]], place[ends], entry))
        found.append(new)
        frontier = new
    rows, columns, entries = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Drawn(np.concatenate(found), rows, columns, entries)


def draw_by_pyg_lib(adjacency: Any, seeds: Ints, counts: Sequence[int], rng: np.random.Generator) -> Drawn:
    """The same by pyg-lib's sampler. It draws from torch's generator, which is lent to it with a seed of `rng`."""
    kind = adjacency.indptr.dtype
    parts = [torch.from_numpy(part.astype(kind)) for part in (adjacency.indptr, adjacency.indices, seeds)]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(rng.integers(2**62)))
        _, _, found, drawn = pyg_lib().sampler.neighbor_sample(*parts, list(counts), return_edge_id=True)[:4]
    nodes, entries = (part.numpy().astype(np.int64) for part in (found, drawn))
    place = np.full(adjacency.shape[0], -1, np.int64)
    place[nodes] = np.arange(len(nodes))
    sources = np.searchsorted(adjacency.indptr, entries, side="right") - 1
    return Drawn(nodes, place[sources], place[adjacency.indices[entries]], entries)


def pyg_lib() -> Any:
    """pyg-lib; one line where it is not installed."""
    try:
        return import_module("pyg_lib")
    except ModuleNotFoundError:
        raise UsageError(
            "The option drawn_by: pyg-lib needs pyg-lib, which is not installed (data.pyg.org has it for each version"
            " of torch). drawn_by: own needs nothing."
        ) from None


SAMPLERS = {"own": draw, "pyg-lib": draw_by_pyg_lib}


@dataclass(frozen=True, eq=False)
class Sampled(Surroundings):
    """A part of a graph that was drawn; `degrees` are those of its nodes in the whole graph."""

    rows: Any = None
    columns: Any = None
    degrees: Any = None

    @classmethod
    def around(cls, view: View, drawn: Drawn, device: torch.device) -> Sampled:
        """What a network takes of a view, as far as it was drawn."""
        n, about = len(drawn.nodes), view.edge_features
        ones = np.ones(len(drawn.rows), np.float32)
        adjacency = sparse.csr_array((ones, (drawn.rows, drawn.columns)), shape=(n, n))
        part = Surroundings.of(View(drawn.nodes, adjacency, view.features[drawn.nodes], n), device)
        known = None if about is None else torch.from_numpy(about[drawn.entries]).to(device)
        degrees = np.diff(view.adjacency.indptr)[drawn.nodes]
        return cls(part.features, adjacency, device, None, known, drawn.rows, drawn.columns, degrees)

    @cached_property
    def normalised(self) -> Sparse:
        """As of the whole graph: loops, and each edge over the root of both ends' degrees."""
        root = 1 / np.sqrt(self.degrees + 1)
        return self._matrix(self._scale * root[self.rows] * root[self.columns], root**2)

    @cached_property
    def mean(self) -> Sparse:
        """The mean of the neighbours that were drawn."""
        return self._matrix(1 / self._kept[self.rows])

    @cached_property
    def sum(self) -> Sparse:
        """The sum of the neighbours, from those that were drawn."""
        return self._matrix(self._scale)

    @cached_property
    def edge_index(self) -> Tensor:
        """Sources and targets of the edges that were drawn: towards the node that drew them."""
        with torch.inference_mode(False):
            return torch.from_numpy(np.stack([self.columns, self.rows])).to(self.device)

    @cached_property
    def _kept(self) -> Ints:
        return np.bincount(self.rows, minlength=self.n_nodes)

    @property
    def _scale(self) -> NDArray[np.float64]:
        scale: NDArray[np.float64] = self.degrees[self.rows] / self._kept[self.rows]
        return scale

    def _matrix(self, values: NDArray[Any], loops: NDArray[Any] | None = None) -> Sparse:
        shape = (self.n_nodes, self.n_nodes)
        made = sparse.csr_array((values.astype(np.float32), (self.rows, self.columns)), shape=shape)
        if loops is not None:
            made = (made + sparse.diags_array(loops.astype(np.float32), format="csr")).tocsr()
        return Sparse.of(made, self.device)
