"""Periods of nodes and links: by value, by equal counts, by cuts; and times that many samples have in common."""

from __future__ import annotations

import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.streams.graphs.named import make_graph_stream
from recollect.streams.graphs.spec import GraphSpec
from tests.streams.graphs.samples import graph, write_npz
from tests.streams.graphs.test_links import stream as links
from tests.streams.graphs.test_links import timed
from tests.streams.graphs.test_nodes import stream

# Six years, and each class in each of them: papers of a year are never told apart by their time.
YEARS = 2015 + np.arange(180) // 3 % 6
YEARLY = {"scenario": "time-incremental", "class_order": None}


def years(**more):
    return graph(n=180, node_times=YEARS, **more)


@pytest.mark.parametrize("tasks", [2, 3, 4, 5])
@pytest.mark.parametrize("visibility", ["seen", "seen-separate", "whole"])
def test_nodes_of_one_time_are_in_one_period_and_every_batch_may_be_seen(tasks, visibility):
    made = stream(GraphSpec(visibility=visibility, test_nodes="hidden"), years(), tasks=tasks, **YEARLY)
    of_year: dict[int, set[int]] = {}
    for k, task in enumerate(made.tasks):
        for part, ids in ((task.train, made.data.x_train), (task.test, made.data.x_test)):
            for year in YEARS[ids[part]].tolist():
                of_year.setdefault(year, set()).add(k)
        assert len(made.views.training(k).places(made.data.x_train[task.train]))
        assert len(made.views.evaluation(k).places(made.data.x_test[task.test]))
    assert all(len(tasks) == 1 for tasks in of_year.values())
    assert made.views.task_of.tolist() == [next(iter(of_year[year])) for year in YEARS.tolist()]


def test_nodes_by_value_and_by_cuts():
    by_value = stream(GraphSpec(visibility="seen", periods="value"), years(), tasks=2, **YEARLY)
    assert [task.name for task in by_value.tasks] == ["from 2015", "from 2017.5"]
    by_cuts = stream(GraphSpec(visibility="seen", periods=(2016.0, 2019.0)), years(), tasks=None, **YEARLY)
    sizes = [sorted(set(YEARS[by_cuts.data.x_train[task.train]].tolist())) for task in by_cuts.tasks]
    assert sizes == [[2015], [2016, 2017, 2018], [2019, 2020]]


@pytest.mark.parametrize(
    ("asked", "options", "said"),
    [
        (GraphSpec(periods=(2016.0, 2016.0)), {"tasks": None}, "rising times"),
        (GraphSpec(periods=()), {"tasks": None}, "rising times"),
        (GraphSpec(periods=(2016.0,)), {"tasks": 3}, "one fewer than tasks"),
        (GraphSpec(periods=(2000.0,)), {"tasks": None}, "'from 2015' .* no training samples"),
        (GraphSpec(periods=(2030.0,)), {"tasks": None}, "'from 2030' .* no training samples"),
        (GraphSpec(), {"tasks": 7}, "no training samples"),
        (GraphSpec(), {"tasks": None}, "takes tasks"),
    ],
)
def test_periods_without_nodes_are_refused(asked, options, said):
    with pytest.raises(UsageError, match=said):
        stream(asked, years(), **YEARLY, **options)


def test_dates_are_cut_by_count_and_by_value_and_not_by_numbers():
    made = graph(n=180, node_times=YEARS.astype("datetime64[D]"))
    for periods in ("count", "value"):
        assert len(stream(GraphSpec(periods=periods), made, tasks=2, **YEARLY).tasks) == 2
    with pytest.raises(UsageError, match="the times are dates"):
        stream(GraphSpec(periods=(3.0,)), made, tasks=None, **YEARLY)


def test_a_cut_that_moves_what_is_seen_changes_the_fingerprint():
    """Nodes without a label have a time, too: 2016.5 and 2017 train and test the same and show another graph."""
    labels = np.where(YEARS == 2017, -1, np.arange(180) % 3)
    one, other = (
        stream(GraphSpec(visibility="seen", periods=(cut,)), years(labels=labels), tasks=None, **YEARLY)
        for cut in (2017.0, 2018.0)
    )
    assert np.array_equal(one.data.x_train, other.data.x_train)
    assert len(one.views.training(0).nodes) < len(other.views.training(0).nodes)
    assert one.fingerprint != other.fingerprint


def test_a_node_in_another_domain_changes_the_fingerprint_though_all_counts_stay():
    domains = np.arange(180) % 2
    options = {"scenario": "domain-incremental", "tasks": None}
    one = stream(GraphSpec(), graph(n=180, node_domains=domains), **options)
    train = one.data.x_train[one.data.y_train == 0]
    swapped = domains.copy()
    for domain in (0, 1):
        swapped[train[domains[train] == domain][:2]] = 1 - domain
    other = stream(GraphSpec(), graph(n=180, node_domains=swapped), **options)
    assert [len(task.train) for task in one.tasks] == [len(task.train) for task in other.tasks]
    assert one.fingerprint != other.fingerprint


def test_links_of_one_time_are_in_one_period():
    made = timed(labelled=False)
    same_time = links(checked_times(made, np.arange(len(made.pairs)) // 50), GraphSpec(visibility="seen"), tasks=4)
    assert len(same_time.tasks) == 4
    nanoseconds = checked_times(made, 1_700_000_000_000_000_000 + np.arange(len(made.pairs)))
    cuts = [(1.7e18 + 40_960.0 * k,) for k in (0, 1)]
    with pytest.raises(UsageError, match="no training links"):
        links(nanoseconds, GraphSpec(periods=cuts[1]), tasks=None)


def checked_times(made, times):
    from dataclasses import replace

    return replace(made, pair_times=times)


@pytest.mark.parametrize(("level", "scenario"), [("node", "class-incremental"), ("link", "domain-incremental")])
def test_periods_of_a_stream_without_times_are_refused_and_not_passed_over(level, scenario, tmp_path):
    file = write_npz(tmp_path / "g.npz", graph())
    options = {"level": level, "scenario": scenario, "tasks": 3, "periods": "value"}
    with pytest.raises(UsageError, match="periods is for time-incremental"):
        make_graph_stream(str(file), None, options)
