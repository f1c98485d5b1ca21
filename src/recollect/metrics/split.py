"""Forgetting split exactly in two: what the model lost, and what became harder because there are more answers."""

from __future__ import annotations

import numpy as np

from recollect.matrix import Array
from recollect.metrics.card import metric
from recollect.metrics.cells import Cells
from recollect.metrics.reference import classes_seen
from recollect.metrics.sweep import Sweep

_NO_EARLIER = "forgetting needs a task that was evaluated before: there is none yet"


@metric(
    latex=r"\frac{1}{k}\sum_{j<k}\left(A_{pjp}-A_{kjp}\right),\quad p=\arg\max_{j\le l<k}R_{lj}",
    source="Recollect",
    reads=Cells.SINCE_LEARNED,
    needs=("restricted",),
    better="lower",
    kind="difference",
    undefined=_NO_EARLIER,
    equals="forgetting.chaudhry2018 - split.confusion",
)
def lost(s: Sweep) -> Array:
    """The same question, answered worse: the drop since the peak with only the answers that were possible then.

    ``A[k, j, m]`` is the accuracy after task k on task j when only classes of tasks <= m may be answered; p is the
    row of task j's (earliest) peak.

    >>> R = [[.8, 0], [.5, .9]]
    >>> A = [[[.8, .8], [np.nan, 0]], [[.7, .5], [np.nan, .9]]]
    >>> round(lost(R, restricted=A), 6), round(confusion(R, restricted=A), 6)
    (0.1, 0.2)

    See Also
    --------
    confusion : the other part.
    """
    return _parts(s)[0] / s.n_before


@metric(
    latex=r"\frac{1}{k}\sum_{j<k}\left(A_{kjp}-A_{kjk}\right),\quad p=\arg\max_{j\le l<k}R_{lj}",
    source="Recollect",
    reads=Cells.SINCE_LEARNED,
    needs=("restricted",),
    better="lower",
    kind="difference",
    undefined=_NO_EARLIER,
    equals="forgetting.chaudhry2018 - split.lost",
)
def confusion(s: Sweep) -> Array:
    """The same model, asked among more classes: what the answers added since the peak cost it now.

    >>> R = [[.8, 0], [.5, .9]]
    >>> round(confusion(R, restricted=[[[.8, .8], [np.nan, 0]], [[.7, .5], [np.nan, .9]]]), 6)
    0.2

    See Also
    --------
    lost : the other part.
    chance : the part of it that a random classifier has too.
    """
    return _parts(s)[1] / s.n_before


@metric(
    latex=r"\frac{1}{k}\sum_{j<k}\left(\frac{1}{C_p}-\frac{1}{C_k}\right),\quad p=\arg\max_{j\le l<k}R_{lj}",
    source="Recollect",
    reads=Cells.SINCE_LEARNED,
    needs=("n_classes",),
    better="lower",
    kind="difference",
    bounds=(0, 1),
    undefined=_NO_EARLIER,
)
def chance(s: Sweep) -> Array:
    """The confusion of a random classifier over the same span: 1/C at the peak minus 1/C now.

    >>> chance([[.8, 0], [.5, .9]], n_classes=[2, 2])
    0.25
    """
    share = 1 / classes_seen(s)
    return _each_peak(s, lambda k, _peak, at, _now: share[at] - share[k]) / s.n_before


def _parts(s: Sweep) -> tuple[Array, Array]:
    """Sums over earlier tasks of (lost, confusion), at every planned row."""
    A = s.need("restricted")

    def then(k: int, at: np.ndarray) -> Array:
        """Accuracy now, with only the answers that were possible at the peak."""
        picked: Array = np.take_along_axis(A[k, : len(at)], at[:, None, :], axis=1)[:, 0]
        return picked

    lost_sum = _each_peak(s, lambda k, peak, at, _now: peak - then(k, at))
    confusion_sum = _each_peak(s, lambda k, _peak, at, now: then(k, at) - now)
    return lost_sum, confusion_sum


def _each_peak(s: Sweep, term) -> Array:  # type: ignore[no-untyped-def]
    """Sum ``term(k, peak, task index of the peak's row, now)`` over the earlier tasks of each planned row."""
    peak = np.full((s.T, s.N), -np.inf)
    at = np.zeros((s.T, s.N), np.intp)
    out = np.empty((s.P, s.N))
    for r in range(s.P):
        old, new = s.before(r), s.seen[r]
        now = s.R[r]
        out[r] = np.where(
            np.isnan(peak[:old]).any(0) | np.isnan(now[:old]).any(0),
            np.nan,
            np.sum(term(new - 1, peak[:old], at[:old], now[:old]), axis=0),
        )
        # NaN is kept as a peak: the value is missing from then on, and the reason can be told.
        higher = (now[:new] > peak[:new]) | np.isnan(now[:new])
        at[:new][higher] = new - 1
        peak[:new][higher] = now[:new][higher]
    return out
