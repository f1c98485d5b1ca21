"""Which rows a definition reads: where each task was first learned, and which tasks have a row of their own.

Definitions are written for tasks that are learned once and evaluated after every one. Two things differ in practice.
Tasks come again: rows are the ends of visits, "now" is the last row, and a task counts from its first learning on.
Rows are left out: a task without a row of its own has no own score and no peak, and forgetting is measured on the
others.

Runs are laid out last, so that one numpy call works on all runs of a cell at once; sums in that layout are here, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recollect.matrix import Array, ScoreMatrix

Tasks = slice | NDArray[np.intp]
Which = Callable[[NDArray[np.intp], int], NDArray[np.bool_]]


@dataclass(frozen=True, eq=False)
class RowPlan:
    """The rows `ends` (of all rows) end a task, a visit or a batch; after each, the first `seen` tasks are learned.

    `own[j]` is the place among `ends` of the row right after task j was first learned, -1 if it has none. `begun` says
    for each of all rows how many tasks had begun, the one being learned too.
    """

    ends: list[int]
    seen: list[int]
    own: NDArray[np.intp]
    begun: NDArray[np.intp]

    @classmethod
    def of(cls, matrix: ScoreMatrix, kept: NDArray[np.intp], columns: NDArray[np.intp]) -> RowPlan:
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

    def without_inside(self) -> RowPlan:
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

    @cached_property
    def before(self) -> list[Tasks]:
        """For each row the tasks that have an own row before it."""
        return self._tasks_with(np.less)

    @cached_property
    def upto(self) -> list[Tasks]:
        """For each row the tasks that have an own row before it, or have this one."""
        return self._tasks_with(np.less_equal)

    def _tasks_with(self, which: Which) -> list[Tasks]:
        """For each row the tasks with an own row for which `which` holds: a slice where they are the first ones."""
        made: list[Tasks] = []
        for r in range(len(self.ends)):
            tasks = np.flatnonzero((self.own >= 0) & which(self.own, r))
            is_prefix = len(tasks) == 0 or tasks[-1] == len(tasks) - 1
            made.append(slice(0, len(tasks)) if is_prefix else tasks)
        return made


def how_many(tasks: Tasks) -> int:
    """How many tasks these are.

    >>> how_many(slice(0, 3)), how_many(np.array([0, 4]))
    (3, 2)
    """
    return int(tasks.stop) if isinstance(tasks, slice) else len(tasks)


def learned_by(learned_at: NDArray[np.intp], rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """How many tasks had been learned by each of the rows: tasks are learned in their order.

    >>> learned_by(np.array([0, -1, 2]), np.array([0, 1, 2, 3]))
    array([1, 1, 3, 3])
    """
    known = np.flatnonzero(learned_at >= 0)
    return np.append(0, known + 1)[np.searchsorted(learned_at[known], rows, "right")]


def runs_last(values: Array, leading: int) -> Array:
    """Move the leading run axes, flattened, to the end, contiguously; no runs count as one.

    >>> runs_last(np.zeros((5, 2, 3)), leading=1).shape
    (2, 3, 5)
    """
    tail = values.shape[leading:]
    # With every column held out the tail is empty, and numpy cannot infer how many runs there are.
    flat = values.reshape(int(np.prod(values.shape[:leading])), int(np.prod(tail)))
    return _transposed(flat).reshape(*tail, len(flat))


def running_sum(values: Array) -> Array:
    """Sum down the rows, a row at a time: several times faster than np.cumsum where rows are long.

    >>> running_sum(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[1., 2.],
           [4., 6.]])
    """
    total = np.empty_like(values)
    total[:1] = values[:1]
    for r in range(1, len(values)):
        np.add(total[r - 1], values[r], out=total[r])
    return total


def _transposed(flat: Array, block: int = 256) -> Array:
    """Copy the transpose in blocks that stay in the cache: several times faster than one strided copy."""
    n, m = flat.shape
    if n == 1:
        return flat.reshape(m, 1)
    out = np.empty((m, n))
    for start in range(0, n, block):
        out[:, start : start + block] = flat[start : start + block].T
    return out


def evaluated_rows(rows: Array, matrix: ScoreMatrix) -> NDArray[np.intp]:
    """Leave out the empty rows that stand in a square matrix for evaluations that were not planned."""
    if matrix.S != matrix.T or matrix.planned.all():
        return np.arange(matrix.S)
    stand_in = [j not in matrix.learned_at and np.isnan(rows[j]).all() for j in range(matrix.S)]
    return np.flatnonzero(~np.array(stand_in))


def counts_or_nan(values: ArrayLike) -> Array:
    """Turn counts into divisors of shape (P, 1), NaN where there is nothing to divide.

    >>> counts_or_nan([0, 2])
    array([[nan],
           [ 2.]])
    """
    counts = np.array(values, np.float64)[:, None]
    counts[counts == 0] = np.nan
    return counts
