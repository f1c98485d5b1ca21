"""Runs without some of their concepts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.metrics import score
from recollect.runs import Plan, Row, Run, Task
from recollect.runs.leaving_out import without


def detector(**changes: object) -> Run:
    rows = tuple(
        Row(
            k,
            step=k + 1,
            scores={"accuracy": (0.9 - 0.1 * k, 0.5, 0.6 + 0.1 * k), "f1": (0.1, 0.2, 0.3)},
        )
        for k in range(3)
    )
    untrained = Row(-1, step=0, reason="nothing yet")
    tasks = tuple(Task(name) for name in "abc")
    run = Run(learner="naive", stream="toy", tasks=tasks, rows=(untrained, *rows), scenario="concept-aware")
    return replace(run, **changes)


def test_the_scores_of_the_others_are_untouched() -> None:
    left = without(detector(), ["b"])
    np.testing.assert_allclose(left.matrix.R, [[0.9, 0.6], [0.8, 0.7], [0.7, 0.8]])
    assert left.matrix.learned_at.tolist() == [0, 2]
    assert score(left.matrix, "acc.average") == pytest.approx(0.75)
    assert score(left.matrix, "forgetting.chaudhry2018") == pytest.approx(0.2)
    assert left.with_metric("f1").matrix.R[0].tolist() == [0.1, 0.3]
    assert left.notes == ("left out: b",)


def test_the_first_concept_may_go() -> None:
    left = without(detector(), ["a"])
    assert left.matrix.S == 3, "its row is no untrained row"
    assert left.matrix.learned_at.tolist() == [1, 2]


def test_a_run_that_is_not_finished() -> None:
    run = detector(status="running")
    left = without(replace(run, rows=run.rows[:2]), ["b"])
    assert left.matrix.learned_at.tolist() == [0, 2]
    assert np.isnan(score(left.matrix, "acc.average"))


def test_a_sparse_plan_and_batches() -> None:
    run = detector(plan=Plan(rows=(0, 2)))
    left = without(replace(run, rows=(run.rows[0], run.rows[1], run.rows[3])), ["b"])
    assert left.matrix.learned_at.tolist() == [0, 1]
    batches = detector(scenario="concept-agnostic", learned_at={0: 0, 1: 2, 2: 2})
    assert without(batches, ["b"]).matrix.learned_at.tolist() == [0, 2]


def test_rows_inside_a_concept_are_not_task_ends() -> None:
    """Two rows inside each concept before its end: the concepts that stay are learned at their own ends."""
    rows = [Row(-1, step=0, scores={"accuracy": (None, None, None)})]
    for k in range(3):
        own = [[0.2, 0.5, 0.9][i] for i in range(3)]
        for i in range(3):
            cells = [0.9 - 0.2 * (k - j) if j < k else own[i] if j == k else 0.1 for j in range(3)]
            rows.append(Row(k - (i < 2), step=3 * k + i + 1, scores={"accuracy": tuple(cells)}, task_end=i == 2))
    run = detector(rows=tuple(rows))
    assert run.matrix.learned_at.tolist() == [2, 5, 8]
    left = without(run, ["b"])
    assert left.matrix.learned_at.tolist() == [2, 8]
    assert score(left.matrix, "acc.learning") == pytest.approx(0.9)
    assert score(left.matrix, "forgetting.first") == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("changes", "names", "message"),
    [
        ({}, ["d"], "no concept 'd' to leave out; it has a, b, c"),
        ({}, ["a", "b", "c"], "All 3 concepts"),
        ({"scenario": "class-incremental", "problem": "classification"}, ["a"], "Only concepts of detectors"),
    ],
)
def test_wrong_use(changes: dict[str, object], names: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        without(detector(**changes), names)
