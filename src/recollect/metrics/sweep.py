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
from recollect.metrics.rows import RowPlan, Tasks, counts_or_nan, evaluated_rows, how_many, running_sum, runs_last


class Undefined(NotComputable):
    """The formula has no value here, whatever was measured; the message is the reason."""


class MissingInput(NotComputable):
    """The formula needs something beside R that was not given."""


_HOW_TO_GIVE = {
    "b": "b, the untrained learner's scores (--untrained FILE, --base NAME)",
    "joint": "joint, the matrix of the learner retrained on everything seen (--joint FILE)",
    "restricted": "restricted, the scores among the classes of tasks <= m",
    "masked": "masked, the scores among each task's own classes (from class scores: Recorder.log_scores)",
    "asked": "asked, the scores among the classes of tasks up to each one (from class scores: Recorder.log_scores)",
    "probe": "probe, the scores of linear probes on frozen features (`probe: true` in a plan)",
    "single": "single, the scores of models trained on one task alone",
    "single_auc": "single_auc, the mean score of single-task models over their training",
    "online": "online, the test-then-train scores of the stream",
    "near_future": "near_future, the scores on samples a delay ahead of training",
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
    """The rows of a score matrix that end a task, a visit or a batch, laid out for streaming.

    ``R`` has shape (P, T, N): P such rows, T tasks that are learned at some time, N runs. The last row is "now". After
    row ``r``, the first ``seen[r]`` tasks have been learned; ``own[j]`` is the row right after task ``j`` was first
    learned (-1 if that was not evaluated). When row i follows task i, ``seen[r] == r + 1`` and ``own[j] == j``. Scores
    are turned so that higher is better. ``all_rows`` (S, T, N) has the rows inside tasks too; ``row_index`` and
    ``columns`` say which rows and columns of the given matrix they are. Held-out columns are in ``held`` alone.
    """

    def __init__(self, rows: Array, plan: RowPlan, matrix: ScoreMatrix) -> None:
        S, self.T, self.N = rows.shape
        self.all_rows = rows
        self.plan = plan
        self.row_index = np.arange(S)
        self.columns = np.arange(self.T)
        # The matrix keeps its sweep; a reference back would keep both, and all their arrays, until a collection.
        self._matrix = weakref.ref(matrix)
        self.ends, self.seen, self.own = plan.ends, plan.seen, plan.own
        self.P = len(self.ends)
        self.R = rows if self.P == S else rows[self.ends]

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
            kept, columns = evaluated_rows(rows, matrix), np.flatnonzero(~matrix.held_out)
            rows = rows if len(kept) == matrix.S else rows[kept]
            rows = rows if len(columns) == matrix.T else rows[:, columns]
            sweep = cls(rows if matrix.higher_is_better else -rows, RowPlan.of(matrix, kept, columns), matrix)
            sweep.row_index, sweep.columns = kept, columns
            matrix.cache["sweep"] = sweep
        made: Sweep = matrix.cache["sweep"]
        return made

    def like(self, rows: Array) -> Sweep:
        """Sweep other scores (a reference learner's), given at the rows of R, under the same plan."""
        return Sweep(rows, self.plan.without_inside(), self.matrix)

    def need(self, name: str) -> Array:
        """Return a companion of R with runs last, turned like R; raise MissingInput when it was not given."""
        value = getattr(self.matrix, name)
        if value is None:
            raise MissingInput(f"needs {_HOW_TO_GIVE[name]}")
        if name in ("n_classes", "n_samples", "steps"):
            numbers = np.asarray(value, np.float64)
            if name == "steps":
                return numbers[self.row_index]
            numbers = numbers[..., self.columns]
            return runs_last(numbers, len(self.matrix.lead)) if numbers.ndim > 1 else numbers
        return self._laid_out(name, value)

    @property
    def joint_diagonal(self) -> Array:
        """The joint learner's score on each task right after it came; shape (T, N)."""
        if self.matrix.joint is None:
            return self.need("joint")
        return self._laid_out("joint_diagonal", np.diagonal(self.matrix.joint, axis1=-2, axis2=-1))

    @cached_property
    def held(self) -> Array:
        """The scores of the held-out columns at the rows of R; shape (P, H, N)."""
        rows = self._turned(self.matrix.R[..., self.matrix.held_out])
        return rows[self.row_index[self.ends]]

    @cached_property
    def held_base(self) -> Array:
        """The base row of the held-out columns; shape (H, N)."""
        if self.matrix.b is None:
            raise MissingInput(f"needs {_HOW_TO_GIVE['b']}")
        return self._turned(self.matrix.b[..., self.matrix.held_out])

    def _turned(self, value: Array) -> Array:
        laid_out = runs_last(value, len(self.matrix.lead))
        return laid_out if self.matrix.higher_is_better else -laid_out

    def at_ends(self, name: str) -> Array:
        """Return a companion that has rows as R has, at the rows of R; shape (P, T, N)."""
        rows = self.need(name)
        return rows if len(rows) == self.P else rows[self.row_index[self.ends]]

    def restricted_at(self, k: int, tasks: Tasks, upto: NDArray[np.intp]) -> Array:
        """The accuracy after task k on `tasks` among the classes of tasks <= `upto` (tasks, runs).

        The tensor stays as it was given: few of its cells are read, and laying all of it out costs far more.
        """
        if self.matrix.restricted is None:
            return self.need("restricted")
        A = self.matrix.restricted.reshape(self.N, *self.matrix.restricted.shape[-3:])
        on = self.columns[tasks][:, None]
        picked: Array = A[np.arange(self.N)[None, :], self.columns[k], on, self.columns[upto]]
        return picked if self.matrix.higher_is_better else -picked

    def _laid_out(self, name: str, value: Array) -> Array:
        key = f"sweep.{name}"
        if key not in self.matrix.cache:
            if len(self.columns) < self.matrix.T and name not in ("pooled", "online", "near_future"):
                value = value[..., self.columns]
                value = value[..., self.columns, :] if name == "joint" else value
            self.matrix.cache[key] = self._turned(value)
        array: Array = self.matrix.cache[key]
        return array

    @cached_property
    def begun(self) -> NDArray[np.bool_]:
        """True at (row, task), over all rows, where the task was being learned or had been; shape (S, T)."""
        return np.arange(self.T)[None, :] < self.plan.begun[:, None]

    @cached_property
    def after_learning(self) -> NDArray[np.bool_]:
        """True at (row, task), over all rows, strictly after the row at which the task was learned."""
        S = len(self.all_rows)
        first_end_since = np.append(self.ends, S)[np.searchsorted(self.seen, np.arange(self.T), "right")]
        # A task's own row is not after it; where that was not evaluated, the next one already is.
        first_row = first_end_since + (self.own >= 0)
        return np.arange(S)[:, None] >= first_row[None, :]

    @property
    def before(self) -> list[Tasks]:
        """For each row, the tasks that have an own row before it: what forgetting is measured on."""
        return self.plan.before

    @property
    def upto(self) -> list[Tasks]:
        """For each row, the tasks that have an own row before it, or have this one."""
        return self.plan.upto

    @cached_property
    def n_seen(self) -> Array:
        """How many tasks have been learned; NaN where none has."""
        return counts_or_nan(self.seen)

    @cached_property
    def n_before(self) -> Array:
        """How many tasks have an own row before each row; NaN where none has."""
        return counts_or_nan(list(map(how_many, self.before)))

    @cached_property
    def n_upto(self) -> Array:
        """How many tasks have an own row before each row or at it; NaN where there is nothing to compare with."""
        return counts_or_nan([how_many(tasks) if r else 0 for r, tasks in enumerate(self.upto)])

    @property
    def is_full(self) -> bool:
        """Whether row i follows task i for every task, and there are no other rows."""
        return self.plan.is_full

    @cached_property
    def seen_sum(self) -> Array:
        """Sum of row r over the tasks learned so far."""
        return self.each_row(lambda r: self.R[r, : self.seen[r]].sum(0))

    def mean_over_rows(self, values: Array) -> Array:
        """Mean of a (P, N) quantity over the rows so far at which some task had been learned."""
        has_any = np.array(self.seen) > 0
        total = running_sum(values if has_any.all() else np.where(has_any[:, None], values, 0.0))
        mean: Array = total / counts_or_nan(np.cumsum(has_any))
        return mean

    def blocks(self) -> list[slice]:
        """The rows, of all, in which each task was being learned: those after the task before, up to its own."""
        ends = [self.ends[place] for place in self.own]
        # Tasks that were learned together have one block.
        return [slice(max((before for before in ends if before < end), default=-1) + 1, end + 1) for end in ends]

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
            now = self.R[r, self.before[r]]
            drop: Array = np.subtract(self.diagonal[self.before[r]], now, out=scratch[: len(now)])
            total: Array = drop.sum(0)
            return total

        return self.each_row(fallen)

    @cached_property
    def since_own_but_last(self) -> Array:
        """The same without the task that was learned last before row r."""

        def fallen(r: int) -> Array:
            tasks = np.arange(self.T)[self.before[r]][:-1]
            drop: Array = (self.diagonal[tasks] - self.R[r, tasks]).sum(0)
            return drop

        return self.each_row(fallen)

    @cached_property
    def begun_mean(self) -> Array:
        """Mean over the tasks begun so far, at every row, inside tasks too; shape (S, N)."""
        if self.is_full:
            return self.seen_sum / self.n_seen
        return np.array([self.all_rows[row, :n].sum(0) / n for row, n in enumerate(self.plan.begun)])

    @cached_property
    def lowest_sum(self) -> Array:
        """Sum over tasks of the lowest score strictly after learning, at each row of R."""
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
        if not len(tasks):
            return np.full((self.P, self.N), np.nan)
        upto = np.searchsorted(self.own[tasks], np.arange(self.P), "right")
        mean: Array = running_sum(values[tasks])[upto - 1] / counts_or_nan(upto)
        return mean

    def peaks_since_learned(self) -> Iterator[tuple[Array, Array]]:
        """Yield, for each row, each task of `before`'s best score since it was learned, and its score now.

        What is yielded is overwritten by the next row.
        """
        peak = np.full((self.T, self.N), np.nan)
        for r in range(self.P):
            now, old = self.R[r], self.before[r]
            then = peak[old]
            yield then, now[old]
            if isinstance(old, slice):
                np.maximum(then, now[old], out=then)
            else:
                peak[old] = np.maximum(then, now[old])
            for task in np.flatnonzero(self.own == r):
                peak[task] = now[task]

    def peaks_of_any_row(self) -> Iterator[tuple[Array, Array]]:
        """Yield, for each row, each task of `upto`'s best score in any earlier row, and its score now."""
        peak = np.full((self.T, self.N), np.nan)
        for r in range(self.P):
            now = self.R[r]
            yield peak[self.upto[r]], now[self.upto[r]]
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
            earlier = min(len(drop), how_many(self.before[r]))
            drop[:earlier].sum(0, out=sums[0, r])
            np.add(sums[0, r], drop[earlier:].sum(0), out=sums[2, r])
            np.maximum(drop, 0, out=drop)
            drop[:earlier].sum(0, out=sums[1, r])
            np.add(sums[1, r], drop[earlier:].sum(0), out=sums[3, r])
        return Drops(*sums)

    def each_row(self, value: Callable[[int], Array]) -> Array:
        """Stack what `value` gives for each row."""
        out = np.empty((self.P, self.N))
        for r in range(self.P):
            out[r] = value(r)
        return out
