"""One run, many test items: how sure a number is because the test set is finite.

Each cell of a score matrix is a proportion of `n` items, or carries a standard error. A linear metric's variance is the
sum of squared weights times cell variances; where the metric has a maximum in it, cells are drawn again. Where it is
known who was right on which item, the items are drawn again, jointly over rows, because rows share them.

    over_items(run.matrix, "forgetting.chaudhry2018")                # counts, or standard errors
    over_items(run.matrix, "forgetting.chaudhry2018", items=tables)  # tables[j]: (rows, items) of 1, 0, -1 (absent)
    null_forgetting(run.matrix)                                      # what test noise alone would show
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import NotComputable, UsageError
from recollect.matrix import Array, ScoreMatrix
from recollect.metrics import evaluate, registry
from recollect.stats.estimate import Estimate, check_level

Items = NDArray[Any]
ABSENT = -1
# Cells that are evaluated at once: 20 million doubles.
_AT_ONCE = 20_000_000
# So many rows have few enough patterns of answers to count them all.
_MOST_ROWS = 16


def over_items(
    matrix: ScoreMatrix,
    id: str,
    *,
    items: Sequence[Items | None] | None = None,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    **params: Any,
) -> Estimate:
    """The value of one run with an interval over its test items.

    The interval is about the value that test sets of this size give in the mean; where the metric takes the best of
    several rows that is a little above the value of endless test sets (see `null_forgetting`).

    >>> made = over_items(ScoreMatrix([[.8, .1], [.6, .9]], n_samples=[100, 100]), "acc.average")
    >>> round(made.value, 3), round(made.low, 3), round(made.high, 3), made.method, made.n
    (0.75, 0.694, 0.806, 'items', 200)
    """
    from scipy.special import ndtri

    check_level(level)
    if matrix.lead:
        raise UsageError(f"an interval over items is of one run; got {matrix!r}. Take one with .at(i).")
    metric = registry.get(id)
    value = float(evaluate(matrix, metric, **params).value)
    if np.isnan(value):
        raise NotComputable(f"{metric.card.id} has no value here: {evaluate(matrix, metric, **params).reason}.")
    n = int(matrix.n_samples.sum()) if matrix.n_samples is not None else 0
    error = None if items is not None else _linear_error(matrix, metric, params)
    if error is not None:
        half = float(ndtri((1 + level) / 2)) * error
        low, high = value - half, value + half
    else:
        rng = np.random.default_rng(seed)
        draws = _draw_items(matrix, items, resamples, rng) if items is not None else _draw_cells(matrix, resamples, rng)
        drawn = np.asarray(evaluate(draws, metric, **params).value)
        # The best of several noisy rows is too good in every draw: deviations from the draws' own mean are not.
        away = drawn - drawn.mean()
        low, high = value + np.quantile(away, [(1 - level) / 2, (1 + level) / 2])
    bottom, top = metric.card.bounds
    return Estimate(value, float(max(low, bottom)), float(min(high, top)), n, "items", float("nan"), level)


def null_forgetting(
    matrix: ScoreMatrix,
    *,
    items: Sequence[Items | None] | None = None,
    level: float = 0.95,
    resamples: int = 4000,
    seed: int = 0,
) -> Estimate:
    """The average forgetting that test noise alone gives a learner that forgets nothing (`forgetting.null`).

    Every column is constant since its own row, at what was measured there; the range holds `level` of the draws. With
    items, each item's answers since then are put in another order, so that rows stay paired.

    >>> null = null_forgetting(ScoreMatrix([[.8, .1], [.8, .9]], n_samples=[100, 100]))
    >>> abs(null.value) < 0.01, null.low < 0 < null.high
    (True, True)
    """
    check_level(level)
    if matrix.lead:
        raise UsageError(f"what test noise gives is of one run; got {matrix!r}. Take one with .at(i).")
    flat = np.array(matrix.R)
    for j in np.flatnonzero(matrix.planned):
        flat[matrix.learned_at[j] :, j] = flat[matrix.learned_at[j], j]
    rng = np.random.default_rng(seed)
    if items is None:
        draws = _draw_cells(_with_scores(matrix, flat), resamples, rng)
    else:
        draws = _permuted(matrix, items, min(resamples, 1000), rng)
    drawn = np.asarray(evaluate(draws, registry.get("forgetting.chaudhry2018")).value)
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    n = int(matrix.n_samples.sum()) if matrix.n_samples is not None else 0
    return Estimate(float(drawn.mean()), float(low), float(high), n, "null", float(drawn.std()), level)


def cell_errors(matrix: ScoreMatrix) -> Array:
    """The standard error of every cell, from the sizes of the test sets; one run's (S, T)."""
    if matrix.unit == "raw" or matrix.n_samples is None:
        raise NotComputable(
            "an interval over items needs proportions and the sizes of the test sets (--samples 100,100,...)"
        )
    errors: Array = np.sqrt(matrix.R * (1 - matrix.R) / matrix.n_samples)
    return errors


def _linear_error(matrix: ScoreMatrix, metric: Any, params: dict[str, Any]) -> float | None:
    """The standard error of a metric that is linear in the cells of R; None if it is not."""
    errors = np.nan_to_num(cell_errors(matrix))
    there = np.argwhere(~np.isnan(matrix.R))
    step = 0.25
    base = float(evaluate(_raw(matrix, matrix.R), metric, **params).value)
    weights = np.zeros(matrix.R.shape)
    lot = max(1, _AT_ONCE // matrix.R.size)
    for start in range(0, len(there), lot):
        cells = there[start : start + lot]
        moved = np.repeat(matrix.R[None], len(cells), axis=0)
        moved[np.arange(len(cells)), cells[:, 0], cells[:, 1]] += step
        values = np.asarray(evaluate(_raw(matrix, moved), metric, **params).value)
        weights[cells[:, 0], cells[:, 1]] = (values - base) / step
    other = np.random.default_rng(0).uniform(-1, 2, matrix.R.shape)
    other[np.isnan(matrix.R)] = np.nan
    predicted = base + np.nansum(weights * (other - matrix.R))
    if np.isnan(weights).any() or abs(predicted - float(evaluate(_raw(matrix, other), metric, **params).value)) > 1e-8:
        return None
    # The base row is measured on the same items; where the metric reads it, its own noise counts too.
    variance = (weights**2 * errors**2).sum()
    if matrix.b is not None and "b" in metric.card.needs and matrix.n_samples is not None:
        size = np.abs(weights).sum(0)
        variance += np.nansum(size**2 * matrix.b * (1 - matrix.b) / matrix.n_samples)
    return float(np.sqrt(variance))


def _raw(matrix: ScoreMatrix, R: Array) -> ScoreMatrix:
    """The same plan with other scores, of any size; what must agree with R stays out."""
    arrays: dict[str, Any] = dict.fromkeys(matrix._batched())
    arrays |= {name: getattr(matrix, name) for name in ("b", "joint", "single", "single_auc")}
    return matrix._with(arrays | {"R": R}, {"unit": "raw"}, ())


def _with_scores(matrix: ScoreMatrix, R: Array) -> ScoreMatrix:
    arrays: dict[str, Any] = dict.fromkeys(matrix._batched())
    arrays |= {name: getattr(matrix, name) for name in ("b", "joint", "single", "single_auc")}
    return matrix._with(arrays | {"R": R}, {}, ())


def _draw_cells(matrix: ScoreMatrix, resamples: int, rng: np.random.Generator) -> ScoreMatrix:
    """Matrices whose cells are drawn anew, each from its own proportion."""
    cell_errors(matrix)
    p = np.nan_to_num(np.clip(matrix.R, 0, 1))
    n = np.broadcast_to(np.asarray(matrix.n_samples), p.shape)
    drawn = rng.binomial(n, p, size=(resamples, *p.shape)) / n
    return _with_scores(matrix, np.where(np.isnan(matrix.R), np.nan, drawn))


def _draw_items(
    matrix: ScoreMatrix, items: Sequence[Items | None], resamples: int, rng: np.random.Generator
) -> ScoreMatrix:
    """Matrices whose items are drawn anew, jointly over rows: an item is drawn with all its answers."""
    drawn = np.repeat(matrix.R[None], resamples, axis=0)
    for j, table in enumerate(_tables(matrix, items)):
        if table is None:
            continue
        rows, right = table
        patterns, counts = _patterns(right)
        n = int(counts.sum())
        times = rng.multinomial(n, counts / n, size=resamples)
        drawn[:, rows, j] += times @ patterns / n - (counts @ patterns / n)
    return _with_scores(matrix, np.clip(drawn, 0, 1))


def _permuted(
    matrix: ScoreMatrix, items: Sequence[Items | None], resamples: int, rng: np.random.Generator
) -> ScoreMatrix:
    """Matrices in which each item's answers since its task was learned stand in another order."""
    drawn = np.repeat(matrix.R[None], resamples, axis=0)
    for j, table in enumerate(_tables(matrix, items)):
        if table is None or not matrix.planned[j]:
            continue
        rows, right = table
        since = rows >= matrix.learned_at[j]
        for draw in range(resamples):
            shuffled = rng.permuted(right[since], axis=0)
            drawn[draw, rows[since], j] = shuffled.mean(1)
    return _with_scores(matrix, drawn)


def _tables(
    matrix: ScoreMatrix, items: Sequence[Items | None]
) -> list[tuple[NDArray[np.intp], NDArray[np.bool_]] | None]:
    """For each task the rows that evaluated it, and the answers to the items that all of them have."""
    if len(items) != matrix.T:
        raise UsageError(f"items must have one table per task: expected {matrix.T}, got {len(items)}.")
    made: list[tuple[NDArray[np.intp], NDArray[np.bool_]] | None] = []
    for j, given in enumerate(items):
        if given is None:
            made.append(None)
            continue
        right = np.asarray(given)
        if right.ndim != 2 or len(right) != matrix.S:
            raise UsageError(f"items of task {j} must have shape ({matrix.S}, items); got {right.shape}.")
        rows = np.flatnonzero(~np.isnan(matrix.R[:, j]))
        shared = (right[rows] != ABSENT).all(0)
        made.append((rows, right[rows][:, shared] > 0) if shared.any() else None)
    return made


def _patterns(right: NDArray[np.bool_]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The different columns of (rows, items), as (patterns, rows), and how often each occurs."""
    rows = len(right)
    if rows > _MOST_ROWS:
        packed = np.ascontiguousarray(np.packbits(right.astype(bool), axis=0).T)
        key = packed.view([("", packed.dtype)] * packed.shape[1]).ravel()
        _, first, counts = np.unique(key, return_index=True, return_counts=True)
        return right[:, first].T.astype(np.float64), counts
    code = np.zeros(right.shape[1], np.int64)
    for row in right:
        code = 2 * code + (row > 0)
    times = np.bincount(code, minlength=2**rows)
    there = np.flatnonzero(times)
    bits = (there[:, None] >> np.arange(rows - 1, -1, -1)) & 1
    return bits.astype(np.float64), times[there]
