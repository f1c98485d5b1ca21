"""Small graphs for the tests."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from recollect.streams.graphs.graph import Graph, checked
from recollect.streams.graphs.raw import RawGraph


def raw(n: int = 60, classes: int = 3, seed: int = 0, **more: object) -> RawGraph:
    """Communities: nodes of a class are joined more often, and their features lie around a centre of their own."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % classes
    centres = rng.normal(size=(classes, 8)) * 3
    close = rng.random((n, n)) < np.where(labels[:, None] == labels[None], 0.2, 0.02)
    edges = np.stack(np.nonzero(np.triu(close, 1)))
    made = RawGraph(
        name="communities",
        source="the test",
        edges=edges,
        n_nodes=n,
        features=(centres[labels] + rng.normal(size=(n, 8))).astype(np.float32),
        labels=labels,
    )
    return replace(made, **more)


def graph(**options: object) -> Graph:
    """The same, checked."""
    return checked(raw(**options))  # type: ignore[arg-type]


def write_npz(path: Path, made: Graph, **more: object) -> Path:
    """A graph in the layout that is published."""
    matrix = made.adjacency
    arrays = {
        "adj_indptr": matrix.indptr,
        "adj_indices": matrix.indices,
        "adj_shape": np.array(matrix.shape),
        "features": made.features,
        "labels": made.labels,
        **more,
    }
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})
    return path
