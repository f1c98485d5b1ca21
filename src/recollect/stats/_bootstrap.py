"""Resampling of seeds, every point of a curve or a matrix at once.

A resample of n seeds is a row of weights, so all resampled means of all points are one matrix product.
The same holds for the interquartile mean when the seeds are sorted: the resampled order statistics are
the sorted indices, and trimming them leaves weights again.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Resampled values held at once: 8 million doubles, 64 MB.
_CHUNK = 8_000_000


def mean_weights(n: int, resamples: int, seed: int) -> Array:
    """Weights (resamples, n) of the mean of n seeds drawn with replacement."""
    counts = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=resamples)
    return np.asarray(counts / n, dtype=np.float64)


def iqm_weights(n: int, resamples: int, seed: int) -> Array:
    """Weights (resamples, n) of the interquartile mean, for seeds in ascending order."""
    drawn = np.sort(np.random.default_rng(seed).integers(n, size=(resamples, n)), axis=1)
    cut = n // 4
    kept = drawn[:, cut : n - cut]
    weights = np.zeros((resamples, n))
    np.add.at(weights, (np.arange(resamples)[:, None], kept), 1 / kept.shape[1])
    return weights


def iqm(x: Array, n: NDArray[np.int64]) -> Array:
    """Interquartile mean down axis 0 of ascending columns whose first n values are there.

    A quarter of the values, rounded down, is cut at either end, so up to three values it is the mean.

    >>> iqm(np.array([[0.0], [1.0], [3.0], [50.0]]), np.array([4]))
    array([2.])
    """
    place = np.arange(len(x)).reshape(-1, *[1] * (x.ndim - 1))
    cut = n // 4
    kept = (place >= cut) & (place < n - cut)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(kept, x, 0.0).sum(axis=0) / kept.sum(axis=0))


def over_points(x: Array, weights: Array, reduce: Callable[[Array, Array], Array]) -> Array:
    """`reduce(resampled (resamples, p), x (n, p)) -> (k, p)` over all columns of x, some at a time."""
    step = max(1, _CHUNK // len(weights))
    parts = [reduce(weights @ x[:, i : i + step], x[:, i : i + step]) for i in range(0, x.shape[1], step)]
    return np.concatenate(parts, axis=1)


def quantiles(resampled: Array, probability: Array) -> Array:
    """Linear quantiles down axis 0; each column has its own probabilities (k, p)."""
    ordered = np.sort(resampled, axis=0)
    place = np.clip(probability, 0, 1) * (len(ordered) - 1)
    below = np.floor(place).astype(np.intp)
    above = np.minimum(below + 1, len(ordered) - 1)
    low, high = (np.take_along_axis(ordered, i, axis=0) for i in (below, above))
    return np.asarray(low + (place - below) * (high - low))


def bca(resampled: Array, x: Array, tail: float) -> Array:
    """Bias-corrected and accelerated bounds (2, p) of the mean (Efron 1987)."""
    from scipy.special import ndtr, ndtri

    mean = x.mean(axis=0)
    deviation = x - mean
    # Resamples equal to the mean count half; rounding must not decide on which side they fall.
    slack = 1e-12 * np.abs(deviation).max(axis=0)
    below = (resampled < mean - slack).mean(axis=0) + (resampled <= mean + slack).mean(axis=0)
    z0 = ndtri(below / 2)
    acceleration = (deviation**3).sum(axis=0) / (6 * (deviation**2).sum(axis=0) ** 1.5)
    z = z0 + ndtri(np.array([[tail], [1 - tail]]))
    return quantiles(resampled, ndtr(z0 + z / (1 - acceleration * z)))


def stratified_iqm(x: Array, n: NDArray[np.int64], resamples: int, seed: int) -> Array:
    """Resampled IQMs (resamples, p) of pooled scores (seeds, strata, p), each stratum drawn by itself.

    `x` ascends along its seeds with missing values last, and `n` (strata, p) counts those that are there.
    """
    seeds, strata, points = x.shape
    rng = np.random.default_rng(seed)
    total = n.sum(axis=0)
    step = max(1, _CHUNK // max(1, x.size))
    place = np.arange(seeds).reshape(-1, 1, 1)
    out = np.empty((resamples, points))
    for start in range(0, resamples, step):
        rows = min(step, resamples - start)
        # One draw for all points of a stratum, as one seed is one run of the whole curve.
        drawn = np.floor(rng.random((rows, seeds, strata, 1)) * n).astype(np.intp)
        picked = np.take_along_axis(x[None], np.minimum(drawn, seeds - 1), axis=1)
        picked = np.where(place < n, picked, np.nan)
        pooled = np.sort(picked.reshape(rows, seeds * strata, points), axis=1)
        out[start : start + rows] = iqm(np.moveaxis(pooled, 1, 0), total)
    return out
