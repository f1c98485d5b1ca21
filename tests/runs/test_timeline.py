"""The timeline: the base row, the rows in time, and where each task was learned."""

from __future__ import annotations

from typing import Any

import pytest

from recollect.errors import UsageError
from recollect.runs import Plan, Row, Run, Task

TASKS = tuple(Task(name) for name in "abc")


def run(*rows: Row, **fields: Any) -> Run:
    return Run(**{"learner": "er", "stream": "toy", "tasks": TASKS, "rows": rows} | fields)


def row(after: int, *, end: bool = True) -> Row:
    return Row(after, scores={"accuracy": (0.5, 0.5, 0.5)}, task_end=end)


def test_task_ends_with_a_base_row() -> None:
    rows = [row(k) for k in (-1, 0, 1, 2)]
    time = run(*rows).timeline
    assert time.base is rows[0]
    assert time.rows == tuple(rows[1:])
    assert time.learned_at == (0, 1, 2)
    assert [time.end_of(task) for task in range(3)] == rows[1:]


def test_a_row_before_the_first_end_is_not_the_base_row() -> None:
    inside = row(-1, end=False)
    time = run(inside, row(0), row(1), row(2)).timeline
    assert time.base is None
    assert time.rows[0] is inside
    assert time.learned_at == (1, 2, 3)


def test_rows_inside_tasks_lie_between_the_ends() -> None:
    rows = [row(-1), row(-1, end=False), row(0), row(0, end=False), row(0, end=False), row(1), row(2)]
    time = run(*rows).timeline
    assert time.base is rows[0]
    assert time.rows == tuple(rows[1:])
    assert time.learned_at == (1, 4, 5)


def test_a_planned_end_that_is_absent_keeps_its_place_and_an_unplanned_one_has_none() -> None:
    first, last = row(0), row(2)
    absent = run(first, last).timeline
    assert absent.rows == (first, None, last)
    assert absent.learned_at == (0, 1, 2)
    assert absent.end_of(1) is None
    sparse = run(first, last, plan=Plan(rows=(0, 2))).timeline
    assert sparse.learned_at == (0, -1, 2)
    assert sparse.end_of(1) is None
    inside = row(0, end=False)
    stepped = run(first, inside, last).timeline
    assert stepped.rows == (first, inside, None, last)
    assert stepped.learned_at == (0, 2, 3)


def test_without_any_planned_end_the_first_row_after_a_task_stands_for_it() -> None:
    rows = [row(-1, end=False), row(0, end=False), row(1, end=False), row(1, end=False), row(2, end=False)]
    assert run(*rows, plan=Plan(rows=())).timeline.learned_at == (1, 2, 4)
    assert run(*rows[:3], plan=Plan(rows=())).timeline.learned_at == (1, 2, -1)


def test_learned_at_of_batches() -> None:
    rows = [row(-1), row(0, end=False), row(1, end=False), row(2, end=False)]
    time = run(*rows, learned_at={0: 0, 2: 2}).timeline
    assert time.base is rows[0]
    assert time.learned_at == (0, -1, 2)
    assert time.end_of(0) is rows[1]
    assert time.end_of(1) is None


@pytest.mark.parametrize("status", ["running", "failed"])
def test_a_run_that_is_not_finished_lacks_its_last_rows(status: str) -> None:
    time = run(row(0, end=False), learned_at={0: 0, 1: 2, 2: 4}, status=status).timeline
    assert time.rows[1:] == (None,) * 4
    assert time.learned_at == (0, 2, 4)
    whole = run(row(0), row(1), row(2), learned_at={0: 0, 1: 1, 2: 1}, status=status).timeline
    assert len(whole.rows) == 3


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: run(row(-1), row(-1)), r"one untrained row \(after = -1\) is expected; got 2"),
        (lambda: run(row(0), learned_at={0: 1}, status="finished"), "learned_at names rows from 0 to 0; got"),
        (lambda: run(row(0), learned_at={0: -2}, status="finished"), "learned_at names rows from 0 to 0; got"),
        (lambda: run(row(3)), "after = 3; with 3 tasks it lies between -1 and 2"),
        (lambda: run(row(-2)), "-2"),
        (lambda: run(row(1), row(1)), "two rows say after = 1"),
    ],
)
def test_what_contradicts_itself_is_refused(made: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        _ = made().timeline
