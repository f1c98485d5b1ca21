"""The timeline of a run: which row is the base row, which rows there are in time, where each task was learned.

This is the one place that knows; whoever needs to know asks `Run.timeline`.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recollect.errors import UsageError

if TYPE_CHECKING:
    from recollect.runs.run import Row, Run


@dataclass(frozen=True)
class RowFacts:
    """What rows that are visits or batches, or lost some of their tasks, do not tell themselves: the tasks whose row
    came right after them, and the places of the rows inside tasks.
    """

    own: tuple[int, ...] = ()
    inside: tuple[int, ...] = ()

    def to_json(self) -> dict[str, list[int]]:
        """As a header has it."""
        return {"own": list(self.own), "inside": list(self.inside)}


@dataclass(frozen=True)
class Timeline:
    """The base row (the learner before any training), the rows in time (None: planned and absent), and for each task
    the row by which it had first been learned (-1: none).

    `own` says whether that row came right after the task; `inside` which rows are inside tasks, not the ends of tasks,
    visits or batches.
    """

    base: Row | None
    rows: tuple[Row | None, ...]
    learned_at: tuple[int, ...]
    own: tuple[bool, ...]
    inside: tuple[bool, ...]

    def end_of(self, task: int) -> Row | None:
        """The row after which a task had been learned, if it is there."""
        place = self.learned_at[task]
        return self.rows[place] if place >= 0 else None

    @property
    def ends(self) -> dict[int, Row]:
        """The rows that are a task's own, by their tasks."""
        rows = ((task, self.end_of(task)) for task, is_own in enumerate(self.own) if is_own)
        return {task: row for task, row in rows if row is not None}

    @property
    def ended(self) -> tuple[int, ...]:
        """The tasks that have a row of their own."""
        return tuple(self.ends)


def timeline_of(run: Run) -> Timeline:
    """The timeline of a run; `Run.timeline` keeps it."""
    T = run.T
    untrained = [row for row in run.rows if row.after == -1 and row.task_end]
    if len(untrained) > 1:
        raise UsageError(f"one untrained row (after = -1) is expected; got {len(untrained)}.")
    first = untrained[0] if untrained else None
    timed = [row for row in run.rows if row is not first]
    # Where no task was ever learned (releases on fixed slices) every row is one in time, as with an empty `learned_at`.
    never = not any(row.task_end for row in timed) and all(task.held_out for task in run.tasks)
    told = {} if run.learned_at is None and never else run.learned_at
    if told is not None:
        learned_at = [told.get(task, -1) for task in range(T)]
        # A run that is not finished lacks its last rows; in any other record a row that is not there is a mistake.
        is_open = run.status in ("running", "failed")
        absent = max([0, *(row + 1 - len(timed) for row in learned_at if is_open)])
        if not all(-1 <= row < len(timed) + absent for row in learned_at):
            raise UsageError(f"learned_at names rows from 0 to {len(timed) - 1}; got {learned_at}.")
        rows = (*timed, *[None] * absent)
        if run.row_facts is not None:
            own = tuple(task in run.row_facts.own for task in range(T))
            inside = tuple(place in run.row_facts.inside for place in range(len(rows)))
            return Timeline(first, rows, tuple(learned_at), own, inside)
        own = tuple(_is_own(run, task, place, rows) for task, place in enumerate(learned_at))
        return Timeline(first, rows, tuple(learned_at), own, (False,) * len(rows))
    ends: dict[int, Row] = {}
    for row in timed:
        if not -1 <= row.after < T:
            raise UsageError(f"a row says after = {row.after}; with {T} tasks it lies between -1 and {T - 1}.")
        if row.task_end and ends.setdefault(row.after, row) is not row:
            raise UsageError(f"two rows say after = {row.after}; a task end is evaluated once.")
    planned = set(range(T)) if run.plan.rows is None else set(run.plan.rows)
    planned -= {task for task in range(T) if run.tasks[task].held_out}
    if len(ends) == len(timed):
        there = tuple(task in planned or task in ends for task in range(T))
        return Timeline(
            first,
            tuple(ends.get(task) for task in range(T)),
            tuple(task if there[task] else -1 for task in range(T)),
            there,
            (False,) * T,
        )
    return _lay_out_steps(first, timed, planned, ends, T)


def row_place(row: Row) -> tuple[int, bool, int]:
    """Where a row stands in time: a task's end, then the evaluations inside the next task by their steps."""
    return row.after, not row.task_end, (not row.task_end and row.step) or 0


def ends_among(rows: Iterable[Row]) -> tuple[int, ...]:
    """The tasks whose ends these rows are, in order; the base row is no task's end."""
    return tuple(sorted({row.after for row in rows if row.task_end and row.after >= 0}))


def learned_after(sections: Sequence[int], rows: Sequence[int]) -> dict[int, int]:
    """The row after which each task will have been learned, if task k is learned with section `sections[k]` and `rows`
    are the sections to be evaluated: the first row at or after it; with none left the task has no row.

    >>> learned_after([0, 2, 5], rows=[1, 2, 4])
    {0: 0, 1: 1}
    """
    places = {task: bisect_left(rows, section) for task, section in enumerate(sections)}
    return {task: row for task, row in places.items() if row < len(rows)}


def _lay_out_steps(first: Row | None, timed: list[Row], planned: set[int], ends: dict[int, Row], T: int) -> Timeline:
    """Rows inside tasks: in the order of time, with a gap for each planned task end that is absent."""
    rows: list[Row | None] = []
    learned_at = [-1] * T
    for task in (-1, *range(T)):
        if task >= 0 and (task in planned or task in ends):
            learned_at[task] = len(rows)
            rows.append(ends.get(task))
        rows += [row for row in timed if row.after == task and not row.task_end]
    if not ends and not planned:
        # No task end was ever to be evaluated: the first row that comes after a task stands for its end.
        learned_at = [next((i for i, row in enumerate(rows) if row and row.after >= t), -1) for t in range(T)]
    learned = set(learned_at)
    inside = tuple(row is not None and not row.task_end and place not in learned for place, row in enumerate(rows))
    return Timeline(first, tuple(rows), tuple(learned_at), tuple(at >= 0 for at in learned_at), inside)


def _ends_visit(run: Run, task: int, row: Row) -> bool:
    """Whether a row came right after the batch with which the first visit to a task was over."""
    first = next((k for k, (_, visited) in enumerate(run.visits) if visited == task), len(run.visits))
    batch = run.identity.feeding.get("batch") if run.identity is not None else None
    if first + 1 >= len(run.visits) or row.step is None or not isinstance(batch, int):
        return False
    end = run.visits[first + 1][0]
    return row.step in (end, math.ceil(end / batch) * batch)


def _is_own(run: Run, task: int, place: int, rows: tuple[Row | None, ...]) -> bool:
    """Whether the row by which a task had been learned came right after it, where rows are visits or batches.

    A plan that leaves rows out may have left out that one, and then the next row stands for it. It is told by the row
    itself, or by the visit or batch before it, which was evaluated too. Records say it now (`RowFacts`).
    """
    if place < 0 or run.plan.rows is None or place >= len(run.plan.rows):
        return place >= 0
    sections = sorted(set(run.plan.rows))
    row = rows[place]
    is_said = row is not None and (_ends_visit(run, task, row) or (row.task_end and row.after == task))
    return is_said or sections[place] == 0 or sections[place] - 1 in sections
