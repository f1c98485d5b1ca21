"""Which cells of R a definition reads, so that a missing one can be named and an unread one never matters."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from recollect.errors import UsageError
from recollect.metrics.rows import Tasks
from recollect.metrics.sweep import Sweep

Mask = NDArray[np.bool_]


def _nothing(s: Sweep) -> Mask:
    return np.zeros((s.P, s.T), bool)


def _learned(s: Sweep) -> Mask:
    """True at (row, task) where the task had been learned by that row."""
    return np.arange(s.T)[None, :] < np.array(s.seen)[:, None]


def _upto(s: Sweep, r: int) -> Mask:
    return np.arange(s.P)[:, None] <= r


def _now(s: Sweep, r: int, tasks: Tasks) -> Mask:
    """True in row r, in the columns of `tasks`."""
    mask = _nothing(s)
    mask[r, tasks] = True
    return mask


def _own(s: Sweep, tasks: Tasks) -> Mask:
    """True at each task's own row, for those of `tasks` that have one."""
    mask = _nothing(s)
    picked = np.arange(s.T)[tasks]
    picked = picked[s.own[picked] >= 0]
    mask[s.own[picked], picked] = True
    return mask


def _since_own(s: Sweep, r: int) -> Mask:
    """True at (row, task) from the task's own row on, up to row r."""
    rows = np.arange(s.P)[:, None]
    return (s.own >= 0) & (rows >= s.own) & (rows <= r)


def _in_columns(s: Sweep, r: int, tasks: Tasks) -> Mask:
    mask = _nothing(s)
    mask[: r + 1, tasks] = r > 0
    return mask


def _now_seen(s: Sweep, r: int) -> Mask:
    return _now(s, r, slice(0, s.seen[r]))


def _newest(s: Sweep, r: int) -> Mask:
    return _now(s, r, slice(max(s.seen[r] - 1, 0), s.seen[r]))


def _newest_own(s: Sweep, r: int) -> Mask:
    return _own(s, slice(max(s.seen[r] - 1, 0), s.seen[r]))


def _diagonal(s: Sweep, r: int) -> Mask:
    return _own(s, s.upto[r])


def _lower(s: Sweep, r: int) -> Mask:
    return _learned(s) & _upto(s, r)


def _since_learned(s: Sweep, r: int) -> Mask:
    mask = _nothing(s)
    mask[:, s.before[r]] = _since_own(s, r)[:, s.before[r]]
    return mask


def _but_last(s: Sweep, r: int) -> Tasks:
    """The tasks of `before`, but for the one learned last."""
    return np.arange(s.T)[s.before[r]][:-1]


def _own_and_now_but_last(s: Sweep, r: int) -> Mask:
    return _own(s, _but_last(s, r)) | _now(s, r, _but_last(s, r))


def _since_learned_but_last(s: Sweep, r: int) -> Mask:
    mask = _nothing(s)
    for row in range(r + 1):
        mask |= _own_and_now_but_last(s, row)
    return mask


def _all_cells(s: Sweep, r: int) -> Mask:
    return _upto(s, r) & (np.arange(s.T) < s.seen[r])


def _own_and_now(s: Sweep, r: int) -> Mask:
    return _own(s, s.before[r]) | _now(s, r, s.before[r])


def _earlier_tasks(s: Sweep, r: int) -> Mask:
    return _in_columns(s, r, s.before[r])


def _square(s: Sweep, r: int) -> Mask:
    return _in_columns(s, r, s.upto[r])


def _upper(s: Sweep, r: int) -> Mask:
    return ~_learned(s) & _upto(s, r) & (np.arange(s.T) < s.seen[r])


def _superdiagonal(s: Sweep, r: int) -> Mask:
    mask = _nothing(s)
    for row in range(1, r + 1):
        mask[row - 1, s.plan.just_learned(row)] = True
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


def _own_block(s: Sweep, r: int) -> Mask:
    mask = np.zeros((len(s.all_rows), s.T), bool)
    if (s.own >= 0).all():
        for j in range(s.seen[r]):
            mask[s.blocks()[j], j] = True
    return mask


def _block_ends(s: Sweep, r: int, last: int = 5) -> Mask:
    mask = np.zeros((len(s.all_rows), s.T), bool)
    if r > 0 and (s.own >= 0).all():
        now = slice(s.ends[r - 1] + 1, s.ends[r] + 1)
        for j in range(s.seen[r]):
            mask[block_end(s.blocks()[j], last), j] = True
            mask[block_end(now, last), j] = True
    return mask


def block_end(rows: slice, last: int) -> slice:
    """The last rows of a block.

    >>> block_end(slice(0, 8), 5), block_end(slice(6, 8), 5)
    (slice(3, 8, None), slice(6, 8, None))
    """
    return slice(max(rows.start, rows.stop - last), rows.stop)


def check_last(last: int) -> None:
    """Refuse a number of evaluations that is none."""
    if isinstance(last, bool) or not isinstance(last, int | np.integer) or last < 1:
        raise UsageError(f"last must be a whole number of evaluations, at least 1; got {last!r}.")


class Cells(Enum):
    """Named sets of cells, as a function of the row at which the value is wanted."""

    NOW = "the row's cells of the tasks seen so far"
    NEWEST_OWN = "the newest task's cell right after it was learned"
    DIAGONAL = "each task's cell right after it was learned"
    LOWER = "the lower triangle with the diagonal"
    SINCE_LEARNED = "the cells since learning of each task that has a row of its own, but for the newest task's"
    OWN_AND_NOW = "the diagonal and the row's cells of the earlier tasks"
    EARLIER_TASKS = "all rows, in the columns of the earlier tasks"
    SQUARE = "all rows, in the columns of the tasks seen so far"
    UPPER = "the strict upper triangle"
    SUPERDIAGONAL = "each task's cell in the row before it is learned"
    AFTER_LEARNING = "every evaluation of a task after the one right after it was learned"
    WORST_CASE = "every evaluation of a task after the one right after it was learned, and the newest task's cell"
    OWN_AND_NOW_BUT_LAST = "as the diagonal and the row's cells, without the task learned just before"
    SINCE_LEARNED_BUT_LAST = "the diagonal and what is below it, without the diagonal next to it"
    ALL_CELLS = "all rows, in the columns of the tasks seen so far, before they were learned too"
    OWN_BLOCK = "the evaluations of each task while it was being learned"
    BLOCK_ENDS = "the last evaluations of each task while it was being learned, and the last ones of the run"
    NOTHING = "no cell of R"
    HELD_OUT = "the row's cells of the tasks that are never trained on"
    EVERY_ROW = "every evaluation of the tasks seen so far, inside tasks too"

    def mask(self, sweep: Sweep, r: int) -> Mask:
        """Return a mask of shape (S, T): the cells of R that the value at planned row r reads."""
        if self in _ROW_MASKS:
            return _ROW_MASKS[self](sweep, r)
        return _over_all_rows(sweep, _END_MASKS[self](sweep, r))


_END_MASKS: dict[Cells, Callable[[Sweep, int], Mask]] = {
    Cells.NOW: _now_seen,
    Cells.NEWEST_OWN: _newest_own,
    Cells.DIAGONAL: _diagonal,
    Cells.LOWER: _lower,
    Cells.SINCE_LEARNED: _since_learned,
    Cells.OWN_AND_NOW: _own_and_now,
    Cells.EARLIER_TASKS: _earlier_tasks,
    Cells.SQUARE: _square,
    Cells.UPPER: _upper,
    Cells.SUPERDIAGONAL: _superdiagonal,
    Cells.OWN_AND_NOW_BUT_LAST: _own_and_now_but_last,
    Cells.SINCE_LEARNED_BUT_LAST: _since_learned_but_last,
    Cells.ALL_CELLS: _all_cells,
    Cells.HELD_OUT: lambda s, r: _nothing(s),
    Cells.NOTHING: lambda s, r: _nothing(s),
}

_ROW_MASKS: dict[Cells, Callable[[Sweep, int], Mask]] = {
    Cells.AFTER_LEARNING: _after_learning,
    Cells.WORST_CASE: _worst_case,
    Cells.EVERY_ROW: _every_row,
    Cells.OWN_BLOCK: _own_block,
    Cells.BLOCK_ENDS: _block_ends,
}
