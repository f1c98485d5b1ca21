"""Streams over whole graphs."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.streams import Spec
from recollect.streams.graphs.graph import checked
from recollect.streams.graphs.many import graph_stream
from recollect.streams.graphs.raw import RawGraph
from recollect.streams.graphs.spec import GraphSpec


def graphs(count=60, classes=6, seed=0):
    """Rings and lines of several lengths: the class is in the features, with noise."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(3, 8, count)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    edges = np.concatenate([np.stack([np.arange(a, b - 1), np.arange(a + 1, b)]) for a, b in pairwise(offsets)], 1)
    labels = np.arange(count) % classes
    features = np.eye(classes)[np.repeat(labels, sizes)] + 0.1 * rng.normal(size=(offsets[-1], classes))
    return checked(
        RawGraph(
            "rings", "the test", edges, features=features, labels=labels, graph_of=np.repeat(np.arange(count), sizes)
        )
    )


def stream(asked=None, made=None, **options):
    spec = Spec.of({"tasks": 3, "class_order": "natural", **options})
    return graph_stream(made or graphs(), spec, asked or GraphSpec(), whole_batches=True)


def test_views_hold_the_graphs_of_tasks_up_to_now_side_by_side():
    whole = graphs()
    made = stream(GraphSpec(visibility="seen", test_nodes="hidden"), whole)
    tested = set(made.data.x_test.tolist())
    for step in range(3):
        view = made.views.training(step)
        assert set(view.nodes % 6) == set(range(2 * step + 2))
        assert not tested & set(view.nodes.tolist())
        sizes = np.diff(whole.offsets)[view.nodes]
        assert np.array_equal(np.diff(view.offsets), sizes)
        assert view.adjacency.shape == (sizes.sum(), sizes.sum())
        assert view.adjacency.nnz == 2 * (sizes - 1).sum()


def test_equal_graphs_on_both_sides_are_counted():
    raw = graphs()
    same = checked(
        RawGraph(
            "same",
            "the test",
            np.array([[2 * k for k in range(30)], [2 * k + 1 for k in range(30)]]),
            features=np.ones((60, 1)),
            labels=np.arange(30) % 2,
            graph_of=np.arange(60) // 2,
        )
    )
    assert not any("equal to a training graph" in note for note in stream(made=raw).notes)
    assert "6 of 6 test graphs are equal to a training graph" in stream(made=same, tasks=2).notes


@pytest.mark.parametrize("scenario", ["time-incremental", "domain-incremental"])
def test_graphs_have_classes_only(scenario):
    with pytest.raises(UsageError, match="no times or domains"):
        stream(scenario=scenario)
