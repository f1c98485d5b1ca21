"""The timeline: the base row, the rows in time, and where each task was learned."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recollect as rc
from recollect.errors import UsageError
from recollect.learners import Setting, wrap
from recollect.protocol import run_protocol
from recollect.runs import Plan, Row, Run, Task, load
from recollect.runs.reduced import without
from recollect.runs.timeline import ends_among, learned_after, row_place
from recollect.streams import stream_from_concepts

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
    assert absent.ended == (0, 2)
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


def visits(
    plan: tuple[int, ...] | None, ends: tuple[bool, ...], after: tuple[int, ...], learned_at: dict[int, int]
) -> Run:
    """Concepts a, b in the visits a, b, a, b; `plan` says after which of them there are rows."""
    rows = tuple(
        Row(last, step=k, task_end=end, scores={"roc_auc": (0.5, 0.5)})
        for k, (last, end) in enumerate(zip(after, ends, strict=True), 1)
    )
    return Run(
        learner="naive",
        stream="toy",
        tasks=(Task("a"), Task("b")),
        rows=rows,
        metric="roc_auc",
        scenario="concept-aware",
        learned_at=learned_at,
        plan=Plan(rows=plan),
    )


def test_a_plan_may_leave_out_a_tasks_own_row() -> None:
    whole = visits(None, (True, True, False, False), (0, 1, 1, 1), {0: 0, 1: 1}).timeline
    assert whole.own == (True, True)
    assert not any(whole.inside)
    # Rows after the visits 1 and 3: that of a is not there, that of b is its own.
    assert visits((1, 3), (True, False), (1, 1), {0: 0, 1: 0}).timeline.own == (False, True)
    # After the visits 2 and 3: a and b had been learned by row 0, and neither has an own row.
    thinned = visits((2, 3), (False, False), (1, 1), {0: 0, 1: 0})
    assert thinned.timeline.own == (False, False)
    assert thinned.timeline.ended == ()
    assert np.isnan(rc.score(thinned.matrix, "forgetting.chaudhry2018"))
    assert rc.score(thinned.matrix, "acc.average") == 0.5


def test_batches_are_own_rows_where_the_batch_before_was_evaluated_too() -> None:
    no_ends = (False,) * 3
    assert visits((1, 2, 3), no_ends, (0, 0, 1), {0: 1, 1: 2}).timeline.own == (True, True)
    assert visits((1, 3, 5), no_ends, (0, 0, 1), {0: 1, 1: 2}).timeline.own == (False, False)


def test_rows_inside_tasks_and_held_out_tasks() -> None:
    rows = (Row(-1, step=5, task_end=False, correct=(5, 5)), Row(0, step=10, correct=(9, 5)))
    tasks = (Task("a", n_samples=10), Task("h", n_samples=10, held_out=True))
    run = Run(learner="er", stream="toy", tasks=tasks, rows=rows)
    assert run.timeline.inside == (True, False)
    assert run.matrix.held_out.tolist() == [False, True]
    assert rc.score(run.matrix, "acc.average") == 0.9


def test_where_rows_stand_in_time() -> None:
    in_time = [
        Row(-1, step=0),
        Row(-1, step=5, task_end=False),
        Row(-1, step=9, task_end=False),
        Row(0, step=3),
        Row(0, task_end=False),
        Row(0, step=1, task_end=False),
        Row(1),
    ]
    places = [row_place(one) for one in in_time]
    assert places == sorted(places)
    assert len(set(places)) == len(places)
    assert row_place(Row(0, step=3)) == row_place(Row(0)), "a task's end is one moment, whatever its step"
    assert row_place(Row(0, task_end=False)) == row_place(Row(0, step=0, task_end=False))


def test_the_ends_among_rows() -> None:
    assert ends_among([Row(-1), Row(2), Row(0), Row(1, task_end=False), Row(-1, task_end=False)]) == (0, 2)


def test_a_task_without_a_row_after_it_was_learned_nowhere() -> None:
    assert learned_after([0, 1, 2], rows=[1]) == {0: 0, 1: 0}
    assert learned_after([0, 1, 2], rows=[0, 1, 2]) == {0: 0, 1: 1, 2: 2}


def test_a_run_without_a_base_row_has_none() -> None:
    time = run(row(0), row(1), row(2)).timeline
    assert time.base is None
    assert time.ended == (0, 1, 2)


def test_rows_inside_the_last_tasks_with_a_plan_without_ends() -> None:
    """One end was evaluated although none was planned: then ends are where they were evaluated, and nowhere else."""
    end, inside = row(0), row(1, end=False)
    assert run(end, inside, plan=Plan(rows=())).timeline.learned_at == (0, -1, -1)
    planned = run(row(0, end=False), row(2, end=False), plan=Plan(rows=(2,))).timeline
    assert planned.learned_at == (-1, -1, 1)
    assert planned.end_of(2) is None


def test_a_first_task_that_ends_with_the_first_row_has_a_row_of_its_own() -> None:
    time = run(row(0), row(0, end=False), row(1), row(2)).timeline
    assert time.learned_at[0] == 0
    assert time.own == (True, True, True)


def test_rows_beyond_the_plan_are_own_rows() -> None:
    assert visits((0, 1), (False,) * 3, (0, 0, 1), {0: 0, 1: 2}).timeline.own == (True, True)


class Counts:
    """Learns nothing, and is scored by how much it has seen."""

    def __init__(self) -> None:
        self.seen = 0

    def learn(self, batch: Any) -> None:
        self.seen += len(batch.x)

    def score(self, x: Any) -> Any:
        return np.zeros(len(x))


@pytest.mark.parametrize(
    ("sizes", "options", "rows", "learned_at", "own"),
    [
        # Visits a, b, a, c of 8, 4, 8 and 4 rows, the ends at 8, 12, 20, 24; every visit a row.
        ((16, 4, 4), {"visits": list("abac")}, None, (0, 1, 3), (True, True, True)),
        # Rows after the second visit and the last: b and c have their own, a was learned before.
        ((16, 4, 4), {"visits": list("abac")}, (1, 3), (0, 0, 1), (False, True, True)),
        # Batches of 3, cut at visits: they end at 3, 6, 8 (a), 11, 12 (b), 15, 18, 20, 23, 24 (c). Rows after 6 and 15.
        ((16, 4, 4), {"visits": list("abac"), "batch": 3, "cut": "visits"}, (1, 5, 9), (1, 1, 2), (False, False, True)),
        # Rows after 8 and 12: the next batches are not evaluated, and these two rows are the tasks' own.
        ((16, 4, 4), {"visits": list("abac"), "batch": 3, "cut": "visits"}, (2, 4), (0, 1, -1), (True, True, False)),
        # A row at 11 is one short batch after the visit to a was over: not its own, for all that it is nearly.
        ((16, 4, 4), {"visits": list("abac"), "batch": 3, "cut": "visits"}, (3, 9), (0, 1, 1), (False, False, True)),
        # Of b, 2 rows, which end at 10: a row there is within a batch of a's end at 8, and is b's own and not a's.
        ((16, 2, 4), {"visits": list("abac"), "batch": 3, "cut": "visits"}, (3, 8), (0, 0, 1), (False, True, True)),
        # Batches of 3, cut anywhere: a's visit ends in the batch to 9, b's with that to 12, c's with that to 24.
        ((16, 4, 4), {"visits": list("abac"), "batch": 3, "cut": "anywhere"}, (2, 7), (0, 1, 1), (True, False, True)),
    ],
)
def test_where_tasks_are_learned_that_come_again(
    sizes: tuple[int, ...], options: Any, rows: Any, learned_at: Any, own: Any, tmp_path: Path
) -> None:
    """Worked by hand; and the same in the record when it is read again, and without one of the concepts."""
    parts = [
        (name, np.full((n, 2), k), np.zeros((4, 2)), [0, 1] * 2)
        for k, (name, n) in enumerate(zip("abc", sizes, strict=True))
    ]
    scenario = "concept-agnostic" if "batch" in options else "concept-incremental"
    stream = stream_from_concepts(parts, scenario=scenario, **options)
    learner = wrap(Counts(), Setting.of(stream))
    asked = {"plan": Plan(rows=rows), "examiner": lambda learner, task: learner.wrapped.seen / 100 + task}
    made = run_protocol(learner, stream, tmp_path / "r", name="counts", **asked)
    for one in (made, load(tmp_path / "r")[0]):
        assert (one.timeline.learned_at, one.timeline.own) == (learned_at, own)
    # A record that does not say it calls no row a task's own that is not.
    guessed = replace(made, row_facts=None).timeline.own
    assert not any(is_guessed and not is_own for is_guessed, is_own in zip(guessed, own, strict=True))
    for left in range(3):
        kept = [task for task in range(3) if task != left]
        if any(own[task] for task in kept):
            reduced = without(made, ["abc"[left]]).timeline
            assert reduced.own == tuple(own[task] for task in kept)
            for new, old in enumerate(kept):
                there, then = reduced.end_of(new), made.timeline.end_of(old)
                assert (there is None) == (then is None)
                assert there is None or then is None or there.step == then.step
