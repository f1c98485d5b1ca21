"""Backward transfer: what learning later tasks did to earlier ones. Negative when the learner forgets."""

from __future__ import annotations

import numpy as np

from recollect.matrix import Array
from recollect.metrics.cells import Cells
from recollect.metrics.registry import metric
from recollect.metrics.rows import counts_or_nan, running_sum
from recollect.metrics.sweep import Sweep

_NO_EARLIER = "backward transfer needs an earlier task: there is none yet"


@metric(
    latex=r"\frac{2}{k(k+1)}\sum_{i\le k}\sum_{j<i}\left(R_{ij}-R_{jj}\right)",
    source="Díaz-Rodríguez et al. 2018; pyCLAD's metric page (BWT)",
    reads=Cells.SINCE_LEARNED,
    better="higher",
    kind="difference",
    undefined=_NO_EARLIER,
    printed_by=("Continuum (main branch)", "CapyMOA"),
)
def diazrodriguez2018(s: Sweep) -> Array:
    """Mean change since right after learning, over every later row of every task.

    >>> round(diazrodriguez2018([[.8, .1, .1], [.7, .4, .1], [.6, .5, .9]]), 6)
    -0.066667

    See Also
    --------
    lopezpaz2017 : the last row only.
    pyclad_code : from row to row, not from right after learning.
    """
    return -running_sum(s.since_own) / _pairs(np.nan_to_num(s.n_before))


@metric(
    latex=r"\frac{1}{k}\sum_{j<k}\left(R_{kj}-R_{jj}\right)",
    source="Lopez-Paz & Ranzato 2017 (GEM), eq. 3",
    reads=Cells.OWN_AND_NOW,
    better="higher",
    kind="difference",
    undefined=_NO_EARLIER,
    printed_by=("Avalanche", "Mammoth", "Renate"),
    equals="-forgetting.first",
)
def lopezpaz2017(s: Sweep) -> Array:
    """Mean change of the earlier tasks from right after learning to now.

    >>> round(lopezpaz2017([[.8, .1], [.6, .9]]), 6)
    -0.2
    """
    return -s.since_own / s.n_before


@metric(
    latex=r"\frac{1}{k+1}\sum_{j<k}\left(R_{kj}-R_{jj}\right)",
    source="GEM's code (confusion_matrix)",
    reads=Cells.OWN_AND_NOW,
    better="higher",
    kind="difference",
    undefined=_NO_EARLIER,
    printed_by=("GEM",),
    equals="-forgetting.clsurvey; forgetting.begin_docs",
)
def gem_code(s: Sweep) -> Array:
    """As `lopezpaz2017`, with the sum divided by all tasks: nearer to 0 by k/(k+1).

    >>> round(gem_code([[.8, .1], [.6, .9]]), 6)
    -0.1
    """
    return -s.since_own / s.n_upto


@metric(
    latex=r"\frac{2}{k(k+1)}\sum_{i\le k}\sum_{j<i}\left(R_{ij}-R_{i-1,j}\right)",
    source="pyCLAD's code (BackwardTransfer)",
    reads=Cells.SINCE_LEARNED,
    better="higher",
    kind="difference",
    undefined=_NO_EARLIER,
    printed_by=("pyCLAD",),
)
def pyclad_code(s: Sweep) -> Array:
    """Mean change of the earlier tasks from one row to the next: a loss counts once, not in every later row.

    >>> round(pyclad_code([[.8, .1, .1], [.7, .4, .1], [.6, .5, .9]]), 6)
    -0.033333

    See Also
    --------
    diazrodriguez2018 : the formula on pyCLAD's metric page.
    """
    change = s.each_row(lambda r: (s.R[r, s.before[r]] - s.R[r - 1, s.before[r]]).sum(0))
    return running_sum(change) / _pairs(np.nan_to_num(s.n_before))


@metric(
    latex=r"\max\left(\mathrm{BWT},0\right)",
    source="Díaz-Rodríguez et al. 2018 (BWT+)",
    reads=Cells.SINCE_LEARNED,
    better="higher",
    kind="difference",
    bounds=(0, 1),
    undefined=_NO_EARLIER,
    printed_by=("Continuum (main branch)", "online-continual-learning"),
)
def positive(s: Sweep) -> Array:
    """Backward transfer of `diazrodriguez2018` where it is positive, else 0.

    >>> positive([[.8, .1], [.6, .9]])
    0.0
    """
    return np.maximum(diazrodriguez2018.formula(s), 0)


@metric(
    latex=r"1-\left|\min\left(\mathrm{BWT},0\right)\right|",
    source="Díaz-Rodríguez et al. 2018 (REM)",
    reads=Cells.SINCE_LEARNED,
    better="higher",
    kind="ratio",
    bounds=(0, 1),
    undefined=_NO_EARLIER,
    printed_by=("Continuum (main branch)",),
)
def remembering(s: Sweep) -> Array:
    """1 minus what `diazrodriguez2018` is below 0 (REM): 1 is a learner that forgets nothing.

    >>> round(remembering([[.8, .1], [.6, .9]]), 6)
    0.8
    """
    return 1 - np.abs(np.minimum(diazrodriguez2018.formula(s), 0))


@metric(
    latex=r"\frac{2}{k(k+1)}\sum_{i\le k}\sum_{j<i-1}\left(R_{ij}-R_{jj}\right)",
    source="LibContinual's code (compute_bwt)",
    reads=Cells.SINCE_LEARNED_BUT_LAST,
    better="higher",
    kind="difference",
    undefined="leaves the task learned just before out, and needs one before that: there is none yet",
    printed_by=("LibContinual",),
)
def libcontinual(s: Sweep) -> Array:
    """As `diazrodriguez2018`, without the diagonal next to the main one, and still divided by all pairs.

    >>> round(libcontinual([[.8, 0, 0], [.7, .9, 0], [.6, .5, .9]]), 6)
    -0.066667

    See Also
    --------
    diazrodriguez2018 : with every pair.
    """
    pairs = np.where(s.n_before > 1, _pairs(np.nan_to_num(s.n_before)), np.nan)
    return -running_sum(s.since_own_but_last) / pairs


def _pairs(terms: Array) -> Array:
    """How many (row, earlier task) terms there have been up to each row; NaN where none."""
    return counts_or_nan(np.cumsum(terms))
