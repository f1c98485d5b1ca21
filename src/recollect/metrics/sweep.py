"""One pass down the rows of R, for all runs at once: the sums that the definitions share.

The run axis is last and rows are visited in turn, so every numpy call works on one contiguous slab and no
temporary is as large as R. That is what makes ten thousand matrices cost what reading them costs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from recollect.errors import NotComputable
from recollect.matrix import Array, ScoreMatrix


class Undefined(NotComputable):
    """The formula has no value here, whatever was measured; the message is the reason."""


class MissingInput(NotComputable):
    """The formula needs something beside R that was not given."""


_HOW_TO_GIVE = {
    "b": "b, the untrained learner's scores (--untrained FILE)",
    "joint": "joint, the matrix of the learner retrained on everything seen (--joint FILE)",
    "restricted": "restricted, the scores among the classes of tasks <= m",
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

    ``R`` has shape (P, T, N): P planned rows, T tasks, N runs. After planned row ``r``, ``seen[r]`` tasks have
    been learned, so the newest is task ``seen[r] - 1``; ``own[j]`` is the planned row right after task ``j``
    (-1 if there is none). When every row is planned, ``seen[r] == r + 1`` and ``own[j] == j``.
    Scores are turned so that higher is better.
    """

    def __init__(self, rows: Array, learned_at: NDArray[np.int64], matrix: ScoreMatrix | None = None) -> None:
        S, self.T, self.N = rows.shape
        self.all_rows = rows
        self.matrix = matrix
        ends = np.unique(learned_at[learned_at >= 0])
        self.ends: list[int] = ends.tolist()
        self.R = rows if len(ends) == S else rows[ends]
        self.P = len(ends)
        newest = [int(np.flatnonzero(learned_at == end)[-1]) for end in ends]
        self.seen = [k + 1 for k in newest]
        self.own = np.where(learned_at >= 0, np.searchsorted(ends, learned_at), -1)

    @classmethod
    def of(cls, matrix: ScoreMatrix) -> Sweep:
        """Lay out `matrix`, once: the layout is kept with the matrix."""
        if "sweep" not in matrix.cache:
            rows = runs_last(matrix.R, len(matrix.lead))
            matrix.cache["sweep"] = cls(rows if matrix.higher_is_better else -rows, matrix.learned_at, matrix)
        sweep: Sweep = matrix.cache["sweep"]
        return sweep

    def like(self, rows: Array) -> Sweep:
        """Sweep other scores (a reference learner's) under the same plan of end-of-task rows."""
        learned_at = np.where(self.own >= 0, self.own, -1)
        return Sweep(rows, learned_at)

    def need(self, name: str) -> Array:
        """Return a companion of R with runs last, turned like R; raise MissingInput when it was not given."""
        assert self.matrix is not None
        value = getattr(self.matrix, name)
        if value is None:
            raise MissingInput(f"needs {_HOW_TO_GIVE[name]}")
        if name in ("n_classes", "n_samples", "steps"):
            return np.asarray(value, np.float64)
        key = f"sweep.{name}"
        if key not in self.matrix.cache:
            turned = runs_last(value, len(self.matrix.lead))
            self.matrix.cache[key] = turned if self.matrix.higher_is_better else -turned
        array: Array = self.matrix.cache[key]
        return array

    @cached_property
    def begun(self) -> NDArray[np.bool_]:
        """True at (row, task), over all rows, where the task was being learned or had been; shape (S, T)."""
        learned_at = np.full(self.T, -1) if self.matrix is None else self.matrix.learned_at
        rows = np.arange(len(self.all_rows))
        planned = np.flatnonzero(learned_at >= 0)
        # The task under way in a row is the first whose end comes no earlier; those ending there have all begun.
        under_way = planned[np.minimum(np.searchsorted(learned_at[planned], rows, "left"), len(planned) - 1)]
        done = np.searchsorted(learned_at[planned], rows, "right")
        newest = np.maximum(under_way, np.where(done > 0, planned[np.maximum(done, 1) - 1], 0))
        newest[rows > learned_at[planned[-1]]] = self.T - 1
        return np.arange(self.T)[None, :] <= newest[:, None]

    @cached_property
    def after_learning(self) -> NDArray[np.bool_]:
        """True at (row, task), over all rows, strictly after the row at which the task was learned."""
        first_row = [
            self.ends[own] + 1
            if own >= 0
            else next((e for e, k in zip(self.ends, self.seen, strict=True) if k > j), S)
            for S in [len(self.all_rows)]
            for j, own in enumerate(self.own)
        ]
        return np.arange(len(self.all_rows))[:, None] >= np.array(first_row)[None, :]

    def before(self, r: int) -> int:
        """How many tasks had been learned at the planned row before row r."""
        return self.seen[r - 1] if r else 0

    @cached_property
    def n_seen(self) -> Array:
        return np.array(self.seen, np.float64)[:, None]

    @cached_property
    def n_before(self) -> Array:
        """Tasks that have an earlier planned row since they were learned; NaN where there is none."""
        return _counts(self.before(r) for r in range(self.P))

    @cached_property
    def n_own(self) -> Array:
        """Earlier tasks whose own end-of-task row was planned; NaN where there is none."""
        return _counts(((self.own >= 0) & (self.own < r)).sum() for r in range(self.P))

    @cached_property
    def n_earlier(self) -> Array:
        """Tasks older than the newest; NaN in the first planned row, which has nothing to compare with."""
        return _counts(self.seen[r] - 1 if r else 0 for r in range(self.P))

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

        def fallen(r: int) -> Array:
            tasks = slice(0, r) if self.is_full else np.flatnonzero((self.own >= 0) & (self.own < r))
            return (self.diagonal[tasks] - self.R[r, tasks]).sum(0)

        return self.each_row(fallen)

    def mean_over_own(self, values: Array) -> Array:
        """Mean of a (T, N) quantity over the tasks whose own row is row r or an earlier one."""
        tasks = np.flatnonzero(self.own >= 0)
        upto = np.searchsorted(self.own[tasks], np.arange(self.P), "right")
        mean: Array = np.cumsum(values[tasks], axis=0)[upto - 1] / upto[:, None]
        return mean

    @property
    def is_full(self) -> bool:
        """Whether row i follows task i for every task."""
        return self.P == self.T and self.seen == list(range(1, self.T + 1))

    def peaks_since_learned(self) -> Iterator[tuple[Array, Array]]:
        """Yield, for each row, the best earlier score of each earlier task since it was learned, and its score now."""
        peak = np.empty((self.T, self.N))
        for r in range(self.P):
            old, new = self.before(r), self.seen[r]
            now = self.R[r]
            yield peak[:old], now[:old]
            np.maximum(peak[:old], now[:old], out=peak[:old])
            peak[old:new] = now[old:new]

    def peaks_of_any_row(self) -> Iterator[tuple[Array, Array]]:
        """Yield, for each row, the best earlier score of each task seen, zero-shot rows too, and its score now."""
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
            sums[0, r] = drop[:earlier].sum(0)
            sums[2, r] = sums[0, r] + drop[earlier:].sum(0)
            np.maximum(drop, 0, out=drop)
            sums[1, r] = drop[:earlier].sum(0)
            sums[3, r] = sums[1, r] + drop[earlier:].sum(0)
        return Drops(*sums)

    def each_row(self, value: Callable[[int], Array]) -> Array:
        """Stack what `value` gives for each planned row."""
        out = np.empty((self.P, self.N))
        for r in range(self.P):
            out[r] = value(r)
        return out


def runs_last(values: Array, leading: int) -> Array:
    """Move the leading run axes, flattened, to the end, contiguously; no runs count as one.

    >>> runs_last(np.zeros((5, 2, 3)), leading=1).shape
    (2, 3, 5)
    """
    tail = values.shape[leading:]
    flat = values.reshape(-1, int(np.prod(tail)))
    return _transposed(flat).reshape(*tail, len(flat))


def _transposed(flat: Array, block: int = 256) -> Array:
    """Copy the transpose in blocks that stay in the cache: several times faster than one strided copy."""
    n, m = flat.shape
    if n == 1:
        return flat.reshape(m, 1)
    out = np.empty((m, n))
    for start in range(0, n, block):
        out[:, start : start + block] = flat[start : start + block].T
    return out


def _counts(values: Iterator[int] | Iterator[np.int64]) -> Array:
    """Turn counts into divisors of shape (P, 1): no terms, no mean."""
    counts = np.array([float(v) for v in values])[:, None]
    counts[counts == 0] = np.nan
    return counts
