"""Forward transfer: how well the learner does on tasks that it has not learned yet."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.matrix import Array
from recollect.metrics.cells import Cells
from recollect.metrics.registry import metric
from recollect.metrics.rows import counts_or_nan, running_sum
from recollect.metrics.sweep import Sweep, Undefined

_MASKED = (
    "a learner that answers only with classes it has seen scores 0 on tasks not yet learned by construction (masking);"
    " then this is no measure of transfer"
)
_NO_LATER = "forward transfer needs a task that was evaluated before it was learned: there is none yet"


@metric(
    latex=r"\frac{2}{k(k+1)}\sum_{i<j\le k}R_{ij}",
    source="Díaz-Rodríguez et al. 2018; pyCLAD's metric page (FWT)",
    reads=Cells.UPPER,
    better="higher",
    kind="level",
    bounds=(0, 1),
    undefined=_NO_LATER,
    caution=_MASKED,
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
    caution=_MASKED,
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
    caution=_MASKED,
    printed_by=("Avalanche", "Renate", "BeGin"),
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
    caution=_MASKED,
    printed_by=("Continuum (main branch)",),
)
def continuum(s: Sweep) -> Array:
    """Mean score on each task in the row before it is learned, with no baseline taken off.

    >>> continuum([[.8, .3], [.6, .9]])
    0.3
    """
    total, terms = _just_before(s, np.zeros((s.T, 1)))
    return total / terms


@metric(
    latex=r"\frac{1}{k}\sum_{1\le j\le k}\frac{1}{j}\sum_{i<j}R_{ij}",
    source="Zheng et al. 2023 (ZSCL), Transfer",
    reads=Cells.UPPER,
    better="higher",
    kind="level",
    bounds=(0, 1),
    undefined=_NO_LATER,
    caution=_MASKED,
    printed_by=("ZSCL",),
)
def zscl(s: Sweep) -> Array:
    """Mean over tasks of each task's mean score before it was learned (Transfer): every task weighs the same.

    >>> round(zscl([[.8, .1, .2], [.7, .4, .3], [.6, .5, .9]]), 6)
    0.175

    See Also
    --------
    diazrodriguez2018 : every cell weighs the same, so late tasks weigh more.
    """
    rows_before = np.searchsorted(s.seen, np.arange(s.T), "right")
    columns = np.array([s.R[:rows, j].sum(0) / max(rows, 1) for j, rows in enumerate(rows_before)]).reshape(s.T, s.N)
    sums, counts = running_sum(columns), np.cumsum(rows_before > 0)
    return s.each_row(lambda r: _share(sums, counts, s.seen[r] - 1))


@metric(
    latex=r"\frac{1}{k+1}\sum_{j\le k}\left(R_{jj}-S_j\right)",
    source="Zhao et al. 2024 (SAPT), FWT",
    reads=Cells.DIAGONAL,
    needs=("single",),
    better="higher",
    kind="difference",
)
def single(s: Sweep) -> Array:
    """Mean lead, right after learning, over models that were trained on one task alone.

    >>> round(single([[.8, .1], [.6, .9]], single=[.7, .95]), 6)
    0.025

    See Also
    --------
    lopezpaz2017 : what the learner can do before it has learned the task.
    """
    return s.mean_over_own(s.diagonal - s.need("single"))


@metric(
    latex=r"\frac{1}{k+1}\sum_{j\le k}\frac{\mathrm{AUC}_j-\mathrm{AUC}_j^b}{1-\mathrm{AUC}_j^b}",
    source="Wolczyk et al. 2021 (Continual World), forward transfer",
    reads=Cells.OWN_BLOCK,
    needs=("single_auc",),
    better="higher",
    kind="ratio",
    bounds=(-np.inf, 1),
    undefined="needs success rates, a row of its own for every task, and single-task models below 1",
    printed_by=("Continual World", "COOM"),
)
def continual_world(s: Sweep) -> Array:
    """Mean over tasks of the gain in area while learning, over what a model trained on the task alone left to gain.

    ``AUC_j`` is the mean score on task j over the evaluations made while it was being learned.

    >>> rows = [[.2, 0], [.8, 0], [.7, .5], [.6, .9]]
    >>> round(continual_world(rows, learned_at=[1, 3], inside=[1, 0, 1, 0], single_auc=[.5, .5]), 6)
    0.2
    """
    base = s.need("single_auc")
    if s.matrix.unit == "raw" or not s.matrix.higher_is_better or (s.own < 0).any():
        raise Undefined(continual_world.card.undefined)
    area = np.array([s.all_rows[rows, j].mean(0) for j, rows in enumerate(s.blocks())])
    with np.errstate(invalid="ignore", divide="ignore"):
        gain = np.where(base < 1, (area - base) / (1 - base), np.nan)
    return s.mean_over_own(gain)


def _just_before(s: Sweep, baseline: Array) -> tuple[Array, Array]:
    """Sum over tasks of the score in the row before learning minus the baseline, and how many terms."""
    gains, terms = np.zeros((s.P, s.N)), np.zeros(s.P)
    for r in range(1, s.P):
        tasks = s.plan.just_learned(r)
        for task in tasks:
            gains[r] += s.R[r - 1, task] - baseline[task]
        terms[r] = len(tasks)
    return running_sum(gains), counts_or_nan(np.cumsum(terms))


def _share(sums: Array, counts: NDArray[Any], last: int) -> Array:
    """The mean over all pairs up to the last task; NaN where there are none."""
    return sums[last] / counts[last] if last >= 0 and counts[last] else np.full(sums.shape[1], np.nan)
