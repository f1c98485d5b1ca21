"""Forward transfer: how well the learner does on tasks that it has not learned yet."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recollect.matrix import Array
from recollect.metrics.card import metric
from recollect.metrics.cells import Cells
from recollect.metrics.layout import counts_or_nan, running_sum
from recollect.metrics.sweep import Sweep

_NO_LATER = "forward transfer needs a task that was evaluated before it was learned: there is none yet"


@metric(
    latex=r"\frac{2}{k(k+1)}\sum_{i<j\le k}R_{ij}",
    source="Díaz-Rodríguez et al. 2018; pyCLAD's metric page (FWT)",
    reads=Cells.UPPER,
    better="higher",
    kind="level",
    bounds=(0, 1),
    undefined=_NO_LATER,
    printed_by=("pyCLAD", "CapyMOA", "online-continual-learning"),
)
def diazrodriguez2018(s: Sweep) -> Array:
    """Mean of the strict upper triangle: the score on tasks not yet learned, with no baseline taken off.

    >>> round(diazrodriguez2018([[.8, .1, .2], [.7, .4, .3], [.6, .5, .9]]), 6)
    0.2

    See Also
    --------
    lopezpaz2017 : only the row before each task, minus the untrained learner's score.
    """
    columns = np.zeros((s.T, s.N))
    for r, seen in enumerate(s.seen):
        columns[seen:] += s.R[r, seen:]
    rows_before = np.searchsorted(s.seen, np.arange(s.T), "right")
    sums, counts = running_sum(columns), np.cumsum(rows_before)
    return s.each_row(lambda r: _share(sums, counts, s.seen[r] - 1))


@metric(
    latex=r"\frac{1}{k+1}\sum_{1\le j\le k}\left(R_{j-1,j}-b_j\right)",
    source="BeGin's metric page (FWT); GEM's code",
    reads=Cells.SUPERDIAGONAL,
    needs=("b",),
    better="higher",
    kind="difference",
    undefined=_NO_LATER,
    printed_by=("GEM",),
)
def begin_docs(s: Sweep) -> Array:
    """Gain over the untrained learner in the row before a task is learned, summed and over all tasks.

    >>> round(begin_docs([[.8, .3], [.6, .9]], b=[.1, .1]), 6)
    0.1

    See Also
    --------
    lopezpaz2017 : divided by the number of terms.
    """
    total, terms = _just_before(s, s.need("b"))
    return total / (terms + 1)


@metric(
    latex=r"\frac{1}{k}\sum_{1\le j\le k}\left(R_{j-1,j}-b_j\right)",
    source="Lopez-Paz & Ranzato 2017 (GEM), eq. 4",
    reads=Cells.SUPERDIAGONAL,
    needs=("b",),
    better="higher",
    kind="difference",
    undefined=_NO_LATER,
    printed_by=("Avalanche", "Mammoth", "Renate", "BeGin"),
)
def lopezpaz2017(s: Sweep) -> Array:
    """Mean gain of each task over the untrained learner in the row before it is learned.

    >>> round(lopezpaz2017([[.8, .3], [.6, .9]], b=[.1, .1]), 6)
    0.2
    """
    total, terms = _just_before(s, s.need("b"))
    return total / terms


@metric(
    latex=r"\frac{1}{k}\sum_{1\le j\le k}R_{j-1,j}",
    source="Continuum (forward_transfer)",
    reads=Cells.SUPERDIAGONAL,
    better="higher",
    kind="level",
    bounds=(0, 1),
    undefined=_NO_LATER,
    printed_by=("Continuum (main branch)",),
)
def continuum(s: Sweep) -> Array:
    """Mean score on each task in the row before it is learned, with no baseline taken off.

    >>> continuum([[.8, .3], [.6, .9]])
    0.3
    """
    total, terms = _just_before(s, np.zeros((s.T, 1)))
    return total / terms


def _just_before(s: Sweep, baseline: Array) -> tuple[Array, Array]:
    """Sum over tasks of the score in the row before learning minus the baseline, and how many terms."""
    gains, terms = np.zeros((s.P, s.N)), np.zeros(s.P)
    for r in range(1, s.P):
        tasks = s.plan.just_learned(r)
        gains[r] = (s.R[r - 1, tasks] - baseline[tasks]).sum(0)
        terms[r] = len(tasks)
    return running_sum(gains), counts_or_nan(np.cumsum(terms))


def _share(sums: Array, counts: NDArray[np.intp], last: int) -> Array:
    """The mean over all pairs up to the last task; NaN where there are none."""
    return sums[last] / counts[last] if last >= 0 and counts[last] else np.full(sums.shape[1], np.nan)
