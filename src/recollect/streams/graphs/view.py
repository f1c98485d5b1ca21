"""What of a graph may be seen at a step: its nodes, features and edges; no labels, no split."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recollect.errors import UsageError
from recollect.streams.graphs.graph import Features, Graph, Matrix


@dataclass(frozen=True, eq=False)
class View:
    """The part of a graph that may be seen now.

    `nodes` are the ids of its nodes, in rising order; row k of `features` and of `adjacency` belongs to the k-th of
    them. `n_ids` is how many ids there are in all. Where samples are whole graphs, `nodes` are their ids, and the nodes
    of the k-th are the rows from `offsets[k]` on. `edge_features`, where there are, has one row for each entry of
    `adjacency`, in its order.
    """

    nodes: NDArray[np.int64]
    adjacency: Matrix
    features: Features
    n_ids: int
    offsets: NDArray[np.int64] | None = None
    edge_features: NDArray[np.float32] | None = None

    @cached_property
    def _place(self) -> NDArray[np.int64]:
        place = np.full(self.n_ids, -1, np.int64)
        place[self.nodes] = np.arange(len(self.nodes))
        return place

    def places(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where these nodes stand in the view; UsageError for one that may not be seen."""
        places: NDArray[np.int64] = self._place[ids]
        if places.size and places.min() < 0:
            stranger = ids.ravel()[places.ravel().argmin()]
            raise UsageError(f"Sample {stranger} may not be seen at this step; the view has {len(self.nodes):,}.")
        return places

    def part(self, ids: NDArray[np.int64]) -> View:
        """Some of the graphs of a view of many, side by side; `ids` rise."""
        assert self.offsets is not None
        chosen = self.places(ids)
        sizes = np.diff(self.offsets)
        starts = np.concatenate([[0], np.cumsum(sizes[chosen])])
        rows = np.arange(starts[-1]) + np.repeat(self.offsets[chosen] - starts[:-1], sizes[chosen])
        about = self.edge_features
        if about is not None:
            numbers = (np.arange(len(about)), self.adjacency.indices, self.adjacency.indptr)
            about = about[sparse.csr_array(numbers, shape=self.adjacency.shape)[rows].data]
        return View(ids, self.adjacency[rows][:, rows], self.features[rows], self.n_ids, starts, about)


@dataclass(frozen=True, eq=False)
class NodeViews:
    """The views of a stream whose samples are nodes.

    `task_of[i]` is the task of node i, -1 for a node of none (no label, or of a class that was dropped); `hidden`
    marks the nodes that come in for the evaluation only.
    """

    graph: Graph
    task_of: NDArray[np.int64]
    visibility: str
    hidden: NDArray[np.bool_]

    samples = "nodes"

    @property
    def input_shape(self) -> tuple[int, ...]:
        """How many features a node has."""
        assert self.graph.features is not None
        return (int(self.graph.features.shape[1]),)

    @property
    def n_edge_features(self) -> int:
        """How many numbers are known of an edge."""
        return self.graph.n_edge_features

    @property
    def future(self) -> bool:
        """Whether nodes of tasks to come can be asked."""
        return self.visibility == "whole"

    def training(self, step: int) -> View:
        """What may be seen while task `step` is learned."""
        view: View = self._view(self._step(step), True)
        return view

    def evaluation(self, step: int) -> View:
        """What may be seen when a learner is asked after task `step`: all tasks up to it in one graph."""
        view: View = self._view(self._step(step), False)
        return view

    def _step(self, step: int) -> int:
        return int(self.task_of.max()) if self.future else step

    @cached_property
    def _view(self) -> Any:
        return lru_cache(maxsize=2)(self._made)

    def _made(self, step: int, training: bool) -> View:
        if not training and not self.hidden.any():
            view: View = self._view(step, True)
            return view
        there = np.ones(len(self.task_of), bool) if self.future else (self.task_of >= 0) & (self.task_of <= step)
        if training:
            there &= ~self.hidden
        nodes = np.flatnonzero(there)
        group = self.task_of[nodes] if self.visibility == "seen-separate" else None
        adjacency, about = edges_among(self.graph, nodes, group)
        features = self.graph.features
        assert features is not None
        features = features if there.all() else features[nodes]
        return View(nodes, adjacency, features, len(self.task_of), edge_features=about)


def edges_among(
    graph: Graph, nodes: NDArray[np.int64], group: NDArray[np.int64] | None = None
) -> tuple[Matrix, NDArray[np.float32] | None]:
    """The edges between some nodes, or between those of one group alone; and what is known of each."""
    known = graph.edge_rows is not None
    matrix = graph.edge_rows if known else graph.adjacency
    assert matrix is not None
    if len(nodes) < graph.n_nodes:
        matrix = matrix[nodes][:, nodes]
    if group is not None:
        matrix = _inside(matrix, group)
    if not known or graph.edge_features is None:
        return matrix, None
    ones = sparse.csr_array((np.ones(matrix.nnz, np.float32), matrix.indices, matrix.indptr), shape=matrix.shape)
    return ones, graph.edge_features[matrix.data - 1]


def _inside(adjacency: Matrix, group: NDArray[np.int64]) -> Matrix:
    """The edges that stay in one group."""
    found = adjacency.tocoo()
    kept = group[found.row] == group[found.col]
    n = adjacency.shape[0]
    return sparse.csr_array((found.data[kept], (found.row[kept], found.col[kept])), shape=(n, n))
