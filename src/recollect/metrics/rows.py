"""Which rows a definition reads: where each task was first learned, and which tasks have a row of their own.

Definitions are written for tasks that are learned once and evaluated after every one. Two things differ in practice.
Tasks come again: rows are the ends of visits, "now" is the last row, and a task counts from its first learning on.
Rows are left out: a task without a row of its own has no own score and no peak, and forgetting is measured on the
others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from recollect.matrix import ScoreMatrix

Tasks = slice | NDArray[np.intp]
Which = Callable[[NDArray[np.intp], int], NDArray[np.bool_]]


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows `ends` (of all rows) end a task, a visit or a batch; after each, the first `seen` tasks are learned.

    `own[j]` is the place among `ends` of the row right after task j was first learned, -1 if it has none. `begun` says
    for each of all rows how many tasks had begun, the one being learned too.
    """

    ends: list[int]
    seen: list[int]
    own: NDArray[np.intp]
    begun: NDArray[np.intp]

    @classmethod
    def of(cls, matrix: ScoreMatrix, kept: NDArray[np.intp], columns: NDArray[np.intp]) -> Rows:
        """The plan of the rows `kept`, for the tasks in `columns`."""
        given = matrix.learned_at[columns]
        learned_at = np.where(given >= 0, np.searchsorted(kept, given), -1)
        inside = matrix.inside[kept]
        ends = np.flatnonzero(~inside)
        seen = learned_by(learned_at, ends)
        has_own = matrix.planned[columns]
        own = np.where(has_own, np.searchsorted(ends, learned_at), -1)
        # Between the rows at which tasks are learned the next one has begun; after the last of them all have.
        known, rows = np.flatnonzero(learned_at >= 0), np.arange(len(kept))
        ended_before, ended = (np.searchsorted(learned_at[known], rows, side) for side in ("left", "right"))
        begun = np.append(known, len(columns) - 1)[np.maximum(ended_before, ended - 1)] + 1
        return cls(ends.tolist(), seen.tolist(), own, begun)

    @cached_property
    def is_full(self) -> bool:
        """Whether row i follows task i for every task, and there are no other rows."""
        T = len(self.own)
        return len(self.begun) == T and self.seen == list(range(1, T + 1)) and bool((self.own >= 0).all())

    def without_inside(self) -> Rows:
        """The same plan without the rows inside tasks."""
        if len(self.begun) == len(self.ends):
            return self
        return replace(self, ends=list(range(len(self.ends))), begun=self.begun[self.ends])

    def just_learned(self, r: int) -> NDArray[np.intp]:
        """The tasks that row r follows and row r - 1 precedes directly; the first task of all has no row before it.

        Of several tasks learned since row r - 1 that is the first one, unless they were learned together.
        """
        new = np.arange(max(self.seen[r - 1], 1), self.seen[r])
        together = new[self.own[new] == r]
        return together if len(together) == len(new) else new[:1]

    def tasks_with(self, which: Which) -> list[Tasks]:
        """For each row the tasks with an own row for which `which` holds: a slice where they are the first ones."""
        made: list[Tasks] = []
        for r in range(len(self.ends)):
            tasks = np.flatnonzero((self.own >= 0) & which(self.own, r))
            is_prefix = len(tasks) == 0 or tasks[-1] == len(tasks) - 1
            made.append(slice(0, len(tasks)) if is_prefix else tasks)
        return made

    def count(self, which: Which, r: int) -> int:
        """How many tasks have an own row for which `which` holds at row r."""
        return int(((self.own >= 0) & which(self.own, r)).sum())


def learned_by(learned_at: NDArray[np.intp], rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """How many tasks had been learned by each of the rows: tasks are learned in their order.

    >>> learned_by(np.array([0, -1, 2]), np.array([0, 1, 2, 3]))
    array([1, 1, 3, 3])
    """
    known = np.flatnonzero(learned_at >= 0)
    return np.append(0, known + 1)[np.searchsorted(learned_at[known], rows, "right")]
