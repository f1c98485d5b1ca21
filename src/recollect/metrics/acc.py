"""Accuracy: how good the learner is, over the tasks seen so far.

The scores may be any performance (accuracy, ROC-AUC, minus a loss); the name is the field's.
"""

from __future__ import annotations

import numpy as np

from recollect.matrix import Array
from recollect.metrics.cells import Cells
from recollect.metrics.registry import metric
from recollect.metrics.rows import counts_or_nan, running_sum
from recollect.metrics.sweep import Sweep


@metric(
    latex=r"\frac{1}{k+1}\sum_{j\le k}R_{kj}",
    source="Michel et al. 2023, Def. 3.1; Lopez-Paz & Ranzato 2017; BeGin (AP)",
    reads=Cells.NOW,
    better="higher",
    kind="level",
    bounds=(0, 1),
    equals="acc.pooled when all test sets have the same size",
    printed_by=("CapyMOA", "GEM", "A-GEM", "online-continual-learning", "Renate", "BeGin"),
)
def average(s: Sweep) -> Array:
    """Mean score now over the tasks seen so far: every task weighs the same (AA, AP, ACC).

    >>> average([[.8, .1], [.6, .9]])
    0.75
    >>> average.curve([[.8, .1], [.6, .9]])
    array([0.8 , 0.75])

    See Also
    --------
    pooled : every test sample weighs the same.
    incremental : the mean of this over time.
    """
    return s.seen_sum / s.n_seen


@metric(
    latex=r"\frac{1}{k+1}\sum_{i\le k}\frac{1}{i+1}\sum_{j\le i}R_{ij}",
    source="Rebuffi et al. 2017 (iCaRL), average incremental accuracy",
    reads=Cells.LOWER,
    better="higher",
    kind="level",
    bounds=(0, 1),
    printed_by=("CapyMOA", "online-continual-learning"),
)
def incremental(s: Sweep) -> Array:
    """Mean over time of the average score so far (AIA): early rows weigh as much as late ones.

    >>> incremental([[.8, .1], [.6, .9]])
    0.775

    See Also
    --------
    continual_average : every cell weighs the same, so late rows weigh more.
    """
    return s.mean_over_rows(s.seen_sum / s.n_seen)


@metric(
    latex=r"\frac{2}{(k+1)(k+2)}\sum_{i\le k}\sum_{j\le i}R_{ij}",
    source="pyCLAD (CA); Díaz-Rodríguez et al. 2018 (A)",
    reads=Cells.LOWER,
    better="higher",
    kind="level",
    bounds=(0, 1),
    printed_by=("pyCLAD", "Continuum"),
)
def continual_average(s: Sweep) -> Array:
    """Mean of the lower triangle with the diagonal (CA): every evaluation of a seen task weighs the same.

    >>> round(continual_average([[.8, .1], [.6, .9]]), 6)
    0.766667

    See Also
    --------
    incremental : every row weighs the same.
    """
    return running_sum(s.seen_sum) / counts_or_nan(np.cumsum(s.seen))


@metric(
    latex=r"\frac{1}{k+1}\sum_{j\le k}R_{jj}",
    source="Riemer et al. 2019 (learning accuracy)",
    reads=Cells.DIAGONAL,
    better="higher",
    kind="level",
    bounds=(0, 1),
)
def learning(s: Sweep) -> Array:
    """Mean score on each task right after learning it: plasticity alone, blind to forgetting.

    >>> round(learning([[.8, .1], [.6, .9]]), 6)
    0.85
    """
    return s.mean_over_own(s.diagonal)


@metric(
    latex=r"\frac{\sum_{j\le k}n_jR_{kj}}{\sum_{j\le k}n_j}",
    source="PyCIL (CNN top-1 'total'); Avalanche (stream accuracy)",
    reads=Cells.NOW,
    needs=("n_samples",),
    better="higher",
    kind="level",
    bounds=(0, 1),
    equals="acc.average when all test sets have the same size",
    printed_by=("Avalanche", "Continuum", "Renate"),
)
def pooled(s: Sweep) -> Array:
    """Score now over all test samples of the seen tasks thrown together: large tasks weigh more.

    Where the pooled score itself was measured (PyCIL's `total`), it is taken as it is.

    >>> round(pooled([[.8, .1], [.6, .9]], n_samples=[300, 100]), 6)
    0.675

    See Also
    --------
    average : every task weighs the same.
    """
    if s.matrix.pooled is not None:
        return s.at_ends("pooled")
    n = s.need("n_samples")

    def over_samples(r: int) -> Array:
        sizes, scores = n[: s.seen[r]], s.R[r, : s.seen[r]]
        right = sizes @ scores if n.ndim == 1 else (sizes * scores).sum(0)
        share: Array = right / (sizes.sum(0) if len(sizes) else np.nan)
        return share

    return s.each_row(over_samples)


@metric(
    latex=r"\frac{1}{k+1}\sum_{i\le k}\frac{\sum_{j\le i}n_jR_{ij}}{\sum_{j\le i}n_j}",
    source="PyCIL (Average Accuracy); Continuum (average_incremental_accuracy)",
    reads=Cells.LOWER,
    needs=("n_samples",),
    better="higher",
    kind="level",
    bounds=(0, 1),
    printed_by=("Continuum", "PyCIL", "PILOT"),
    equals="acc.incremental when all test sets have the same size",
)
def incremental_pooled(s: Sweep) -> Array:
    """Mean over time of the pooled score: what PyCIL calls average accuracy.

    >>> round(incremental_pooled([[.8, .1], [.6, .9]], n_samples=[300, 100]), 6)
    0.7375

    See Also
    --------
    incremental : every task weighs the same.
    """
    return s.mean_over_rows(pooled.formula(s))


@metric(
    latex=r"\frac{1}{k}\sum_{j<k}\min_{j<l\le k}R_{lj}",
    source="De Lange et al. 2023 (min-ACC)",
    reads=Cells.AFTER_LEARNING,
    better="higher",
    kind="level",
    bounds=(0, 1),
    undefined="no task has been evaluated after the row that follows its learning",
    printed_by=("ContinualEvaluation",),
)
def minimum(s: Sweep) -> Array:
    """Mean over earlier tasks of the lowest score since each was learned (min-ACC).

    The row right after learning does not compete (De Lange et al.: strictly later evaluations). Rows inside
    tasks count where they were evaluated: the more often one looks, the lower it can be.

    >>> round(minimum([[.8, .1, .1], [.3, .9, .1], [.6, .7, .9]]), 6)
    0.5
    """
    return s.lowest_sum / _n_after(s)


@metric(
    latex=r"\frac{1}{k+1}R_{kk}+\left(1-\frac{1}{k+1}\right)\mathrm{minACC}_k",
    source="De Lange et al. 2023 (WC-ACC)",
    reads=Cells.WORST_CASE,
    better="higher",
    kind="level",
    bounds=(0, 1),
    undefined="no earlier task has been evaluated after the row that follows its learning",
    printed_by=("ContinualEvaluation",),
)
def worst_case(s: Sweep) -> Array:
    """Newest task's score now and the earlier tasks' lowest scores, every task weighing the same (WC-ACC).

    >>> round(worst_case([[.8, .1], [.3, .9]]), 6)
    0.6

    See Also
    --------
    minimum : the earlier tasks alone.
    """
    newest = s.each_row(lambda r: s.R[r, s.seen[r] - 1])
    # Where the newest task has been evaluated since, it has a lowest score as the others have, and no part of its own.
    k = np.where([[s.own[seen - 1] < r] for r, seen in enumerate(s.seen)], np.inf, s.n_seen)
    # A single task has no others, and the second part no weight.
    others = np.where(k == 1, 0, s.lowest_sum / _n_after(s))
    return newest / k + (1 - 1 / k) * others


@metric(
    latex=r"\frac{1}{(k+1)^2}\sum_{i\le k}\sum_{j\le k}R_{ij}",
    source="Zheng et al. 2023 (ZSCL), Avg",
    reads=Cells.ALL_CELLS,
    better="higher",
    kind="level",
    bounds=(0, 1),
    undefined="no task has been learned yet",
    printed_by=("CapyMOA", "ZSCL"),
)
def all_cells(s: Sweep) -> Array:
    """Mean of all cells, those of tasks not learned yet too (Avg).

    >>> round(all_cells([[.8, .1], [.6, .9]]), 6)
    0.6

    See Also
    --------
    continual_average : tasks that had been learned alone.
    """
    return s.each_row(lambda r: s.R[: r + 1, : s.seen[r]].sum((0, 1)) / (s.seen[r] * (r + 1) or np.nan))


def _n_after(s: Sweep) -> Array:
    """Count the tasks that have an evaluation after learning, at each end-of-task row; NaN where none has."""
    return counts_or_nan(s.after_learning[s.ends].sum(1))
