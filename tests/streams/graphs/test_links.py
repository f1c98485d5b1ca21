"""Streams over links: sides of the split, negatives, periods, and the graph that is seen."""

from __future__ import annotations

import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.problems import problem_of
from recollect.streams import Spec, make_stream
from recollect.streams.graphs.graph import checked
from recollect.streams.graphs.links import link_stream
from recollect.streams.graphs.raw import RawGraph
from recollect.streams.graphs.spec import GraphSpec
from tests.streams.graphs.samples import graph


def timed(n=40, m=400, seed=0, labelled=True):
    rng = np.random.default_rng(seed)
    edges = rng.integers(0, n, (2, m))
    labels = np.where(rng.random(m) < 0.8, rng.integers(1, 10, m), -rng.integers(1, 10, m)) if labelled else None
    return checked(RawGraph("timed", "the test", edges, n, edge_times=np.arange(m) * 10, edge_labels=labels))


def stream(made=None, asked=None, **options):
    spec = Spec.of({"scenario": "time-incremental", "tasks": 4, **options})
    return link_stream(made or timed(), spec, asked or GraphSpec(visibility="seen"), whole_batches=True)


def keys(pairs):
    return {(min(a, b), max(a, b)) for a, b in np.asarray(pairs).tolist()}


@pytest.mark.parametrize("labelled", [True, False])
def test_both_directions_and_all_repeats_are_on_one_side(labelled):
    made = stream(timed(labelled=labelled))
    assert not keys(made.data.x_train) & keys(made.data.x_test)


def test_the_graph_that_is_seen_is_made_of_training_links_up_to_now():
    made = stream()
    tested = keys(made.data.x_test)
    before = 0
    for step in range(4):
        view = made.views.training(step)
        there = keys(np.stack(view.adjacency.nonzero(), 1))
        upto = np.concatenate([task.train for task in made.tasks[: step + 1]])
        assert there == keys(made.data.x_train[upto])
        assert not there & tested
        assert len(there) > before
        before = len(there)
        out = np.bincount(made.data.x_train[upto][:, 0], minlength=40)
        assert np.allclose(view.features[:, 0], np.log1p(out)), "degrees are those of the links that are seen"


def test_negatives_are_a_link_of_no_time_and_no_part():
    whole = timed(labelled=False)
    made = stream(whole, GraphSpec(visibility="whole"))
    true = keys(whole.pairs)
    for pairs, labels in ((made.data.x_train, made.data.y_train), (made.data.x_test, made.data.y_test)):
        assert not keys(pairs[labels == 0]) & true
        assert keys(pairs[labels == 1]) <= true
        assert (labels == 0).sum() == (labels == 1).sum()
    everything = np.concatenate([made.data.x_train, made.data.x_test])
    assert len(keys(everything)) == len(everything), "and each is drawn once"
    again = stream(timed(labelled=False), GraphSpec(visibility="whole"))
    assert np.array_equal(made.data.x_train, again.data.x_train)


def test_periods_by_count_by_value_and_by_cuts():
    by_count = [len(task.train) + len(task.test) for task in stream().tasks]
    assert max(by_count) < 1.5 * min(by_count)
    cuts = stream(asked=GraphSpec(visibility="seen", periods=(100.0, 2000.0)), tasks=None)
    assert [task.name for task in cuts.tasks] == ["from 0", "from 100", "from 2000"]
    assert len(stream(asked=GraphSpec(visibility="seen", periods="value")).tasks) == 4


def test_domains_are_the_classes_of_first_nodes():
    made = stream(graph(), GraphSpec(), scenario="domain-incremental", tasks=3)
    for k, task in enumerate(made.tasks):
        pairs, labels = made.data.x_train[task.train], made.data.y_train[task.train]
        assert set(pairs[labels == 1][:, 0] % 3) == {k}


@pytest.mark.parametrize(
    ("made", "asked", "options", "said"),
    [
        (timed(), GraphSpec(), {"scenario": "class-incremental"}, "no classes to add"),
        (timed(), GraphSpec(), {"scenario": "task-incremental"}, "no classes to add"),
        (graph(), GraphSpec(), {}, "have no times"),
        (timed(), GraphSpec(), {"tasks": 300}, "has no (test|training) links"),
        (timed(), GraphSpec(periods=(5.0, 1.0)), {"tasks": None}, "rising times"),
        (timed(), GraphSpec(visibility="seen-separate"), {}, "whole or seen"),
        (timed(), GraphSpec(), {"scenario": "domain-incremental"}, "the classes of their first nodes"),
        (graph(edges=np.zeros((2, 0), int)), GraphSpec(), {}, "no edges to ask about"),
    ],
)
def test_what_cannot_be_asked_is_one_paragraph(made, asked, options, said):
    with pytest.raises(UsageError, match=said) as error:
        stream(made, asked, **options)
    assert "\n" not in str(error.value)


def test_k_larger_than_the_negatives_is_refused_before_anything_runs():
    with pytest.raises(UsageError, match="needs 50 false links in every test set"):
        problem_of("links").examiner_of(stream(), "hits@50")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("source,target\n0,x\n", "'x', which is not a number"),
        ("source,target\n0,1.5\n", "whole number of at least 0; number 0 is 1.5"),
        ("source,target\n0,-1\n", "number 0 is -1"),
        ("source,target,time\n0,1,3\n1,2,\n", "1 edges .* have no time"),
        ("source,target\n0,1,2\n", "Line 2 .* has 3 values"),
        ("source,source,target,time\n0,1,2,3\n", "two columns 'source'"),
        ("source,target,time\n0,1000000000000000,3\n", "numbered from 0 without gaps"),
        ("source,target,time\n0,1000000000000000000,3\n", "numbered from 0 without gaps"),
    ],
)
def test_a_wrong_edge_list_is_one_paragraph(text, said, tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text(text)
    with pytest.raises(UsageError, match=said) as error:
        make_stream(path, scenario="time-incremental", tasks=1)
    assert "\n" not in str(error.value)


def test_an_edge_list_is_read(tmp_path):
    rng = np.random.default_rng(0)
    lines = [f"{a},{b},{1 if k % 3 else -1},{k}" for k, (a, b) in enumerate(rng.integers(0, 20, (200, 2)).tolist())]
    path = tmp_path / "edges.csv"
    path.write_text("Source,Target,Rating,Time\r\n" + "\r\n".join(lines))
    made = make_stream(path, scenario="time-incremental", tasks=2, visibility="seen")
    assert made.problem == "links"
    assert set(made.data.y_train) == {0, 1}
    path.write_text("source,target,lable,time\n" + "".join(f"{k},{(k + 1) % 60},1,{k}\n" for k in range(60)))
    typo = make_stream(path, scenario="time-incremental", tasks=2, visibility="seen")
    assert "columns of edges.csv that are not used: lable" in typo.notes, (
        "a typo is no stream without labels in silence"
    )
