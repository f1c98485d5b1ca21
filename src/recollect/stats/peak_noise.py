"""What the best of several noisy rows is too good by: the forgetting that a learner without any shows on test items.

A peak is the best of several scores, and each is measured on finitely many test items. So the average forgetting of a
learner that forgets nothing is above 0 on average, and no number of seeds takes that away.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from recollect.matrix import Array, ScoreMatrix

# Up to so many items counts are summed one by one; of more, a share is as good as normal.
_COUNTED = 400


def peak_noise(matrix: ScoreMatrix) -> Array:
    """Of each run, the `forgetting.chaudhry2018` that test noise alone gives on average; NaN where n is not known.

    Every column is taken as constant since its own row, and the items of a row as drawn anew.

    >>> peak_noise(ScoreMatrix([[.8, 0], [.8, .9]], n_samples=[100, 100])).round(6)
    array([0.])
    >>> peak_noise(ScoreMatrix([[.8, 0, 0], [.8, .9, 0], [.8, .9, .9]], n_samples=[100, 100, 100])).round(3)
    array([0.011])
    """
    R = matrix.R.reshape(-1, matrix.S, matrix.T)
    made = np.full(len(R), np.nan)
    best = np.full((len(R), matrix.T), np.nan)
    if matrix.n_samples is None or matrix.unit == "raw":
        return made
    all_sizes = np.broadcast_to(matrix.n_samples.reshape(-1, matrix.T), (len(R), matrix.T))
    for j in np.flatnonzero(matrix.planned):
        own = int(matrix.learned_at[j])
        if 0 <= own < matrix.S - 1:
            rows = np.isfinite(R[:, own:-1, j]).sum(axis=1)
            for run in np.flatnonzero((rows > 0) & (all_sizes[:, j] > 0)):
                best[run, j] = _too_good(float(R[run, own, j]), int(all_sizes[run, j]), int(rows[run]))
    known = ~np.isnan(best)
    np.divide(np.where(known, best, 0).sum(axis=1), known.sum(axis=1), out=made, where=known.any(axis=1))
    return made


@lru_cache(maxsize=65536)  # many runs have the same count of right answers
def _too_good(share: float, n: int, rows: int) -> float:
    """The expected best of so many shares of n items, minus what they are shares of."""
    if rows < 2 or not np.isfinite(share):
        return 0.0
    p = (share * n + 1) / (n + 2)  # of n items all right, the next may be wrong
    if n > _COUNTED:
        return _normal_best(rows) * float(np.sqrt(p * (1 - p) / n))
    from scipy.special import bdtr

    below = bdtr(np.arange(n), n, p)
    return float((1 - below**rows).sum()) / n - p


@lru_cache(maxsize=1024)
def _normal_best(rows: int) -> float:
    """The expected best of so many standard normal numbers."""
    from scipy.special import ndtr

    x = np.linspace(0, 8, 2001)
    return float(np.trapezoid(1 - ndtr(x) ** rows - ndtr(-x) ** rows, x))
