"""Reference learners for the rescaled metrics: what a score is compared with, so that difficulty cancels.

A reference is a score matrix under the same plan of rows. The random classifier of Michel et al. 2023 is the
``"uniform"`` one; the two definitions, AA and AF, are then simply computed on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from recollect.errors import UsageError
from recollect.inputs import as_numbers
from recollect.matrix import Array, ScoreMatrix
from recollect.metrics.rows import runs_last
from recollect.metrics.sweep import MissingInput, Sweep, Undefined

REFERENCES = {
    "uniform": "guesses among the classes seen so far, all equally likely (Michel et al. 2023)",
    "prior": "guesses among the classes seen so far, each as often as it occurs in the test sets",
    "untrained": "the measured scores of the learner before any training (b)",
    "joint": "the measured matrix of the joint learner",
}


# Rounding leaves a reference that never changes at 1e-17, not at 0.
ROUNDING = 1e-12


def reference_sweep(s: Sweep, reference: Any) -> Sweep:
    """Return the reference's scores on the planned rows of `s`."""
    if not isinstance(reference, str):
        return s.like(_measured(s, reference))
    if reference not in REFERENCES:
        raise UsageError(f"unknown reference {reference!r}; there are {', '.join(REFERENCES)}, or any measured matrix.")
    key = f"reference.{reference}"
    if key not in s.matrix.cache:
        s.matrix.cache[key] = _named(s, reference)
    made: Sweep = s.matrix.cache[key]
    return made


def _named(s: Sweep, reference: str) -> Sweep:
    if reference == "uniform":
        return s.like(np.repeat(guessing(s)[:, None, None], s.T, axis=1))
    if reference == "prior":
        return s.like(_prior(s)[:, :, None])
    if reference == "untrained":
        return s.like(np.repeat(s.need("b")[None], s.P, axis=0))
    joint = s.need("joint")
    return s.like(joint if s.is_full else after_rows(s, joint))


def classes_seen(s: Sweep) -> Array:
    """C: the number of classes seen after each task."""
    C = np.cumsum(s.need("n_classes"))
    if C[0] == 0:
        raise Undefined("the first task has no classes, so there is nothing to guess among")
    return C


def guessing(s: Sweep) -> Array:
    """The share of right guesses among the classes seen, at each row; NaN where no task has been learned."""
    return after_rows(s, 1 / classes_seen(s))


def after_rows(s: Sweep, by_task: Array) -> Array:
    """What stands after each task, at the rows: that of the newest task learned; NaN where there is none."""
    return np.concatenate([np.full_like(by_task[:1], np.nan), by_task])[s.seen]


def require_accuracies(s: Sweep) -> None:
    """Refuse scores that are not fractions: the largest ratio a learner can reach is known for those only."""
    if s.matrix.unit == "raw" or not s.matrix.higher_is_better:
        raise Undefined("is defined for accuracies (fractions or percent, higher is better), not for a raw score")


def smallest_positive(values: Array) -> Array:
    """Find each run's smallest positive value over the rows, NaN if a row is missing or none is positive.

    >>> smallest_positive(np.array([[0.5, np.nan], [0.0, 0.5], [0.25, 0.25]]))
    array([0.25,  nan])
    """
    smallest = np.where(values > ROUNDING, values, np.inf).min(0)
    return np.where(np.isnan(values).any(0) | np.isinf(smallest), np.nan, smallest)


def _prior(s: Sweep) -> Array:
    """Accuracy on task j of guessing each seen class as often as it occurs, at every planned row; (P, T)."""
    counts = _class_table(s)
    samples = counts.sum(1)
    if not samples.all():
        raise Undefined("a task without test samples: the prior reference has nothing to count there")
    seen = after_rows(s, np.cumsum(counts, axis=0))
    guessed = seen / seen.sum(1, keepdims=True)
    on_task: Array = guessed @ (counts / samples[:, None]).T
    return on_task


def _class_table(s: Sweep) -> Array:
    """Test samples by task and class; without class_counts, the classes of a task are of one size."""
    given = s.matrix.class_counts
    counts = None if given is None else tuple(given[j] for j in s.columns)
    if counts is None:
        try:
            n, new = s.need("n_samples"), s.need("n_classes")
        except MissingInput as missing:
            raise MissingInput(f"the prior reference {missing}, or class_counts") from None
        if n.ndim > 1:
            raise Undefined("the prior reference needs test sets that are the same for all runs; score them one by one")
        per_task = np.where(new > 0, new, classes_seen(s)).astype(int)
        counts = tuple((size / classes,) * classes for size, classes in zip(n, per_task.tolist(), strict=True))
    else:
        of_task = s.matrix.n_classes
        new = np.array([len(task) for task in counts] if of_task is None else of_task[s.columns])
    seen = np.cumsum(new).astype(int)
    table = np.zeros((s.T, seen[-1]))
    for j, task in enumerate(counts):
        # A task of no new classes is another domain of all the classes seen.
        table[j, seen[j] - len(task) : seen[j]] = task
    return table


def _measured(s: Sweep, reference: Any) -> Array:
    """Lay out a measured matrix, of one run for all or of as many as R has."""
    values = reference.R if isinstance(reference, ScoreMatrix) else as_numbers(reference, "a measured reference")
    if values.shape not in (s.matrix.R.shape, s.matrix.R.shape[-2:]):
        raise UsageError(
            f"a measured reference must have the shape of R, {s.matrix.R.shape}, or of one run of it;"
            f" got {values.shape}."
        )
    if not isinstance(reference, ScoreMatrix):
        given = {name: getattr(s.matrix, name) for name in ("learned_at", "planned", "inside")}
        reference = ScoreMatrix(values, orientation="time_rows", **given)
    if reference.unit == "raw" or not reference.higher_is_better:
        raise UsageError("a measured reference must hold accuracies (fractions or percent, higher is better).")
    rows = runs_last(reference.R, len(reference.lead))
    rows = rows if len(s.columns) == s.matrix.T else rows[:, s.columns]
    return rows if len(s.ends) == len(rows) else rows[s.row_index[s.ends]]
