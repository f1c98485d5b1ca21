"""The split from scores of classes, against plain loops in fractions: odd orders, sizes, plans, ties, odd scores."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import recollect as rc
from recollect.errors import UsageError
from recollect.runs import Plan, Row, Run, Task
from recollect.runs.class_scores import count_right

PARTS = ("split.within", "split.older", "split.newer")
STREAMS: dict[str, tuple[tuple[int, ...], ...]] = {
    "two classes each": ((0, 1), (2, 3), (4, 5), (6, 7)),
    "one class each": ((0,), (1,), (2,), (3,)),
    "unequal": ((0, 1, 2, 3, 4), (5,), (6, 7, 8)),
    "columns in any order": ((7, 2), (0, 5), (6, 1), (3, 4)),
    "a column that nobody has": ((5, 1), (2,), (3, 8)),
}


def answer(scores: Any, among: list[int]) -> int:
    """The first class with the highest score, in columns; NaN never wins."""
    best = None
    for column in sorted(among):
        value = scores[column]
        if not np.isnan(value) and (best is None or value > scores[best]):
            best = column
    return -1 if best is None else best


def drawn(name: str, seed: int, coarse: bool) -> tuple[tuple[Task, ...], list[Any], list[list[Any]]]:
    """Tasks, the labels of each one's samples, and scores[k][j]; coarse scores have many ties."""
    rng = np.random.default_rng([seed, len(name), coarse])
    classes = STREAMS[name]
    C = 1 + max(max(of) for of in classes) + (name == "a column that nobody has")
    tasks = tuple(Task(f"t{j}", len(of), 9 + 2 * j, of) for j, of in enumerate(classes))
    labels = [rng.choice(of, size=9 + 2 * j) for j, of in enumerate(classes)]
    scores = [[rng.normal(size=(len(y), C)) + 1.5 * np.eye(C)[y] for y in labels] for _ in classes]
    if coarse:
        scores = [[np.rint(one) for one in row] for row in scores]
        scores[0][0][0] = -np.inf
        scores[-1][0][1, :2] = np.nan, np.inf
    return tasks, labels, scores


def recorded(tasks: tuple[Task, ...], labels: list[Any], scores: list[list[Any]]) -> Run:
    rows = []
    for k in range(len(tasks)):
        told = [count_right(scores[k][j], labels[j], j, k, tasks) for j in range(len(tasks))]
        rows.append(
            Row(
                k,
                correct=tuple(one.correct for one in told),
                n=tuple(one.n for one in told),
                masked=tuple(one.masked for one in told),
                restricted=tuple(one.restricted for one in told),
            )
        )
    return Run(learner="made", stream="made", tasks=tasks, rows=tuple(rows), status="finished")


def expected(tasks: Any, labels: Any, scores: Any, rows: tuple[int, ...]) -> dict[str, Fraction]:
    """The parts by loops over samples and classes."""

    def right(k: int, j: int, among: list[int]) -> int:
        return sum(answer(s, among) == y for s, y in zip(scores[k][j], labels[j], strict=True))

    def upto(m: int) -> list[int]:
        return [c for task in tasks[: m + 1] for c in task.classes]

    now, total, count = rows[-1], dict.fromkeys(PARTS, Fraction(0)), 0
    for j in rows[:-1]:
        R = {k: right(k, j, upto(k)) for k in rows if k >= j}
        peak = max((k for k in R if k < now), key=lambda k: (R[k], -k))
        W, A = ({k: right(k, j, among) for k in (peak, now)} for among in (list(tasks[j].classes), upto(j)))
        n = len(labels[j])
        total["split.within"] += Fraction(W[peak] - W[now], n)
        total["split.older"] += Fraction((W[now] - A[now]) - (W[peak] - A[peak]), n)
        total["split.newer"] += Fraction((A[now] - R[now]) - (A[peak] - R[peak]), n)
        count += 1
    return {id: value / count for id, value in total.items()}


@pytest.mark.parametrize("coarse", [False, True])
@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("seed", range(3))
def test_counts_from_scores_of_classes_are_the_split(name: str, seed: int, coarse: bool) -> None:
    tasks, labels, scores = drawn(name, seed, coarse)
    run, last = recorded(tasks, labels, scores), len(tasks) - 1
    for rows in (tuple(range(last + 1)), (0, last), tuple(range(0, last + 1, 2))):
        if len(rows) < 2:
            continue
        planned = replace(run, rows=tuple(run.rows[k] for k in rows), plan=Plan(rows=rows))
        wanted = expected(tasks, labels, scores, rows)
        for id in PARTS:
            assert float(rc.score(planned.matrix, id)) == pytest.approx(float(wanted[id]), abs=1e-14), (id, rows)
        assert float(rc.score(planned.matrix, "forgetting.chaudhry2018")) == pytest.approx(
            float(sum(wanted.values())), abs=1e-14
        )


def test_a_row_that_is_missing_leaves_the_split_undefined_not_wrong() -> None:
    run = recorded(*drawn("two classes each", 0, False))
    for gone in (0, 1, 3):
        cut = replace(run, rows=tuple(row for row in run.rows if row.after != gone))
        if gone == 3:
            assert all(np.isnan(rc.score(cut.matrix, id)) for id in PARTS)
        else:
            whole = float(sum(float(rc.score(cut.matrix, id)) for id in PARTS))
            af = float(rc.score(cut.matrix, "forgetting.chaudhry2018"))
            assert (np.isnan(whole) and np.isnan(af)) or whole == pytest.approx(af)


def test_without_the_counts_among_own_classes_only_newer_is_known() -> None:
    run = recorded(*drawn("two classes each", 0, False))
    bare = replace(run, rows=tuple(replace(row, masked=None) for row in run.rows))
    assert np.isnan(rc.score(bare.matrix, "split.within"))
    assert np.isnan(rc.score(bare.matrix, "split.older"))
    assert float(rc.score(bare.matrix, "split.newer")) == float(rc.score(run.matrix, "split.newer"))


def test_the_task_is_told_and_so_nothing_is_confused() -> None:
    tasks, labels, scores = drawn("two classes each", 1, False)
    rows = []
    for k in range(4):
        right = tuple(count_right(scores[k][j], labels[j], j, k, tasks).masked for j in range(4))
        rows.append(
            Row(k, correct=right, n=tuple(map(len, labels)), masked=right, restricted=tuple((r,) * 4 for r in right))
        )
    run = Run(learner="made", stream="made", tasks=tasks, rows=tuple(rows), scenario="task-incremental")
    parts = [float(rc.score(run.matrix, id)) for id in PARTS]
    assert parts[1:] == [0, 0]
    assert parts[0] == pytest.approx(float(rc.score(run.matrix, "forgetting.chaudhry2018")))


@pytest.mark.parametrize(
    ("scores", "labels", "why"),
    [
        ([1.0, 2.0], [0], "one row per sample"),
        ([[1.0, 2.0, 0, 0]], [0, 1], "as many labels as samples"),
        ([[1.0, 2.0, 0, 0]], [4], "whole numbers from 0 to 3"),
        ([[1.0, 2.0, 0, 0]], [-1], "whole numbers from 0 to 3"),
        ([[1.0, 2.0, 0, 0]], [0.5], "whole numbers"),
        ([[1.0, 2.0, 0, 0]], [2], "labels of task 0 must be of its classes"),
        ([["a", "b", "c", "d"]], [0], "class scores are numbers"),
        ([[1.0, 2.0, 0]], [0], "columns"),
        (np.zeros((0, 4)), np.zeros(0, int), "as many labels as samples"),
        ([[1 + 2j, 0, 0, 0]], [0], "class scores are numbers"),
    ],
)
def test_what_cannot_be_counted_is_refused(scores: Any, labels: Any, why: str) -> None:
    tasks = (Task("a", classes=(0, 1)), Task("b", classes=(2, 3)))
    with pytest.raises(UsageError, match=why):
        count_right(scores, labels, 0, 1, tasks)
