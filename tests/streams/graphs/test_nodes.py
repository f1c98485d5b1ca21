"""Streams over nodes: who is in a task, what may be seen at a step, and what is told of a graph."""

from __future__ import annotations

import numpy as np
import pytest

from recollect.streams import Spec, make_stream
from recollect.streams.graphs.graph import clean
from recollect.streams.graphs.nodes import node_stream
from recollect.streams.graphs.spec import GraphSpec
from tests.streams.graphs.samples import graph, write_npz


def stream(asked: GraphSpec | None = None, made=None, **options):
    spec = Spec.of({"tasks": 3, "class_order": "natural", **options})
    return node_stream(made or graph(), spec, asked or GraphSpec(), whole_batches=True)


def test_cleaning_counts_loops_repeats_and_single_directions():
    edges = np.array([[0, 0, 1, 1, 2, 2], [1, 1, 0, 1, 3, 2]])
    matrix, notes = clean(edges, 5)
    assert matrix.toarray().tolist() == [
        [0, 1, 0, 0, 0],
        [1, 0, 0, 0, 0],
        [0, 0, 0, 1, 0],
        [0, 0, 1, 0, 0],
        [0, 0, 0, 0, 0],
    ]
    assert notes == (
        "2 loops removed",
        "1 repeat of an edge merged",
        "1 edge had one direction and has both now",
        "1 node has no edge",
    )


def test_batches_hold_ids_and_labels_and_a_task_is_one_batch():
    made = stream()
    batches = list(made.batches(seed=0))
    assert len(batches) == 3
    for k, batch in enumerate(batches):
        assert batch.x.shape == batch.y.shape
        assert set(batch.x % 3) == {k}, "the class of node i is i mod 3"
        assert set(batch.y) == {k}
    trained = np.concatenate([batch.x for batch in batches])
    tested = np.concatenate([given.x for given in made.test_batches()])
    assert not set(trained) & set(tested)


@pytest.mark.parametrize("visibility", ["whole", "seen", "seen-separate"])
@pytest.mark.parametrize("test_nodes", ["visible", "hidden"])
def test_views_hold_what_may_be_seen_and_nothing_else(visibility, test_nodes):
    whole = graph()
    made = stream(GraphSpec(visibility=visibility, test_nodes=test_nodes), whole)
    tested = np.concatenate([task.test for task in made.tasks])
    test_ids = made.data.x_test[tested]
    for step in range(3):
        allowed = np.ones(60, bool) if visibility == "whole" else np.arange(60) % 3 <= step
        for view, hides in ((made.views.training(step), test_nodes == "hidden"), (made.views.evaluation(step), False)):
            there = allowed.copy()
            if hides:
                there[test_ids] = False
            assert view.nodes.tolist() == np.flatnonzero(there).tolist()
            dense = whole.adjacency.toarray()[there][:, there]
            if visibility == "seen-separate":
                task = np.flatnonzero(there) % 3
                dense = dense * (task[:, None] == task[None])
            assert np.array_equal(view.adjacency.toarray(), dense)
            assert np.array_equal(view.features, whole.features[there])
            assert not any("label" in name or "split" in name for name in vars(view))


def test_a_node_that_may_not_be_seen_has_no_place():
    view = stream(GraphSpec(visibility="seen")).views.training(0)
    with pytest.raises(Exception, match="Sample 1 may not be seen"):
        view.places(np.array([0, 1]))


def test_tasks_to_come_can_be_asked_of_a_whole_graph_only():
    assert stream().asks_future
    assert not stream(GraphSpec(visibility="seen")).asks_future


def test_the_last_class_of_the_order_is_dropped_and_its_nodes_stay_unlabelled():
    made = stream(GraphSpec(), graph(classes=4), tasks=2, class_order=[1, 3, 0, 2])
    assert [task.original for task in made.tasks] == [(1, 3), (0, 2)]
    made = stream(GraphSpec(), graph(n=70, classes=7), tasks=3)
    assert [task.original for task in made.tasks] == [(0, 1), (2, 3), (4, 5)]
    assert any("1 of 7 classes dropped" in note and "6 with 10 nodes" in note for note in made.notes)
    assert len(made.views.training(0).nodes) == 70, "they stay in the graph"
    asked = {int(i) % 7 for batch in (*made.batches(0), *made.test_batches()) for i in batch.x}
    assert asked == set(range(6)), "and are neither trained nor asked"
    grown = stream(GraphSpec(visibility="seen"), graph(n=70, classes=7), tasks=3)
    assert set(grown.views.evaluation(2).nodes % 7) == set(range(6)), "where the graph grows they never come"


@pytest.mark.parametrize(("remainder", "sizes"), [("first", [3, 2, 2]), ("last", [2, 2, 3])])
def test_the_remainder_may_join_a_task(remainder, sizes):
    made = stream(GraphSpec(remainder=remainder), graph(n=70, classes=7), tasks=3)
    assert [len(task.classes) for task in made.tasks] == sizes


def test_nodes_without_a_label_are_never_trained_or_asked(tmp_path):
    labels = np.arange(60) % 3
    path = write_npz(tmp_path / "graph.npz", graph(), unlabelled=np.arange(0, 60, 4), labels=labels)
    made = make_stream(path, tasks=3)
    asked = {int(i) for batch in (*made.batches(0), *made.test_batches()) for i in batch.x}
    assert asked
    assert all(i % 4 for i in asked)
    assert len(made.views.training(0).nodes) == 60


def test_everything_that_changes_what_is_seen_changes_the_fingerprint():
    prints = {
        stream(GraphSpec(visibility=visibility, test_nodes=test_nodes)).fingerprint
        for visibility in ("whole", "seen", "seen-separate")
        for test_nodes in ("visible", "hidden")
    }
    prints |= {stream(GraphSpec(split_seed=1)).fingerprint, stream(GraphSpec(test_fraction=0.3)).fingerprint}
    other = graph(edges=np.array([[0], [3]]))
    prints.add(stream(made=other).fingerprint)
    assert len(prints) == 9
    assert stream().fingerprint == stream().fingerprint


def test_both_published_layouts_of_a_file_are_one_graph(tmp_path):
    made = graph()
    first = make_stream(write_npz(tmp_path / "a.npz", made), tasks=3)
    dotted = {
        "adj_indptr": None,
        "adj_indices": None,
        "adj_shape": None,
        "adj_matrix.data": np.ones(made.adjacency.nnz, np.float32),
        "adj_matrix.indices": made.adjacency.indices,
        "adj_matrix.indptr": made.adjacency.indptr,
        "adj_matrix.shape": np.array([60, 60]),
    }
    second = make_stream(write_npz(tmp_path / "b.npz", made, **dotted), tasks=3)
    assert first.data_hash == second.data_hash


def test_generated_graphs_are_the_same_again_and_have_times():
    first, again = (make_stream("sbm:400:4", tasks=2, visibility="seen") for _ in range(2))
    assert first.fingerprint == again.fingerprint
    timed = make_stream("sbm:400:4", scenario="time-incremental", tasks=3, visibility="seen")
    sizes = [len(timed.views.evaluation(step).nodes) for step in range(3)]
    assert sizes == sorted(sizes)
    assert sizes[-1] == 400
    assert make_stream("sbm:400:4", level="link", scenario="time-incremental", tasks=3).problem == "links"


@pytest.mark.parametrize("name", ["sbm:400", "sbm:400:x", "sbm:30:4", "sbm:400:0", "sbm:1.5:1"])
def test_a_wrong_name_of_a_generated_graph_is_one_paragraph(name):
    with pytest.raises(Exception, match="is called sbm:NODES:CLASSES"):
        make_stream(name, tasks=2)
