"""Anytime metrics: over every evaluation, inside tasks too; rows need not be task ends."""

from __future__ import annotations

import numpy as np

from recollect.matrix import Array
from recollect.metrics.card import metric
from recollect.metrics.cells import Cells
from recollect.metrics.sweep import Sweep, Undefined


@metric(
    latex=r"\frac{1}{S}\sum_{s}\frac{1}{|\mathcal{B}_s|}\sum_{j\in\mathcal{B}_s}R_{sj}",
    source="CapyMOA (anytime_accuracy_seen_avg)",
    reads=Cells.EVERY_ROW,
    better="higher",
    kind="level",
    bounds=(0, 1),
    printed_by=("CapyMOA",),
    equals="acc.incremental when rows are task ends",
)
def average(s: Sweep) -> Array:
    """Mean over every evaluation of the mean over the tasks begun so far, the one being learned too.

    >>> average([[.2, 0], [.8, 0], [.7, .5], [.6, .9]], learned_at=[1, 3])
    0.5875
    """
    means = _begun_mean(s)
    upto = np.array(s.ends)
    return np.cumsum(means, axis=0)[upto] / (upto + 1)[:, None]


@metric(
    latex=r"\frac{1}{n_S}\sum_{s}\left(n_s-n_{s-1}\right)\frac{1}{|\mathcal{B}_s|}\sum_{j\in\mathcal{B}_s}R_{sj}",
    source="Koh et al. 2022 (i-Blurry), A_AUC",
    reads=Cells.EVERY_ROW,
    needs=("steps",),
    better="higher",
    kind="level",
    bounds=(0, 1),
    undefined="no samples had been seen yet",
    equals="anytime.average when evaluations are equally spaced from the first one on",
)
def auc(s: Sweep) -> Array:
    """Area under the curve of the mean over tasks begun so far, over samples seen, divided by all samples.

    Rectangles, each evaluation standing for the samples that led to it; an evaluation before any sample has no
    width. Koh et al. pool the test samples of the seen classes, which is the same for test sets of one size.

    >>> auc([[.2, 0], [.8, 0], [.7, .5], [.6, .9]], learned_at=[1, 3], steps=[10, 20, 30, 70])
    0.6571428571428571
    """
    steps = s.need("steps")
    widths = np.diff(steps, prepend=0.0)
    if steps[-1] == 0:
        raise Undefined("no samples had been seen at any row")
    upto = np.array(s.ends)
    total = steps[upto][:, None].copy()
    total[total == 0] = np.nan
    area: Array = np.cumsum(_begun_mean(s) * widths[:, None], axis=0)[upto] / total
    return area


@metric(
    latex=r"\frac{1}{k+1}\sum_{j\le k}\max\left(0,\max_{0<b-a<w}R_{aj}-R_{bj}\right)",
    source="De Lange et al. 2023 (WF)",
    reads=Cells.EVERY_ROW,
    better="lower",
    kind="difference",
    bounds=(0, 1),
    parameters=("window",),
)
def windowed_forgetting(s: Sweep, window: int = 10) -> Array:
    """Largest drop inside any window of `window` evaluations, mean over the tasks begun so far.

    >>> round(windowed_forgetting([[.8, 0], [.3, .9], [.7, .8]], learned_at=[0, 2]), 6)
    0.3

    See Also
    --------
    windowed_plasticity : the largest rise.
    """
    return _windowed(s, window, sign=1)


@metric(
    latex=r"\frac{1}{k+1}\sum_{j\le k}\max\left(0,\max_{0<b-a<w}R_{bj}-R_{aj}\right)",
    source="De Lange et al. 2023 (WP)",
    reads=Cells.EVERY_ROW,
    better="higher",
    kind="difference",
    bounds=(0, 1),
    parameters=("window",),
)
def windowed_plasticity(s: Sweep, window: int = 10) -> Array:
    """Largest rise inside any window of `window` evaluations, mean over the tasks begun so far.

    >>> round(windowed_plasticity([[.8, 0], [.3, .2], [.7, .8]], learned_at=[0, 2]), 6)
    0.5
    """
    return _windowed(s, window, sign=-1)


def _begun_mean(s: Sweep) -> Array:
    """Mean over the tasks begun so far, at every row; shape (S, N)."""
    begun = s.begun.sum(1)
    return np.array([s.all_rows[row, :n].sum(0) / n for row, n in enumerate(begun)])


def _windowed(s: Sweep, window: int, sign: int) -> Array:
    if window < 2:
        raise Undefined(f"a window of {window} evaluations holds no change; give at least 2")
    begun = s.begun.sum(1)
    largest = np.zeros((s.T, s.N))
    out = np.empty((s.P, s.N))
    ends = {end: r for r, end in enumerate(s.ends)}
    for row, n in enumerate(begun):
        now = s.all_rows[row]
        # A task's first evaluation counts too: if it is missing, so is the value.
        largest[:n] += 0 * now[:n]
        for back in range(1, min(window, row + 1)):
            m = begun[row - back]
            change = sign * (s.all_rows[row - back, :m] - now[:m])
            np.maximum(largest[:m], change, out=largest[:m])
        if row in ends:
            out[ends[row]] = largest[:n].sum(0) / n
    return out
