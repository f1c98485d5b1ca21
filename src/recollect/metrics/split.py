"""Forgetting split exactly: worse within the task, confused with older tasks, confused with newer ones.

Three accuracies of one model on task j, each asked among more classes: ``W`` among the task's own, ``A`` among those
of tasks up to j (the question when it was learned), ``R`` among all seen. More classes can only take answers away, so
``W - A`` is confusion with older tasks and ``A - R`` confusion with newer ones. The drop of R since its peak is the
sum of the three changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.matrix import Array, ScoreMatrix
from recollect.metrics.cells import Cells
from recollect.metrics.forgetting import NOISY_PEAK
from recollect.metrics.reference import guessing
from recollect.metrics.registry import metric
from recollect.metrics.sweep import Sweep, Undefined

Labels = NDArray[Any]

_NO_EARLIER = "forgetting needs a task that was evaluated before: there is none yet"


_PEAK = r",\quad p=\arg\max_{j\le l<k}R_{lj}"


@metric(
    latex=r"\frac{1}{k}\sum_{j<k}\left(W_{pj}-W_{kj}\right)" + _PEAK,
    source="Recollect",
    reads=Cells.SINCE_LEARNED,
    needs=("masked",),
    better="lower",
    kind="difference",
    undefined=_NO_EARLIER,
    equals="forgetting.chaudhry2018 - split.older - split.newer",
    caution=NOISY_PEAK,
)
def within(s: Sweep) -> Array:
    """The task itself is answered worse: the drop since the peak, asked among the task's own classes only.

    ``W`` is the accuracy when only the task's own classes may be answered, ``p`` the row of its (earliest) peak in R.
    A learner whose evidence about the task never changes has exactly 0, however much it favours newer classes.

    >>> R, W, A = [[.8, 0], [.5, .9]], [[.8, 0], [.7, .95]], [[.8, 0], [.7, .9]]
    >>> parts = within(R, masked=W), older(R, masked=W, asked=A), newer(R, asked=A)
    >>> [round(part, 6) for part in parts]
    [0.1, 0.0, 0.2]

    See Also
    --------
    older, newer : the other two parts.
    """
    return _changes(s, "masked") / s.n_before


@metric(
    latex=r"\frac{1}{k}\sum_{j<k}\left((W_{kj}-A_{kjj})-(W_{pj}-A_{pjj})\right)" + _PEAK,
    source="Recollect",
    reads=Cells.SINCE_LEARNED,
    needs=("masked", "asked"),
    better="lower",
    kind="difference",
    undefined=_NO_EARLIER,
    equals="forgetting.chaudhry2018 - split.within - split.newer",
    caution=NOISY_PEAK,
)
def older(s: Sweep) -> Array:
    """More confusion with older tasks than at the peak: what their classes cost now, minus what they cost then.

    Negative where the learner has come to favour the task's classes over older ones.

    >>> round(older([[.8, 0], [.5, .9]], masked=[[.9, 0], [.9, .95]], asked=[[.8, 0], [.7, .9]]), 6)
    0.1

    See Also
    --------
    within, newer : the other two parts.
    """
    within_sum = _changes(s, "masked")
    return (_changes(s, "asked") - within_sum) / s.n_before


@metric(
    latex=r"\frac{1}{k}\sum_{j<k}\left((A_{kjj}-R_{kj})-(A_{pjj}-R_{pj})\right)" + _PEAK,
    source="Recollect",
    reads=Cells.SINCE_LEARNED,
    needs=("asked",),
    better="lower",
    kind="difference",
    undefined=_NO_EARLIER,
    equals="forgetting.chaudhry2018 - split.within - split.older",
    caution=NOISY_PEAK,
)
def newer(s: Sweep) -> Array:
    """More confusion with newer tasks than at the peak: what the classes that came later cost now, minus then.

    ``A`` is the accuracy among the classes of tasks up to j, the question that was asked when it was learned.

    >>> round(newer([[.8, 0], [.5, .9]], asked=[[.8, 0], [.7, .9]]), 6)
    0.2

    See Also
    --------
    within, older : the other two parts.
    chance : what newer classes cost a learner that guesses.
    """
    return (s.drops_since_learned.signed - _changes(s, "asked")) / s.n_before


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
    """Drop since the peak among the answers possible then; not shown, because it is no loss of the task itself.

    ``A[k, j, m]`` is the accuracy after task k on task j when only classes of tasks <= m may be answered; p
    is the row of task j's (earliest) peak. At the peak the newest classes are favoured. When that bias moves on to
    newer ones this number rises, although nothing about the task was lost. So it stays under its id, and
    reports show `within`, `older` and `newer` instead.

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
    """What the answers added since the peak cost the model of now; not shown, as `lost`, its other part, is not.

    >>> R = [[.8, 0], [.5, .9]]
    >>> round(confusion(R, restricted=[[[.8, .8], [np.nan, 0]], [[.7, .5], [np.nan, .9]]]), 6)
    0.2

    See Also
    --------
    lost : the other part.
    newer : the same between two models of one question, asked when the task was learned.
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
    """What guessing gives over the same span, 1/C at the peak minus 1/C now: a reference line, not a part.

    It may exceed the confusion that it stands beside.

    >>> chance([[.8, 0], [.5, .9]], n_classes=[2, 2])
    0.25
    """
    share = guessing(s)
    total = np.empty((s.P, s.N))
    scratch = np.empty((s.T, s.N))
    for r, (_, share_at_peak, now) in enumerate(labelled_peaks(s, share)):
        np.subtract(share_at_peak, share[r], out=scratch[: len(now)]).sum(0, out=total[r])
    mean: Array = _where_drops(s, total) / s.n_before
    return mean


def by_task(matrix: ScoreMatrix) -> dict[str, Array]:
    """The three parts of each task's drop, at every planned row: arrays of shape (runs, rows, T).

    NaN for a task that has no earlier row since it was learned. The mean over the others is the metric at that row.

    >>> matrix = ScoreMatrix([[.8, 0], [.5, .9]], masked=[[.8, 0], [.7, .95]], asked=[[.8, 0], [.7, .9]])
    >>> {name: values[0, -1, 0].round(6).item() for name, values in by_task(matrix).items()}
    {'within': 0.1, 'older': 0.0, 'newer': 0.2}
    """
    s = Sweep.of(matrix)
    drops = {}
    for name in ("R", "asked", "masked"):
        drops[name] = np.full((s.N, s.P, matrix.T), np.nan)
        for r, fallen in enumerate(_fallen(s, name)):
            drops[name][:, r, s.columns[s.before[r]]] = fallen.T
    return {
        "within": drops["masked"],
        "older": drops["asked"] - drops["masked"],
        "newer": drops["R"] - drops["asked"],
    }


def _fallen(s: Sweep, name: str) -> Iterator[Array]:
    """Yield, for each planned row, how far a score of each earlier task has fallen since the row of R's peak."""
    scores = s.R if name == "R" else s.at_ends(name)
    runs = np.arange(s.N)[None, :]
    for r, (_, peak_row, _now) in enumerate(labelled_peaks(s, np.arange(s.P))):
        tasks = np.arange(s.T)[s.before[r]]
        yield scores[peak_row, tasks[:, None], runs] - scores[r, tasks]


def _changes(s: Sweep, name: str) -> Array:
    """Sums over earlier tasks of what a score has fallen since the row of R's peak, at every planned row."""
    key = f"split.{name}"
    if key not in s.matrix.cache:
        sums = np.array([fallen.sum(0) for fallen in _fallen(s, name)])
        s.matrix.cache[key] = _where_drops(s, sums)
    total: Array = s.matrix.cache[key]
    return total


def _parts(s: Sweep) -> tuple[Array, Array]:
    """Sums over earlier tasks of (lost, confusion), at every planned row."""
    if "split.parts" not in s.matrix.cache:
        lost_sum, confusion_sum = np.empty((2, s.P, s.N))
        if any(s.own[seen - 1] != r for r, seen in enumerate(s.seen)):
            raise Undefined("is defined at the rows right after tasks alone, and here there are others")
        for r, (peak, at, now) in enumerate(labelled_peaks(s, np.array(s.seen) - 1)):
            # The model of now, with only the answers that were possible at the peak.
            then = s.restricted_at(s.seen[r] - 1, s.before[r], at)
            (peak - then).sum(0, out=lost_sum[r])
            (then - now).sum(0, out=confusion_sum[r])
        s.matrix.cache["split.parts"] = _where_drops(s, lost_sum), _where_drops(s, confusion_sum)
    parts: tuple[Array, Array] = s.matrix.cache["split.parts"]
    return parts


def labelled_peaks(s: Sweep, labels: Labels) -> Iterator[tuple[Array, Labels, Array]]:
    """Yield, for each row, each earlier task's best score, the label of that row, and its score now.

    ``labels[r]`` stands for planned row r; of tied rows the earliest is taken, and NaN is no peak.
    """
    peak = np.full((s.T, s.N), -np.inf)
    label = np.zeros((s.T, s.N), labels.dtype)
    higher = np.empty((s.T, s.N), bool)
    for r in range(s.P):
        now, old, new = s.R[r], s.before[r], s.upto[r]
        yield peak[old], label[old], now[old]
        if isinstance(new, slice):
            np.greater(now[new], peak[new], out=higher[new])
            np.putmask(label[new], higher[new], labels[r])
            np.fmax(peak[new], now[new], out=peak[new])
        else:
            label[new] = np.where(now[new] > peak[new], labels[r], label[new])
            peak[new] = np.fmax(peak[new], now[new])


def _where_drops(s: Sweep, sums: Array) -> Array:
    """Blank the sums where forgetting itself lacks a cell."""
    sums[np.isnan(s.drops_since_learned.signed)] = np.nan
    return sums
