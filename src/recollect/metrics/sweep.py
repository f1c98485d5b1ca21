"""One pass down the rows of R, for all runs at once: the sums that the definitions share.

The run axis is last and rows are visited in turn, so every numpy call works on one contiguous slab and no
temporary is as large as R. That is what makes ten thousand matrices cost what reading them costs.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from recollect.errors import NotComputable
from recollect.matrix import Array, ScoreMatrix
from recollect.metrics.layout import counts_or_nan, evaluated_rows, running_sum, runs_last


class Undefined(NotComputable):
    """The formula has no value here, whatever was measured; the message is the reason."""


class MissingInput(NotComputable):
    """The formula needs something beside R that was not given."""


_HOW_TO_GIVE = {
    "b": "b, the untrained learner's scores (--untrained FILE)",
    "joint": "joint, the matrix of the learner retrained on everything seen (--joint FILE)",
    "restricted": "restricted, the scores among the classes of tasks <= m",
    "masked": "masked, the scores among each task's own classes (from class scores: Recorder.log_scores)",
    "asked": "asked, the scores among the classes of tasks up to each one (from class scores: Recorder.log_scores)",
    "n_classes": "n_classes, the new classes of each task (--classes 10,10,...)",
    "n_samples": "n_samples, the size of each task's test set (--samples 100,100,...)",
    "steps": "steps, the samples seen at each row",
}


@dataclass(frozen=True)
class Drops:
    """Sums over tasks of ``peak - now``, a row of R at a time; shape (P, N)."""

    signed: Array
    positive: Array
    signed_with_newest: Array
    positive_with_newest: Array


class Sweep:
    """The planned end-of-task rows of a score matrix, laid out for streaming.

    ``R`` has shape (P, T, N): P planned rows, T tasks, N runs. After planned row ``r``, ``seen[r]`` tasks
    have been learned, so the newest is task ``seen[r] - 1``; ``own[j]`` is the planned row right after
    task ``j`` (-1 if there is none). When every row is planned, ``seen[r] == r + 1`` and ``own[j] == j``.
    Scores are turned so that higher is better. ``all_rows`` (S, T, N) has the rows inside tasks too, and
    ``row_index`` says which rows of the given matrix they are.
    """

    def __init__(self, rows: Array, learned_at: NDArray[np.int64], matrix: ScoreMatrix) -> None:
        S, self.T, self.N = rows.shape
        self.all_rows = rows
        self.row_index = np.arange(S)
        self.learned_at = learned_at
        # The matrix keeps its sweep; a reference back would keep both, and all their arrays, until a collection.
        self._matrix = weakref.ref(matrix)
        # Not np.unique, which would import numpy.ma.
        ends = np.array(sorted({row for row in learned_at.tolist() if row >= 0}))
        self.ends: list[int] = ends.tolist()
        self.R = rows if len(ends) == S else rows[ends]
        self.P = len(ends)
        newest = [int(np.flatnonzero(learned_at == end)[-1]) for end in ends]
        self.seen = [k + 1 for k in newest]
        self.own = np.where(learned_at >= 0, np.searchsorted(ends, learned_at), -1)

    @property
    def matrix(self) -> ScoreMatrix:
        """The matrix that this was laid out from; it must still be there."""
        matrix = self._matrix()
        if matrix is None:
            raise ReferenceError("the ScoreMatrix of this Sweep is gone; keep it while the Sweep is in use")
        return matrix

    @classmethod
    def of(cls, matrix: ScoreMatrix) -> Sweep:
        """Lay out `matrix`, once: the layout is kept with the matrix."""
        if "sweep" not in matrix.cache:
            rows = runs_last(matrix.R, len(matrix.lead))
            kept = evaluated_rows(rows, matrix)
            learned_at = np.where(matrix.planned, np.searchsorted(kept, matrix.learned_at), -1)
            rows = rows if len(kept) == matrix.S else rows[kept]
            sweep = cls(rows if matrix.higher_is_better else -rows, learned_at, matrix)
            sweep.row_index = kept
            matrix.cache["sweep"] = sweep
        made: Sweep = matrix.cache["sweep"]
        return made

    def like(self, rows: Array) -> Sweep:
        """Sweep other scores (a reference learner's) under the same plan of end-of-task rows."""
        return Sweep(rows, self.own, self.matrix)

    def need(self, name: str) -> Array:
        """Return a companion of R with runs last, turned like R; raise MissingInput when it was not given."""
        value = getattr(self.matrix, name)
        if value is None:
            raise MissingInput(f"needs {_HOW_TO_GIVE[name]}")
        if name in ("n_classes", "n_samples", "steps"):
            numbers = np.asarray(value, np.float64)
            if numbers.ndim > 1:
                return runs_last(numbers, len(self.matrix.lead))
            return numbers[self.row_index] if name == "steps" else numbers
        return self._laid_out(name, value)

    @property
    def joint_diagonal(self) -> Array:
        """The joint learner's score on each task right after it came; shape (T, N)."""
        if self.matrix.joint is None:
            return self.need("joint")
        return self._laid_out("joint_diagonal", np.diagonal(self.matrix.joint, axis1=-2, axis2=-1))

    def at_ends(self, name: str) -> Array:
        """Return a companion that has rows as R has, at the planned rows; shape (P, T, N)."""
        rows = self.need(name)
        return rows if len(rows) == self.P else rows[self.row_index[self.ends]]

    def restricted_at(self, k: int, upto: NDArray[np.intp]) -> Array:
        """The accuracy after task k on each task among the classes of tasks <= `upto` (tasks, runs).

        The tensor stays as it was given: few of its cells are read, and laying all of it out costs far more.
        """
        if self.matrix.restricted is None:
            return self.need("restricted")
        A = self.matrix.restricted.reshape(self.N, self.T, self.T, self.T)
        picked: Array = A[np.arange(self.N)[None, :], k, np.arange(len(upto))[:, None], upto]
        return picked if self.matrix.higher_is_better else -picked

    def _laid_out(self, name: str, value: Array) -> Array:
        key = f"sweep.{name}"
        if key not in self.matrix.cache:
            turned = runs_last(value, len(self.matrix.lead))
            self.matrix.cache[key] = turned if self.matrix.higher_is_better else -turned
        array: Array = self.matrix.cache[key]
        return array

    @cached_property
    def begun(self) -> NDArray[np.bool_]:
        """True at (row, task), over all rows, where the task was being learned or had been; shape (S, T)."""
        planned = np.flatnonzero(self.learned_at >= 0)
        rows = np.arange(len(self.all_rows))
        ended_before = np.searchsorted(self.learned_at[planned], rows, "left")
        ended = np.searchsorted(self.learned_at[planned], rows, "right")
        # Inside a task one more has begun than has ended; after the last planned end, all have.
        newest = np.append(planned, self.T - 1)[np.maximum(ended_before, ended - 1)]
        return np.arange(self.T)[None, :] <= newest[:, None]

    @cached_property
    def after_learning(self) -> NDArray[np.bool_]:
        """True at (row, task), over all rows, strictly after the row at which the task was learned."""
        S = len(self.all_rows)
        first_end_since = np.append(self.ends, S)[np.searchsorted(self.seen, np.arange(self.T), "right")]
        # A task's own end row is not after it; where that was not planned, the next planned one already is.
        first_row = first_end_since + (self.own >= 0)
        return np.arange(S)[:, None] >= first_row[None, :]

    def before(self, r: int) -> int:
        """How many tasks had been learned at the planned row before row r."""
        return self.seen[r - 1] if r else 0

    @cached_property
    def n_seen(self) -> Array:
        return np.array(self.seen, np.float64)[:, None]

    @cached_property
    def n_before(self) -> Array:
        """Tasks that have an earlier planned row since they were learned; NaN where there is none."""
        return counts_or_nan([self.before(r) for r in range(self.P)])

    @cached_property
    def n_own(self) -> Array:
        """Earlier tasks whose own end-of-task row was planned; NaN where there is none."""
        return counts_or_nan([int(((self.own >= 0) & (self.own < r)).sum()) for r in range(self.P)])

    @cached_property
    def n_earlier(self) -> Array:
        """Tasks older than the newest; NaN in the first planned row, which has nothing to compare with."""
        return counts_or_nan([self.seen[r] - 1 if r else 0 for r in range(self.P)])

    @cached_property
    def is_full(self) -> bool:
        """Whether row i follows task i for every task, and there are no other rows."""
        return len(self.all_rows) == self.T and self.seen == list(range(1, self.T + 1))

    @cached_property
    def seen_sum(self) -> Array:
        """Sum of row r over the tasks learned so far."""
        return self.each_row(lambda r: self.R[r, : self.seen[r]].sum(0))

    @cached_property
    def before_sum(self) -> Array:
        """Sum of row r over the tasks that had been learned at the row before it."""
        return self.each_row(lambda r: self.R[r, : self.before(r)].sum(0))

    @cached_property
    def diagonal(self) -> Array:
        """Each task's score right after it was learned, NaN where that row was not planned; shape (T, N)."""
        scores = np.full((self.T, self.N), np.nan)
        planned = np.flatnonzero(self.own >= 0)
        scores[planned] = self.R[self.own[planned], planned]
        return scores

    @cached_property
    def since_own(self) -> Array:
        """Sum over earlier tasks of the score right after learning minus the score in row r."""
        scratch = np.empty((self.T, self.N))

        def fallen(r: int) -> Array:
            tasks = slice(0, r) if self.is_full else np.flatnonzero((self.own >= 0) & (self.own < r))
            now = self.R[r, tasks]
            drop: Array = np.subtract(self.diagonal[tasks], now, out=scratch[: len(now)])
            total: Array = drop.sum(0)
            return total

        return self.each_row(fallen)

    @cached_property
    def begun_mean(self) -> Array:
        """Mean over the tasks begun so far, at every row, inside tasks too; shape (S, N)."""
        if self.is_full:
            return self.seen_sum / self.n_seen
        begun = self.begun.sum(1)
        return np.array([self.all_rows[row, :n].sum(0) / n for row, n in enumerate(begun)])

    @cached_property
    def lowest_sum(self) -> Array:
        """Sum over tasks of the lowest score strictly after learning, at each end-of-task row."""
        out = np.empty((self.P, self.N))
        low = np.full((self.T, self.N), np.inf)
        done = self.after_learning.sum(1)
        start = 0
        for r, end in enumerate(self.ends):
            for row in range(start, end + 1):
                lowest = low[: done[row]]
                np.minimum(lowest, self.all_rows[row, : done[row]], out=lowest)
            start = end + 1
            low[: done[end]].sum(0, out=out[r])
        return out

    def mean_over_own(self, values: Array) -> Array:
        """Mean of a (T, N) quantity over the tasks whose own row is row r or an earlier one."""
        tasks = np.flatnonzero(self.own >= 0)
        upto = np.searchsorted(self.own[tasks], np.arange(self.P), "right")
        mean: Array = running_sum(values[tasks])[upto - 1] / upto[:, None]
        return mean

    def peaks_since_learned(self) -> Iterator[tuple[Array, Array]]:
        """Yield, for each row, each earlier task's best score since it was learned, and its score now."""
        peak = np.empty((self.T, self.N))
        for r in range(self.P):
            old, new = self.before(r), self.seen[r]
            now = self.R[r]
            yield peak[:old], now[:old]
            np.maximum(peak[:old], now[:old], out=peak[:old])
            peak[old:new] = now[old:new]

    def peaks_of_any_row(self) -> Iterator[tuple[Array, Array]]:
        """Yield, for each row, each seen task's best score in any earlier row, and its score now."""
        peak = np.full((self.T, self.N), np.nan)
        for r in range(self.P):
            now = self.R[r]
            yield peak[: self.seen[r]], now[: self.seen[r]]
            if r == 0:
                peak[:] = now
            else:
                np.maximum(peak, now, out=peak)

    @cached_property
    def drops_since_learned(self) -> Drops:
        return self._drops(self.peaks_since_learned())

    @cached_property
    def drops_from_any_row(self) -> Drops:
        return self._drops(self.peaks_of_any_row())

    def _drops(self, peaks: Iterator[tuple[Array, Array]]) -> Drops:
        sums = np.zeros((4, self.P, self.N))
        scratch = np.empty((self.T, self.N))
        for r, (peak, now) in enumerate(peaks):
            drop = np.subtract(peak, now, out=scratch[: len(now)])
            earlier = min(len(drop), self.seen[r] - 1)
            drop[:earlier].sum(0, out=sums[0, r])
            np.add(sums[0, r], drop[earlier:].sum(0), out=sums[2, r])
            np.maximum(drop, 0, out=drop)
            drop[:earlier].sum(0, out=sums[1, r])
            np.add(sums[1, r], drop[earlier:].sum(0), out=sums[3, r])
        return Drops(*sums)

    def each_row(self, value: Callable[[int], Array]) -> Array:
        """Stack what `value` gives for each planned row."""
        out = np.empty((self.P, self.N))
        for r in range(self.P):
            out[r] = value(r)
        return out
