"""Anytime metrics: over every evaluation, inside tasks too; rows need not be task ends."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from recollect.errors import UsageError
from recollect.matrix import Array
from recollect.metrics.cells import Cells
from recollect.metrics.registry import metric
from recollect.metrics.rows import counts_or_nan, running_sum
from recollect.metrics.sweep import Sweep


@metric(
    latex=r"\frac{1}{S}\sum_{s}\frac{1}{|\mathcal{B}_s|}\sum_{j\in\mathcal{B}_s}R_{sj}",
    source="CapyMOA (anytime_accuracy_seen_avg)",
    reads=Cells.EVERY_ROW,
    better="higher",
    kind="level",
    bounds=(0, 1),
    printed_by=("CapyMOA",),
    equals="acc.incremental when rows are task ends",
)
def average(s: Sweep) -> Array:
    """Mean over every evaluation of the mean over the tasks begun so far, the one being learned too.

    >>> average([[.2, 0], [.8, 0], [.7, .5], [.6, .9]], learned_at=[1, 3])
    0.5875
    """
    upto = np.array(s.ends)
    mean: Array = running_sum(s.begun_mean)[upto] / (upto + 1)[:, None]
    return mean


@metric(
    latex=r"\frac{1}{n_S}\sum_{s}\left(n_s-n_{s-1}\right)\frac{1}{|\mathcal{B}_s|}\sum_{j\in\mathcal{B}_s}R_{sj}",
    source="Koh et al. 2022 (i-Blurry), A_AUC",
    reads=Cells.EVERY_ROW,
    needs=("steps",),
    better="higher",
    kind="level",
    bounds=(0, 1),
    undefined="no samples had been seen yet",
    equals="anytime.average when evaluations are equally spaced from the first one on",
    printed_by=("CapyMOA", "i-Blurry"),
)
def auc(s: Sweep) -> Array:
    """Area under the curve of the mean over tasks begun so far, over samples seen, divided by all samples.

    Rectangles, each evaluation standing for the samples that led to it; an evaluation before any sample has
    no width. Koh et al. pool the test samples of the seen classes: the same for test sets of one size.

    >>> auc([[.2, 0], [.8, 0], [.7, .5], [.6, .9]], learned_at=[1, 3], steps=[10, 20, 30, 70])
    0.6571428571428571
    """
    steps = s.need("steps")
    widths = np.diff(steps, prepend=0.0)
    area: Array = running_sum(s.begun_mean * widths[:, None])[s.ends] / counts_or_nan(steps[s.ends])
    return area


@metric(
    latex=r"\frac{1}{k+1}\sum_{j\le k}\max\left(0,\max_{0<b-a<w}R_{aj}-R_{bj}\right)",
    source="De Lange et al. 2023 (WF)",
    reads=Cells.EVERY_ROW,
    better="lower",
    kind="difference",
    bounds=(0, 1),
    parameters=("window",),
    printed_by=("ContinualEvaluation",),
)
def windowed_forgetting(s: Sweep, window: int = 10) -> Array:
    """Largest drop inside any window of `window` evaluations, mean over the tasks begun so far.

    >>> round(windowed_forgetting([[.8, 0], [.3, .9], [.7, .8]], learned_at=[0, 2]), 6)
    0.3

    See Also
    --------
    windowed_plasticity : the largest rise.
    """
    return _windowed(s, window, np.maximum)


@metric(
    latex=r"\frac{1}{k+1}\sum_{j\le k}\max\left(0,\max_{0<b-a<w}R_{bj}-R_{aj}\right)",
    source="De Lange et al. 2023 (WP)",
    reads=Cells.EVERY_ROW,
    better="higher",
    kind="difference",
    bounds=(0, 1),
    parameters=("window",),
)
def windowed_plasticity(s: Sweep, window: int = 10) -> Array:
    """Largest rise inside any window of `window` evaluations, mean over the tasks begun so far.

    >>> round(windowed_plasticity([[.8, 0], [.3, .2], [.7, .8]], learned_at=[0, 2]), 6)
    0.5
    """
    return _windowed(s, window, np.minimum)


@metric(
    latex=r"\frac{1}{n_S}\sum_{s}\left(n_s-n_{s-1}\right)o_s",
    source="Gama et al. 2013 (prequential); Cai et al. 2021 (online accuracy)",
    reads=Cells.NOTHING,
    needs=("online",),
    better="higher",
    kind="level",
    bounds=(0, 1),
    undefined="no samples had been scored before they were learned",
)
def online(s: Sweep) -> Array:
    """Test-then-train score over the stream: every sample is answered before it is learned from.

    ``o_s`` is the score over the samples between two rows; rows weigh as the samples that led to them, or alike
    where `steps` are not known. Rows without a score (samples of one class have no ROC-AUC) are left out.

    >>> online([[.2, 0], [.8, .9]], online=[.4, .6], steps=[30, 40])
    0.45
    """
    return _over_samples(s, "online")


@metric(
    latex=r"\frac{1}{n_S}\sum_{s}\left(n_s-n_{s-1}\right)f_s",
    source="Hammoud et al. 2023 (near-future accuracy)",
    reads=Cells.NOTHING,
    needs=("near_future",),
    better="higher",
    kind="level",
    bounds=(0, 1),
    undefined="no samples had been seen yet",
)
def near_future(s: Sweep) -> Array:
    """As `online`, on samples a delay ahead of training: labels that merely repeat do not help.

    >>> near_future([[.2, 0], [.8, .9]], near_future=[.4, .6], steps=[30, 40])
    0.45
    """
    return _over_samples(s, "near_future")


def _over_samples(s: Sweep, name: str) -> Array:
    """Mean over rows of a value between rows, weighed by the samples that led to each where they are known."""
    rows = s.need(name)[s.row_index]
    steps = s.need("steps") if s.matrix.steps is not None else np.arange(1.0, len(rows) + 1)
    known = np.isfinite(rows)
    weights = np.where(known, np.diff(steps, prepend=0.0)[:, None], 0.0)
    total = running_sum(weights)[s.ends]
    area: Array = running_sum(np.where(known, rows, 0.0) * weights)[s.ends] / np.where(total > 0, total, np.nan)
    return area


def _windowed(s: Sweep, window: int, better: np.ufunc) -> Array:
    """Mean over tasks of the largest change between two evaluations fewer than `window` apart.

    `better` is np.maximum for drops (from the highest score in the window to the one now) and np.minimum for
    rises.
    """
    if isinstance(window, bool) or not isinstance(window, int | np.integer) or window < 2:
        raise UsageError(f"window must be a whole number of evaluations, at least 2; got {window!r}.")
    begun = s.begun.sum(1)
    largest = np.zeros((s.T, s.N))
    out = np.empty((s.P, s.N))
    ends = {end: r for r, end in enumerate(s.ends)}
    for row, extreme in enumerate(_extremes(s, begun, int(window) - 1, better)):
        seen = begun[row]
        before_and_now = (extreme, s.all_rows[row, :seen])
        change = np.subtract(*(before_and_now if better is np.maximum else before_and_now[::-1]), out=extreme)
        np.maximum(largest[:seen], change, out=largest[:seen])
        if row in ends:
            out[ends[row]] = largest[:seen].sum(0) / seen
    return out


def _extremes(s: Sweep, begun: NDArray[np.intp], length: int, better: np.ufunc) -> Iterator[Array]:
    """Yield, for each row, the best of the `length` evaluations before it of each task begun, to be overwritten.

    Rows are cut into blocks of `length`. A window is the end of one block and the beginning of the next, so
    it takes the best of two running extremes, however long it is.
    """
    S = len(s.all_rows)
    length = min(length, max(S - 1, 1))
    scratch = np.empty((s.T, s.N))
    block_so_far = np.empty((s.T, s.N))
    nothing = -np.inf if better is np.maximum else np.inf
    end_of_block = np.empty((length, s.T, s.N))
    in_last_block = 0
    for row in range(S):
        place, seen = row % length, begun[row]
        if place == 0:
            block_so_far.fill(nothing)
            if row > 0:
                in_last_block = begun[row - 1]
                _from_the_end(s.all_rows[row - length : row], begun[row - length : row], better, end_of_block)
        better(end_of_block[place, :in_last_block], block_so_far[:in_last_block], out=scratch[:in_last_block])
        scratch[in_last_block:seen] = block_so_far[in_last_block:seen]
        yield scratch[:seen]
        better(block_so_far[:seen], s.all_rows[row, :seen], out=block_so_far[:seen])


def _from_the_end(rows: Array, begun: NDArray[np.intp], better: np.ufunc, out: Array) -> None:
    """Write into out[i] the best of rows[i:] of each task, counting a task from the row in which it has begun."""
    out[-1, : begun[-1]] = rows[-1, : begun[-1]]
    for i in range(len(rows) - 2, -1, -1):
        n = begun[i]
        better(out[i + 1, :n], rows[i, :n], out=out[i, :n])
        out[i, n : begun[-1]] = out[i + 1, n : begun[-1]]
