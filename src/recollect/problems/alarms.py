"""Scores of alarms: functions of labels (1: an anomaly) and of what was flagged."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.bool_]


def f1(labels: NDArray[Any], alarms: Bits) -> float:
    """Twice the alarms that are right, over alarms and anomalies.

    >>> f1(np.array([0, 0, 1, 1]), np.array([False, True, True, True]))
    0.8
    """
    return float(2 * _right(labels, alarms) / (labels.sum() + alarms.sum()))


def precision(labels: NDArray[Any], alarms: Bits) -> float:
    """The part of the alarms that are right; NaN where there is none.

    >>> precision(np.array([0, 0, 1, 1]), np.array([False, True, True, True])).__round__(4)
    0.6667
    """
    raised = int(alarms.sum())
    return _right(labels, alarms) / raised if raised else float("nan")


def recall(labels: NDArray[Any], alarms: Bits) -> float:
    """The part of the anomalies that are flagged.

    >>> recall(np.array([0, 0, 1, 1]), np.array([False, True, True, False]))
    0.5
    """
    return _right(labels, alarms) / int(labels.sum())


def false_alarm_rate(labels: NDArray[Any], alarms: Bits) -> float:
    """The part of the normal samples that are flagged.

    >>> false_alarm_rate(np.array([0, 0, 1, 1]), np.array([False, True, True, False]))
    0.5
    """
    return float(alarms[labels == 0].mean())


def f1_point_adjusted(labels: NDArray[Any], alarms: Bits) -> float:
    """F1 where one alarm inside a run of anomalies counts for all of that run.

    >>> f1_point_adjusted(np.array([0, 1, 1, 1, 0]), np.array([False, False, True, False, False]))
    1.0
    """
    anomalous = labels.astype(bool)
    stretch = np.cumsum(np.diff(anomalous, prepend=False) & anomalous)  # which run of anomalies a sample is in
    found = np.unique(stretch[anomalous & alarms])
    return f1(labels, alarms | (anomalous & np.isin(stretch, found)))


def _right(labels: NDArray[Any], alarms: Bits) -> int:
    return int(np.count_nonzero(labels.astype(bool) & alarms))
