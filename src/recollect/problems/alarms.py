"""Scores of alarms: functions of labels (1: an anomaly) and of what was flagged; samples may have weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.bool_]
Weights = NDArray[np.float64] | None


def f1(labels: NDArray[Any], alarms: Bits, weights: Weights = None) -> float:
    """Twice the alarms that are right, over alarms and anomalies.

    >>> f1(np.array([0, 0, 1, 1]), np.array([False, True, True, True]))
    0.8
    """
    anomalous = labels == 1
    total = _count(anomalous, weights) + _count(alarms, weights)
    return 2 * _count(anomalous & alarms, weights) / total


def precision(labels: NDArray[Any], alarms: Bits, weights: Weights = None) -> float:
    """The part of the alarms that are right; NaN where there is none.

    >>> precision(np.array([0, 0, 1, 1]), np.array([False, True, True, True])).__round__(4)
    0.6667
    """
    raised = _count(alarms, weights)
    return _count((labels == 1) & alarms, weights) / raised if raised else float("nan")


def recall(labels: NDArray[Any], alarms: Bits, weights: Weights = None) -> float:
    """The part of the anomalies that are flagged.

    >>> recall(np.array([0, 0, 1, 1]), np.array([False, True, True, False]))
    0.5
    """
    return _count((labels == 1) & alarms, weights) / _count(labels == 1, weights)


def false_alarm_rate(labels: NDArray[Any], alarms: Bits, weights: Weights = None) -> float:
    """The part of the normal samples that are flagged.

    >>> false_alarm_rate(np.array([0, 0, 1, 1]), np.array([False, True, True, False]))
    0.5
    """
    return _count((labels == 0) & alarms, weights) / _count(labels == 0, weights)


def _count(those: Bits, weights: Weights) -> float:
    """How many samples these are, or what they weigh."""
    return float(np.count_nonzero(those) if weights is None else weights[those].sum())
