"""Scores drawn again as other test items would give them: cell by cell, or item by item where answers are known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recollect.errors import NotComputable, UsageError
from recollect.matrix import Array, ScoreMatrix

Items = NDArray[Any]
Rows = NDArray[np.intp]
Answers = NDArray[np.bool_]
# What a table of items holds where a row did not evaluate an item.
ABSENT = -1
# The base row's place among the rows of a table of items.
BASE = -1
_Z = 1.959964
# Numbers that are drawn at once.
_AT_ONCE = 5_000_000
# Few rows have few enough patterns of answers to count them all by a code.
_MOST_ROWS = 16


@dataclass(frozen=True, eq=False)
class Noise:
    """What is known of the test items behind the scores of one run.

    `errors` (S, T) and `base` (T,) are standard errors, NaN where they are not known; `trials` and `base_trials` the
    items of each cell where its score is a share of them; `sizes` (T,) the items of each column, 0 where unknown.
    `tables[j]` are the rows of column j (`BASE` is the base row) and their answers to the items that all of them have.
    """

    errors: Array
    base: Array
    trials: Array
    base_trials: Array
    sizes: NDArray[np.int64]
    tables: tuple[tuple[Rows, Answers] | None, ...]


def noise_of(
    matrix: ScoreMatrix,
    *,
    items: Sequence[Items | None] | None = None,
    errors: ArrayLike | None = None,
    base_errors: ArrayLike | None = None,
    trials: ArrayLike | None = None,
    base_trials: ArrayLike | None = None,
    shares: bool = True,
) -> Noise:
    """The noise of one run: from standard errors, from the items behind each cell, from the sizes of the test sets.

    `shares` says that the scores are shares of items answered right; of other scores a size tells no error.
    `items[j]` is an array (S, items) of 1, 0 and -1 (not evaluated), with one row more, the first, for the base row.
    """
    if matrix.lead:
        raise UsageError(f"an interval over items is of one run; got {matrix!r}. Take one with .at(i).")
    shape = matrix.R.shape
    sizes = np.full(shape[1], np.nan) if matrix.n_samples is None else matrix.n_samples.astype(np.float64)
    is_share = shares and matrix.unit != "raw"
    n = _given(trials, shape, sizes if is_share else None)
    n_base = _given(base_trials, shape[1:], sizes if is_share else None)
    b = np.full(shape[1], np.nan) if matrix.b is None else matrix.b
    told = _given(errors, shape, None)
    told_base = _given(base_errors, shape[1:], None)
    made = _errors(matrix.R, n, told)
    made_base = _errors(b, n_base, told_base)
    largest = np.fmax.reduce(np.vstack([n, n_base[None], sizes[None]]), axis=0)
    tables = _tables(matrix, items)
    counted = [0 if table is None else table[1].shape[1] for table in tables]
    return Noise(made, made_base, n, n_base, np.maximum(np.nan_to_num(largest), counted).astype(np.int64), tables)


def _errors(scores: Array, n: Array, told: Array) -> Array:
    """Standard errors as told, or of shares of n items.

    Where all items are right, or none is, the formula gives 0 and the next item may still be another: there half of
    Wilson's interval stands for it. Without n an error of 0 says nothing.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        made = np.where(np.isnan(told), np.sqrt(np.clip(scores * (1 - scores), 0, None) / n), told)
        at_the_end = (scores <= 0) | (scores >= 1)
        return np.where(at_the_end & (made == 0), _Z / (n + _Z**2), made)


def _given(values: ArrayLike | None, shape: tuple[int, ...], otherwise: Array | None) -> Array:
    made = np.full(shape, np.nan) if values is None else np.array(values, np.float64)
    if made.shape != shape:
        raise UsageError(f"what is given of the test items must have shape {shape}; got {made.shape}.")
    return made if otherwise is None else np.where(np.isnan(made), np.broadcast_to(otherwise, shape), made)


def _tables(matrix: ScoreMatrix, items: Sequence[Items | None] | None) -> tuple[tuple[Rows, Answers] | None, ...]:
    """For each task the rows that evaluated it, and the answers to the items that all of them have."""
    if items is None:
        return tuple([None] * int(matrix.T))
    if len(items) != matrix.T:
        raise UsageError(f"items must have one table per task: expected {matrix.T}, got {len(items)}.")
    made: list[tuple[Rows, Answers] | None] = []
    for j, given in enumerate(items):
        right = np.asarray(given) if given is not None else np.zeros((matrix.S, 0), np.int8)
        extra = len(right) - matrix.S if right.ndim == 2 else -1
        if extra not in ((0, 1) if matrix.b is not None else (0,)):
            raise UsageError(f"items of task {j} must have shape ({matrix.S}, items); got {right.shape}.")
        rows: Rows = np.flatnonzero(~np.isnan(matrix.R[:, j]))
        if extra and matrix.b is not None and not np.isnan(matrix.b[j]):
            rows = np.insert(rows, 0, BASE)
        shared = np.all(right[rows + extra] != ABSENT, axis=0)
        made.append((rows, np.asarray(right[rows + extra][:, shared] > 0, bool)) if shared.any() else None)
    return tuple(made)


@dataclass(frozen=True, eq=False)
class _Block:
    """Rows of one column, of one run or of two, that the same items are behind."""

    owners: tuple[tuple[int, Rows, int], ...]
    right: Answers


def draws(
    runs: Sequence[tuple[ScoreMatrix, Noise]],
    resamples: int,
    rng: np.random.Generator,
    same_items: Sequence[tuple[int, int]] = (),
) -> Iterator[list[ScoreMatrix]]:
    """Lots of matrices for each run, drawn together; columns in `same_items` (of the first and the second) share items.

    An item is drawn with all its answers. Cells without known items are drawn apart: a share from its own proportion,
    another score by its standard error; a cell without any stays as it is.
    """
    blocks = list(_blocks([noise for _, noise in runs], same_items))
    cells = sum(matrix.R.size for matrix, _ in runs)
    lot = int(np.clip(_AT_ONCE // max(1, cells), 1, resamples))
    for start in range(0, resamples, lot):
        count = min(lot, resamples - start)
        drawn = [_cells(matrix, noise, count, rng) for matrix, noise in runs]
        for block in blocks:
            away = deviations(block.right, count, rng)
            at = 0
            for run, rows, column in block.owners:
                _put(drawn[run], runs[run][0], rows, column, away[:, at : at + len(rows)])
                at += len(rows)
        yield [matrix.with_scores(*of) for (matrix, _), of in zip(runs, drawn, strict=True)]


def _blocks(noises: Sequence[Noise], same_items: Sequence[tuple[int, int]]) -> Iterator[_Block]:
    together = set()
    for first, second in same_items:
        a, b = noises[0].tables[first], noises[1].tables[second]
        if a is not None and b is not None:
            together |= {(0, first), (1, second)}
            yield _Block(((0, a[0], first), (1, b[0], second)), np.concatenate([a[1], b[1]]))
    for run, noise in enumerate(noises):
        for column, table in enumerate(noise.tables):
            if table is not None and (run, column) not in together:
                yield _Block(((run, table[0], column),), table[1])


def _cells(matrix: ScoreMatrix, noise: Noise, count: int, rng: np.random.Generator) -> tuple[Array, Array | None]:
    """Scores and base scores drawn cell by cell; columns whose items are known stay as they are."""
    alone = np.array([table is None for table in noise.tables])
    scores = _drawn(matrix.R, noise.errors, noise.trials, alone, matrix.unit, count, rng)
    if matrix.b is None:
        return scores, None
    return scores, _drawn(matrix.b, noise.base, noise.base_trials, alone, matrix.unit, count, rng)


def _drawn(
    scores: Array,
    errors: Array,
    trials: Array,
    alone: NDArray[np.bool_],
    unit: str,
    count: int,
    rng: np.random.Generator,
) -> Array:
    made = np.repeat(scores[None], count, axis=0)
    is_share = ~np.isnan(trials) & ~np.isnan(scores) & alone & (unit != "raw")
    n = trials[is_share].astype(np.int64)
    # All right or all wrong is not sure for ever: half an item is put on the other side.
    p = np.clip(scores[is_share], 0.5 / (n + 1), 1 - 0.5 / (n + 1))
    made[:, is_share] = rng.binomial(n, p, size=(count, len(n))) / n
    by_error = ~is_share & ~np.isnan(scores) & ~np.isnan(errors) & alone
    made[:, by_error] += rng.normal(0, errors[by_error], size=(count, int(by_error.sum())))
    return made if unit == "raw" else np.clip(made, 0, 1)


def _put(drawn: tuple[Array, Array | None], matrix: ScoreMatrix, rows: Rows, column: int, away: Array) -> None:
    in_time = rows != BASE
    scores, base = drawn
    scores[:, rows[in_time], column] = np.clip(matrix.R[rows[in_time], column] + away[:, in_time], 0, 1)
    if base is not None and matrix.b is not None and not in_time.all():
        base[:, column] = np.clip(matrix.b[column] + away[:, np.flatnonzero(~in_time)[0]], 0, 1)


def deviations(right: Answers, count: int, rng: np.random.Generator) -> Array:
    """By how much the share of right answers of each row changes when the items are drawn again: (count, rows)."""
    patterns, times = _patterns(right)
    n = int(times.sum())
    mean = times @ patterns / n
    if len(times) * count <= 4 * _AT_ONCE:
        return np.asarray(rng.multinomial(n, times / n, size=count) @ patterns / n - mean)
    # With so many items their means are normal, and the spread between rows says all.
    spread = (patterns * times[:, None]).T @ patterns / n - np.outer(mean, mean)
    return rng.multivariate_normal(np.zeros(len(mean)), spread / n, size=count, method="eigh")


def spread_of(right: Answers, weights: Array) -> float:
    """The variance of a weighted sum of the rows' shares, if the items are drawn again."""
    patterns, times = _patterns(right)
    n = int(times.sum())
    values = patterns @ weights
    return float(times @ (values - times @ values / n) ** 2 / n**2)


def _patterns(right: Answers) -> tuple[Array, NDArray[np.int64]]:
    """The different columns of (rows, items), as (patterns, rows), and how often each occurs."""
    rows = len(right)
    if rows > _MOST_ROWS:
        packed = np.ascontiguousarray(np.packbits(right.astype(bool), axis=0).T)
        key = packed.view([("", packed.dtype)] * packed.shape[1]).ravel()
        _, first, counts = np.unique(key, return_index=True, return_counts=True)
        return right[:, first].T.astype(np.float64), counts
    code = np.zeros(right.shape[1], np.uint16)
    for row in right:
        code = np.left_shift(code, 1) | row
    times = np.bincount(code, minlength=2**rows)
    there = np.flatnonzero(times)
    bits = (there[:, None] >> np.arange(rows - 1, -1, -1)) & 1
    return bits.astype(np.float64), times[there]


def refuse_unknown(matrix: ScoreMatrix, noise: Noise, read: NDArray[np.bool_], read_base: NDArray[np.bool_]) -> None:
    """Raise NotComputable where a score that counts has no known noise; items say it of their rows."""
    unknown, unknown_base = unknown_cells(matrix, noise)
    lacking = np.flatnonzero((unknown & read).any(0) | (unknown_base & read_base))
    if lacking.size:
        names = [f"column {j + 1}" if matrix.names is None else matrix.names[j] for j in lacking[:3].tolist()]
        more = f" and {lacking.size - 3} more" if lacking.size > 3 else ""
        raise NotComputable(
            "an interval over items needs standard errors, or proportions and the sizes of the test sets"
            f" (--samples 100,100,...); there are none of {', '.join(names)}{more}"
        )


def unknown_cells(matrix: ScoreMatrix, noise: Noise) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Where a score has no known noise, and where a base score has none."""
    unknown = np.isnan(noise.errors) & ~np.isnan(matrix.R)
    base = np.isnan(noise.base) & ~np.isnan(np.nan if matrix.b is None else matrix.b)
    base = np.broadcast_to(base, (matrix.T,)).copy()
    for j, table in enumerate(noise.tables):
        if table is not None:
            unknown[table[0][table[0] != BASE], j] = False
            base[j] &= BASE not in table[0]
    return unknown, base
