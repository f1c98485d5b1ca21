"""Curves with one bend: where it fits best, and the slopes on either side, as fixed weights on the tasks.

Everything a seed contributes (its slope before a given bend, its slope after, whether the bend should lie
further right) is a weighted sum of its own curve. Such sums are comparable over seeds whatever the noise
along the tasks looks like, which is what makes the t intervals of `plateau` hold for random walks too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

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
