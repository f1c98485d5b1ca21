"""Forgetting split exactly in two: what the model lost, and what got harder as answers were added."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.matrix import Array
from recollect.metrics.card import metric
from recollect.metrics.cells import Cells
from recollect.metrics.reference import classes_seen
from recollect.metrics.sweep import Sweep

Labels = NDArray[Any]

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
    """The same question, answered worse: the drop since the peak among the answers possible then.

    ``A[k, j, m]`` is the accuracy after task k on task j when only classes of tasks <= m may be answered; p
    is the row of task j's (earliest) peak. The peak is chosen by looking, so on small test sets a learner that
    loses nothing has an expected value a little above 0 (0.007 for random guesses on split digits,
    benchmarks/results/split.md).

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
    total = np.empty((s.P, s.N))
    scratch = np.empty((s.T, s.N))
    for r, (_, share_at_peak, now) in enumerate(labelled_peaks(s, share)):
        np.subtract(share_at_peak, share[s.seen[r] - 1], out=scratch[: len(now)]).sum(0, out=total[r])
    mean: Array = _where_drops(s, total) / s.n_before
    return mean


def _parts(s: Sweep) -> tuple[Array, Array]:
    """Sums over earlier tasks of (lost, confusion), at every planned row."""
    if "split.parts" not in s.matrix.cache:
        lost_sum, confusion_sum = np.empty((2, s.P, s.N))
        for r, (peak, at, now) in enumerate(labelled_peaks(s, np.arange(s.T))):
            # The model of now, with only the answers that were possible at the peak.
            then = s.restricted_at(s.seen[r] - 1, at)
            (peak - then).sum(0, out=lost_sum[r])
            (then - now).sum(0, out=confusion_sum[r])
        s.matrix.cache["split.parts"] = _where_drops(s, lost_sum), _where_drops(s, confusion_sum)
    parts: tuple[Array, Array] = s.matrix.cache["split.parts"]
    return parts


def labelled_peaks(s: Sweep, labels: Labels) -> Iterator[tuple[Array, Labels, Array]]:
    """Yield, for each row, each earlier task's best score, the label of that row, and its score now.

    ``labels[k]`` stands for the row after task k; of tied rows the earliest is taken, and NaN is no peak.
    """
    peak = np.full((s.T, s.N), -np.inf)
    label = np.zeros((s.T, s.N), labels.dtype)
    higher = np.empty((s.T, s.N), bool)
    for r in range(s.P):
        old, new = s.before(r), s.seen[r]
        now = s.R[r]
        yield peak[:old], label[:old], now[:old]
        np.greater(now[:new], peak[:new], out=higher[:new])
        np.putmask(label[:new], higher[:new], labels[new - 1])
        np.fmax(peak[:new], now[:new], out=peak[:new])


def _where_drops(s: Sweep, sums: Array) -> Array:
    """Blank the sums where forgetting itself lacks a cell."""
    sums[np.isnan(s.drops_since_learned.signed)] = np.nan
    return sums
