"""One run, many test items: how sure a number is because the test set is finite.

Each cell of a score matrix is a proportion of `n` items, or carries a standard error. A linear metric's variance is the
sum of squared weights times cell variances; where the metric has a maximum in it, cells are drawn again. Where it is
known who was right on which item, the items are drawn again, jointly over rows, because rows share them.

    over_items(run.matrix, "forgetting.chaudhry2018")                # counts, or standard errors
    over_items(run.matrix, "forgetting.chaudhry2018", items=tables)  # tables[j]: (rows, items) of 1, 0, -1 (absent)
    null_forgetting(run.matrix)                                      # what test noise alone would show
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import NotComputable
from recollect.matrix import Array, ScoreMatrix
from recollect.metrics import Metric, Outcome, evaluate, registry
from recollect.stats.estimate import Estimate, check_level
from recollect.stats.item_draws import (
    BASE,
    Items,
    Noise,
    draws,
    noise_of,
    refuse_unknown,
    spread_of,
    unknown_cells,
)

# Up to so many cells it is tried whether a metric is linear in them, cell by cell.
_MOST_CELLS = 6_000
_AT_ONCE = 20_000_000
_STEP = 0.25
# Changes the copies of these numbers: their scores, and their base scores.
Change = Callable[[NDArray[np.intp], Array, Array | None], None]


def over_items(
    matrix: ScoreMatrix,
    id: str,
    *,
    items: Sequence[Items | None] | None = None,
    noise: Noise | None = None,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    **params: Any,
) -> Estimate:
    """The value of one run with an interval over its test items; `noise` says more of them than the matrix does.

    The interval is about the value that test sets of this size give in the mean; where the metric takes the best of
    several rows that is a little above the value of endless test sets (see `null_forgetting`).

    >>> made = over_items(ScoreMatrix([[.8, .1], [.6, .9]], n_samples=[100, 100]), "acc.average")
    >>> round(made.value, 3), round(made.low, 3), round(made.high, 3), made.method, made.n
    (0.75, 0.694, 0.806, 'items', 200)
    """
    check_level(level)
    metric = registry.get(id)
    known = noise or noise_of(matrix, items=items)
    if np.isnan(known.errors).all() and not any(table is not None for table in known.tables):
        refuse_unknown(matrix, known, np.ones(matrix.R.shape, bool), np.zeros(matrix.T, bool))
    outcome = _outcome(matrix, metric, params)
    value, weights = float(outcome.value), _weights(matrix, metric, params)
    n = _items_read(matrix, metric, known, weights, params)
    if weights is not None:
        from scipy.special import ndtri

        half = float(ndtri((1 + level) / 2)) * weights.error(known)
        low, high = value - half, value + half
    else:
        rng = np.random.default_rng(seed)
        drawn = np.concatenate([_values(lot, metric, params) for (lot,) in draws([(matrix, known)], resamples, rng)])
        low, high = _around(value, drawn, level)
    bottom, top = map(float, outcome.bounds)
    return Estimate(value, max(low, bottom), min(high, top), n, "items", float("nan"), level)


@dataclass(frozen=True)
class ItemDifference:
    """The first run's value minus the second's, with an interval and a p value over test items.

    `paired` are the columns whose items both have: the same items were drawn for both.
    """

    estimate: Estimate
    p: float
    paired: int


def difference_over_items(
    first: tuple[ScoreMatrix, Noise],
    second: tuple[ScoreMatrix, Noise],
    id: str,
    *,
    same_items: Sequence[tuple[int, int]] = (),
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    **params: Any,
) -> ItemDifference:
    """Two models on test items: paired bootstrap where items are known, as if drawn apart where not.

    `same_items` are the columns, of the first and of the second, whose tables hold the same items in the same places.

    >>> one, other = (ScoreMatrix([[score]], n_samples=[400]) for score in (.8, .6))
    >>> made = difference_over_items((one, noise_of(one)), (other, noise_of(other)), "acc.average")
    >>> round(made.estimate.value, 3), made.p < 0.001, made.paired
    (0.2, True, 0)
    """
    from scipy.special import ndtr

    check_level(level)
    metric = registry.get(id)
    n = 0
    values = [float(_outcome(matrix, metric, params).value) for matrix, _ in (first, second)]
    for matrix, noise in (first, second):
        n = max(n, _items_read(matrix, metric, noise, _weights(matrix, metric, params), params))
    value = values[0] - values[1]
    rng = np.random.default_rng(seed)
    away = np.concatenate(
        [
            _values(a, metric, params) - _values(b, metric, params)
            for a, b in draws([first, second], resamples, rng, same_items)
        ]
    )
    low, high = _around(value, away, level)
    sd = float(np.nanstd(away, ddof=1))
    p = float(2 * ndtr(-abs(value) / sd)) if sd > 0 else float(value == 0)
    paired = sum(first[1].tables[a] is not None and second[1].tables[b] is not None for a, b in same_items)
    return ItemDifference(Estimate(value, low, high, n, "items", sd, level), p, paired)


def null_forgetting(
    matrix: ScoreMatrix,
    *,
    items: Sequence[Items | None] | None = None,
    noise: Noise | None = None,
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
    known = noise or noise_of(matrix, items=items)
    metric = registry.get("forgetting.chaudhry2018")
    _outcome(matrix, metric, {})
    n = _items_read(matrix, metric, known, None, {})
    flat, errors, trials = np.array(matrix.R), np.array(known.errors), np.array(known.trials)
    for j in np.flatnonzero(matrix.planned).tolist():
        own = int(matrix.learned_at[j])
        there = ~np.isnan(flat[own:, j])
        for values in (flat, errors, trials):
            values[own:, j] = np.where(there, values[own, j], np.nan)
    constant = matrix.with_scores(flat, matrix.b)
    alone = Noise(errors, known.base, trials, known.base_trials, known.sizes, (None,) * matrix.T)
    rng = np.random.default_rng(seed)
    made = []
    for (lot,) in draws([(constant, alone)], resamples, rng):
        R = np.array(lot.R)
        for j, table in enumerate(known.tables):
            if table is not None and matrix.planned[j]:
                _shuffle(R, matrix, table, j, rng)
        made.append(_values(matrix.with_scores(R, matrix.b), metric, {}))
    drawn = np.concatenate(made)
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Estimate(float(drawn.mean()), float(low), float(high), n, "null", float(drawn.std()), level)


def _shuffle(
    R: Array, matrix: ScoreMatrix, table: tuple[NDArray[np.intp], NDArray[np.bool_]], j: int, rng: np.random.Generator
) -> None:
    """Scores of a column whose answers to each item stand in another order; with many items their means are normal."""
    rows, right = table
    since = rows >= max(int(matrix.learned_at[j]), 0)
    m, n = int(since.sum()), right.shape[1]
    if m < 2:
        return
    share = right[since].mean(0)
    # Of an item with a share s, two rows differ; all rows together keep their sum.
    spread = float((share * (1 - share)).sum()) / n**2 * (np.eye(m) - 1 / m) * m / (m - 1)
    away = rng.multivariate_normal(np.zeros(m), spread, size=len(R), method="eigh")
    R[:, rows[since], j] = np.clip(share.mean() + away, 0, 1)


def _outcome(matrix: ScoreMatrix, metric: Metric, params: dict[str, Any]) -> Outcome:
    outcome = evaluate(matrix, metric, **params)
    if np.isnan(float(outcome.value)):
        raise NotComputable(f"{metric.card.id} has no value here: {outcome.reason}.")
    return outcome


def _values(matrix: ScoreMatrix, metric: Metric, params: dict[str, Any]) -> Array:
    return np.asarray(evaluate(matrix, metric, **params).value)


def _around(value: float, drawn: Array, level: float) -> tuple[float, float]:
    # The best of several noisy rows is too good in every draw: deviations from the draws' own mean are not.
    away = drawn[~np.isnan(drawn)]
    if not away.size:
        raise NotComputable("the metric is made of more than scores and base scores, whose items are not known")
    low, high = value + np.quantile(away - away.mean(), [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


@dataclass(frozen=True, eq=False)
class _Weights:
    """A metric that is linear in the scores: what each cell, and each base score, counts."""

    R: Array
    b: Array

    def error(self, noise: Noise) -> float:
        """The metric's standard error; rows whose items are known vary together."""
        cells = np.nan_to_num(self.R * noise.errors) ** 2
        base = np.nan_to_num(self.b * noise.base) ** 2
        variance = 0.0
        for j, table in enumerate(noise.tables):
            # One row alone is not compared with another on the same items.
            alone = np.count_nonzero(self.R[:, j]) + (self.b[j] != 0) < 2
            if table is None or (alone and not np.isnan(noise.errors[self.R[:, j] != 0, j]).any()):
                variance += cells[:, j].sum() + base[j]
            else:
                rows, right = table
                variance += spread_of(right, np.where(rows == BASE, self.b[j], self.R[rows, j]))
        return float(np.sqrt(variance))


def _weights(matrix: ScoreMatrix, metric: Metric, params: dict[str, Any]) -> _Weights | None:
    """The weights of a metric that is linear in the scores; None if it is not."""
    if matrix.R.size > _MOST_CELLS:
        return None
    b = None if matrix.b is None or "b" not in metric.card.needs else matrix.b
    cells, rng = np.argwhere(~np.isnan(matrix.R)), np.random.default_rng(0)
    other = np.where(np.isnan(matrix.R), np.nan, rng.uniform(-1, 2, matrix.R.shape))
    other_b = matrix.b if b is None else b + rng.uniform(0.5, 1, matrix.T)

    def change(which: NDArray[np.intp], R: Array, base: Array | None) -> None:
        """First nothing, then all at random, then a step in each cell and in each base score."""
        R[which == 1] = other
        if base is not None and b is not None:
            base[which == 1] = other_b
            of_base = np.flatnonzero(which >= 2 + len(cells))
            base[of_base, which[of_base] - 2 - len(cells)] += _STEP
        of_cell = np.flatnonzero((which >= 2) & (which < 2 + len(cells)))
        i, j = cells[which[of_cell] - 2].T
        R[of_cell, i, j] += _STEP

    start, reached, *moved = _moved(matrix, 2 + len(cells) + (0 if b is None else matrix.T), change, metric, params)
    steps = (np.array(moved) - start) / _STEP
    weights, of_base = np.zeros(matrix.R.shape), np.zeros(matrix.T)
    weights[tuple(cells.T)] = steps[: len(cells)]
    predicted = start + np.nansum(weights * (other - matrix.R))
    if b is not None and other_b is not None:
        of_base = steps[len(cells) :]
        predicted += np.nansum(of_base * (other_b - b))
    if np.isnan(weights).any() or np.isnan(of_base[~np.isnan(0.0 if b is None else b)]).any():
        return None
    return _Weights(weights, np.nan_to_num(of_base)) if abs(predicted - reached) <= 1e-8 else None


def _moved(matrix: ScoreMatrix, count: int, change: Change, metric: Metric, params: dict[str, Any]) -> Array:
    """The metric of the same plan with so many other scores, of any size: `change` makes them of copies, lot by lot."""
    made, lot = [], max(1, _AT_ONCE // matrix.R.size)
    for at in range(0, count, lot):
        which = np.arange(at, min(at + lot, count))
        R = np.repeat(matrix.R[None], len(which), axis=0)
        base = None if matrix.b is None else np.repeat(matrix.b[None], len(which), axis=0)
        change(which, R, base)
        made.append(_values(matrix.with_scores(R, base, "raw"), metric, params))
    return np.concatenate(made)


def _items_read(
    matrix: ScoreMatrix, metric: Metric, noise: Noise, weights: _Weights | None, params: dict[str, Any]
) -> int:
    """How many items the metric's columns have; NotComputable if one of its scores has no known noise."""
    if weights is not None:
        read, read_base = weights.R != 0, weights.b != 0
        refuse_unknown(matrix, noise, read, read_base)
        return int(noise.sizes[read.any(0) | read_base].sum())
    columns = np.eye(matrix.T, dtype=bool)
    read = _reads(matrix, metric, [(np.broadcast_to(own, matrix.R.shape), own) for own in columns], params)
    unknown = unknown_cells(matrix, noise)
    if unknown[0].any() or unknown[1].any():
        one_by_one = [(unknown[0] & own, unknown[1] & own) for own in columns]
        lacking = _reads(matrix, metric, one_by_one, params)
        refuse_unknown(matrix, noise, np.broadcast_to(lacking, matrix.R.shape), lacking)
    return int(noise.sizes[read].sum())


def _reads(
    matrix: ScoreMatrix,
    metric: Metric,
    cells: Sequence[tuple[NDArray[np.bool_], NDArray[np.bool_]]],
    params: dict[str, Any],
) -> NDArray[np.bool_]:
    """Of several sets of cells, whether the metric changes when they do: far up, and far down."""
    rng = np.random.default_rng(0)
    far, far_b = rng.uniform(5, 10, matrix.R.shape), rng.uniform(11, 20, matrix.T)

    def change(which: NDArray[np.intp], R: Array, base: Array | None) -> None:
        """First nothing, then each set far up and far down."""
        for place, number in enumerate(which.tolist()):
            if number:
                own, own_b = cells[(number - 1) // 2]
                sign = 1 if number % 2 else -1
                R[place] += sign * far * own
                if base is not None:
                    base[place] += sign * far_b * own_b

    start, *moved = _moved(matrix, 1 + 2 * len(cells), change, metric, params)
    changed: NDArray[np.bool_] = (np.array(moved).reshape(-1, 2) != start).any(1)
    return changed
