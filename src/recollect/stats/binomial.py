"""Uncertainty of one cell of the score matrix, from the counts behind it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recollect.errors import UsageError
from recollect.stats.estimate import Estimate, check_level

Array = NDArray[np.float64]


def proportion(correct: ArrayLike, n: ArrayLike, method: str = "wilson", level: float = 0.95) -> Estimate:
    """Score and interval of cells with `correct` right answers of `n`, all cells at once.

    It is the uncertainty of a finite test set. It says nothing about another seed, which is what `estimate`
    is for; on a test set of 1,000 the two are often of one size.

    Parameters
    ----------
    correct, n : array-like
        Broadcast against each other; NaN = not evaluated.
    method : str
        "wilson" covers `level` on average; "clopper-pearson" never covers less, and is wider.
    level : float
        The confidence of the interval.

    >>> print(proportion(8, 10))
    0.8 [0.4902, 0.9433] (n = 10)
    >>> print(proportion(8, 10, method="clopper-pearson"))
    0.8 [0.4439, 0.9748] (n = 10)
    """
    check_level(level)
    intervals = {"wilson": wilson, "clopper-pearson": clopper_pearson}
    if method not in intervals:
        raise UsageError(f"Expected method 'wilson' or 'clopper-pearson', got {method!r}.")
    k, size = np.broadcast_arrays(np.asarray(correct, dtype=np.float64), np.asarray(n, dtype=np.float64))
    if ((k < 0) | (k > size) | (size < 0)).any():
        at = tuple(int(i) for i in np.argwhere((k < 0) | (k > size) | (size < 0))[0])
        raise UsageError(
            f"Expected counts with 0 <= correct <= n, got {k[at]:g} of {size[at]:g} at {at}. "
            "Give counts of right answers, not scores or percentages."
        )
    with np.errstate(invalid="ignore", divide="ignore"):
        value = k / np.where(size > 0, size, np.nan)
    low, high = intervals[method](k, size, level)
    sd = np.sqrt(value * (1 - value))
    undefined = np.isnan(value)
    reasons = np.array([None, "no test samples", "not evaluated"], dtype=object)
    reason = reasons[np.where(undefined, np.where(size == 0, 1, 2), 0)]
    counts = np.where(undefined, 0, size).astype(np.int64)
    if k.ndim:
        return Estimate(value, low, high, counts, method, sd, level, reason)
    return Estimate(float(value), float(low), float(high), int(counts), method, float(sd), level, reason)


def wilson(correct: ArrayLike, n: ArrayLike, level: float = 0.95) -> tuple[Array, Array]:
    """Wilson's score interval: the proportions whose own standard error reaches the observed one.

    `correct` need not be whole: ties may count half.

    >>> low, high = wilson(0, 10)
    >>> float(low), round(float(high), 4)
    (0.0, 0.2775)
    """
    from scipy.special import ndtri

    k, size = _counts(correct, n)
    z2 = ndtri((1 + level) / 2) ** 2
    centre = (k + z2 / 2) / (size + z2)
    half = np.sqrt(z2 * (k * (size - k) / size + z2 / 4)) / (size + z2)
    # At the ends the bound is the end itself, which rounding would miss by 1e-17.
    return _bounds(k, size, np.where(k == 0, 0.0, centre - half), np.where(k == size, 1.0, centre + half))


def clopper_pearson(correct: ArrayLike, n: ArrayLike, level: float = 0.95) -> tuple[Array, Array]:
    """The exact interval: both binomial tails at the bound are (1 - level) / 2.

    >>> low, high = clopper_pearson(0, 10)
    >>> float(low), round(float(high), 4)
    (0.0, 0.3085)
    """
    from scipy.special import betaincinv

    k, size = _counts(correct, n)
    tail = (1 - level) / 2
    wrong = size - k
    low = np.where(k == 0, 0.0, betaincinv(np.maximum(k, 1e-300), wrong + 1, tail))
    high = np.where(wrong == 0, 1.0, betaincinv(k + 1, np.maximum(wrong, 1e-300), 1 - tail))
    return _bounds(k, size, low, high)


def _counts(correct: ArrayLike, n: ArrayLike) -> tuple[Array, Array]:
    k, size = np.asarray(correct, dtype=np.float64), np.asarray(n, dtype=np.float64)
    return k, np.where(size > 0, size, np.nan)


def _bounds(k: Array, size: Array, low: Array, high: Array) -> tuple[Array, Array]:
    undefined = np.isnan(k + size)
    return np.where(undefined, np.nan, low), np.where(undefined, np.nan, high)
