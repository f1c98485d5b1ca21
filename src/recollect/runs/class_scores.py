"""Counts of right answers among fewer classes, from the scores of every class: what the split of forgetting needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from recollect.errors import UsageError
from recollect.runs.run import Task


@dataclass(frozen=True)
class ClassCounts:
    """Right answers on one task: among the classes seen, among its own, and among those of tasks up to each m >= j."""

    n: int
    correct: int
    masked: int
    restricted: tuple[int | None, ...]


def count_right(scores: Any, labels: Any, on: int, current: int, tasks: Sequence[Task]) -> ClassCounts:
    """Count the right answers on task `on` of a learner that has seen something of the tasks up to `current`.

    `scores` has one row per sample and one column per class; `labels` are the columns of the true classes. Ties go to
    the first class, NaN never wins.

    >>> tasks = (Task("a", classes=(0, 1)), Task("b", classes=(2, 3)))
    >>> count_right([[3, 1, 5, 0], [1, 2, 0, 0]], [0, 0], on=0, current=1, tasks=tasks)
    ClassCounts(n=2, correct=0, masked=1, restricted=(1, 0))
    """
    given, y = _checked(scores, labels)
    classes = _classes(tasks, given.shape[1])
    outside = sorted(set(y.tolist()) - set(classes[on]))
    if outside:
        raise UsageError(f"labels of task {on} must be of its classes {sorted(classes[on])}; got {outside[:5]}.")
    T, C = len(tasks), given.shape[1]
    # The task that brings each class; one that nobody has is never an answer.
    first = np.array([next((m for m in range(T) if c in classes[m]), T) for c in range(C)])
    true = given[np.arange(len(y)), y][:, None]
    beats = (given > true) | ((given == true) & (np.arange(C) < y[:, None])) | (np.isnan(true) & ~np.isnan(given))
    beats |= np.isnan(true) & (np.arange(C) == y[:, None])
    beaten_by = np.where(beats, first, T).min(1)
    beaten_by = np.where(np.isnan(true[:, 0]), -1, beaten_by)
    own = np.isin(np.arange(C), list(classes[on]))
    return ClassCounts(
        n=len(y),
        correct=int((beaten_by > max(current, on)).sum()),
        masked=int((~(beats & own).any(1) & (beaten_by >= 0)).sum()),
        restricted=tuple(int((beaten_by > m).sum()) if m >= on else None for m in range(T)),
    )


def _checked(scores: Any, labels: Any) -> tuple[Any, Any]:
    try:
        given, y = np.asarray(scores, np.float64), np.asarray(labels)
    except (TypeError, ValueError) as error:
        raise UsageError(f"class scores are numbers, one row per sample and one column per class: {error}.") from None
    if given.ndim != 2 or y.shape != given.shape[:1] or not len(y):
        raise UsageError(
            "class scores have one row per sample and one column per class, and as many labels as samples; got shapes"
            f" {given.shape} and {y.shape}."
        )
    if not np.issubdtype(y.dtype, np.integer) or y.min() < 0 or y.max() >= given.shape[1]:
        raise UsageError(f"labels are columns of the scores, whole numbers from 0 to {given.shape[1] - 1}.")
    return given, y


def _classes(tasks: Sequence[Task], columns: int) -> list[set[int]]:
    made = []
    for task in tasks:
        if task.classes is None or not all(isinstance(c, int) and 0 <= c < columns for c in task.classes):
            raise UsageError(
                "log_scores needs to know which columns are whose: give the tasks as"
                f" Task('name', classes=(0, 1)), with columns from 0 to {columns - 1}; {task.name!r} has"
                f" {task.classes}."
            )
        made.append({int(c) for c in task.classes})
    return made
