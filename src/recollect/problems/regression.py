"""Regression: which number is it? One value per sample; the errors of a task's whole test set are summed up."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from recollect.problems.base import Focus, Problem, no_classes, titles
from recollect.problems.targets import Target

Floats = NDArray[np.float64]


def mae(truth: Floats, given: Floats) -> float:
    """The mean absolute error.

    >>> mae(np.array([1.0, 3.0]), np.array([2.0, 5.0]))
    1.5
    """
    return float(np.abs(truth - given).mean())


def rmse(truth: Floats, given: Floats) -> float:
    """The root of the mean squared error; of errors that a float cannot square, too.

    >>> rmse(np.array([1.0, 3.0]), np.array([2.0, 10.0]))
    5.0
    """
    errors = np.abs(truth - given)
    largest = float(errors.max())
    return largest * math.sqrt(np.square(errors / largest).mean()) if largest else 0.0


def r2(truth: Floats, given: Floats) -> float:
    """The share of the variance that is explained; NaN where the true values do not vary.

    >>> r2(np.array([1.0, 3.0]), np.array([1.0, 3.0])), r2(np.array([1.0, 3.0]), np.array([2.0, 2.0]))
    (1.0, 0.0)
    """
    around_mean = truth - truth.mean()
    largest = np.abs(around_mean).max()
    if len(truth) < 2 or largest <= 1e-12 * np.abs(truth).max():  # what rounding alone leaves is no variance
        return math.nan
    return float(1 - np.square((truth - given) / largest).sum() / np.square(around_mean / largest).sum())


REGRESSION = Problem(
    name="regression",
    asks="a number for each sample",
    scenarios=("domain-incremental", "time-incremental"),
    targets=(
        Target("rmse", "RMSE", rmse, higher_is_better=False),
        Target("mae", "MAE", mae, higher_is_better=False),
        Target("r2", "R2", r2, undefined="R2 needs true values that differ, in at least two test samples"),
    ),
    examiner="recollect.problems.scoring:Scoring",
    objective="recollect.learners.objectives:Values",
    per_class=False,
    focus=Focus(titles=titles("average"), close=True),
    not_shown=no_classes("a prediction is one number, not one of several classes"),
)
