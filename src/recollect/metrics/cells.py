"""Which cells of R a definition reads, so that a missing one can be named and an unread one never matters."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recollect.metrics.sweep import Sweep

if TYPE_CHECKING:
    from recollect.metrics.card import Card

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


def _after_learning(s: Sweep, r: int) -> Mask:
    return s.after_learning[s.ends] & _upto(s, r)


def _worst_case(s: Sweep, r: int) -> Mask:
    return _after_learning(s, r) | _newest(s, r)


def _every_row(s: Sweep, r: int) -> Mask:
    return s.begun[s.ends] & _upto(s, r)


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
    WORST_CASE = (
        "every evaluation of a task after the one right after it was learned, and the newest task's cell"
    )
    EVERY_ROW = "every evaluation of the tasks seen so far, inside tasks too"

    def mask(self, sweep: Sweep, r: int) -> Mask:
        """Return a (P, T) mask of what the value at planned row r reads."""
        return _MASKS[self](sweep, r)


_MASKS: dict[Cells, Callable[[Sweep, int], Mask]] = {
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
    Cells.AFTER_LEARNING: _after_learning,
    Cells.WORST_CASE: _worst_case,
    Cells.EVERY_ROW: _every_row,
}


def missing_cells(card: Card, sweep: Sweep, r: int, run: int, most: int = 4) -> str:
    """Name the cells that `card` reads at row r and that run lacks; empty if it lacks none."""
    read = card.reads.mask(sweep, r)
    lacking = np.argwhere(read & np.isnan(sweep.R[:, :, run]))
    named = [f"R[{sweep.seen[row] - 1}, {task}]" for row, task in lacking]
    if not named:
        named = _missing_companions(card, sweep, r, run)
    if len(named) > most:
        named = [*named[:most], f"{len(named) - most} more"]
    return named[0] if len(named) == 1 else " and ".join([", ".join(named[:-1]), named[-1]]) if named else ""


def _missing_companions(card: Card, sweep: Sweep, r: int, run: int) -> list[str]:
    k = sweep.seen[r]
    if "b" in card.needs:
        return [f"b[{j}]" for j in np.flatnonzero(np.isnan(sweep.need("b")[:k, run])) if j > 0]
    if "joint" in card.needs:
        diagonal = sweep.need("joint")[range(k), range(k), run]
        wanted = card.reads.mask(sweep, r).any(0)[:k]
        return [f"joint[{j}, {j}]" for j in np.flatnonzero(np.isnan(diagonal) & wanted)]
    if "restricted" in card.needs:
        A = sweep.need("restricted")[k - 1, :k, :k, run]
        usable = np.arange(k)[:, None] <= np.arange(k)[None, :]
        return [f"A[{k - 1}, {j}, {m}]" for j, m in np.argwhere(np.isnan(A) & usable)]
    if card.reads in (Cells.EVERY_ROW, Cells.AFTER_LEARNING, Cells.WORST_CASE):
        rows = sweep.all_rows[: sweep.ends[r] + 1, :, run]
        read = sweep.begun if card.reads is Cells.EVERY_ROW else sweep.after_learning
        return [f"task {j} in row {s}" for s, j in np.argwhere(np.isnan(rows) & read[: len(rows)])]
    return []
