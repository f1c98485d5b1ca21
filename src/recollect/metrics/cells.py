"""Which cells of R a definition reads, so that a missing one can be named and an unread one never matters."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from recollect.metrics.sweep import Sweep

Mask = NDArray[np.bool_]


def _learned(s: Sweep) -> Mask:
    """True at (row, task) where the task had been learned by that row."""
    return np.arange(s.T)[None, :] < np.array(s.seen)[:, None]


def _upto(s: Sweep, r: int) -> Mask:
    return np.arange(s.P)[:, None] <= r


def _now(s: Sweep, r: int, tasks: Mask) -> Mask:
    """True in row r, in the columns of `tasks`."""
    mask = np.zeros((s.P, s.T), bool)
    mask[r, tasks] = True
    return mask


def _own(s: Sweep, tasks: Mask) -> Mask:
    """True at each task's own end-of-task row, for the planned ones of `tasks`."""
    mask = np.zeros((s.P, s.T), bool)
    picked = np.flatnonzero(tasks & (s.own >= 0))
    mask[s.own[picked], picked] = True
    return mask


def _first(s: Sweep, n: int) -> Mask:
    return np.arange(s.T) < n


def _now_seen(s: Sweep, r: int) -> Mask:
    return _now(s, r, _first(s, s.seen[r]))


def _newest(s: Sweep, r: int) -> Mask:
    return _now(s, r, np.arange(s.T) == s.seen[r] - 1)


def _diagonal(s: Sweep, r: int) -> Mask:
    return _own(s, _first(s, s.seen[r]))


def _lower(s: Sweep, r: int) -> Mask:
    return _learned(s) & _upto(s, r)


def _since_learned(s: Sweep, r: int) -> Mask:
    if r == 0:
        return np.zeros((s.P, s.T), bool)
    return _lower(s, r - 1) | _now(s, r, _first(s, s.before(r)))


def _own_and_now(s: Sweep, r: int) -> Mask:
    earlier = (s.own >= 0) & (s.own < r)
    return _own(s, earlier) | _now(s, r, earlier)


def _own_and_after(s: Sweep, r: int) -> Mask:
    mask = np.zeros((s.P, s.T), bool)
    for row in range(r + 1):
        mask |= _own_and_now(s, row)
    return mask


def _consecutive(s: Sweep, r: int) -> Mask:
    mask = np.zeros((s.P, s.T), bool)
    for row in range(1, r + 1):
        mask[row - 1 : row + 1, : s.before(row)] = True
    return mask


def _earlier_tasks(s: Sweep, r: int) -> Mask:
    return _upto(s, r) & _first(s, s.seen[r] - 1) & (r > 0)


def _square(s: Sweep, r: int) -> Mask:
    return _upto(s, r) & _first(s, s.seen[r]) & (r > 0)


def _upper(s: Sweep, r: int) -> Mask:
    return ~_learned(s) & _upto(s, r) & _first(s, s.seen[r])


def _superdiagonal(s: Sweep, r: int) -> Mask:
    mask = np.zeros((s.P, s.T), bool)
    for row in range(r):
        if s.seen[row] < s.seen[r]:
            mask[row, s.seen[row]] = True
    return mask


def _over_all_rows(s: Sweep, planned: Mask) -> Mask:
    mask = np.zeros((len(s.all_rows), s.T), bool)
    mask[s.ends] = planned
    return mask


def _rows_upto(s: Sweep, r: int) -> Mask:
    return np.arange(len(s.all_rows))[:, None] <= s.ends[r]


def _after_learning(s: Sweep, r: int) -> Mask:
    return s.after_learning & _rows_upto(s, r)


def _worst_case(s: Sweep, r: int) -> Mask:
    return _after_learning(s, r) | _over_all_rows(s, _newest(s, r))


def _every_row(s: Sweep, r: int) -> Mask:
    return s.begun & _rows_upto(s, r)


class Cells(Enum):
    """Named sets of cells, as a function of the row at which the value is wanted."""

    NOW = "the row's cells of the tasks seen so far"
    NEWEST = "the newest task's cell of the row"
    DIAGONAL = "each task's cell right after it was learned"
    LOWER = "the lower triangle with the diagonal"
    SINCE_LEARNED = "the lower triangle with the diagonal, but for the newest task's cell"
    OWN_AND_NOW = "the diagonal and the row's cells of the earlier tasks"
    OWN_AND_AFTER = "the diagonal and all that is below it"
    CONSECUTIVE = "the lower triangle, row against next row"
    EARLIER_TASKS = "all rows, in the columns of the earlier tasks"
    SQUARE = "all rows, in the columns of the tasks seen so far"
    UPPER = "the strict upper triangle"
    SUPERDIAGONAL = "each task's cell in the row before it is learned"
    AFTER_LEARNING = "every evaluation of a task after the one right after it was learned"
    WORST_CASE = "every evaluation of a task after the one right after it was learned, and the newest task's cell"
    EVERY_ROW = "every evaluation of the tasks seen so far, inside tasks too"

    def mask(self, sweep: Sweep, r: int) -> Mask:
        """Return a mask of shape (S, T): the cells of R that the value at planned row r reads."""
        if self in _ROW_MASKS:
            return _ROW_MASKS[self](sweep, r)
        return _over_all_rows(sweep, _END_MASKS[self](sweep, r))


_END_MASKS: dict[Cells, Callable[[Sweep, int], Mask]] = {
    Cells.NOW: _now_seen,
    Cells.NEWEST: _newest,
    Cells.DIAGONAL: _diagonal,
    Cells.LOWER: _lower,
    Cells.SINCE_LEARNED: _since_learned,
    Cells.OWN_AND_NOW: _own_and_now,
    Cells.OWN_AND_AFTER: _own_and_after,
    Cells.CONSECUTIVE: _consecutive,
    Cells.EARLIER_TASKS: _earlier_tasks,
    Cells.SQUARE: _square,
    Cells.UPPER: _upper,
    Cells.SUPERDIAGONAL: _superdiagonal,
}

_ROW_MASKS: dict[Cells, Callable[[Sweep, int], Mask]] = {
    Cells.AFTER_LEARNING: _after_learning,
    Cells.WORST_CASE: _worst_case,
    Cells.EVERY_ROW: _every_row,
}
