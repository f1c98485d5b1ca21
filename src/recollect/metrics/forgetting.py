"""Forgetting: how far the scores on earlier tasks have fallen. Twelve definitions go by this one name."""

from __future__ import annotations

import numpy as np

from recollect.matrix import Array
from recollect.metrics.cells import Cells, block_end, check_last
from recollect.metrics.registry import metric
from recollect.metrics.sweep import Sweep, Undefined

_NO_EARLIER = "forgetting needs a task that was evaluated before: there is none yet"


NOISY_PEAK = (
    "a peak is the best of several scores that are noisy on a finite test set, so that a learner that forgets nothing"
    " is a little above 0 on average, however many seeds it has (recollect.stats.null_forgetting says by how much)"
)


@metric(
    latex=r"\frac{1}{k}\sum_{j<k}\left(\max_{j\le l<k}R_{lj}-R_{kj}\right)",
    source="Chaudhry et al. 2018, eq. 3; Michel et al. 2023, Def. 3.2",
    reads=Cells.SINCE_LEARNED,
    better="lower",
    kind="difference",
    undefined=_NO_EARLIER,
    caution=NOISY_PEAK,
    printed_by=("Continuum (main branch)",),
    equals="split.within + split.older + split.newer",
)
def chaudhry2018(s: Sweep) -> Array:
    """Mean drop from each earlier task's best score since it was learned to its score now (AF).

    >>> chaudhry2018.curve([[.8, np.nan], [.6, .9]])
    array([nan, 0.2])

    See Also
    --------
    pycil : the last row competes for the peak, so no term is negative.
    first : measured from the score right after learning, not from the best.
    peak_any : rows before the task was learned compete too.
    """
    return s.drops_since_learned.signed / s.n_before


@metric(
    latex=r"\frac{1}{k+1}\sum_{j<k}\left(R_{kj}-R_{jj}\right)",
    source="BeGin's metric page (AF)",
    reads=Cells.OWN_AND_NOW,
    better="higher",
    kind="difference",
    undefined=_NO_EARLIER,
    equals="-forgetting.clsurvey; bwt.gem_code",
    printed_by=("GEM",),
)
def begin_docs(s: Sweep) -> Array:
    """Change of earlier tasks since right after learning, over all tasks: negative if it forgets.

    >>> round(begin_docs([[.8, .1], [.6, .9]]), 6)
    -0.1

    See Also
    --------
    first : what BeGin's code prints: another sign, another divisor.
    """
    return -s.since_own / s.n_upto


@metric(
    latex=r"\frac{1}{k}\sum_{j<k}\left(R_{jj}-R_{kj}\right)",
    source="Avalanche (StreamForgetting); BeGin's code (AF)",
    reads=Cells.OWN_AND_NOW,
    better="lower",
    kind="difference",
    undefined=_NO_EARLIER,
    printed_by=("Avalanche", "BeGin"),
    equals="-bwt.lopezpaz2017",
)
def first(s: Sweep) -> Array:
    """Mean drop from each earlier task's score right after learning it to its score now.

    >>> round(first([[.8, .1], [.6, .9]]), 6)
    0.2

    See Also
    --------
    chaudhry2018 : measured from the best score, which may come later.
    """
    return s.since_own / s.n_before


@metric(
    latex=r"\frac{1}{k}\sum_{j<k}\left(\max_{l<k}R_{lj}-R_{kj}\right)",
    source="Chaudhry et al. 2019 (A-GEM), compute_fgt; Renate",
    reads=Cells.EARLIER_TASKS,
    better="lower",
    kind="difference",
    undefined=_NO_EARLIER,
    printed_by=("A-GEM", "Renate"),
)
def peak_any(s: Sweep) -> Array:
    """Mean drop from each earlier task's best score in any earlier row, zero-shot rows too.

    >>> round(peak_any([[.8, .5, .1], [.7, .4, .1], [.6, .3, .9]]), 6)
    0.2

    See Also
    --------
    chaudhry2018 : only rows since the task was learned compete.
    """
    return s.drops_from_any_row.signed / s.n_before


@metric(
    latex=r"\frac{1}{k}\sum_{j<k}\left(\max_{j\le l\le k}R_{lj}-R_{kj}\right)",
    source="PyCIL and PILOT (Forgetting)",
    reads=Cells.SINCE_LEARNED,
    better="lower",
    kind="difference",
    bounds=(0, 1),
    undefined=_NO_EARLIER,
    printed_by=("PyCIL", "PILOT"),
)
def pycil(s: Sweep) -> Array:
    """Mean drop from each earlier task's best score, the score now included: never negative.

    >>> round(pycil([[.8, .1, .1], [.7, .4, .1], [.6, .5, .9]]), 6)
    0.1

    See Also
    --------
    chaudhry2018 : a task that improved counts as negative forgetting.
    """
    return s.drops_since_learned.positive / s.n_before


@metric(
    latex=r"\frac{1}{k+1}\sum_{j\le k}\left(\max_{l\le k}R_{lj}-R_{kj}\right)",
    source="online-continual-learning (Mai et al. 2022), compute_performance",
    reads=Cells.SQUARE,
    better="lower",
    kind="difference",
    bounds=(0, 1),
    undefined=_NO_EARLIER,
    printed_by=("online-continual-learning",),
)
def raptormai(s: Sweep) -> Array:
    """Mean drop from the best score in any row, over all tasks, the newest too.

    >>> round(raptormai([[.8, .1], [.6, .9]]), 6)
    0.1
    """
    return s.drops_from_any_row.positive_with_newest / s.n_upto


@metric(
    latex=r"\frac{1}{k+1}\sum_{j<k}\left(R_{jj}-R_{kj}\right)",
    source="CLsurvey (De Lange et al. 2021), framework code",
    reads=Cells.OWN_AND_NOW,
    better="lower",
    kind="difference",
    undefined=_NO_EARLIER,
    printed_by=("CLsurvey",),
    equals="-bwt.gem_code; -forgetting.begin_docs",
)
def clsurvey(s: Sweep) -> Array:
    """As `first`, with the sum divided by all tasks, the newest too: smaller by k/(k+1).

    >>> round(clsurvey([[.8, .1], [.6, .9]]), 6)
    0.1
    """
    return s.since_own / s.n_upto


@metric(
    latex=r"\frac{1}{k+1}\sum_{j\le k}\left(\max_{l<k}R_{lj}-R_{kj}\right)",
    source="pyCLAD's code (ForgettingMeasure)",
    reads=Cells.SQUARE,
    better="lower",
    kind="difference",
    undefined=_NO_EARLIER,
    printed_by=("pyCLAD (main branch)",),
)
def pyclad_code(s: Sweep) -> Array:
    """Mean drop from the best earlier score, over all tasks: learning the newest counts as negative.

    >>> round(pyclad_code([[.8, .1], [.6, .9]]), 6)
    -0.3
    """
    return s.drops_from_any_row.signed_with_newest / s.n_upto


@metric(
    latex=r"\frac{1}{k}\sum_{j<k}\frac{\max_{j\le l<k}R_{lj}-R_{kj}}{\left|\max_{j\le l<k}R_{lj}\right|}",
    source="contilab (relative forgetting)",
    reads=Cells.SINCE_LEARNED,
    better="lower",
    kind="ratio",
    bounds=(-np.inf, 1),
    undefined="forgetting needs a task evaluated before, and a best score other than 0 to divide by",
    printed_by=("contilab",),
)
def relative(s: Sweep) -> Array:
    """Mean share of each earlier task's best score that is gone.

    >>> relative([[.8, .1], [.6, .9]])
    0.25000000000000006
    """
    total = np.empty((s.P, s.N))
    scratch, size = np.empty((2, s.T, s.N))
    with np.errstate(divide="ignore", invalid="ignore"):
        for r, (peak, now) in enumerate(s.peaks_since_learned()):
            share = np.subtract(peak, now, out=scratch[: len(now)])
            share /= np.abs(peak, out=size[: len(now)])
            share.sum(0, out=total[r])
    # Where a best score is 0 the share is 0/0 or infinite, and there is no mean.
    total[np.isinf(total)] = np.nan
    mean: Array = total / s.n_before
    return mean


@metric(
    latex=r"\frac{1}{k}\sum_{j<k-1}\left(R_{jj}-R_{kj}\right)",
    source="LibContinual's code (compute_frgt)",
    reads=Cells.OWN_AND_NOW_BUT_LAST,
    better="lower",
    kind="difference",
    undefined="leaves the task learned just before out, and needs one before that: there is none yet",
    printed_by=("LibContinual",),
)
def libcontinual(s: Sweep) -> Array:
    """As `first`, without the task learned just before now, and still divided by all earlier tasks.

    >>> round(libcontinual([[.8, 0, 0], [.7, .9, 0], [.6, .5, .9]]), 6)
    0.1

    See Also
    --------
    first : with every earlier task.
    """
    return s.since_own_but_last / np.where(s.n_before > 1, s.n_before, np.nan)


@metric(
    latex=r"\frac{1}{k+1}\sum_{j\le k}\left(\overline{R}_{B_jj}-\overline{R}_{B_kj}\right)",
    source="Wolczyk et al. 2021 (Continual World), forgetting",
    reads=Cells.BLOCK_ENDS,
    better="lower",
    kind="difference",
    undefined="needs every task with a row of its own, and an earlier task",
    equals="forgetting.clsurvey when rows are task ends",
    printed_by=("Continual World",),
    parameters=("last",),
)
def continual_world(s: Sweep, last: int = 5) -> Array:
    """Mean over tasks of the last 5 evaluations while it was learned minus the last 5 of the run.

    A bar is the mean over the `last` evaluations of a block, ``B_j`` that in which task j was learned; a shorter block
    gives all it has. The newest task counts with 0. COOM leaves it out and divides by k.

    >>> rows = [[.6, 0], [.8, 0], [.7, .5], [.5, .9]]
    >>> round(continual_world(rows, learned_at=[1, 3], inside=[1, 0, 1, 0], last=2), 6)
    0.05
    """
    check_last(last)
    if (s.own < 0).any():
        raise Undefined(continual_world.card.undefined)
    own = np.array([s.all_rows[block_end(rows, last), j].mean(0) for j, rows in enumerate(s.blocks())])

    def fallen(r: int) -> Array:
        first = s.ends[r - 1] + 1 if r else 0
        now = s.all_rows[block_end(slice(first, s.ends[r] + 1), last), : s.seen[r]].mean(0)
        total: Array = (own[: s.seen[r]] - now).sum(0)
        return total

    return s.each_row(fallen) / s.n_upto
