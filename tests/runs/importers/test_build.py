from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.runs.importers.build import (
    MAX_TASKS,
    array_matrix,
    blank_future_zeros,
    check_size,
    make_run,
    named,
    number,
    origin_of,
    task_rows,
    whole,
)


@pytest.mark.parametrize("value", [True, np.True_, "1", b"1", [1], float("inf"), -float("inf"), 10**400, 1 + 2j])
def test_what_is_not_a_score(value):
    with pytest.raises(ValueError):
        number(value)


def test_missing_scores_are_none_and_zero_is_zero():
    assert [number(x) for x in (None, float("nan"), np.float32("nan"), 0, -0.0)] == [
        None,
        None,
        None,
        0.0,
        0.0,
    ]


@pytest.mark.parametrize(
    "value", [True, "", "x", "---4", "+-1", "1.5", "９", 2**63, "9" * 30, float("nan"), float("inf"), None]
)
def test_what_is_not_a_whole_number(value):
    assert whole(value) is None


def test_future_zeros_are_decided_for_all_runs_of_a_file_together():
    blind, seeing = [[0.9, 0.0], [0.5, 0.8]], [[0.9, 0.1], [0.5, 0.8]]
    assert blank_future_zeros([blind, blind], "x")[0] == [[[0.9, None], [0.5, 0.8]]] * 2
    both, note = blank_future_zeros([blind, seeing], "x")
    assert both == [blind, seeing]
    assert note is None


def test_nothing_is_said_where_the_future_is_empty_already():
    given = [[[0.9, None], [0.0, 0.8]]]
    assert blank_future_zeros(given, "x") == (given, None)
    assert blank_future_zeros([[[0.9]]], "x") == ([[[0.9]]], None)


def test_an_infinite_cell_is_refused():
    with pytest.raises(ValueError, match="infinite"):
        array_matrix(np.array([[1.0, np.inf]]))


@pytest.mark.parametrize(("rows", "tasks"), [(0, 1), (1, 0), (1, MAX_TASKS + 1), (10**7, 10)])
def test_sizes_that_no_measurement_has(tmp_path, rows, tasks):
    with pytest.raises(UsageError):
        check_size(tmp_path, "x", rows, tasks)


def test_a_run_without_any_score_is_refused(tmp_path):
    with pytest.raises(UsageError, match="no score at all"):
        make_run(tmp_path, "x", rows=task_rows([[None]]), tasks=named(1), learner="a", unit="auto")


@pytest.mark.parametrize(
    ("path", "learner", "seed"),
    [
        ("/runs/er/12/log.txt", "er", 12),
        ("/runs/er/007/log.txt", "er", 7),
        ("/runs/er/log.txt", "er", None),
        ("/runs/er/seed3/log.txt", "seed3", None),
        ("/runs/er/-3/log.txt", "-3", None),
        ("/runs/er/٣/log.txt", "٣", None),
        ("/3/log.txt", "3", None),
    ],
)
def test_a_folder_that_is_a_number_is_a_seed_where_another_names_the_learner(path, learner, seed):
    origin = origin_of(Path(path))
    assert (origin.learner, origin.seed) == (learner, seed)
    assert (origin.note is None) == (seed is None)
