"""A number over seeds: its value, an interval, and how many seeds stand behind it."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recollect.errors import UsageError
from recollect.stats import _bootstrap

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

Bounds = tuple[ArrayLike, ArrayLike]

METHODS = ("t", "bca", "iqm")

# Below this many seeds the BCa interval covers clearly less than it says (benchmarks/results/coverage.md).
_FEW_SEEDS_FOR_BCA = 20
# A seed that lies so many times as far from the next as all others lie apart is far; fewer seeds cannot tell.
_FAR, _FEWEST_FOR_FAR = 8.0, 5


@dataclass(frozen=True)
class Estimate:
    """A value with its interval. Floats for one number; arrays of one shape for a curve or a matrix.

    Attributes
    ----------
    value : the mean over seeds (the interquartile mean for method "iqm")
    low, high : the ends of the interval; NaN where there is none
    n : how many seeds stand behind it
    method : how the interval was made
    sd : standard deviation over seeds (n - 1 in the denominator); NaN for one seed
    level : the confidence of the interval
    reason : why something is undefined or unusual here; None where there is nothing to say
    is_known : whether there is a value, of one number
    """

    value: float | Array
    low: float | Array
    high: float | Array
    n: int | Counts
    method: str
    sd: float | Array
    level: float = 0.95
    reason: str | NDArray[np.object_] | None = None
    is_known: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_known", np.ndim(self.value) == 0 and not np.isnan(self.value))

    def at(self, *index: int) -> Estimate:
        """One point of an array-valued estimate.

        >>> estimate([[0.2, 0.5], [0.4, 0.7]]).at(1).value
        0.6
        """
        value, low, high, sd, n, reason = (
            _pick(field, index) for field in (self.value, self.low, self.high, self.sd, self.n, self.reason)
        )
        return Estimate(value, low, high, n, self.method, sd, self.level, reason)

    def points(self) -> list[Estimate]:
        """Every point along the first axis.

        >>> [one.value for one in estimate([[0.25, 0.5], [0.75, 0.5]]).points()]
        [0.5, 0.5]
        """
        return [self.at(place) for place in range(len(self.arrays[0]))]

    @property
    def arrays(self) -> tuple[Array, Array, Array]:
        """Value, low and high of a curve or a matrix."""
        return np.asarray(self.value), np.asarray(self.low), np.asarray(self.high)

    @property
    def notes(self) -> tuple[str, ...]:
        """Every different reason, once.

        >>> estimate([[0.2, 0.5], [0.4, np.nan]]).notes
        ('1 of 2 seeds has no value and is left out; one seed gives no interval',)
        """
        reasons = self.reason.ravel() if isinstance(self.reason, np.ndarray) else [self.reason]
        return tuple(dict.fromkeys(str(r) for r in reasons if r is not None))

    def __str__(self) -> str:
        if isinstance(self.value, np.ndarray):
            return f"Estimate of shape {self.value.shape}, method {self.method}"
        interval = f"[{self.low:.4g}, {self.high:.4g}]" if np.isfinite(self.low) else "no interval"
        return f"{self.value:.4g} {interval} (n = {self.n})"


def estimate(
    values: ArrayLike,
    method: str = "t",
    level: float = 0.95,
    seed: int = 0,
    axis: int = 0,
    strata: int | None = None,
    resamples: int = 9999,
    bounds: Bounds | None = None,
) -> Estimate:
    """Value and interval over the seeds axis, for every point of the other axes at once.

    Parameters
    ----------
    values : array-like
        Scores with one axis of seeds; NaN = this seed has no value here. A point uses the seeds it has.
    method : str
        "t": mean with Student's t interval. "bca": mean with a bias-corrected and accelerated bootstrap.
        "iqm": interquartile mean ± t times its bootstrap standard error, which is scaled by √(n/(n-1))
        because a resample of n seeds varies too little.
    level : float
        The confidence of the interval.
    seed : int
        Of the bootstrap's generator.
    axis : int
        The axis of seeds.
    strata : int, optional
        "iqm" only: the axis of streams (or tasks) whose scores are pooled into one IQM. Seeds are drawn
        within each stratum, as rliable does. Without it every point has its own IQM.
    resamples : int
        Of the bootstrap.
    bounds : (low, high), optional
        What the scores cannot leave, such as (0, 1) of proportions; one pair, or arrays of the points' shape, infinite
        where there is none. An interval that would leave them is made on the logit of the mean, and stays inside.

    >>> print(estimate([0.99, 0.97, 1.0], bounds=(0, 1)))
    0.9867 [0.8053, 0.9992] (n = 3)
    >>> print(estimate([0.61, 0.58, 0.64, 0.60, 0.62]))
    0.61 [0.5822, 0.6378] (n = 5)
    >>> estimate([0.61]).reason
    'one seed gives no interval'
    """
    check_level(level)
    if method not in METHODS:
        raise UsageError(f"Expected a method among {', '.join(METHODS)}, got {method!r}.")
    scores = np.asarray(values, dtype=np.float64)
    if scores.ndim == 0:
        raise UsageError("Expected scores with an axis of seeds, got one number; put it into a list of one seed.")
    if strata is not None:
        if method != "iqm" or scores.ndim < 2:
            raise UsageError("`strata` names an axis of streams to pool, for method 'iqm' on (seeds, streams, ...).")
        return _stratified(np.moveaxis(scores, (axis, strata), (0, 1)), level, seed, resamples)
    scores = np.moveaxis(scores, axis, 0)
    # Sorted seeds: NaN last, and the order in which seeds came cannot matter.
    x = np.sort(scores.reshape(len(scores), prod(scores.shape[1:])), axis=0)
    n = (~np.isnan(x)).sum(axis=0)
    value, sd = _mean_and_sd(x, n)
    if method == "t":
        half = _t_quantile(n, level) * sd / np.sqrt(np.maximum(n, 1))
        low, high = value - half, value + half
    else:
        value, low, high = _bootstrapped(x, n, value, method, level, seed, resamples)
    if bounds is not None:
        low, high = _inside(value, low, high, bounds, scores.shape[1:])
    far = _has_far_seed(x, n) if method == "t" else np.zeros(n.shape, bool)
    return _finish(scores.shape[1:], value, low, high, n, sd, method, level, len(scores), far=far)


def _inside(value: Array, low: Array, high: Array, bounds: Bounds, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """The t interval, where it would leave the bounds made on the logit of the mean between them, which cannot.

    A mean at a bound has no logit and keeps that end; it is moved in by a hundredth of the interval to have the other.
    """
    least, most = (np.broadcast_to(np.asarray(end, np.float64), shape).ravel() for end in bounds)
    width = most - least
    with np.errstate(all="ignore"):
        leaves = np.isfinite(width) & (width > 0) & (high > low) & ((low < least) | (high > most))
        share = (value - least) / width
        half = (high - low) / 2 / width
        moved = np.clip(share, np.minimum(half / 100, 0.5), 1 - np.minimum(half / 100, 0.5))
        centre, reach = np.log(moved / (1 - moved)), half / (moved * (1 - moved))
        ends = [least + width / (1 + np.exp(-(centre + sign * reach))) for sign in (-1, 1)]
    return np.where(leaves, np.minimum(ends[0], value), low), np.where(leaves, np.maximum(ends[1], value), high)


def has_far_seed(scores: ArrayLike) -> bool:
    """Whether one of these seeds lies far from all others: it may have collapsed.

    >>> has_far_seed([0.80, 0.81, 0.79, 0.80, 0.30]), has_far_seed([0.80, 0.81, 0.79, 0.80, 0.77])
    (True, False)
    """
    x = np.sort(np.asarray(scores, dtype=np.float64).ravel())[:, None]
    return bool(x.size) and bool(_has_far_seed(x, (~np.isnan(x)).sum(axis=0))[0])


def _has_far_seed(x: Array, n: Counts) -> NDArray[np.bool_]:
    """Whether one seed lies far from all others, by many times what they differ by: it may have collapsed.

    Of five normal seeds 0.2 % look so, of more fewer (tests/stats/test_bounds.py).
    """
    if len(x) < _FEWEST_FOR_FAR:
        return np.zeros(n.shape, bool)
    place = [np.clip(n - back, 0, len(x) - 1)[None] for back in (1, 2)]
    last, before = (np.take_along_axis(x, at, axis=0)[0] for at in place)
    with np.errstate(invalid="ignore"):
        below = x[1] - x[0] > _FAR * (last - x[1])
        above = last - before > _FAR * (before - x[0])
    return np.asarray((n >= _FEWEST_FOR_FAR) & (below | above))


def check_level(level: float) -> None:
    """Refuse a confidence that is not between 0 and 1."""
    if not 0 < level < 1:
        raise UsageError(f"Expected a confidence level between 0 and 1, such as 0.95; got {level}.")


def _mean_and_sd(x: Array, n: Counts) -> tuple[Array, Array]:
    there = ~np.isnan(x)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(there, x, 0).sum(axis=0) / n
        # Equal seeds must give exactly their value and sd 0, which sums of rounded numbers do not.
        mean = np.where(_constant(x, n), x[0] if len(x) else np.nan, mean)
        sd = np.sqrt((np.where(there, x - mean, 0) ** 2).sum(axis=0) / (n - 1.0))
    return mean, np.where(n > 1, sd, np.nan)


def _constant(x: Array, n: Counts) -> NDArray[np.bool_]:
    if not len(x):
        return np.zeros(x.shape[1:], dtype=bool)
    last = np.take_along_axis(x, np.maximum(n - 1, 0)[None], axis=0)[0]
    return np.asarray((n > 0) & (last == x[0]))


def _t_quantile(freedom_plus_one: Counts, level: float) -> Array:
    freedom = np.where(freedom_plus_one > 1, freedom_plus_one - 1.0, np.nan)
    if np.isnan(freedom).all():
        # One seed has no interval, and should not pay for the import.
        return freedom
    from scipy.special import stdtrit

    return np.asarray(stdtrit(freedom, (1 + level) / 2), dtype=np.float64)


def _bootstrapped(
    x: Array, n: Counts, mean: Array, method: str, level: float, seed: int, resamples: int
) -> tuple[Array, Array, Array]:
    value = mean if method == "bca" else np.where(n > 0, _bootstrap.iqm(x, n), np.nan)
    low, high = np.full_like(mean, np.nan), np.full_like(mean, np.nan)
    constant = _constant(x, n) & (n > 1)
    low[constant] = high[constant] = value[constant] = mean[constant]
    infinite = np.isinf(x).any(axis=0)
    for size in np.unique(n[n > 1]):
        at = np.flatnonzero((n == size) & ~constant & ~infinite)
        if not at.size:
            continue
        here = x[:size, at]
        if method == "bca":
            weights = _bootstrap.mean_weights(size, resamples, seed)
            low[at], high[at] = _bootstrap.over_points(
                here, weights, lambda r, c: _bootstrap.bca(r, c, (1 - level) / 2)
            )
        else:
            weights = _bootstrap.iqm_weights(size, resamples, seed)
            error = _bootstrap.over_points(here, weights, lambda r, _: r.std(axis=0)[None])[0]
            half = _t_quantile(np.array(size), level) * np.sqrt(size / (size - 1)) * error
            low[at], high[at] = value[at] - half, value[at] + half
    return value, low, high


def _stratified(scores: Array, level: float, seed: int, resamples: int) -> Estimate:
    """One IQM of all seeds of all strata, for scores (seeds, strata, ...)."""
    seeds, strata = scores.shape[:2]
    points = prod(scores.shape[2:])
    x = np.sort(scores.reshape(seeds, strata, points), axis=0)
    n = (~np.isnan(x)).sum(axis=0)
    pooled = np.sort(x.reshape(seeds * strata, points), axis=0)
    total, thinnest = n.sum(axis=0), n.min(axis=0)
    # Without one of the streams it would be another quantity, not a worse estimate of this one.
    value = np.where(thinnest > 0, _bootstrap.iqm(pooled, total), np.nan)
    # What varies from seed to seed, not between streams: the sd of each seed's mean over the streams.
    within = np.sort(scores.mean(axis=1).reshape(seeds, points), axis=0)
    _, sd = _mean_and_sd(within, (~np.isnan(within)).sum(axis=0))
    error = _bootstrap.stratified_iqm(x, n, resamples, seed).std(axis=0)
    usable = np.where((thinnest > 1) & ~np.isinf(x).any(axis=(0, 1)), thinnest, 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        half = (
            _t_quantile(np.where(usable > 1, total - strata + 1, 1), level) * error * np.sqrt(usable / (usable - 1.0))
        )
    return _finish(scores.shape[2:], value, value - half, value + half, thinnest, sd, "iqm", level, seeds, pooled=True)


def _finish(
    shape: tuple[int, ...],
    value: Array,
    low: Array,
    high: Array,
    n: Counts,
    sd: Array,
    method: str,
    level: float,
    given: int,
    pooled: bool = False,
    far: NDArray[np.bool_] | None = None,
) -> Estimate:
    with np.errstate(invalid="ignore"):
        width = high - low
    kind = np.where(np.isinf(value), 2, np.where(width == 0, 1, 0 if far is None else np.where(far, 3, 0)))
    table = np.full((given + 1, 4), None, dtype=object)
    for count in np.unique(n):
        table[count] = [_reason(int(count), given, method, k, pooled) for k in range(4)]
    reason = table[n, kind]
    # Equal seeds are one observation, and one observation has no interval.
    low, high = (np.where(np.isnan(width) | ((n > 1) & (width == 0)), np.nan, bound) for bound in (low, high))
    if shape:
        v, lo, hi, spread = (a.reshape(shape) for a in (value, low, high, sd))
        return Estimate(v, lo, hi, n.reshape(shape), method, spread, level, reason.reshape(shape))
    return Estimate(float(value[0]), float(low[0]), float(high[0]), int(n[0]), method, float(sd[0]), level, reason[0])


def _reason(n: int, given: int, method: str, kind: int, pooled: bool) -> str | None:
    """What is undefined or unusual at a point with n of the given seeds; 1: no width, 2: infinite, 3: a far seed."""
    parts: list[str] = []
    missing = given - n
    if n == 0:
        return f"no seed has a value{' in one of the streams' if pooled else ''}"
    if missing:
        verb = "seeds has no value and is" if missing == 1 else "seeds have no value and are"
        parts.append(f"{missing} of {given} {verb} left out")
    if n == 1:
        parts.append("one seed gives no interval")
    elif kind == 2:
        parts.append("an infinite score gives no interval")
    elif kind == 1:
        parts.append(f"all {n} seeds have the same value: one observation, which has no interval")
    elif kind == 3:
        parts.append(
            "one seed lies far from all others: no interval of so few seeds is to be trusted; the interquartile mean"
            " (iqm) is the robust alternative"
        )
    elif method == "bca" and n < _FEW_SEEDS_FOR_BCA:
        parts.append(f"a BCa interval of {n} seeds is too narrow")
    return "; ".join(parts) or None


def _pick(field: Any, index: tuple[int, ...]) -> Any:
    picked = np.asarray(field)[index]
    return picked.item() if isinstance(picked, np.generic) else picked


def scalar(value: Any, low: Any, high: Any, n: int, method: str, level: float, reason: str | None = None) -> Estimate:
    """An estimate of one number that is not a mean over seeds, so without an sd."""
    return Estimate(float(value), float(low), float(high), int(n), method, float("nan"), level, reason)
