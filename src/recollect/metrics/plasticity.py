"""Plasticity: does the learner go on learning new tasks as well as the first ones?"""

from __future__ import annotations

import numpy as np

from recollect.matrix import Array
from recollect.metrics.cells import Cells
from recollect.metrics.registry import metric
from recollect.metrics.rows import running_sum
from recollect.metrics.sweep import Sweep


@metric(
    latex=r"\frac{\sum_{j\le k}\left(j-\frac{k}{2}\right)R_{jj}}{\sum_{j\le k}\left(j-\frac{k}{2}\right)^{2}}",
    source="Dohare et al. 2024 (loss of plasticity), as a slope",
    reads=Cells.DIAGONAL,
    better="higher",
    kind="difference",
    undefined="a slope needs two tasks with a row of their own: there are fewer",
)
def slope(s: Sweep) -> Array:
    """Least-squares slope of the score right after learning, over tasks: negative where plasticity is lost.

    In score per task. Tasks differ in difficulty; over one class order it is that order's slope.

    >>> round(slope([[.9, 0, 0], [.5, .8, 0], [.4, .5, .7]]), 6)
    -0.1
    """
    tasks = np.flatnonzero(s.own >= 0)
    x = tasks[:, None].astype(float)
    n, y = np.arange(1, len(tasks) + 1)[:, None], s.diagonal[tasks]
    sums = [running_sum(np.broadcast_to(part, y.shape).copy()) for part in (x, x * x, y, x * y)]
    spread = sums[1] - sums[0] ** 2 / n
    with np.errstate(invalid="ignore", divide="ignore"):
        slopes = np.where(spread > 0, (sums[3] - sums[0] * sums[2] / n) / spread, np.nan)
    upto = np.searchsorted(s.own[tasks], np.arange(s.P), "right")
    nothing = np.full((1, s.N), np.nan)
    made: Array = np.concatenate([nothing, slopes])[upto]
    return made
