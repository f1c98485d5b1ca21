"""Does a curve stop rising, and where?

Curves have one bend: where it fits best, and the slopes on either side, are fixed weights on the tasks. Everything a
seed contributes (its slope before a given bend, its slope after, whether the bend should lie further right) is a
weighted sum of its own curve. Such sums are comparable over seeds whatever the noise along the tasks looks like, which
is what makes the t intervals hold for random walks too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, floor
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recollect.errors import UsageError
from recollect.stats.estimate import Estimate, check_level, estimate

Array = NDArray[np.float64]

# The bend is searched between tasks as well, at quarters; long streams get 400 places at most.
_STEP, _PLACES = 0.25, 400


@dataclass(frozen=True)
class Bends:
    """For each candidate bend (axis 0): an orthonormal basis of the bent lines, and weights of slopes."""

    basis: Array  # (bends, tasks, 3)
    before: Array  # (bends, tasks): slope up to the bend
    after: Array  # slope from the bend on
    late: Array  # slope over the second half of what follows the bend
    own: Array  # slope of what follows the bend, without a look at what is before it
    overall: Array  # (tasks,): slope of the straight line

    def best(self, curves: Array) -> NDArray[np.intp]:
        """The bend that fits each curve (n, tasks) best by least squares."""
        return np.asarray(_explained(self.basis, curves).argmax(axis=-1))


@lru_cache(maxsize=16)
def bends(tasks: tuple[float, ...]) -> Bends:
    """Continuous two-segment lines with the bend at a task, from the second to the last but two."""
    t = np.array(tasks)
    places = t[1:-2]
    lines = _hinge(t, places)
    solve = np.asarray(np.linalg.pinv(lines), dtype=np.float64)
    middle = (places + t[-1]) / 2
    return Bends(
        basis=np.linalg.qr(lines)[0],
        before=solve[:, 1],
        after=solve[:, 1] + solve[:, 2],
        late=_line_weights(t, np.minimum(middle, t[-2])),
        own=_line_weights(t, places),
        overall=_line_weights(t, t[:1])[0],
    )


@dataclass(frozen=True)
class Locator:
    """Where between `places` does a curve bend?

    `score` (places, tasks) are the weights whose sum over a curve is zero on average when the bend is there:
    the derivative of the fit with respect to the bend, cleared of level and slope.
    """

    places: Array
    basis: Array
    score: Array

    def locate(self, curves: Array, quantile: float) -> tuple[float, float, float]:
        """Best place for the mean of curves (n, tasks), and the places around it that seeds do not reject.

        A place is rejected when the mean score over seeds lies more than `quantile` standard errors from 0.
        """
        best = int(_explained(self.basis, curves.mean(axis=0)[None])[0].argmax())
        scores = curves @ self.score.T
        error = scores.std(axis=0, ddof=1) / np.sqrt(len(curves))
        rejected = np.abs(scores.mean(axis=0)) > quantile * error
        rejected[best] = False
        left, right = np.flatnonzero(rejected[:best]), np.flatnonzero(rejected[best:])
        low = left[-1] + 1 if left.size else 0
        high = best + right[0] - 1 if right.size else len(self.places) - 1
        return float(self.places[best]), float(self.places[low]), float(self.places[high])


@lru_cache(maxsize=16)
def locator(tasks: tuple[float, ...], flat_after: bool) -> Locator:
    """Bends at and between tasks: into a level line (`flat_after`), or into any other slope."""
    t = np.array(tasks)
    step = max(_STEP, (t[-2] - t[1]) / _PLACES)
    places = np.arange(t[1], t[-2] + step / 2, step)
    lines = _ramp(t, places) if flat_after else _hinge(t, places)
    basis = np.linalg.qr(lines)[0]
    shift = (t > places[:, None]).astype(np.float64)
    inside = np.einsum("kmp,kp->km", basis, np.einsum("kmp,km->kp", basis, shift))
    return Locator(places, basis, shift - inside)


def _explained(basis: Array, curves: Array) -> Array:
    """Sum of squares (n, bends) that each bend's lines explain of each curve."""
    return np.asarray(((curves @ basis) ** 2).sum(axis=-1).T)


def _hinge(t: Array, places: Array) -> Array:
    shape = (len(places), len(t))
    parts = (np.ones(shape), np.broadcast_to(t, shape), np.maximum(t - places[:, None], 0))
    return np.stack(parts, axis=-1)


def _ramp(t: Array, places: Array) -> Array:
    return np.stack((np.ones((len(places), len(t))), np.minimum(t, places[:, None])), axis=-1)


def _line_weights(t: Array, starts: Array) -> Array:
    """Weights (starts, tasks) of the least-squares slope over the tasks from each start on."""
    used = t >= starts[:, None]
    centred = np.where(used, t - (used * t).sum(axis=1, keepdims=True) / used.sum(axis=1, keepdims=True), 0)
    return np.asarray(centred / (centred**2).sum(axis=1, keepdims=True))


# A curve has stopped rising when what follows the bend rises at less than a sixth of the rate before it ...
SLOWER_THAN = 1 / 6
# ... and the second half of what follows is not known to rise at more than a twentieth.
STILL_RISING = 1 / 20
FEWEST_TASKS = 5

METHOD = "one bend, slopes cross-fitted over seeds, t intervals"


@dataclass(frozen=True)
class Plateau:
    """Whether a curve stops rising, and where.

    Attributes
    ----------
    found : True for kinds "plateau" and "peak"
    kind : "plateau" rises, then does not · "peak" rises, then is shown to fall · "rising" steadily · "slowing" less
        after the bend, but on · "flat" no rise is shown · "falling" · "undecided" the seeds do not tell
    at : index of the task where the rise ends, from 0; None without a plateau
    low, high : interval over seeds for `at`
    slope_before, slope_after : change per task on either side of the best bend, over seeds
    slope : change per task of the straight line through the curve
    n : seeds
    reason : why there is no plateau, or what was left out; None where there is nothing to say
    """

    found: bool
    kind: str
    at: int | None
    low: int | None
    high: int | None
    slope_before: Estimate
    slope_after: Estimate
    slope: Estimate
    n: int
    reason: str | None = None
    method: str = METHOD

    def describe(self, name: str, first_task: int = 1) -> str:
        """A sentence for people, who count tasks from `first_task`.

        >>> ramp = np.minimum(np.arange(12), 6) / 6
        >>> find_plateau([ramp, 1.1 * ramp, 0.9 * ramp]).describe("GDumb")
        'GDumb levels off at task 7 [7, 7]'
        """
        if self.at is None or self.low is None or self.high is None:
            return f"{name}: no plateau ({self.kind}); {self.reason}"
        place = f"task {self.at + first_task} [{self.low + first_task}, {self.high + first_task}]"
        return (
            f"{name} rises up to {place} and falls after it" if self.kind == "peak" else f"{name} levels off at {place}"
        )


def find_plateau(curves: ArrayLike, level: float = 0.95, higher_is_better: bool = True) -> Plateau:
    """Find where the curves of several seeds stop rising.

    The best bend is looked for on the other seeds, then each seed gives its slopes before and after it: a
    seed never judges a bend that its own noise suggested. A plateau is claimed when t intervals over seeds
    show that the curve rises before the bend and that it rises at less than a sixth of that rate after it,
    unless the second half of what follows is shown to rise at more than a twentieth. Noise along the tasks
    may be correlated in any way; only seeds need to be independent. So a curve that bends but goes on rising
    (√k) is no plateau, and one that saturates is. That it falls after the bend is claimed only if the line through
    what follows the bend falls by itself, too.

    Parameters
    ----------
    curves : array-like of shape (seeds, tasks)
        Tasks that some seed has not are left out, and it says so.
    level : float
        The confidence of every interval.
    higher_is_better : bool
        False looks for where an error stops falling; its curve is turned over, the slopes with it.

    >>> rng = np.random.default_rng(0)
    >>> k = np.arange(40)
    >>> find_plateau(np.minimum(k, 24) / 24 + 0.03 * rng.normal(size=(5, 40))).describe("GDumb")
    'GDumb levels off at task 25 [24, 26]'
    >>> find_plateau(np.sqrt(k) + 0.03 * rng.normal(size=(5, 40))).kind
    'slowing'
    """
    check_level(level)
    given = np.asarray(curves, dtype=np.float64)
    if given.ndim != 2:
        raise UsageError(f"Expected curves of shape (seeds, tasks), got {given.shape}; one curve is [curve].")
    if not higher_is_better:
        given = -given
    y = given[np.isfinite(given).any(axis=1)]
    whole = np.isfinite(y).all(axis=0) if len(y) else np.zeros(given.shape[1], dtype=bool)
    y, tasks = y[:, whole], np.flatnonzero(whole)
    left_out = _left_out(given, len(y), len(tasks))
    if len(y) > 1 and (y == y[0]).all():
        left_out = "; ".join(filter(None, (f"all {len(y)} seeds gave the same curve: one observation", left_out)))
        y = y[:1]
    if len(tasks) < FEWEST_TASKS or len(y) < 2:
        return _refuse(y, tasks, level, left_out)

    places = tuple(float(t) for t in tasks)
    slopes = _slopes(y, bends(places), level)
    # Slopes that only rounding distinguishes from zero are zero.
    tiny = 1e-9 * float(np.abs(y).max()) / float(tasks[-1] - tasks[0])
    rises, much_slower = slopes.before.low > tiny, slopes.to_a_sixth.high < -tiny
    if rises and much_slower and not slopes.late_above.low > tiny:
        kind = "peak" if max(slopes.after.high, slopes.own.high) < -tiny else "plateau"
        at, low, high = locator(places, kind == "plateau").locate(y, _t_quantile(len(y), level))
        where = (round(at), floor(low), ceil(high))
        return Plateau(True, kind, *where, slopes.before, slopes.after, slopes.overall, len(y), left_out)
    kind, why = _no_plateau(slopes, tiny)
    reason = "; ".join(filter(None, (why, left_out)))
    return Plateau(False, kind, None, None, None, slopes.before, slopes.after, slopes.overall, len(y), reason)


class _Slopes(NamedTuple):
    """Slopes per task over seeds, and the comparisons of slopes on which the verdict rests."""

    before: Estimate
    after: Estimate
    to_a_sixth: Estimate  # after - before / 6
    late_above: Estimate  # late - before / 20
    change: Estimate  # after - before
    own: Estimate
    overall: Estimate


def _slopes(y: Array, fit: Bends, level: float) -> _Slopes:
    """Each seed's slopes around the bend that the mean of the other seeds suggests."""
    others = (y.sum(axis=0) - y) / (len(y) - 1)
    bend = fit.best(others)
    before, after, late, own = (
        (weights[bend] * y).sum(axis=1) for weights in (fit.before, fit.after, fit.late, fit.own)
    )
    contrasts = (
        before,
        after,
        after - SLOWER_THAN * before,
        late - STILL_RISING * before,
        after - before,
        own,
        y @ fit.overall,
    )
    together = estimate(np.stack(contrasts, axis=1), level=level)
    # Seeds may differ and have one slope all the same: its interval is then a point.
    value, low, high = together.arrays
    low, high = (np.where(np.isnan(end), value, end) for end in (low, high))
    together = replace(together, low=low, high=high)
    return _Slopes(*(together.at(i) for i in range(len(contrasts))))


def _no_plateau(slopes: _Slopes, tiny: float) -> tuple[str, str]:
    overall, after = slopes.overall, slopes.after
    rises = slopes.before.low > tiny
    if after.low > tiny and overall.low > tiny:
        kind = "slowing" if slopes.change.high < -tiny else "rising"
        return kind, f"it still rises by {_slope(after)} per task after its best bend"
    if overall.high < -tiny and not rises:
        return "falling", f"it falls by {_slope(overall)} per task"
    if overall.low > tiny or rises:
        return "undecided", (
            f"it rises, but the seeds do not show whether it goes on: {_slope(after)} per task after its bend"
        )
    return "flat", f"no rise is shown: {_slope(overall)} per task"


def _slope(slope: Estimate) -> str:
    return f"{slope.value:.3g} [{slope.low:.3g}, {slope.high:.3g}]"


def _left_out(given: Array, seeds: int, tasks: int) -> str | None:
    parts = []
    if seeds < given.shape[0]:
        parts.append(f"{given.shape[0] - seeds} of {given.shape[0]} seeds have no values")
    if tasks < given.shape[1]:
        parts.append(f"{tasks} of {given.shape[1]} tasks are used, which every seed has")
    return "; ".join(parts) or None


def _refuse(y: Array, tasks: NDArray[np.intp], level: float, left_out: str | None) -> Plateau:
    before = after = overall = np.full(len(y), np.nan)
    if len(tasks) < FEWEST_TASKS:
        why = f"a bend needs {FEWEST_TASKS} tasks or more, there are {len(tasks)}"
    else:
        fit = bends(tuple(float(t) for t in tasks))
        bend = int(fit.best(y)[0])
        before, after, overall = y @ fit.before[bend], y @ fit.after[bend], y @ fit.overall
        why = "one seed does not tell a plateau from the noise along its curve; run two seeds or more"
    slopes = [estimate(values, level=level) for values in (before, after, overall)]
    reason = "; ".join(filter(None, (why, left_out)))
    return Plateau(False, "undecided", None, None, None, slopes[0], slopes[1], slopes[2], len(y), reason)


def _t_quantile(n: int, level: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(n - 1, (1 + level) / 2))
