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


def test_graphs_have_no_times():
    with pytest.raises(UsageError, match="have no times"):
        stream(scenario="time-incremental")


def test_domains_of_graphs_are_ranges_of_sizes():
    whole = graphs()
    made = stream(made=whole, scenario="domain-incremental", class_order=None)
    sizes = np.diff(whole.offsets)
    seen = [set(sizes[made.data.x_train[task.train]]) | set(sizes[made.data.x_test[task.test]]) for task in made.tasks]
    assert not seen[0] & seen[1]
    assert not seen[1] & seen[2]
    assert max(seen[0]) < min(seen[1])
    assert made.tasks[0].name == f"{min(seen[0])} to {max(seen[0])} nodes"
    assert all(len(task.classes) == 6 for task in made.tasks)


def with_labels(labels, **more):
    """The same graphs with numbers in the place of classes."""
    whole = graphs()
    of = np.repeat(np.arange(len(labels)), np.diff(whole.offsets))
    return checked(
        RawGraph("rings", "the test", whole.pairs.T, features=whole.features, labels=labels, graph_of=of, **more)
    )


def test_a_number_is_asked_of_each_graph_and_gaps_are_not_used():
    values = np.arange(60.0)
    values[7] = np.nan
    half = GraphSpec(test_fraction=0.5, valid_fraction=0.1)
    made = stream(half, with_labels(values), scenario="domain-incremental", class_order=None)
    assert made.problem == "regression"
    assert "1 graphs have no value and are not used" in made.notes
    for batch in made.batches(0):
        assert np.array_equal(values[batch.x], batch.y)
        assert 7 not in batch.x
    x, y = made.test_of(1)
    assert np.array_equal(values[x], y)


def test_of_several_numbers_the_column_is_named():
    made = with_labels(np.stack([np.arange(60.0), -np.arange(60.0) / 7], 1), class_names=("mass", "charge"))
    options = {"scenario": "domain-incremental", "class_order": None}
    x, y = stream(GraphSpec(column="charge", test_fraction=0.5), made, **options).test_of(0)
    assert np.array_equal(y, -x / 7)
    with pytest.raises(UsageError, match="column says which"):
        stream(GraphSpec(), made, **options)
    with pytest.raises(UsageError, match="no column 'carge'; the nearest is 'charge'"):
        stream(GraphSpec(column="carge"), made, **options)
    with pytest.raises(UsageError, match="is a number, so the stream is domain-incremental"):
        stream(GraphSpec(column="charge", test_fraction=0.5), made, scenario="class-incremental")


def properties():
    rng = np.random.default_rng(1)
    table = rng.integers(0, 2, (60, 3)).astype(float)
    table[rng.random((60, 3)) < 0.2] = np.nan
    return table


def test_each_property_is_a_task_over_the_graphs_of_which_it_is_known():
    table = properties()
    made = stream(made=with_labels(table, class_names=("a", "b", "c")), scenario="task-incremental", class_order=None)
    assert [task.name for task in made.tasks] == ["a", "b", "c"]
    trained = [set(made.data.x_train[task.train].tolist()) for task in made.tasks]
    tested = [set(made.data.x_test[task.test].tolist()) for task in made.tasks]
    assert not set.union(*trained) & set.union(*tested), "a graph is on one side in all tasks"
    for k in range(3):
        x, y = made.test_of(k)
        assert np.array_equal(y, 2 * k + table[x, k])
        assert not np.isnan(table[list(trained[k] | tested[k]), k]).any()


@pytest.mark.parametrize(
    ("change", "options", "said"),
    [
        (((), None), {"scenario": "class-incremental"}, "give scenario: task-incremental"),
        (((slice(None), 1), 1.0), {}, "property 1 of rings is the same for all training graphs"),
        (((slice(None), 1), np.nan), {}, "property 1 of rings is known of no training graphs"),
        (((0, 0), 0.5), {"ask": "properties"}, "is 0, 1 or not known"),
        (((), None), {"ask": "classes"}, "numbers, and no classes"),
        (((), None), {"tasks": 2}, "3 properties, one for each task"),
    ],
)
def test_properties_that_cannot_be_asked_are_one_paragraph(change, options, said):
    table = properties()
    place, value = change
    if place:
        table[place] = value
    asked = GraphSpec(ask=options.pop("ask", None))
    given = {"scenario": "task-incremental", "class_order": None, **options}
    with pytest.raises(UsageError, match=said):
        stream(asked, with_labels(table), **given)


def test_edge_features_stay_with_their_edges():
    whole = graphs()
    ends = whole.pairs
    of = np.repeat(np.arange(60), np.diff(whole.offsets))
    about = (ends[:, :1] * 1000 + ends[:, 1:]).astype(float)
    made = checked(
        RawGraph(
            "rings",
            "the test",
            ends.T,
            features=whole.features,
            labels=np.arange(60) % 6,
            graph_of=of,
            edge_features=about,
        )
    )
    view = stream(GraphSpec(visibility="seen", test_nodes="hidden"), made).views.training(1)
    some = view.part(view.nodes[[1, 4]])
    for one in (view, some):
        rows = np.concatenate([np.arange(*made.offsets[graph : graph + 2]) for graph in one.nodes])
        found = one.adjacency.tocoo()
        low, high = np.sort([rows[found.row], rows[found.col]], 0)
        assert one.edge_features[:, 0].tolist() == (low * 1000 + high).tolist()
        assert len(low)
    assert some.nodes.tolist() == view.nodes[[1, 4]].tolist()
    assert np.array_equal(some.features, made.features[np.isin(of, some.nodes)])


def test_a_stream_of_classes_keeps_the_fingerprint_of_its_first_records():
    words = many_words(stream())
    assert words == "split 0.2 0.2 seed 0"
    assert stream().batch == len(stream().data.x_train), "a record says the batch, too"
    assert many_words(stream(GraphSpec(split="random"))) == words, "asked for or by default, it is the same draw"
    assert many_words(stream(GraphSpec(split="random", split_seed=1))) == "split 0.2 0.2 seed 1"
    table = with_labels(properties())
    asked = stream(made=table, scenario="task-incremental", class_order=None)
    assert many_words(asked) == "split random 0.2 0.2 seed 0"


def many_words(made) -> str:
    return made.variant[made.variant.index("split") :]
