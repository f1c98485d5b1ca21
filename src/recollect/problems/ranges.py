"""Scores of alarms where anomalies are runs of samples in time: NAB's, range-based ones, the delay, point-adjusted F1.

A run is a stretch of samples labelled 1, or of alarms, in the order of the test set.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.problems.alarms import Bits, f1

# NAB's standard profile: what a false alarm costs beside an anomaly that is found or missed.
_FALSE = 0.11
_STEEP = 5.0
_FAR = 3.0


def runs(flags: NDArray[Any]) -> list[tuple[int, int]]:
    """The runs of ones: the first place of each, and the place after its last.

    >>> runs(np.array([1, 1, 0, 1]))
    [(0, 2), (3, 4)]
    """
    edges = np.flatnonzero(np.diff(np.asarray(flags) == 1, prepend=False, append=False))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def f1_point_adjusted(labels: NDArray[Any], alarms: Bits) -> float:
    """F1 where one alarm inside a run of anomalies counts for all of that run.

    >>> f1_point_adjusted(np.array([0, 1, 1, 1, 0]), np.array([False, False, True, False, False]))
    1.0
    """
    adjusted = alarms.copy()
    for low, high in runs(labels):
        adjusted[low:high] |= alarms[low:high].any()
    return f1(labels, adjusted)


def nab(labels: NDArray[Any], alarms: Bits) -> float:
    """NAB's score (standard profile) of a test set, 1 for a detector that finds every run at once and is never wrong.

    Of the alarms in a run the earliest counts, and the less the later it comes; a run without one is -1; an alarm
    outside costs up to 0.11, less right after a run. 0 is what raising no alarm scores (NAB multiplies by 100).

    >>> labels = np.array([0, 0, 1, 1, 1, 0])
    >>> [round(nab(labels, np.arange(6) == place), 3) for place in (2, 4, 0)]
    [1.0, 0.846, -0.055]
    """
    windows = runs(labels)
    value, best = 0.0, _bell(-1.0)
    for low, high in windows:
        found = np.flatnonzero(alarms[low:high])
        value += _bell(-(high - low - found[0]) / (high - low)) / best if len(found) else -1.0
    ends = np.array([high - 1 for _, high in windows])
    for place in np.flatnonzero(alarms & (labels == 0)).tolist():
        before = int(np.searchsorted(ends, place)) - 1
        low, high = windows[before] if before >= 0 else (0, 0)
        past = (place - high + 1) / (high - low - 1) if before >= 0 and high - low > 1 else _FAR
        value += _FALSE * _bell(past)
    return (value + len(windows)) / (2 * len(windows))


def _bell(position: float) -> float:
    """NAB's scaled sigmoid of a place relative to a run: -1 at its beginning, 0 at its end."""
    return -1.0 if position >= _FAR else 2 / (1 + float(np.exp(_STEEP * position))) - 1


def range_recall(labels: NDArray[Any], alarms: Bits) -> float:
    """The mean over runs of anomalies of the part that is flagged, divided by how many runs of alarms it took.

    >>> range_recall(np.array([1, 1, 1, 1, 0, 1]), np.array([1, 0, 1, 0, 0, 1], bool))
    0.625
    """
    return _covered(runs(labels), runs(alarms))


def range_precision(labels: NDArray[Any], alarms: Bits) -> float:
    """The mean over runs of alarms of the part that is right, divided by how many runs of anomalies it covers; NaN
    without alarms.

    >>> range_precision(np.array([1, 1, 0, 1, 0, 0]), np.array([1, 1, 1, 1, 0, 1], bool))
    0.1875
    """
    return _covered(runs(alarms), runs(labels)) if alarms.any() else float("nan")


def range_f1(labels: NDArray[Any], alarms: Bits) -> float:
    """The harmonic mean of range-based precision and recall; 0 where no alarm is right.

    >>> range_f1(np.array([1, 1, 0, 0]), np.array([1, 1, 0, 0], bool))
    1.0
    """
    precision, recall = range_precision(labels, alarms), range_recall(labels, alarms)
    return 2 * precision * recall / (precision + recall) if recall > 0 else 0.0


def _covered(these: list[tuple[int, int]], others: list[tuple[int, int]]) -> float:
    """Tatbul et al. 2018 with a flat bias, no reward of mere existence, and overlaps divided by their number."""
    parts = []
    for low, high in these:
        shared = [min(high, end) - max(low, start) for start, end in others if start < high and end > low]
        parts.append(sum(shared) / (high - low) / len(shared) if shared else 0.0)
    return float(np.mean(parts))


def detection_delay(labels: NDArray[Any], alarms: Bits) -> float:
    """The mean over runs of anomalies of the samples before the first alarm in it; a run without one counts in full.

    >>> detection_delay(np.array([1, 1, 1, 0, 1, 1]), np.array([0, 1, 1, 0, 0, 0], bool))
    1.5
    """
    delays = [int(np.argmax(alarms[low:high])) if alarms[low:high].any() else high - low for low, high in runs(labels)]
    return float(np.mean(delays))
