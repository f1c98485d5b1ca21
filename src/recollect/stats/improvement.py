"""The probability of improvement: how often does one learner beat the other?"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recollect.stats.binomial import wilson
from recollect.stats.estimate import Estimate, check_level, scalar

Array = NDArray[np.float64]


def probability_of_improvement(
    a: ArrayLike, b: ArrayLike, paired: bool = True, level: float = 0.95, higher_is_better: bool = True
) -> Estimate:
    """P(a beats b), a tie counting half.

    Paired: the share of seeds on which a beats b, with Wilson's interval. It is the question that paired
    seeds answer: both learners on the same stream in the same order.
    Unpaired: the share of all pairs (one seed of a, one of b), the Mann-Whitney form that rliable reports,
    with Newcombe's (2006) interval, which stays inside [0, 1] and has a width when one learner always wins.

    >>> print(probability_of_improvement([0.6, 0.7, 0.8, 0.9], [0.5, 0.6, 0.7, 0.95]))
    0.75 [0.3006, 0.9544] (n = 4)
    >>> probability_of_improvement([0.6, 0.7], [0.5, 0.6], paired=False).value
    0.875
    """
    check_level(level)
    first, second = (np.asarray(x, dtype=np.float64).ravel() for x in (a, b))
    if not higher_is_better:
        first, second = second, first
    method = "paired sign, Wilson" if paired else "Mann-Whitney, Newcombe"
    n = first.size if paired else first.size + second.size
    if not first.size or not second.size:
        return scalar(np.nan, np.nan, np.nan, n, method, level, "no seed to compare")
    if paired:
        wins = float(((first > second) + 0.5 * (first == second)).sum())
        bounds = wilson(wins, n, level)
        return scalar(wins / n, *bounds, n, method, level)
    grid = (first[:, None] > second) + 0.5 * (first[:, None] == second)
    theta = float(grid.mean())
    low, high = _newcombe(theta, first.size, second.size, level)
    return scalar(theta, low, high, n, method, level)


def _newcombe(theta: float, m: int, n: int, level: float) -> tuple[float, float]:
    """The θ whose own standard error puts the observed θ at the edge (Newcombe 2006, method 5)."""
    from scipy.special import ndtri

    z = float(ndtri((1 + level) / 2))
    balance = (m + n) / 2 - 1

    def beyond(t: float) -> bool:
        variance = t * (1 - t) / (m * n) * (1 + balance * ((1 - t) / (2 - t) + t / (1 + t)))
        return abs(theta - t) > z * float(np.sqrt(variance))

    def edge(inside: float, outside: float) -> float:
        for _ in range(60):
            middle = (inside + outside) / 2
            inside, outside = (inside, middle) if beyond(middle) else (middle, outside)
        return inside

    return edge(theta, 0.0), edge(theta, 1.0)
